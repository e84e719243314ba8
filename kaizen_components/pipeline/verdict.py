"""The verdict on a step, in the same form for every check and gate."""

from __future__ import annotations

from typing import Any

from ..sandbox.run import SandboxResult

# Why a step ended -> what that means. The protocol says where each reason leads.
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
    """One fault: its rule, text and place. Two findings with equal keys are the same fault."""

    def __init__(self, rule: str, text: str, path: str = "", line: int = 0):
        self.rule = rule
        self.text = text
        self.path = path
        self.line = line

    @property
    def key(self) -> tuple[str, str, str]:
        # Without the line, which moves with the code above it.
        return self.path, self.rule, self.text

    def as_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "path": self.path, "line": self.line, "text": self.text}


class Verdict:
    """How a step ended: the reason, a sentence, the findings, and the commands that ran."""

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
