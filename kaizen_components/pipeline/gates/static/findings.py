"""What a tool found in a tree, and what of it is new."""

import os
import re
from collections import Counter
from typing import Any

from ....sandbox.run import SandboxResult
from ...verdict import Finding

LINE_NUMBER = re.compile(
    r"\bline \d+"
)  # "already defined on line 12": the line moves, the finding does not
SAID_CHARS_MAX = 2_000


class LocatedFinding:
    """A finding and the text of its line, by which it is known again when lines move."""

    def __init__(self, rule: str, text: str, path: str, line: int, source: str):
        self.finding = Finding(rule, text, path, line)
        self.key = (path, rule, LINE_NUMBER.sub("line N", text), source)

    def as_list(self) -> list[Any]:
        one = self.finding
        return [one.rule, one.text, one.path, one.line, self.key[3]]


class ToolResult:
    """One tool on one tree. `broken` says why its answer counts for nothing."""

    def __init__(
        self,
        tool: str,
        found: list[LocatedFinding],
        boxed: SandboxResult | None = None,
        broken: str = "",
    ):
        self.tool = tool
        self.found = found
        self.boxed = boxed
        self.broken = broken


def make_broken_result(tool: str, boxed: SandboxResult, why: str, folder: str) -> ToolResult:
    """The tool did not do its work; what it said last is kept, without the folder that it was said in."""
    said = boxed.stderr.text().strip() or boxed.stdout.text().strip()
    said = said.replace(os.path.join(folder, ""), "")[-SAID_CHARS_MAX:]
    why = "it did not end in time" if boxed.timed_out else why
    return ToolResult(
        tool, [], boxed, f"{tool} broke: {why} (exit code {boxed.exit_code}). {said}".strip()
    )


def find_new(
    base: list[LocatedFinding], head: list[LocatedFinding], changed: dict[str, set[int]]
) -> list[Finding]:
    """What head has more of than base, sorted. Of several alike, those on changed lines are the new ones."""
    known = Counter(one.key for one in base)
    found = []
    for one in sorted(head, key=lambda one: one.finding.line in changed.get(one.finding.path, ())):
        if known[one.key]:
            known[one.key] -= 1
        else:
            found.append(one.finding)
    return sorted(found, key=lambda one: (one.path, one.line, one.rule, one.text))
