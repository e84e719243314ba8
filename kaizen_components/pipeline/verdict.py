"""The verdict of a step: one shape for every gate, so that one place records them all."""

from typing import Any

from ..sandbox.run import SandboxResult

# How a step can end. The protocol says for each step where every reason leads.
REASONS = (
    "pass",        # everything holds
    "malformed",   # the answer is not in the form that was asked for
    "check",       # a tool or a rule found something new
    "regression",  # what passed before does not any more
    "weak",        # the tests do not show what they should
    "flaky",       # the same tests end differently on the same tree
    "ambiguous",   # the builder cannot decide what is wanted
    "more",        # there is more to find out, and rounds are left
    "reject",      # the reviewer names an unmet criterion
    "missing",     # a tool is not there, or the sandbox is too weak
)  # fmt: skip


class Finding:
    """One fault: where, by which rule, in words. The same fault has the same `key` again."""

    def __init__(self, rule: str, text: str, path: str = "", line: int = 0):
        self.rule = rule
        self.text = text
        self.path = path
        self.line = line

    @property
    def key(self) -> tuple[str, str, str]:
        # Without the line: a finding moves with the code above it.
        return self.path, self.rule, self.text

    def as_dict(self) -> dict[str, Any]:
        return {"rule": self.rule, "path": self.path, "line": self.line, "text": self.text}


class Verdict:
    """The end of one step: the reason, a sentence, the findings, and every command that was run."""

    def __init__(
        self, reason: str, says: str, findings: list[Finding] | None = None,
        runs: list[SandboxResult] | None = None, facts: dict[str, Any] | None = None,
    ):  # fmt: skip
        assert reason in REASONS, reason
        self.reason = reason
        self.says = says
        self.findings = findings or []
        self.runs = runs or []
        self.facts = facts or {}

    @property
    def passed(self) -> bool:
        return self.reason == "pass"
