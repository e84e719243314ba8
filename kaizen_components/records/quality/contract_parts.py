"""A spec in Markdown, plain text or YAML as its parts, and which of these are acceptance criteria.

One pass over the lines. Parts are spans of the text, so that a finding knows its line. Fenced and indented code is no
part; below a criterion it is something to look at.
"""

import re

from .contract_words import CRITERIA, CRITERIA_ALONE

BULLET = re.compile(
    r"(?:[-*+•‣◦]|\(?\d{1,4}(?:\.\d{1,4}){0,3}[.)]|\(?[a-z]\))[ \t]+(?:\[[ xX]\][ \t]+)?"
)
NUMBERED = re.compile(
    r"(?:\*\*)?\(?[A-Z]{1,4}-?\d{1,4}(?:\.\d{1,3}){0,3}\)?(?:\*\*)?[ \t]*[:.|)–—-](?:\*\*)?[ \t]*"
)
BOLD = re.compile(r"\*\*([^*\n]{1,120})\*\*(:?)[ \t]*|__([^_\n]{1,120})__(:?)[ \t]*")
SEPARATOR = re.compile(r"[|:\- \t]+")
SEPARATED = "|".join(
    name.replace(" ", r"[\W_]{0,3}") for name in CRITERIA.split(", ")
)  # also acceptance_criteria
NAME = re.compile(rf"(?<![^\W\d_])(?:{SEPARATED})(?![^\W_])", re.I)
ALONE = re.compile(rf"[\W\d_]*(?:{'|'.join(CRITERIA_ALONE)})[\W_]*", re.I)
TITLE_CHARS_MAX = 120
BOLD_LEVEL, LABEL_LEVEL = 7, 8  # below the six levels of headings


class Part:
    __slots__ = ("end", "indent", "kind", "observable", "start")

    def __init__(self, kind, start, end, indent=0):
        self.kind = kind  # heading, item, row or text
        self.start = start
        self.end = end
        self.indent = indent
        self.observable = False  # code stands below it


class Section:
    """A place where acceptance criteria stand."""

    def __init__(self, title, level, indent=0, in_item=False):
        self.title = title  # a Part
        self.level = level
        self.indent = indent
        self.in_item = in_item  # its title is a list item, and what hangs below is the section
        self.parts: list[Part] = []

    def criteria(self):
        """The list items; in a section without a list, its paragraphs."""
        return [part for part in self.parts if part.kind != "text"] or self.parts


def names_criteria(title: str, whole: bool = False) -> bool:
    """Is this the title of acceptance criteria? `whole`: it must begin with the name, not only have it somewhere."""
    title = title[:TITLE_CHARS_MAX]
    found = NAME.search(title)
    if found and whole:
        return not any(map(str.isalpha, title[: found.start()]))
    return bool(found or ALONE.fullmatch(title))


class Reader:
    """Reads line after line; `parts` and `sections` are what it found."""

    def __init__(self, text: str):
        self.text = text
        self.parts: list[Part] = []
        self.sections: list[Section] = []
        self.section: Section | None = None
        self.fence = ""
        self.after_blank = True
        start = 0
        for line in text.split("\n"):
            self._line(line, start)
            start += len(line) + 1

    def _line(self, line, start):
        unindented = line.lstrip(" \t>")
        stripped = unindented.rstrip()
        if not stripped:
            self.after_blank = True
            return
        lead = len(line) - len(unindented)
        indent = len(line[:lead].expandtabs(4)) if lead else 0
        begin = start + lead
        end = begin + len(stripped)
        if self._is_code(stripped, indent):
            self._code(begin, end)
            self.after_blank = True
            return
        if not self._structure(stripped, begin, end, indent):
            self._prose(stripped, begin, end, indent)
        self.after_blank = False

    def _is_code(self, stripped, indent):
        if self.fence:
            if stripped.startswith(self.fence) and not stripped.strip(self.fence[0]):
                self.fence = ""
            return True
        if stripped[:3] in ("```", "~~~"):
            self.fence = stripped[: len(stripped) - len(stripped.lstrip(stripped[0]))]
            return True
        in_yaml = self.section and self.section.level == LABEL_LEVEL
        in_item = self.parts and self.parts[-1].kind == "item"
        return (
            indent >= 4
            and self.after_blank
            and not in_yaml
            and not in_item
            and not BULLET.match(stripped)
        )

    def _code(self, begin, end):
        """Below a criterion it shows what is expected; right below the title it is a criterion of its own."""
        if self.section:
            if not self.section.parts:
                self.section.parts.append(Part("text", begin, end))
            self.section.parts[-1].observable = True

    def _structure(self, stripped, begin, end, indent):
        """Headings, rules, tables and lists; False for anything else."""
        if (
            stripped[0] == "#"
            and stripped.lstrip("#")[:1] in (" ", "\t")
            and len(stripped) > len(stripped.lstrip("#"))
        ):
            level = len(stripped) - len(stripped.lstrip("#"))
            self._heading(min(level, 6), begin, end)
        elif len(stripped) >= 3 and stripped[0] in "-=" and not stripped.strip(stripped[0]):
            self._underline(1 if stripped[0] == "=" else 2)
        elif stripped[0] == "|":
            self._row(stripped, begin, end)
        elif match := BULLET.match(self.text, begin, end):
            self._item(match.end(), end, indent)
        else:
            return False
        return True

    def _heading(self, level, begin, end):
        if self.section and level <= self.section.level:
            self.section = None
        self._title(level, begin, end, 0, names_criteria(self.text[begin:end]))

    def _title(self, level, begin, end, indent, is_criteria, in_item=False):
        title = Part("heading", begin, end, indent)
        self.parts.append(title)
        if is_criteria and self.section is None:
            self.section = Section(title, level, indent, in_item)
            self.sections.append(self.section)

    def _underline(self, level):
        """A line of --- or === makes a heading of the line before it."""
        last = self.parts[-1] if self.parts else None
        if (
            last
            and last.kind == "text"
            and not self.after_blank
            and "\n" not in self.text[last.start : last.end]
        ):
            self.parts.pop()
            if self.section and self.section.parts and self.section.parts[-1] is last:
                self.section.parts.pop()
            self._heading(level, last.start, last.end)

    def _row(self, stripped, begin, end):
        last = self.parts[-1] if self.parts else None
        if SEPARATOR.fullmatch(stripped):  # what stands above it is the table's head
            if last and last.kind == "row" and not self.after_blank:
                last.kind = "heading"
                if self.section and last in self.section.parts[-1:]:
                    self.section.parts.pop()
            return
        self._add("row", self._unnumbered(begin + 1, end), end - stripped.endswith("|"), 0)

    def _item(self, begin, end, indent):
        section = self.section
        if section and section.in_item and indent <= section.indent:
            self.section = None
        while match := BULLET.match(self.text, begin, end):  # "- 1. text"
            begin = match.end()
        if not self._label(begin, end, indent, in_item=True):
            begin = self._unnumbered(begin, end)
            if (
                self.text[begin] in "\"'"
                and self.text[end - 1] == self.text[begin]
                and end - begin > 2
            ):
                begin, end = begin + 1, end - 1  # a quoted text of YAML quotes nothing
            self._add("item", begin, end, indent)

    def _unnumbered(self, begin, end):
        """Past a criterion's own number, such as AC-1: it is not a number to check."""
        while begin < end - 1 and self.text[begin] in " \t":
            begin += 1
        match = NUMBERED.match(self.text, begin, end)
        return match.end() if match and match.end() < end else begin

    def _prose(self, stripped, begin, end, indent):
        section, last = self.section, self.parts[-1] if self.parts else None
        if self._label(begin, end, indent):
            return
        goes_on = not self.after_blank or (
            last is not None and last.kind == "item" and indent > last.indent
        )
        if last and goes_on and last.kind in ("item", "text"):
            last.end = end
            return
        if section and section.level == LABEL_LEVEL and section.parts and indent <= section.indent:
            self.section = None
        self._add("text", begin, end, indent)

    def _label(self, begin, end, indent, in_item=False):
        """`**Done when**`, `Acceptance criteria:`, `acceptance_criteria:`; True if the line is one and dealt with."""
        title, rest, bold = self._labelled(begin, end)
        if title is None:
            return False
        if names_criteria(title, whole=rest < end) and (
            self.section is None or self.section.level >= BOLD_LEVEL
        ):
            self.section = None
            level = BOLD_LEVEL if bold and rest >= end else LABEL_LEVEL
            self._title(level, begin, min(rest, end), indent, True, in_item)
            self._inline(rest, end)
            return True
        if not in_item:
            self._close_before_label(indent, bold, rest < end)
        return False

    def _labelled(self, begin, end):
        """(title, where the rest begins, is it bold) of a label, or (None, …)."""
        text = self.text
        if text[begin] in "*_" and (bold := BOLD.match(text, begin, end)):
            title = bold[1] or bold[3]
            if bold[2] or bold[4] or title.rstrip().endswith(":") or bold.end() >= end:
                return title, bold.end(), True
        colon = text.find(":", begin, min(end, begin + TITLE_CHARS_MAX))
        if (
            colon > begin
            and text[begin] not in "*_"
            and (colon + 1 == end or text[colon + 1] in " \t")
        ):
            rest = text[colon + 1 : end]
            return text[begin:colon].strip("\"'"), end - len(rest.lstrip()), False
        if text[begin].isalpha() and NAME.fullmatch(text, begin, end):
            return text[begin:end], end, False
        return None, end, False

    def _close_before_label(self, indent, bold, has_rest):
        section = self.section
        ends = (
            section
            and section.level >= BOLD_LEVEL
            and indent <= section.indent
            and (section.parts or has_rest)
        )
        if section and ends and (bold or section.level == LABEL_LEVEL):
            self.section = None

    def _inline(self, begin, end):
        """What stands behind the label on its line: a text, or a list of YAML."""
        rest = self.text[begin:end]
        if rest[:1] == "[" and rest[-1:] == "]":
            for match in re.finditer(r"[^\[\],\"']+", rest):
                if match[0].strip():
                    self._add("item", begin + match.start(), begin + match.end(), 0)
        elif rest not in ("", "|", ">", "|-", ">-"):
            self._add("text", begin, end, 0)

    def _add(self, kind, begin, end, indent):
        part = Part(kind, begin, end, indent)
        self.parts.append(part)
        if self.section:
            self.section.parts.append(part)
