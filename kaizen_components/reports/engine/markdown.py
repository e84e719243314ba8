"""Render a report as Markdown. Stored text is escaped, so that none of it becomes markup."""

from __future__ import annotations

from typing import Any

from ...records.ledger.canonical import escape_invisible
from .document import Block, Code, Ref, format_count
from .escape import escape_text, quote_code


def render_markdown(report: dict[str, Any], footer: list[str]) -> str:
    """Return the report as Markdown, with the footer below a horizontal rule."""
    lines = ["# " + escape_text(report["title"]), ""]
    for text in report["lead"]:
        lines += [escape_sentence(text), ""]
    for section in report["sections"]:
        lines += ["## " + escape_text(section["heading"]), ""]
        for block in section["blocks"]:
            lines += [*_render_block(block), ""]
    return "\n".join([*lines, "---", "", *footer]) + "\n"


def _render_block(block: Block) -> list[str]:
    """Return the lines of one block."""
    match block["block"]:
        case "paragraph":
            return [escape_sentence(block["text"])]
        case "points":
            return ["- " + " ".join(map(escape_cell, item)) for item in block["items"]]
        case "facts":
            return _render_facts(block["rows"])
        case "table":
            return [escape_text(block["caption"]), "", *_render_table(block)]
        case "story":
            return _render_story(block)
        case "prose" | "listing":
            # A listing becomes indented code, in which Markdown sees no markup.
            lines = (
                quote_text(block["text"])
                if block["block"] == "prose"
                else ["    " + escape_invisible(line).expandtabs(4) for line in block["lines"]]
            )
            note = ["", escape_text(block["note"])] if block["note"] else []
            return [f"**{escape_text(block['label'])}**", "", *lines, *note]
        case _:  # a drawing: print its title, its caption and its data
            title = f"**{escape_text(block['title'])}.** {escape_text(block['caption'])}"
            return [title, "", *_render_table(block["data"])]


def _render_facts(rows: list[dict[str, Any]]) -> list[str]:
    """Return a table of numbers, with a column for the previous values if there are any."""
    has_before = any(row["before"] is not None for row in rows)
    lines = ["| | now | before |", "|---|--:|--:|"] if has_before else ["| | |", "|---|--:|"]
    for row in rows:
        before = f" {escape_text(row['before'] or '')} |" if has_before else ""
        lines.append(f"| {escape_text(row['label'])} | {escape_text(row['value'])} |{before}")
    return lines


def _render_table(block: Block) -> list[str]:
    """Return the heading and the rows of a table; the caller adds the caption."""
    columns = block["columns"]
    lines = [
        "| " + " | ".join(map(escape_text, columns)) + " |",
        "|" + "|".join("--:" if kind == "number" else "---" for kind in columns.values()) + "|",
        *("| " + " | ".join(map(escape_cell, row)) + " |" for row in block["rows"]),
    ]
    return lines + (["", f"{block['more']:,} more are not shown."] if block["more"] else [])


def _render_story(block: Block) -> list[str]:
    """Return a list item for each entry, with its text quoted below it."""
    lines = [f"**{escape_text(block['label'])}**", ""] if block["label"] else []
    for entry in block["entries"]:
        refs = " ".join(map(quote_code, entry["refs"]))
        by = f" ({escape_text(entry['by'])})" if entry["by"] else ""
        what = f"- {escape_text(entry['at'])} {escape_cell(entry['what'])}{by} {refs}"
        lines.append(what.rstrip())
        lines += ["  " + line for line in quote_text(entry["text"])] if entry["text"] else []
    return lines


def escape_sentence(text: str) -> str:
    """Escape one of Kaizen's own sentences; text between backticks becomes code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape_text(text)
    for index, part in enumerate(parts):
        if index % 2:
            parts[index] = quote_code(part)
        elif part.strip():  # escape_text strips: keep the space next to a command
            parts[index] = " " * part[0].isspace() + escape_text(part) + " " * part[-1].isspace()
    return "".join(parts)


def quote_text(text: str) -> list[str]:
    """Return the escaped lines as a Markdown quotation."""
    lines = escape_invisible(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").split("\n")
    return [f"> {escape_text(line)}".rstrip() + ("  " if line.strip() else "") for line in lines]


def escape_cell(value: Any) -> str:
    """Return a cell of any type as Markdown."""
    if value is None:
        return "–"
    # Markdown dialects differ on \| inside code.
    if isinstance(value, (Ref, Code)) and "|" not in value:
        return quote_code(value)
    return escape_text(value) if isinstance(value, str) else format_count(value)
