"""The blocks of a Markdown text, by CommonMark's rules for block structure: what is a heading, a list item, a comment.

Only the outermost blocks are told apart, because only they can begin an entry; what is nested is followed just far
enough to know where they end: a `#` in a code block, a `-` in a quote and a lazy line of a paragraph all belong to the
block around them. Inline Markdown is not read at all.
"""

import re
from dataclasses import dataclass

DEPTH_MAX = 50  # containers within containers; a deeper marker is text, so that a hostile line costs linear time
HEADING = re.compile(r"(#{1,6})(?: |$)")
MARKER = re.compile(r"([-+*]|(\d{1,9})[.)])(?= |$)", re.ASCII)
FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
UNDERLINE = re.compile(r"(=+|-+) *$")
BLOCK_TAGS = (
    "address article aside base basefont blockquote body caption center col colgroup dd details dialog dir div dl dt "
    "fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 head header hr html iframe legend li link "
    "main menu menuitem nav noframes ol optgroup option p param search section summary table tbody td tfoot th thead "
    "title tr track ul"
).replace(" ", "|")
ATTRIBUTE = r"\s+[a-z_:][\w:.-]*(?:\s*=\s*(?:[^\s\"'=<>`]+|'[^']*'|\"[^\"]*\"))?"
# How an HTML block begins, and what ends it; None: a blank line does.
HTML = [
    (re.compile(begin, re.IGNORECASE | re.ASCII), re.compile(end, re.IGNORECASE) if end else None)
    for begin, end in (
        (r"<(?:script|pre|style|textarea)(?:\s|>|$)", r"</(?:script|pre|style|textarea)>"),
        (r"<\?", r"\?>"),
        (r"<![a-z]", r">"),
        (r"<!\[CDATA\[", r"\]\]>"),
        (rf"</?(?:{BLOCK_TAGS})(?:\s|/?>|$)", None),
    )
]
LONE_TAG = re.compile(
    rf"(?:<[a-z][a-z0-9-]*(?:{ATTRIBUTE})*\s*/?>|</[a-z][a-z0-9-]*\s*>)\s*$",
    re.IGNORECASE | re.ASCII,
)
COMMENT_END = re.compile("-->")
COMMENT = re.compile("<!--.*?-->", re.DOTALL)


@dataclass
class Block:
    """Lines `start` to `last`, counted from 0. Kinds: heading, item, text, rule, comment."""

    kind: str
    start: int
    last: int
    level: int = 0  # of a heading
    underlined: bool = (
        False  # a heading by the line below it, which may be a paragraph above a rule
    )
    width: int = 0  # of an item: the column where its text begins


@dataclass
class Container:
    is_quote: bool
    width: int = 0  # of an item: how far its lines are indented
    filled: bool = False  # an item that begins with a blank line ends at a second one


def blocks(lines: list[str]) -> list[Block]:
    """The outermost blocks of a text, in order."""
    reader = Reader([line.expandtabs(4) if line.strip() else "" for line in lines])
    for number in range(len(lines)):
        reader.take(number)
    return reader.blocks


def heading_text(lines: list[str], block: Block) -> str:
    """What a heading says, in one line."""
    if block.underlined:
        return " ".join(" ".join(lines[block.start : block.last]).split())
    text = lines[block.start].strip()[block.level :]
    return " ".join(re.sub(r"(^|[ \t])#+$", "", text.strip()).split())


def item_text(lines: list[str], block: Block) -> str:
    """The text of a list item without its marker and its indentation."""
    first, *more = lines[block.start : block.last + 1]
    return "\n".join([_cut(first, block.width, True), *(_cut(line, block.width) for line in more)])


def _cut(line, width, any_character=False):
    """The line without its first columns: blanks only, or on the line of the marker whatever is there."""
    column = 0
    for at, character in enumerate(line):
        if column >= width or not (any_character or character in " \t"):
            return " " * max(column - width, 0) + line[at:]
        column += 4 - column % 4 if character == "\t" else 1
    return ""


class Reader:
    """Takes one line after the other; `containers` and `leaf` are what is open after it."""

    def __init__(self, lines: list[str]):
        self.lines = lines
        self.blocks: list[Block] = []
        self.containers: list[Container] = []
        self.leaf: str | None = None  # paragraph, code, fence, html
        self.end: re.Pattern | None = None  # of an html leaf
        self.fence = ""  # of a fence leaf
        self.last_comment_end = max(
            (at for at, line in enumerate(lines) if "-->" in line), default=-1
        )

    def take(self, number: int) -> None:
        text = self.lines[number]
        matched, at = self._matched(text)
        is_whole = matched == len(self.containers)
        if is_whole and self.leaf in ("code", "fence", "html"):
            if self._goes_on(text[at:]):
                self.blocks[-1].last = number if text else self.blocks[-1].last
                return
            self.leaf = None
        in_paragraph = is_whole and self.leaf == "paragraph"
        while (at := self._opened(number, text, at, matched, in_paragraph)) >= 0:
            matched, in_paragraph = len(self.containers), False

    def _matched(self, text):
        """(how many open containers go on in this line, where their content begins)"""
        at = 0
        for count, container in enumerate(self.containers):
            start = _first(text, at)
            if container.is_quote:
                if start - at > 3 or text[start : start + 1] != ">":
                    return count, at
                at = start + 1 + (text[start + 1 : start + 2] == " ")
            elif start == len(text):
                if not container.filled:
                    return count, at
                at = start
            elif start - at >= container.width:
                at += container.width
            else:
                return count, at
        return len(self.containers), at

    def _goes_on(self, rest):
        """Does this line belong to the code or HTML that is open?"""
        indent = _first(rest, 0)
        if self.leaf == "code":
            return indent >= 4 or not rest.strip()
        if self.leaf == "fence":
            closing = rest.strip()
            if indent < 4 and closing.startswith(self.fence) and not closing.strip(self.fence[0]):
                self.leaf = None
            return True
        if self.end is None:
            return bool(rest.strip())
        if self.end.search(rest):
            self.leaf = None
        return True

    def _opened(self, number, text, at, matched, in_paragraph):
        """Open what begins here. The position behind a container's marker, where more may begin; -1 at the end."""
        start = _first(text, at)
        rest = text[start:]
        if start - at < 4 and rest:
            if rest[0] == ">" and matched < DEPTH_MAX:
                return self._contain(
                    number, matched, Container(True), start + 1 + (rest[1:2] == " ")
                )
            if self._opens_leaf(number, rest, matched, in_paragraph):
                return -1
            found = MARKER.match(rest) if matched < DEPTH_MAX else None
            if found and not (in_paragraph and not _may_interrupt(found, rest)):
                width = _padded(rest, found.end())
                item = Container(False, start - at + width)
                return self._contain(
                    number, matched, item, min(start + width, len(text)), start + width
                )
        if rest and self.leaf == "paragraph":
            self.blocks[-1].last = number  # also a lazy line, indented less than what it continues
            return -1
        self._close(matched)
        if rest:
            self._add(number, "text")
            self.leaf = "code" if start - at >= 4 else "paragraph"
        return -1

    def _opens_leaf(self, number, rest, matched, in_paragraph):
        """Open a heading, a rule, a fence or HTML, if one begins here."""
        if rest[0] == "#" and (found := HEADING.match(rest)):
            self._close(matched)
            self._add(number, "heading", level=len(found[1]))
        elif rest[0] in "`~" and (found := FENCE.match(rest)):
            self._close(matched)
            self._add(number, "text")
            self.leaf, self.fence = "fence", found[1] or found[2]
        elif rest[0] == "<" and self._opens_html(number, rest, matched):
            pass
        elif in_paragraph and (found := UNDERLINE.match(rest)):
            self._underline(number, found[1][0])
        elif _is_rule(rest):
            self._close(matched)
            self._add(number, "rule")
        else:
            return False
        return True

    def _opens_html(self, number, rest, matched):
        is_comment = rest.startswith("<!--")
        if is_comment and number > self.last_comment_end:
            return (
                False  # it never ends: CommonMark would hide all that follows, we keep it as text
            )
        ends = [COMMENT_END] if is_comment else [end for begin, end in HTML if begin.match(rest)]
        if not ends and (self.leaf == "paragraph" or not LONE_TAG.match(rest)):
            return False
        self._close(matched)
        self._add(number, "comment" if is_comment else "text")
        self.end = ends[0] if ends else None
        if self.end is None or not self.end.search(rest):
            self.leaf = "html"
        return True

    def _underline(self, number, mark):
        self.leaf = None
        self.blocks[-1].last = number
        if not self.containers:
            self.blocks[-1].kind, self.blocks[-1].underlined = "heading", True
            self.blocks[-1].level = 1 if mark == "=" else 2

    def _contain(self, number, matched, container, at, width=0):
        self._close(matched)
        self._add(number, "text" if container.is_quote else "item", width=width)
        self.containers.append(container)
        return at

    def _close(self, matched):
        del self.containers[matched:]
        self.leaf = None

    def _add(self, number, kind, **more):
        if self.containers:
            self.blocks[-1].last = number
            self.containers[-1].filled = True
        else:
            self.blocks.append(Block(kind, number, number, **more))


def _first(text, at):
    """Where the next character that is not a blank stands, or the end."""
    while at < len(text) and text[at] == " ":
        at += 1
    return at


def _is_rule(rest):
    marks = rest.replace(" ", "") if rest[0] in "*-_" else ""
    return len(marks) >= 3 and not marks.strip(marks[0])


def _may_interrupt(marker, rest):
    """A paragraph is interrupted by an item with text, and by a numbered one only if it counts from 1."""
    return bool(rest[marker.end() :].strip()) and (marker[2] is None or int(marker[2]) == 1)


def _padded(rest, end):
    """How wide a marker is with the blanks behind it; five and more belong to code."""
    text = _first(rest, end)
    return text if text < len(rest) and text - end < 5 else end + 1
