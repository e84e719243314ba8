"""Describe the form in which a model writes edits: plain text, never code inside JSON.

The parser is strict where a mistake would lose text. It accepts common variations: fences around a
block or inside it, prose between blocks, `### File: x` for `FILE: x`, a bare path above a block,
CRLF, markers of another length, a fence instead of WHOLE markers, and no closing marker at the very
end of an answer.
"""

import re
from dataclasses import dataclass, field

from ...errors import Refused

WHOLE_FORM = """\
Edits are plain text. Paths count from the root of the repository. A new file, or a file of less
than 200 lines, is written whole, from its first line to its last:

FILE: path/of/the_file.py
<<<<<<< WHOLE
every line of the file
>>>>>>> END"""
BLOCK_FORM = """\
To change a part of a longer file, write one block for each place; all apply to the present file:

FILE: path/of/the_file.py
<<<<<<< SEARCH
some lines exactly as they are in the file, as many as make the place unique
=======
the lines that replace them
>>>>>>> REPLACE

If the file itself has a line of equals signs as long as the marker, write longer markers."""
# No example, and only if the spec suggests a deletion: small models copy the line and delete files.
DELETE_FORM = "To delete a file, write one line: the word DELETE, a colon and its path."
SUGGESTS_DELETION = re.compile(
    r"\b(?:delet|remov|renam|mov|drop|replac|split|merg|rid\b)", re.IGNORECASE
)
FORMAT = "\n\n".join((DELETE_FORM, WHOLE_FORM, BLOCK_FORM))
WHOLE_LINES_MAX = 200  # up to here models write a whole file more reliably than a patch

BLANKS = r"[ \t]{0,3}"  # before a marker; further in, it is text
OPENING = re.compile(BLANKS + r"(<{3,})[ \t]*(SEARCH|WHOLE)\b:?(.*)$", re.IGNORECASE)
DIVIDER = re.compile(BLANKS + r"(={5,})[ \t]*$")
CLOSING = re.compile(BLANKS + r">{3,}[ \t]*(?:REPLACE|END|WHOLE|SEARCH)[ \t]*$", re.IGNORECASE)
BARE_CLOSING = re.compile(BLANKS + r"(>{5,})[ \t]*$")  # counts if as long as the opening one
FENCE = re.compile(BLANKS + r"(`{3,}|~{3,})[ \t]*([^`]*)$")
DECORATED = r"[ \t]*(?:[#>*=/-]+[ \t]+)?[*`]*"
HEADER = re.compile(
    DECORATED + r"(FILE(?:[ _]?(?:NAME|PATH))?|PATH|DELETE)[*`]*[ \t]*:[ \t]*(\S.*)$", re.IGNORECASE
)
BARE_PATH = re.compile(DECORATED + r"([^\s`*:\"'<>()]*[./][^\s`*:\"'<>()/.]+)[*`:]*[ \t]*$")
REMARK = re.compile(
    r"[ \t]\((?:new|modified|changed|existing|updated)\b[^()]{0,40}\)$", re.IGNORECASE
)
THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
# Appended by a driver if the server cut the answer off, so that half a file is never accepted.
CUT = "[The answer was cut off here: it reached the limit of its length.]"
TEXT_CHARS_MAX = 4_000_000
MARKDOWN = (".md", ".markdown", ".mdx", ".rst")


class EditRefused(Refused):
    """An answer whose edits cannot be used. The next prompt quotes the text of this error."""

    reason = "malformed"

    def __init__(self, what: str, why: str = "", next: str = ""):
        super().__init__("edit_refused", what, why, next)

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.why, self.next) if part)


def describe_format(texts: list[str], spec: str = "") -> str:
    """Describe edits in a prompt; mention blocks only if one of the files' texts is long."""
    is_long = any(text.count("\n") >= WHOLE_LINES_MAX for text in texts)
    parts = [DELETE_FORM] if SUGGESTS_DELETION.search(spec) else []
    parts += [WHOLE_FORM, BLOCK_FORM] if is_long else [WHOLE_FORM]
    return "\n\n".join(parts)


class PathRefused(EditRefused):
    """An edit that names a forbidden path."""

    def __init__(self, path: str, what: str, why: str = "", next: str = ""):
        super().__init__(what, why, next)
        self.path = path


@dataclass(frozen=True)
class Edit:
    """One block: `kind` is whole, replace or delete; the lines have no line ends."""

    kind: str
    path: str
    search: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    number: int = field(default=0, compare=False)  # of the block in the answer, for messages

    @property
    def name(self) -> str:
        return f"Block {self.number} ({quote_text(self.path)})"


def quote_text(text: str, most: int = 80) -> str:
    """Shorten a piece of an answer for a message, and escape what is not printable."""
    plain = "".join(
        char if char.isprintable() else f"\\x{ord(char):02x}" for char in text[: most + 1]
    )
    return plain if len(text) <= most else plain[:most] + "…"
