"""A report as Markdown that shows every stored text as it is: nothing in it becomes markup."""

from __future__ import annotations

from typing import Any

from ...records.ledger.canonical import escape_invisible
from .document import Block, Code, Ref, format_count
from .escape import escape_text, quote_code


def render_markdown(report: dict[str, Any], footer: list[str]) -> str:
    """Return the document, its footer below a rule."""
    lines = ["# " + escape_text(report["title"]), ""]
    for text in report["lead"]:
        lines += [escape_sentence(text), ""]
    for section in report["sections"]:
        lines += ["## " + escape_text(section["heading"]), ""]
        for block in section["blocks"]:
            lines += [*_render_block(block), ""]
    return "\n".join([*lines, "---", "", *footer]) + "\n"


def _render_block(block: Block) -> list[str]:
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
            # A listing is indented code: nothing in it is markup.
            lines = (
                quote_text(block["text"])
                if block["block"] == "prose"
                else ["    " + escape_invisible(line).expandtabs(4) for line in block["lines"]]
            )
            note = ["", escape_text(block["note"])] if block["note"] else []
            return [f"**{escape_text(block['label'])}**", "", *lines, *note]
        case _:  # a drawing: its title, what it says, its data
            title = f"**{escape_text(block['title'])}.** {escape_text(block['says'])}"
            return [title, "", *_render_table(block["data"])]


def _render_facts(rows: list[dict[str, Any]]) -> list[str]:
    compares = any(row["before"] is not None for row in rows)
    lines = ["| | now | before |", "|---|--:|--:|"] if compares else ["| | |", "|---|--:|"]
    for row in rows:
        before = f" {escape_text(row['before'] or '')} |" if compares else ""
        lines.append(f"| {escape_text(row['label'])} | {escape_text(row['value'])} |{before}")
    return lines


def _render_table(block: Block) -> list[str]:
    """Return the rows below their head; the caption is for the caller."""
    columns = block["columns"]
    lines = [
        "| " + " | ".join(map(escape_text, columns)) + " |",
        "|" + "|".join("--:" if kind == "number" else "---" for kind in columns.values()) + "|",
        *("| " + " | ".join(map(escape_cell, row)) + " |" for row in block["rows"]),
    ]
    return lines + (["", f"{block['more']:,} more are not shown."] if block["more"] else [])


def _render_story(block: Block) -> list[str]:
    lines = [f"**{escape_text(block['label'])}**", ""] if block["label"] else []
    for entry in block["entries"]:
        refs = " ".join(map(quote_code, entry["refs"]))
        by = f" ({escape_text(entry['by'])})" if entry["by"] else ""
        what = f"- {escape_text(entry['at'])} {escape_cell(entry['what'])}{by} {refs}"
        lines.append(what.rstrip())
        lines += ["  " + line for line in quote_text(entry["text"])] if entry["text"] else []
    return lines


def escape_sentence(text: str) -> str:
    """Escape a sentence of ours, in which commands are between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape_text(text)
    for at, part in enumerate(parts):
        if at % 2:
            parts[at] = quote_code(part)
        elif part.strip():  # keep the space on either side of a command
            parts[at] = " " * part[0].isspace() + escape_text(part) + " " * part[-1].isspace()
    return "".join(parts)


def quote_text(text: str) -> list[str]:
    """Return the escaped lines, each behind >."""
    lines = escape_invisible(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").split("\n")
    return [f"> {escape_text(line)}".rstrip() + ("  " if line.strip() else "") for line in lines]


def escape_cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, (Ref, Code)) and "|" not in value:  # readers differ on \| inside of code
        return quote_code(value)
    return escape_text(value) if isinstance(value, str) else format_count(value)
