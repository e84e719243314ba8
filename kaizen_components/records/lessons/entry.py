"""Split a Markdown file of lessons into entries: each entry becomes one record.

A section is a heading with the text below it, up to the next heading of any level. The entries are:

- in a section with only a list: each outermost item, with all items nested in it;
- in any other section with text: the whole section; its heading is the title;
- before the first heading and directly below the title of the file: each outermost item, and each
  run of other text between items and rules. If the file has only one such entry and no list, the
  title of the file becomes the title of the entry.

The title of the file is the first heading, if it is the only heading of level 1. These are no
entries: front matter, HTML comments outside of other text, rules, empty items, the lines of a stub,
and headings without text of their own. Such a heading is context for the entries below it; `bare`
lists headings with nothing below. An underlined "heading" with nothing below is a paragraph above a
rule. A comment or front matter that never ends is text. Every other line is in exactly one entry: a
test checks this with generated Markdown.

`source_hash` covers the kind, the path, the headings, the text and a number that tells equal
entries of a file apart. Never change these rules: the hashes would change, and M4 would no longer
find records made by the older rules. The way titles and summaries are cut from the text may change.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...limits import SUMMARY_CHARS_MAX, TITLE_CHARS_MAX
from ..ledger.canonical import encode_canonical
from ..ledger.hashing import hash_text
from ..markdown import COMMENT, Block, read_blocks, read_heading, read_item
from .stub import find_stub_lines

CONTEXT_CHARS_MAX = 500
KEY = re.compile(r"[\"']?[A-Za-z_][\w .-]*[\"']?:(?:\s|$)")
IN_FRONT = re.compile(r"\s|- |-$|#|[\]}]|$")
SENTENCE_END = re.compile(r"[.!?][)\]\"'*_`]*(?= (.))|[。！？]")
DECORATION = re.compile(r"(?:\s|>|\||#{1,6}\s|[-+*]\s|\d{1,9}[.)]\s|\[[ xX]\]\s)*")


@dataclass
class Entry:
    line: int  # counted from 1
    text: str
    heading: str = ""
    context: tuple[str, ...] = ()  # the headings above it, the outermost first
    occurrence: int = 1

    @property
    def title(self) -> str:
        """The heading or, without a heading, the first sentence."""
        lead = _find_lead(self.text)
        if self.heading:
            lead = self.heading
        else:
            for end in SENTENCE_END.finditer(lead):
                follows = end[1] or ""
                if not follows.islower() and not follows.isdigit():  # "e.g." ends no sentence
                    lead = lead[: end.end()]
                    break
        return shorten_text(lead, TITLE_CHARS_MAX)

    @property
    def summary(self) -> str:
        context = shorten_text(" › ".join(self.context), CONTEXT_CHARS_MAX)
        lead = _find_lead(self.text)
        return shorten_text(f"{context}: {lead}" if context else lead, SUMMARY_CHARS_MAX)

    @property
    def body(self) -> str:
        is_whole = len(self.heading) <= TITLE_CHARS_MAX
        return self.text if is_whole else f"{self.heading}\n\n{self.text}"

    @property
    def identity(self) -> list[object]:
        return [list(self.context), self.heading, strip_line_ends(self.text)]

    def source_hash(self, kind: str, path: str) -> str:
        return hash_text(encode_canonical([kind, path, *self.identity, self.occurrence]))


@dataclass
class Page:
    """The content of a file."""

    entries: list[Entry] = field(default_factory=list)
    front_matter: list[str] = field(default_factory=list)  # the keys in it
    bare: list[tuple[int, str]] = field(default_factory=list)  # (line, text) of empty headings
    is_stub: bool = False


@dataclass
class Section:
    heading: Block | None
    blocks: list[Block]
    is_top: bool = False  # before the first heading, or below the title of the file

    @property
    def level(self) -> int:
        return self.heading.level if self.heading else 0

    def has(self, *kinds: str) -> bool:
        return any(block.kind in kinds for block in self.blocks)


def read_page(text: str) -> Page:
    """Return the entries, front matter and bare headings of a Markdown text."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    page = Page()
    stubs = find_stub_lines(lines)
    page.is_stub = bool(stubs)
    lines = ["" if at in stubs else line for at, line in enumerate(lines)]
    end, page.front_matter = _read_front_matter(lines)
    lines[:end] = [""] * end
    _add_entries(page, lines, _read_sections(lines))
    counts: dict[str, int] = {}
    for entry in page.entries:
        identity = encode_canonical(entry.identity)
        entry.occurrence = counts[identity] = counts.get(identity, 0) + 1
    return page


def strip_line_ends(text: str) -> str:
    """Remove blanks at the ends of lines, to compare texts without them."""
    return "\n".join(line.rstrip() for line in text.split("\n"))


def shorten_text(text: str, chars_max: int) -> str:
    """Return the text, cut at a word if it is too long."""
    if len(text) <= chars_max:
        return text
    cut = text[: chars_max - 1]
    at_word = cut.rpartition(" ")[0].rstrip()
    return (at_word if len(at_word) > chars_max // 2 else cut.rstrip()) + "…"


def _read_front_matter(lines: list[str]) -> tuple[int, list[str]]:
    """Return (number of lines, keys) of YAML front matter between --- lines, or (0, [])."""
    if lines[0].rstrip() != "---" or len(lines) < 2 or not KEY.match(lines[1]):
        return 0, []
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            keys = [line.partition(":")[0] for line in lines[1:at] if KEY.match(line)]
            return at + 1, [key.strip("\"' ") for key in keys]
        if not KEY.match(line) and not IN_FRONT.match(line):
            break
    return 0, []


def _read_sections(lines: list[str]) -> list[Section]:
    """Return the blocks below each heading. The first section has no heading."""
    sections = [Section(None, [], True)]
    for block in read_blocks(lines):
        if block.kind == "item" and not read_item(lines, block).strip():
            block.kind = "rule"
        if block.kind == "comment":
            words = COMMENT.sub("", "\n".join(lines[block.start : block.last + 1]))
            block.kind = "text" if words.strip() else "comment"
        if block.kind == "heading":
            sections.append(Section(block, []))
        else:
            sections[-1].blocks.append(block)
    levels = [section.level for section in sections]
    if not sections[0].has("text", "item") and levels[1:2] == [1] and levels.count(1) == 1:
        sections[1].is_top = True
    result = sections[:1]
    for at, section in enumerate(sections[1:], 1):
        heading, is_leaf = section.heading, _is_leaf(sections, at)
        if heading and heading.underlined and is_leaf and not section.is_top:
            heading.kind = "text"  # a paragraph above a rule
            result[-1].blocks += [heading, *section.blocks]
        else:
            result.append(section)
    return result


def _is_leaf(sections: list[Section], at: int) -> bool:
    """Return whether neither a heading nor its subheadings have text below them."""
    for below in range(at, len(sections)):
        section = sections[below]
        if below > at and section.level <= sections[at].level:
            break
        if section.has("text", "item"):
            return False
    return True


def _add_entries(page: Page, lines: list[str], sections: list[Section]) -> None:
    """Add an entry to the page for each section or, in a section with only a list, each item."""
    ancestors: list[tuple[int, str]] = []  # (level, text) of the headings
    for at, section in enumerate(sections):
        heading = read_heading(lines, section.heading) if section.heading else ""
        line = section.heading.start + 1 if section.heading else 0
        ancestors = [(level, text) for level, text in ancestors if level < section.level]
        context = tuple(text for _, text in ancestors if text)
        if section.is_top:
            page.entries += _split_parts(lines, section.blocks, context)
        elif section.has("text"):
            page.entries.append(Entry(line, _join_text(lines, section.blocks), heading, context))
        elif section.has("item"):
            below = (*context, heading) if heading else context
            page.entries += _split_parts(lines, section.blocks, below)
        elif _is_leaf(sections, at) and heading:
            page.bare.append((line, heading))
        if section.heading and not section.is_top:
            ancestors.append((section.level, heading))
    title = next((section for section in sections if section.is_top and section.heading), None)
    if not title or not title.heading or title.has("item"):
        return
    if title.has("text") and len(page.entries) == 1:  # the only entry gets the title of the file
        page.entries[0].heading = read_heading(lines, title.heading)
        page.entries[0].line = title.heading.start + 1


def _split_parts(
    lines: list[str], blocks: list[Block], context: tuple[str, ...]
) -> Iterator[Entry]:
    """Yield each item, and each run of other text between items and rules."""
    run: list[Block] = []
    for block in [*blocks, Block("rule", 0, 0)]:
        if block.kind in ("item", "rule") and run:
            yield Entry(run[0].start + 1, _join_text(lines, run), "", context)
            run = []
        if block.kind == "item":
            yield Entry(block.start + 1, read_item(lines, block).strip("\n"), "", context)
        elif block.kind == "text" or (block.kind == "comment" and run):
            run.append(block)


def _join_text(lines: list[str], blocks: list[Block]) -> str:
    """Return the lines from the first text block to the last, without comments between them."""
    texts = [block for block in blocks if block.kind in ("text", "item")]
    hidden = {
        at
        for block in blocks
        if block.kind == "comment"
        for at in range(block.start, block.last + 1)
    }
    every = range(texts[0].start, texts[-1].last + 1)
    return "\n".join(lines[at] for at in every if at not in hidden)


def _find_lead(text: str) -> str:
    """Return the first paragraph as one line, without Markdown marks such as `- ` or `> `."""
    lead: list[str] = []
    for line in text.split("\n"):
        plain = DECORATION.sub("", line + "\n", count=1).strip()
        has_words = any(map(str.isalnum, plain)) and not plain.startswith(("```", "~~~"))
        if lead and (not has_words or plain != line.strip()):
            break
        if has_words:
            lead.append(plain)
    return " ".join(" ".join(lead or [text]).split())
