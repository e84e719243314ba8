"""What a tool found in a tree, and which of its findings are new."""

import os
import re
from collections import Counter
from typing import Any

from ....sandbox.run import SandboxResult
from ...verdict import Finding

# "already defined on line 12": the line moves, the finding does not.
LINE_NUMBER = re.compile(r"\bline \d+")
OUTPUT_CHARS_MAX = 2_000


class LocatedFinding:
    """A finding and the text of its line, which identifies it when lines move."""

    def __init__(self, rule: str, text: str, path: str, line: int, source: str):
        self.finding = Finding(rule, text, path, line)
        self.key = (path, rule, LINE_NUMBER.sub("line N", text), source)

    def as_list(self) -> list[Any]:
        finding = self.finding
        return [finding.rule, finding.text, finding.path, finding.line, self.key[3]]


class ToolResult:
    """The result of one tool on one tree. `failure` says why it cannot be used."""

    def __init__(
        self,
        tool: str,
        findings: list[LocatedFinding],
        boxed: SandboxResult | None = None,
        failure: str = "",
    ):
        self.tool = tool
        self.findings = findings
        self.boxed = boxed
        self.failure = failure


def make_broken_result(tool: str, boxed: SandboxResult, why: str, folder: str) -> ToolResult:
    """Return the result of a tool that failed, with the end of its output and relative paths."""
    output = boxed.stderr.text().strip() or boxed.stdout.text().strip()
    output = output.replace(os.path.join(folder, ""), "")[-OUTPUT_CHARS_MAX:]
    why = "it did not end in time" if boxed.timed_out else why
    failure = f"{tool} failed: {why} (exit code {boxed.exit_code}). {output}".strip()
    return ToolResult(tool, [], boxed, failure)


def find_new_findings(
    base: list[LocatedFinding], head: list[LocatedFinding], changed: dict[str, set[int]]
) -> list[Finding]:
    """Return the findings that head has and base has not.

    If head has more equal findings than base, those on changed lines count as new.
    """

    def is_on_changed_line(located: LocatedFinding) -> bool:
        return located.finding.line in changed.get(located.finding.path, ())

    known = Counter(located.key for located in base)
    findings = []
    for located in sorted(head, key=is_on_changed_line):
        if known[located.key]:
            known[located.key] -= 1
        else:
            findings.append(located.finding)
    return sorted(findings, key=lambda one: (one.path, one.line, one.rule, one.text))
