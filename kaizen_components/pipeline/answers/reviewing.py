"""The reviewer's answer, and what is looked at before he is asked."""

from typing import Any

from ..protocol import Step
from ..target.review import find_objections
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict
from .context import StepContext
from .kind import Structured, count_faults

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

    def values(self, work: Workspace, asked: StepContext) -> dict[str, Any]:
        return {"diff": self._diff(work, asked)}

    def _diff(self, work, asked):
        return work.diff_text(
            work.candidate(asked.spec, asked.text("edits") or "", asked.text("tests"))
        )

    def judge(self, step: Step, work: Workspace, asked: StepContext, text: str) -> Verdict:
        review = self.read(text)
        if review["verdict"] == "approve":
            return Verdict("pass", "The reviewer approves.")
        reasons = [Finding(reason["criterion"], reason["text"]) for reason in review["reasons"]]
        return Verdict(
            "reject", "; ".join(f"{one.rule}: {one.text}" for one in reasons)[:2000], reasons
        )

    def find_objection(self, work: Workspace, asked: StepContext) -> Verdict | None:
        """A reviewer is not asked about what the spec does not allow, nor about what he could see only in part."""
        changes = work.changes(asked.text("edits"), asked.text("tests"))
        wrong = find_objections(asked.spec, changes, work.read, set(work.paths()))
        if wrong:
            return Verdict(
                "check", f"The spec does not allow {count_faults(wrong, 'thing')}.", wrong
            )
        size = len(self._diff(work, asked))
        if size <= DIFF_CHARS_MAX:
            return None
        says = f"The diff has {size:,} characters, and a reviewer is shown {DIFF_CHARS_MAX:,} at most: ask for less."
        return Verdict("missing", says, [Finding("diff", says)])
