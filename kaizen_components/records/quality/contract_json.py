"""A spec in JSON as its parts: every text is one, and those below a key such as acceptance_criteria are criteria."""

import re

from .contract_parts import LABEL_LEVEL, Part, Section, names_criteria

TOKEN = re.compile(r'"((?:[^"\\]|\\.)*)"(\s*:)?|[\[\]{}]')
ESCAPES = {
    "\\n": "  ",
    "\\t": "  ",
    "\\r": "  ",
    '\\"': ' "',
}  # as long as they were: a finding knows its line


def is_json(text: str) -> bool:
    import json

    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class JsonReader:
    """`text` is the spec with all but its texts blanked out, and every text where it stood."""

    def __init__(self, text: str):
        self.parts: list[Part] = []
        self.sections: list[Section] = []
        self.around: list[str] = []  # the brackets that are open
        self.section: Section | None = None
        self.joined: Part | None = None  # the texts of one object are one criterion
        self.text = TOKEN.sub(self._token, text)

    def _token(self, match):
        if match[0] in ("{", "["):
            self.around.append(match[0])
            self.joined = None
        elif match[0] in ("}", "]"):
            self.around.pop()
            self.joined = None
            if self.section and len(self.around) <= self.section.indent:
                self.section = None
        elif match[2]:
            self._key(match)
        else:
            self._value(match.start(1), match.end(1))
            return " " + re.sub(r'\\[nrt"]', lambda escape: ESCAPES[escape[0]], match[1]) + " "
        return re.sub(r"[^\n]", " ", match[0])

    def _key(self, match):
        depth = len(self.around)
        if self.section and depth == self.section.indent:
            self.section = None
        if self.section is None and names_criteria(match[1]):
            self.section = Section(
                Part("heading", match.start(1), match.end(1)), LABEL_LEVEL, depth
            )
            self.sections.append(self.section)

    def _value(self, start, end):
        if self.joined:
            self.joined.end = end
            return
        part = Part("item" if self.section else "text", start, end)
        self.parts.append(part)
        if self.section is None:
            return
        self.section.parts.append(part)
        if len(self.around) == self.section.indent:
            self.section = None
        elif self.around[-1] == "{":
            self.joined = part
