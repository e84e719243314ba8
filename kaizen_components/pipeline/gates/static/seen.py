"""What a tool found in a tree, and what of it is new."""

import os
import re
from collections import Counter
from typing import Any

from ....sandbox.run import Boxed
from ...verdict import Finding

LINE_NUMBER = re.compile(
    r"\bline \d+"
)  # "already defined on line 12": the line moves, the finding does not
SAID_CHARS_MAX = 2_000


class Located:
    """A finding and the text of its line, by which it is known again when lines move."""

    def __init__(self, rule: str, text: str, path: str, line: int, source: str):
        self.finding = Finding(rule, text, path, line)
        self.key = (path, rule, LINE_NUMBER.sub("line N", text), source)

    def as_list(self) -> list[Any]:
        one = self.finding
        return [one.rule, one.text, one.path, one.line, self.key[3]]


class Seen:
    """One tool on one tree. `broken` says why its answer counts for nothing."""

    def __init__(
        self, tool: str, found: list[Located], boxed: Boxed | None = None, broken: str = ""
    ):
        self.tool = tool
        self.found = found
        self.boxed = boxed
        self.broken = broken


def broken(tool: str, boxed: Boxed, why: str, folder: str) -> Seen:
    """The tool did not do its work; what it said last is kept, without the folder that it was said in."""
    said = boxed.stderr.text().strip() or boxed.stdout.text().strip()
    said = said.replace(os.path.join(folder, ""), "")[-SAID_CHARS_MAX:]
    why = "it did not end in time" if boxed.timed_out else why
    return Seen(
        tool, [], boxed, f"{tool} broke: {why} (exit code {boxed.exit_code}). {said}".strip()
    )


def new(base: list[Located], head: list[Located], changed: dict[str, set[int]]) -> list[Finding]:
    """What head has more of than base, sorted. Of several alike, those on changed lines are the new ones."""
    known = Counter(one.key for one in base)
    found = []
    for one in sorted(head, key=lambda one: one.finding.line in changed.get(one.finding.path, ())):
        if known[one.key]:
            known[one.key] -= 1
        else:
            found.append(one.finding)
    return sorted(found, key=lambda one: (one.path, one.line, one.rule, one.text))
