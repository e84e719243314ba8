"""The form in which a model writes edits: plain text, never code inside JSON. FORMAT is what prompts say of it.

Read strictly where a mistake would lose something, and leniently where models differ: fences round a block or inside
it, prose between blocks, `### File: x` for `FILE: x`, a bare path above a block, CRLF, markers of another length, a
fence instead of WHOLE markers, and no closing marker at the very end of an answer.
"""

import re
from dataclasses import dataclass, field

from ...errors import Refused

WHOLE_FORM = """\
Edits are plain text. Paths count from the root of the repository. A new file, or a file of less than 200 lines, is
written whole, from its first line to its last:

FILE: path/of/the_file.py
<<<<<<< WHOLE
every line of the file
>>>>>>> END"""
BLOCK_FORM = """\
To change a part of a longer file, one block for each place; all are made on the file as it stands now:

FILE: path/of/the_file.py
<<<<<<< SEARCH
some lines exactly as they stand in the file, as many as make the place unique
=======
the lines that take their place
>>>>>>> REPLACE

Where the text of a file itself has a line of equals signs as long as the marker, write longer markers."""
# Without an example, and only where somebody speaks of it: small models copy it and delete what nobody wants to lose.
DELETE_FORM = "A file that must go takes one line: the word DELETE, a colon and its path."
GOING = re.compile(r"\b(?:delet|remov|renam|mov|drop|replac|split|merg|rid\b)", re.IGNORECASE)
FORMAT = "\n\n".join((DELETE_FORM, WHOLE_FORM, BLOCK_FORM))
WHOLE_LINES_MAX = (
    200  # up to here models write a whole file more surely than a patch, and it costs little
)

BLANKS = r"[ \t]{0,3}"  # before a marker; further in, it is text
OPENING = re.compile(BLANKS + r"(<{3,})[ \t]*(SEARCH|WHOLE)\b:?(.*)$", re.IGNORECASE)
DIVIDER = re.compile(BLANKS + r"(={5,})[ \t]*$")
CLOSING = re.compile(BLANKS + r">{3,}[ \t]*(?:REPLACE|END|WHOLE|SEARCH)[ \t]*$", re.IGNORECASE)
BARE_CLOSING = re.compile(
    BLANKS + r"(>{5,})[ \t]*$"
)  # counts where it is as long as the opening one
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
# Put by a driver under an answer that the server cut off: half a file must not pass for a whole one.
CUT = "[The answer was cut off here: it reached the limit of its length.]"
TEXT_CHARS_MAX = 4_000_000
MARKDOWN = (".md", ".markdown", ".mdx", ".rst")


class EditRefused(Refused):
    """Edits that cannot be used. Its text is what the next prompt quotes."""

    reason = "malformed"

    def __init__(self, what: str, why: str = "", next: str = ""):
        super().__init__("edit_refused", what, why, next)

    def __str__(self) -> str:
        return " ".join(part for part in (self.what, self.why, self.next) if part)


def describe_format(texts: list[str], spec: str = "") -> str:
    """What a prompt says about edits of files with these texts: of blocks only where one of them is long."""
    is_long = any(text.count("\n") >= WHOLE_LINES_MAX for text in texts)
    parts = (DELETE_FORM if GOING.search(spec) else "", WHOLE_FORM, BLOCK_FORM if is_long else "")
    return "\n\n".join(filter(None, parts))


class PathRefused(EditRefused):
    """A path that no edit may name, whatever it would write there."""

    def __init__(self, path: str, what: str, why: str = "", next: str = ""):
        super().__init__(what, why, next)
        self.path = path


@dataclass(frozen=True)
class Edit:
    """One block: `kind` is whole, replace or delete; `search` and `text` are lines without their ends."""

    kind: str
    path: str
    search: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    number: int = field(default=0, compare=False)  # of the block in the answer, for messages

    @property
    def name(self) -> str:
        return f"Block {self.number} ({quote_text(self.path)})"


def quote_text(text: str, most: int = 80) -> str:
    """A piece of an answer as a message quotes it: short, on one line, printable."""
    plain = "".join(
        char if char.isprintable() else f"\\x{ord(char):02x}" for char in text[: most + 1]
    )
    return plain if len(text) <= most else plain[:most] + "…"
