"""A report as Markdown that shows every stored text as it is: nothing in it becomes markup."""

from typing import Any

from ...records.ledger.canonical import escape_invisible
from .document import Code, Ref, format_count

SPECIAL = frozenset("\\`*_{}[]<>#|~&!$")


def render_markdown(made: dict[str, Any], footer: list[str]) -> str:
    """The document, its footer below a rule."""
    lines = [
        "# " + escape_text(made["title"]),
        "",
        *(line for text in made["lead"] for line in (escape_sentence(text), "")),
    ]
    for section in made["sections"]:
        lines += ["## " + escape_text(section["heading"]), ""]
        for block in section["blocks"]:
            lines += [*RENDERERS[block["block"]](block), ""]
    return "\n".join([*lines, "---", "", *footer]) + "\n"


def escape_text(text: str) -> str:
    """Text that Markdown shows as it is, in one line."""
    line = " ".join(escape_invisible(text).split())
    escaped = "".join("\\" + c if c in SPECIAL else c for c in line)
    if escaped[:1] in ("-", "+", "=", ":"):
        return "\\" + escaped
    digits = len(escaped) - len(escaped.lstrip("0123456789"))
    if digits and escaped[digits : digits + 2].strip() in (".", ")"):  # or it would begin a list
        return escaped[:digits] + "\\" + escaped[digits:]
    return escaped


def escape_sentence(text: str) -> str:
    """A sentence of ours, in which commands stand between backticks."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape_text(text)
    return "".join(quote_code(part) if at % 2 else _between(part) for at, part in enumerate(parts))


def _between(part):
    """Plain text between two commands, with the space on either side of it."""
    return (
        f"{' ' * part[:1].isspace()}{escape_text(part)}{' ' * part[-1:].isspace()}"
        if part.strip()
        else part
    )


def quote_code(text: str) -> str:
    """Between as many backticks as it takes."""
    line = " ".join(escape_invisible(text).split())
    if not line:
        return ""
    fence = "`"
    while fence in line:
        fence += "`"
    pad = " " if "`" in line[:1] + line[-1:] else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def quote_text(text: str) -> list[str]:
    """Line by line behind >, escaped."""
    lines = escape_invisible(text.replace("\r\n", "\n").replace("\r", "\n")).strip("\n").split("\n")
    return [f"> {escape_text(line)}".rstrip() + ("  " if line.strip() else "") for line in lines]


def escape_cell(value: Any) -> str:
    if value is None:
        return "–"
    if (
        isinstance(value, (Ref, Code)) and "|" not in value
    ):  # how a table reads \\| inside of code differs by reader
        return quote_code(value)
    return escape_text(value) if isinstance(value, str) else format_count(value)


def _paragraph(block):
    return [escape_sentence(block["text"])]


def _points(block):
    return ["- " + " ".join(map(escape_cell, item)) for item in block["items"]]


def _facts(block):
    compared = any(row["before"] is not None for row in block["rows"])
    head = ["| | now | before |", "|---|--:|--:|"] if compared else ["| | |", "|---|--:|"]
    rows = [
        f"| {escape_text(row['label'])} | {escape_text(row['value'])} |"
        + (f" {escape_text(row['before'] or '')} |" if compared else "")
        for row in block["rows"]
    ]
    return [*head, *rows]


def _table(block):
    aligned = ["--:" if kind == "number" else "---" for kind in block["columns"].values()]
    lines = [
        escape_text(block["caption"]), "",
        "| " + " | ".join(map(escape_text, block["columns"])) + " |",
        "|" + "|".join(aligned) + "|",
        *("| " + " | ".join(map(escape_cell, row)) + " |" for row in block["rows"]),
    ]  # fmt: skip
    return lines + (["", f"{block['more']:,} more are not shown."] if block["more"] else [])


def _chart(block):
    _, _, *data = _table(block["data"])  # its caption is the title
    return [f"**{escape_text(block['title'])}.** {escape_text(block['says'])}", "", *data]


def _story(block):
    lines = [f"**{escape_text(block['label'])}**", ""] if block["label"] else []
    for entry in block["entries"]:
        refs = " ".join(quote_code(ref) for ref in entry.get("refs", ()))
        by = f" ({escape_text(entry['by'])})" if entry.get("by") else ""
        lines.append(
            f"- {escape_text(entry['at'])} {escape_cell(entry['what'])}{by} {refs}".rstrip()
        )
        lines += ["  " + line for line in quote_text(entry["text"])] if entry.get("text") else []
    return lines


def _prose(block):
    return [
        f"**{escape_text(block['label'])}**",
        "",
        *quote_text(block["text"]),
        *(["", escape_text(block["note"])] if block["note"] else []),
    ]


def _listing(block):
    lines = [
        "    " + escape_invisible(line).expandtabs(4) for line in block["lines"]
    ]  # indented code: nothing in it is markup
    return [
        f"**{escape_text(block['label'])}**",
        "",
        *lines,
        *(["", escape_text(block["note"])] if block["note"] else []),
    ]


RENDERERS = {
    "paragraph": _paragraph, "points": _points, "facts": _facts, "table": _table, "chart": _chart,
    "calibration": _chart, "story": _story, "prose": _prose,
    "waterfall": _chart, "listing": _listing,
}  # fmt: skip
