"""Describe what a gate decided and saw, in one shape, so that one place records every gate."""

from __future__ import annotations

from typing import Any

from ..sandbox.run import SandboxResult

# reason of a step's end -> its meaning. The protocol says where each reason leads.
REASONS = {
    "pass": "everything holds",
    "malformed": "the answer does not have the requested form",
    "check": "a tool or a rule found something new",
    "more": "there is more to find out, and rounds are left",
    "regression": "what passed before does not pass any more",
    "weak": "the tests do not show what they should",
    "flaky": "the same tests end differently on the same tree",
    "ambiguous": "the builder cannot tell what is wanted",
    "reject": "the reviewer names an unmet criterion",
    "missing": "a tool is missing, or the sandbox is too weak",
}


class Finding:
    """One fault: where, by which rule, in words. Equal keys are the same finding again."""

    def __init__(self, rule: str, text: str, path: str = "", line: int = 0):
        self.rule = rule
        self.text = text
        self.path = path
        self.line = line

    @property
    def key(self) -> tuple[str, str, str]:
        return self.path, self.rule, self.text  # not the line, which moves with the code above it

    def as_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "path": self.path, "line": self.line, "text": self.text}


class Verdict:
    """The end of one step: its reason, a sentence, the findings, and the commands that ran."""

    def __init__(
        self,
        reason: str,
        says: str,
        findings: list[Finding] | None = None,
        runs: list[SandboxResult] | None = None,
        facts: dict[str, Any] | None = None,
    ):
        assert reason in REASONS, reason
        self.reason = reason
        self.says = says
        self.findings = findings or []
        self.runs = runs or []
        self.facts = facts or {}

    @property
    def is_pass(self) -> bool:
        return self.reason == "pass"
