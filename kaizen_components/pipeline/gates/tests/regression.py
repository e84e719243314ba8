"""Tests that passed before must still pass. Skipped, xfailed and missing tests count as failed."""

from ...verdict import Finding
from .baseline import Baseline
from .report import SessionReport

KIND_WORDS = {
    "failed": "fails now",
    "error": "ends in an error now",
    "skipped": "is skipped now",
    "xfailed": "is expected to fail now",
    "rewritten": "fails now, though its report says that it passed",
}


def find_regressions(baseline: Baseline, head: SessionReport) -> list[Finding]:
    """Return one finding for each id that passed on the base and does not on head."""
    findings = []
    for id in baseline.passed:
        path = id.split("::")[0]
        outcome = head.outcomes.get(id)
        if outcome is None:
            text = f"{id} passed before and is missing now."
            if path in head.uncollected:
                text += f" Its file cannot be collected:\n{head.uncollected[path].text}"
            findings.append(Finding("regression", text, path))
        elif outcome.kind in KIND_WORDS:
            text = f"{id} passed before and {KIND_WORDS[outcome.kind]}:\n{outcome.text}"
            findings.append(Finding("regression", text, outcome.path or path, outcome.line))
    return findings
