"""What passed before passes still, by test id: failing, skipped, xfailed and missing are all the same here."""

from ...verdict import Finding
from .baseline import Baseline
from .report import SessionReport

WORDS = {
    "failed": "fails now", "error": "ends in an error now", "skipped": "is skipped now",
    "xfailed": "is expected to fail now", "rewritten": "fails now, though its report says that it passed",
}  # fmt: skip


def find_regressions(before: Baseline, head: SessionReport) -> list[Finding]:
    """One finding for each id that passed on the base and does not on head."""
    found = []
    for one in before.passed:
        outcome = head.outcomes.get(one)
        if outcome is None:
            found.append(
                Finding(
                    "regression",
                    f"{one} passed before and is missing now.{_why(one, head)}",
                    one.split("::")[0],
                )
            )
        elif outcome.kind in WORDS:
            text = f"{one} passed before and {WORDS[outcome.kind]}:\n{outcome.text}"
            found.append(
                Finding("regression", text, outcome.path or one.split("::")[0], outcome.line)
            )
    return found


def _why(one, head):
    broken = head.broken.get(one.split("::")[0])
    return f" Its file cannot be collected:\n{broken.text}" if broken else ""
