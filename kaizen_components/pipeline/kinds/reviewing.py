"""The reviewer's answer, and what is looked at before he is asked."""

from typing import Any

from ..asked import Asked
from ..protocol import Step
from ..review import objections
from ..verdict import Finding, Verdict
from ..work import Work
from .kind import Structured, faults

DIFF_CHARS_MAX = 60_000


class ReviewKind(Structured):
    contract = "review"
    reasons = ("pass", "malformed", "reject", "check")
    needs = ("spec", "edits")
    needs_anyway = ("edits",)
    is_result = False
    checked = """\
Keeps to the schema; a rejection names at least one reason. Forbidden paths, dependencies and schemas were looked at
before."""

    def values(self, work: Work, asked: Asked) -> dict[str, Any]:
        commit = work.candidate(asked.spec, asked.text("edits") or "", asked.text("tests"))
        return {"diff": work.diff(commit)[:DIFF_CHARS_MAX]}

    def judge(self, step: Step, work: Work, asked: Asked, text: str) -> Verdict:
        review = self.read(text)
        if review["verdict"] == "approve":
            return Verdict("pass", "The reviewer approves.")
        reasons = [Finding(reason["criterion"] or "unmet", reason["text"]) for reason in review["reasons"]]
        return Verdict("reject", "; ".join(f"{one.rule}: {one.text}" for one in reasons)[:2000], reasons)

    def objection(self, work: Work, asked: Asked) -> Verdict | None:
        """A reviewer is not asked about what the spec does not allow."""
        changes = work.changes(asked.text("edits"), asked.text("tests"))
        wrong = objections(asked.spec, changes, work.read, set(work.paths()))
        return Verdict("check", f"The spec does not allow {faults(wrong, 'thing')}.", wrong) if wrong else None
