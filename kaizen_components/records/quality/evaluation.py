"""Eval cases and their runs."""

from __future__ import annotations

import os

from ...errors import NotFound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row

RUNS_MAX = 50
RUNS_OF_CASE = """
SELECT id, outcome, score, duration_ms, proof_id, actor, at, summary FROM eval_run
WHERE case_id = ? ORDER BY seq DESC LIMIT ?"""
COUNTS = """
SELECT count(*) AS runs, coalesce(sum(outcome = 'passed'), 0) AS passed,
       coalesce(sum(outcome = 'failed'), 0) AS failed, coalesce(sum(outcome = 'error'), 0) AS error,
       coalesce(sum(outcome = 'skipped'), 0) AS skipped
FROM eval_run WHERE case_id = ?"""


def require_fixture(root: str, path: str) -> str:
    """Return the path of an existing fixture below the project, with forward slashes."""
    from ..files.files import require_project_path

    fixture = require_project_path(root, path)
    if not os.path.exists(os.path.join(root, fixture)):
        raise NotFound(
            "fixture_not_found",
            f"There is no {fixture!r} below the project.",
            "A relative path starts at the project's root, not at the current folder.",
            "Check --fixture.",
        )
    return fixture


def summarize_runs(db: Reader, case: Row) -> Row:
    """Return the newest runs of a case and its pass rate. A skipped run does not count."""
    counts = db.rows(COUNTS, (case["id"],))[0]
    decided = counts["runs"] - counts["skipped"]
    rate = round(counts["passed"] / decided, 4) if decided else None
    runs = db.rows(RUNS_OF_CASE, (case["id"], RUNS_MAX))
    return {"results": {**counts, "pass_rate": rate}, "runs": runs}
