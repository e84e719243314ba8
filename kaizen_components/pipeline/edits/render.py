"""Write edits as text in the form that `parse_edits` reads."""

from .format import BARE_CLOSING, DIVIDER, MARKDOWN, Edit
from .parse import strip_fence

LENGTH = 7  # length of the markers, unless the text has lines that look like markers


def render_edits(edits: list[Edit]) -> str:
    """Return the edits as text; `parse_edits` returns the same edits from it."""
    pieces = []
    for edit in edits:
        if edit.kind == "delete":
            pieces.append(f"DELETE: {edit.path}")
            continue
        parts = []
        for lines in map(list, (edit.search, edit.text)):
            if (
                strip_fence(lines, edit.path) != lines
            ):  # an outer fence, so that parsing does not strip a fence of the text
                is_markdown = edit.path.lower().endswith(MARKDOWN)
                lines = ["```markdown" if is_markdown else "```", *lines, "```"]
            parts.append(lines)
        lengths = {
            len(marker[1])
            for line in (*parts[0], *parts[1])
            for marker in (DIVIDER.match(line), BARE_CLOSING.match(line))
            if marker
        }
        length = LENGTH
        while length in lengths:
            length += 1
        is_replace = edit.kind == "replace"
        pieces.append(
            "\n".join(
                [
                    f"FILE: {edit.path}",
                    f"{'<' * length} {'SEARCH' if is_replace else 'WHOLE'}",
                    *([*parts[0], "=" * length] if is_replace else []),
                    *parts[1],
                    f"{'>' * length} {'REPLACE' if is_replace else 'END'}",
                ]
            )
        )
    return "\n\n".join(pieces) + "\n"
