"""The reviewer's answer, and the objections that reject a change without a review."""

from typing import Any

from ..protocol import Step
from ..target.review import find_objections
from ..target.workspace import Workspace
from ..verdict import Finding, Verdict
from .context import StepContext
from .kind import StructuredKind, format_count

DIFF_CHARS_MAX = 60_000


class ReviewKind(StructuredKind):
    contract = "review"
    reasons = ("pass", "malformed", "reject", "check")
    needs = ("spec", "edits")
    needs_for_checks = ("edits",)
    is_result = False
    checks = """\
Keeps to the schema; a rejection names at least one reason. Forbidden paths, dependencies and
schemas are checked before."""

    def collect_values(self, work: Workspace, context: StepContext) -> dict[str, Any]:
        return {"diff": self._render_diff(work, context)}

    def _render_diff(self, work: Workspace, context: StepContext) -> str:
        """Return the diff from the base commit to the candidate with its tests."""
        edits, tests = context.find_answer("edits") or "", context.find_answer("tests")
        return work.render_diff(work.write_candidate(context.spec, edits, tests))

    def check_answer(self, step: Step, work: Workspace, context: StepContext, text: str) -> Verdict:
        review = self.parse_object(text)
        if review["verdict"] == "approve":
            return Verdict("pass", "The reviewer approves.")
        reasons = [Finding(reason["criterion"], reason["text"]) for reason in review["reasons"]]
        says = "; ".join(f"{reason.rule}: {reason.text}" for reason in reasons)[:2000]
        return Verdict("reject", says, reasons)

    def find_objection(self, work: Workspace, context: StepContext) -> Verdict | None:
        """Reject a change that the spec does not allow, or whose diff is too long for a question."""
        changes = work.collect_changes(context.find_answer("edits"), context.find_answer("tests"))
        findings = find_objections(context.spec, changes, work.read, set(work.list_paths()))
        if findings:
            says = f"The spec does not allow {format_count(findings, 'thing')}."
            return Verdict("check", says, findings)
        size = len(self._render_diff(work, context))
        if size <= DIFF_CHARS_MAX:
            return None
        says = f"The diff has {size:,} characters, and a reviewer is shown {DIFF_CHARS_MAX:,} "
        says += "at most: ask for less."
        return Verdict("missing", says, [Finding("diff", says)])
