"""A Markdown file of lessons as entries: what becomes one record each.

A heading with text below it, up to the next heading of any level, is a section. What is an entry:

- a section with nothing but a list below its heading: each outermost item, with all that is nested in it;
- any other section with text: the section as a whole; its heading is the title;
- text before the first heading and directly below the title of the file: each outermost item, and each run of
  anything else between items and rules; but text that is all there is below the title is one entry with that title.

The title of the file is a first heading of level 1 without another one of that level. Not entries: front matter, HTML
comments outside of other text, rules, empty items, the lines of a stub of ours, and headings that have no text of their
own; such a heading is context for what stands below it, and `bare` lists those that nothing stands below. An underlined
"heading" with nothing below is a paragraph above a rule. A comment or front matter that never ends is text. Every other
line is in exactly one entry, and a test holds this against generated Markdown.

`source_hash` is over kind, path, headings, text and a number among equals in the file: equal items are all kept.
A change of these rules changes the hashes, and M4 would no longer find what older rules recorded; how titles and
summaries are cut from the text may change.
"""

import re
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
    context: tuple[str, ...] = ()  # the headings around it, the outermost first
    occurrence: int = 1

    @property
    def title(self) -> str:
        return shorten_text(self.heading or _first_sentence(_lead(self.text)), TITLE_CHARS_MAX)

    @property
    def summary(self) -> str:
        around = shorten_text(" › ".join(self.context), CONTEXT_CHARS_MAX)
        return shorten_text(
            f"{around}: {_lead(self.text)}" if around else _lead(self.text), SUMMARY_CHARS_MAX
        )

    @property
    def body(self) -> str:
        is_whole = len(self.heading) <= TITLE_CHARS_MAX
        return self.text if is_whole else f"{self.heading}\n\n{self.text}"

    def source_hash(self, kind: str, path: str) -> str:
        return hash_text(encode_canonical([kind, path, *self._identity(), self.occurrence]))

    def _identity(self):
        return list(self.context), self.heading, strip_line_ends(self.text)


@dataclass
class Page:
    """What a file says."""

    entries: list[Entry] = field(default_factory=list)
    front_matter: list[str] = field(default_factory=list)  # its keys
    bare: list[tuple[int, str]] = field(
        default_factory=list
    )  # (line, text) of headings with nothing below
    is_stub: bool = False


@dataclass
class Section:
    heading: Block | None
    blocks: list[Block]
    is_top: bool = False

    @property
    def level(self):
        return self.heading.level if self.heading else 0

    def has(self, kind):
        return any(block.kind == kind for block in self.blocks)


def read_page(text: str) -> Page:
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    page = Page()
    stubs = find_stub_lines(lines)
    page.is_stub = bool(stubs)
    lines = ["" if at in stubs else line for at, line in enumerate(lines)]
    end, page.front_matter = _front_matter(lines)
    lines[:end] = [""] * end
    _collect(page, lines, _sections(lines))
    seen: dict[str, int] = {}
    for entry in page.entries:
        identity = encode_canonical(list(entry._identity()))
        entry.occurrence = seen[identity] = seen.get(identity, 0) + 1
    return page


def strip_line_ends(text: str) -> str:
    """Text as it is compared: blanks at the ends of lines say nothing."""
    return "\n".join(line.rstrip() for line in text.split("\n"))


def shorten_text(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    at_word = cut.rpartition(" ")[0].rstrip()
    return (at_word if len(at_word) > most // 2 else cut.rstrip()) + "…"


def _front_matter(lines):
    """(how many lines it takes, its keys); only what looks like YAML between two --- lines, else it is text."""
    if lines[0].rstrip() != "---" or len(lines) < 2 or not KEY.match(lines[1]):
        return 0, []
    for at, line in enumerate(lines[1:], 1):
        if line.rstrip() in ("---", "..."):
            return at + 1, [
                one.partition(":")[0].strip("\"' ") for one in lines[1:at] if KEY.match(one)
            ]
        if not KEY.match(line) and not IN_FRONT.match(line):
            break
    return 0, []


def _sections(lines):
    """The blocks below each heading. The first section has no heading, and may be empty."""
    found = [_settled(lines, block) for block in read_blocks(lines)]
    sections = [Section(None, [], True)]
    for block in found:
        if block.kind == "heading":
            sections.append(Section(block, []))
        else:
            sections[-1].blocks.append(block)
    begins = not sections[0].has("text") and not sections[0].has("item")
    if (
        begins
        and len(sections) > 1
        and [section.level for section in sections].count(1) == 1 == sections[1].level
    ):
        sections[1].is_top = True
    return _without_false_headings(sections)


def _settled(lines, block):
    """A comment with other words on its lines is text; an item without any is no more than a rule."""
    if block.kind == "item" and not read_item(lines, block).strip():
        block.kind = "rule"
    if (
        block.kind == "comment"
        and COMMENT.sub("", "\n".join(lines[block.start : block.last + 1])).strip()
    ):
        block.kind = "text"
    return block


def _without_false_headings(sections):
    """An underlined heading with nothing below, goes to the section before it."""
    kept = sections[:1]
    for at, section in enumerate(sections[1:], 1):
        block, is_leaf = section.heading, _is_leaf(sections, at)
        if is_leaf and block.underlined and not section.is_top:
            block.kind = "text"
            kept[-1].blocks += [block, *section.blocks]
        else:
            kept.append(section)
    return kept


def _is_leaf(sections, at):
    """Has the heading nothing below it, but perhaps deeper headings of the same sort?"""
    for below in range(at, len(sections)):
        section = sections[below]
        if below > at and section.level <= sections[at].level:
            break
        if section.has("text") or section.has("item"):
            return False
    return True


def _collect(page, lines, sections):
    around: list[tuple[int, str]] = []
    for at, section in enumerate(sections):
        heading = read_heading(lines, section.heading) if section.heading else ""
        around = [(level, text) for level, text in around if level < section.level]
        context = tuple(text for _, text in around if text)
        if section.is_top:
            page.entries += _in_parts(lines, section.blocks, context)
        elif section.has("text"):
            text = _text(lines, section.blocks)
            page.entries.append(Entry(section.heading.start + 1, text, heading, context))
        elif section.has("item"):
            page.entries += _in_parts(
                lines, section.blocks, (*context, heading) if heading else context
            )
        elif _is_leaf(sections, at) and heading:
            page.bare.append((section.heading.start + 1, heading))
        if section.heading and not section.is_top:
            around.append((section.level, heading))
    _name_by_title(page, lines, sections)


def _name_by_title(page, lines, sections):
    """Text that is all there is below the title of a file has that title."""
    title = next((section for section in sections if section.is_top and section.heading), None)
    if title and len(page.entries) == 1 and title.has("text") and not title.has("item"):
        page.entries[0].heading = read_heading(lines, title.heading)
        page.entries[0].line = title.heading.start + 1


def _in_parts(lines, found, context):
    """Each item, and each run of other text between items and rules."""
    entries: list[Entry] = []
    run: list[Block] = []
    for block in [*found, Block("rule", 0, 0)]:
        if block.kind in ("item", "rule"):
            entries += [Entry(run[0].start + 1, _text(lines, run), "", context)] if run else []
            run = []
        if block.kind == "item":
            entries.append(Entry(block.start + 1, read_item(lines, block).strip("\n"), "", context))
        elif block.kind == "text" or (block.kind == "comment" and run):
            run.append(block)
    return entries


def _text(lines, found):
    """The lines from the first text to the last, without the comments between."""
    said = [block for block in found if block.kind in ("text", "item")]
    hidden = {
        at
        for block in found
        if block.kind == "comment"
        for at in range(block.start, block.last + 1)
    }
    return "\n".join(
        lines[at] for at in range(said[0].start, said[-1].last + 1) if at not in hidden
    )


def _lead(text):
    """The first paragraph in one line, without the marks before it."""
    taken: list[str] = []
    for line in text.split("\n"):
        plain = DECORATION.sub("", line + "\n", count=1).strip()
        says = any(map(str.isalnum, plain)) and not plain.startswith(("```", "~~~"))
        if taken and (not says or plain != line.strip()):
            break
        if says:
            taken.append(plain)
    return " ".join(" ".join(taken or [text]).split())


def _first_sentence(lead):
    for end in SENTENCE_END.finditer(lead):
        follows = end[1] or ""
        if not follows.islower() and not follows.isdigit():  # "e.g. this" goes on
            return lead[: end.end()]
    return lead
