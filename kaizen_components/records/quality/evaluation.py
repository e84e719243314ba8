"""Eval cases and their runs."""

import os

from ...errors import NotFound

RUNS_MAX = 50
RUNS_OF_CASE = """
SELECT id, outcome, score, duration_ms, proof_id, actor, at, summary FROM eval_run
WHERE case_id = ? ORDER BY seq DESC LIMIT ?"""
COUNTS = """
SELECT count(*) AS runs, coalesce(sum(outcome = 'passed'), 0) AS passed,
       coalesce(sum(outcome = 'failed'), 0) AS failed, coalesce(sum(outcome = 'error'), 0) AS error,
       coalesce(sum(outcome = 'skipped'), 0) AS skipped
FROM eval_run WHERE case_id = ?"""


def require_fixture(root, path):
    """The fixture's path below the project, with forward slashes; it must be there."""
    from ..files.files import require_project_path

    found = require_project_path(root, path)
    if not os.path.exists(os.path.join(root, found)):
        raise NotFound(
            "fixture_not_found",
            f"There is no {found!r} below the project.",
            "A relative path counts from the project's root, wherever you stand.",
            "Check --fixture.",
        )
    return found


def summarize_runs(db, case):
    """The newest runs of a case, and how many of all that were decided passed; a skipped run decides nothing."""
    counts = db.one(COUNTS, (case["id"],))
    decided = counts["runs"] - counts["skipped"]
    rate = round(counts["passed"] / decided, 4) if decided else None
    return {
        "results": {**counts, "pass_rate": rate},
        "runs": db.rows(RUNS_OF_CASE, (case["id"], RUNS_MAX)),
    }
