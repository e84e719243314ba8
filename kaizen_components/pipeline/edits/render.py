"""Write edits in our own form, so that an answer can be quoted and tests can say what is read back."""

from .format import BARE_CLOSING, DIVIDER, MARKDOWN, Edit
from .parse import strip_fence

LENGTH = 7  # of the markers, unless the text has lines that look like them


def render_edits(edits: list[Edit]) -> str:
    """The edits in our own form, such that `parse` gives them back."""
    pieces = []
    for edit in edits:
        if edit.kind == "delete":
            pieces.append(f"DELETE: {edit.path}")
            continue
        parts = [_fenced(part, edit.path) for part in (edit.search, edit.text)]
        length = _length([*parts[0], *parts[1]])
        words = ("SEARCH", "REPLACE") if edit.kind == "replace" else ("WHOLE", "END")
        middle = [*parts[0], "=" * length] if edit.kind == "replace" else []
        lines = [
            f"FILE: {edit.path}",
            f"{'<' * length} {words[0]}",
            *middle,
            *parts[1],
            f"{'>' * length} {words[1]}",
        ]
        pieces.append("\n".join(lines))
    return "\n\n".join(pieces) + "\n"


def _fenced(lines, path):
    """With a fence round them where `parse` would take one away."""
    if tuple(strip_fence(list(lines), path)) == tuple(lines):
        return list(lines)
    return ["```markdown" if path.lower().endswith(MARKDOWN) else "```", *lines, "```"]


def _length(lines):
    taken = {
        len(found[1])
        for line in lines
        for found in (DIVIDER.match(line), BARE_CLOSING.match(line))
        if found
    }
    length = LENGTH
    while length in taken:
        length += 1
    return length
