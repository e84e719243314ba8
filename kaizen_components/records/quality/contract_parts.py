"""Split a spec in Markdown or JSON into parts, and find its acceptance criteria."""

import json
import re
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property

from ..markdown import read_tokens

# A heading or label with one of these names starts a section of criteria. A space also matches "_".
NAMES = (
    "acceptance (?:criteria|criterion|tests|checks|conditions)|criteria for acceptance|"
    "done (?:when|if|criteria)|definition of done|must (?:all )?(?:be true|hold)|"
    "(?:success|exit|completion) criteria|conditions of satisfaction|how we will know"
).replace(" ", r"[\W_]{0,3}")
NAME = re.compile(rf"(?<![^\W\d_])(?:{NAMES})(?![^\W_])", re.IGNORECASE)
NAME_ALONE = re.compile(r"[\W\d_]*(?:acceptance|criteria|dod|ac)[\W_]*", re.IGNORECASE)
BARE_LABEL = re.compile(rf"[\W_]*(?:what )?(?:{NAMES})[\W_]*", re.IGNORECASE)
TITLE_CHARS_MAX = 120
LABEL_LEVEL = 7  # below the six levels of headings
# A checkbox and a number such as AC-1 before a criterion. They are not part of its text.
NUMBER = re.compile(
    r"(?:\[[ xX]\] +)?(?:(?:\*\*)?\(?[A-Z]{1,4}-?\d{1,4}(?:\.\d{1,3})*\)?(?:\*\*)?[ \t]*"
    r"[:.|)–—-](?:\*\*)?[ \t]*)?"
)
YAML_KEY = re.compile(r"[\w-]{1,60}:")
JSON_TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[\[\]{}]')


@dataclass
class Part:
    kind: str  # heading, item or text
    line: int  # counted from 1
    text: str
    depth: int = 0  # of nested lists
    details: list["Part"] = field(default_factory=list)  # further texts of the same item
    has_code: bool = False

    @cached_property
    def line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self.text)]

    def find_line(self, position: int) -> int:
        """Return the line of a position in the text."""
        return self.line + bisect_left(self.line_ends, position)


@dataclass
class Section:
    """A place with acceptance criteria."""

    title: Part
    level: int
    parts: list[Part] = field(default_factory=list)

    @property
    def criteria(self) -> list[Part]:
        """The list items; without a list, the paragraphs."""
        return [part for part in self.parts if part.kind == "item"] or self.parts


class SpecReader:
    """Read a spec into `parts` and, for acceptance criteria, `sections`."""

    def __init__(self, text: str) -> None:
        self.parts: list[Part] = []
        self.sections: list[Section] = []
        self.section: Section | None = None  # the current section of criteria
        text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        try:
            is_json = text.lstrip()[:1] in ("{", "[") and json.loads(text) is not None
        except (ValueError, RecursionError):
            is_json = False
        if is_json:
            self._read_json(text)
        else:
            self._read_markdown(text)

    def _read_markdown(self, text: str) -> None:
        """Read headings, paragraphs, list items and table rows as parts."""
        depth, heading_level, is_new_item = 0, 0, False
        cells: list[str] | None = None  # of the current table row
        for token in read_tokens(text, "table"):
            line = token.map[0] + 1 if token.map else 0
            if token.type.endswith("_list_open"):
                depth += 1
            elif token.type.endswith("_list_close"):
                depth -= 1
            elif token.type == "list_item_open":
                is_new_item = True
            elif token.type == "heading_open":
                heading_level = int(token.tag[1])
            elif token.type == "tr_open":
                cells, row_line = [], line
            elif token.type == "th_close":
                cells = []  # column names are not criteria
            elif token.type == "tr_close":
                self._add_paragraph("item", row_line, " | ".join(cells or ()), depth)
                cells = None
            elif token.type in ("fence", "code_block") and self.section:
                if not self.section.parts:  # code right below the title is a criterion
                    self.section.parts.append(Part("text", line, token.content, depth))
                self.section.parts[-1].has_code = True
            elif token.type != "inline":
                continue
            elif cells is not None:
                cells.append(token.content)
            elif heading_level:
                title = Part("heading", line, token.content)
                self.parts.append(title)
                if self.section and heading_level <= self.section.level:
                    self.section = None
                start = token.content[:TITLE_CHARS_MAX]
                is_name = NAME.search(start) or NAME_ALONE.fullmatch(start)
                if self.section is None and is_name:
                    self._open_section(title, heading_level)
                heading_level = 0
            else:
                kind = "item" if is_new_item else "text"
                self._add_paragraph(kind, line, token.content, depth)
                is_new_item = False

    def _open_section(self, title: Part, level: int) -> None:
        self.section = Section(title, level)
        self.sections.append(self.section)

    def _add_paragraph(self, kind: str, line: int, text: str, depth: int) -> None:
        """Add a paragraph as one part, or as several if labels divide it."""
        section = self.section
        if section and section.level == LABEL_LEVEL and depth <= section.title.depth:
            # A paragraph or an item at the level of the label ends the list below the label.
            is_end = section.parts if kind == "text" else depth
            self.section = None if is_end else section
        first, lines = 0, text.split("\n")
        for at, words in enumerate(lines):
            if self.section and self.section.level < LABEL_LEVEL:
                break
            label = parse_label(words)
            if label or (self.section and at and YAML_KEY.fullmatch(words)):
                self._add_part(kind, line + first, lines[first:at], depth)
                self.section = None
                first, kind = at, "text"
            if label:
                self._open_section(Part("heading", line + at, label[0], depth), LABEL_LEVEL)
                self.parts.append(self.sections[-1].title)
                value = label[1]
                if value[:1] == "[" and value[-1:] == "]":
                    for item in value[1:-1].split(","):
                        self._add_part("item", line + at, [item.strip(" \t\"'")], depth + 1)
                elif value not in ("|", ">", "|-", ">-"):
                    self._add_part("text", line + at, [value], depth)
                first = at + 1
        self._add_part(kind, line + first, lines[first:], depth)

    def _add_part(self, kind: str, line: int, lines: list[str], depth: int) -> None:
        """Add lines as a part, also to the current section; drop an item's number and quotes."""
        text = "\n".join(lines)
        if kind == "item":
            number = NUMBER.match(text)
            text = text[number.end() :] if number and number.end() < len(text) else text
            if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'":
                text = text[1:-1]  # quotes as in YAML
        if not text.strip():
            return
        part = Part(kind, line, text, depth)
        if kind == "text" and depth and self.parts and self.parts[-1].kind == "item":
            self.parts[-1].details.append(part)
            return
        self.parts.append(part)
        if self.section:
            self.section.parts.append(part)

    def _read_json(self, text: str) -> None:
        """Read each string as a part with its line. The strings of one object are one criterion."""
        line, at = 1, 0
        brackets: list[str] = []  # the open ones
        item: Part | None = None
        for match in JSON_TOKEN.finditer(text):
            line, at = line + text.count("\n", at, match.start()), match.start()
            if match[0] in ("{", "["):
                brackets.append(match[0])
                item = None
                continue
            if match[0] in ("}", "]"):
                brackets.pop()
                item = None
            is_inside = self.section and len(brackets) > self.section.title.depth
            if not is_inside and (match[2] or match[1] is None):
                self.section = None
            if match[2] and self.section is None and NAME.search(match[1]):
                self._open_section(Part("heading", line, match[1], len(brackets)), LABEL_LEVEL)
            elif match[1] and not match[2]:
                words = json.loads(f'"{match[1]}"', strict=False)
                part = Part("item" if self.section else "text", line, words, len(brackets))
                if item:
                    item.details.append(part)
                    continue
                self.parts.append(part)
                if self.section:
                    self.section.parts.append(part)
                    item = part if brackets[-1] == "{" else None


def parse_label(line: str) -> tuple[str, str] | None:
    """Return the title and the value of a line such as `**Done when:** it exits 0`."""
    title, colon, _ = line[:TITLE_CHARS_MAX].partition(":")
    value = line[len(title) + 1 :].strip("*_ \t")
    if not colon:
        return (title, "") if BARE_LABEL.fullmatch(title) else None
    name = NAME.search(title)
    if not name or (value and (any(map(str.isalpha, title[: name.start()])))):
        return None
    return title, value
