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
        sandbox_run: SandboxResult | None = None,
        failure: str = "",
    ):
        self.tool = tool
        self.findings = findings
        self.sandbox_run = sandbox_run
        self.failure = failure


def make_broken_result(tool: str, sandbox_run: SandboxResult, why: str, folder: str) -> ToolResult:
    """Return the result of a tool that failed, with the end of its output and relative paths."""
    output = sandbox_run.stderr.text().strip() or sandbox_run.stdout.text().strip()
    output = output.replace(os.path.join(folder, ""), "")[-OUTPUT_CHARS_MAX:]
    why = "it did not end in time" if sandbox_run.timed_out else why
    failure = f"{tool} failed: {why} (exit code {sandbox_run.exit_code}). {output}".strip()
    return ToolResult(tool, [], sandbox_run, failure)


def find_new_findings(
    base: list[LocatedFinding], head: list[LocatedFinding], changed_lines: dict[str, set[int]]
) -> list[Finding]:
    """Return the findings in head that are not in base.

    If head has more equal findings than base, those on changed lines count as new.
    """

    def is_on_changed_line(located_finding: LocatedFinding) -> bool:
        return located_finding.finding.line in changed_lines.get(located_finding.finding.path, ())

    base_counts = Counter(located_finding.key for located_finding in base)
    findings = []
    for located_finding in sorted(head, key=is_on_changed_line):
        if base_counts[located_finding.key]:
            base_counts[located_finding.key] -= 1
        else:
            findings.append(located_finding.finding)
    return sorted(findings, key=lambda row: (row.path, row.line, row.rule, row.text))
