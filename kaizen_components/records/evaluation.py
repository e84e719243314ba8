"""Eval cases and their runs."""

import os

from ..errors import NotFound, Usage

RUNS_MAX = 50
RUNS = """
SELECT id, outcome, score, duration_ms, proof_id, actor, at, summary FROM eval_run
WHERE case_id = ? ORDER BY seq DESC LIMIT ?"""
COUNTS = """
SELECT count(*) AS runs, coalesce(sum(outcome = 'passed'), 0) AS passed,
       coalesce(sum(outcome = 'failed'), 0) AS failed, coalesce(sum(outcome = 'error'), 0) AS error,
       coalesce(sum(outcome = 'skipped'), 0) AS skipped
FROM eval_run WHERE case_id = ?"""


def require_words(command):
    """The command is kept as text; whoever runs it must be able to split it into words."""
    import shlex

    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _not_words(f"{error}.") from None
    if not words or not words[0]:
        raise _not_words("It names no program.")
    return command


def _not_words(why):
    return Usage(
        "not_a_command", "--command is not words that a shell would split.", why, 'Close every quote: pytest -k "a b".'
    )


def require_fixture(root, path):
    """The fixture's path below the project, with forward slashes; it must be there."""
    from .files import require_inside

    found = require_inside(root, path)
    try:
        found.encode()
    except UnicodeEncodeError:
        raise Usage("not_utf8", "--fixture is not valid UTF-8.", "Records are text.", "Rename the file.") from None
    if not os.path.exists(os.path.join(root, found)):
        raise NotFound(
            "fixture_not_found",
            f"There is no {found!r} below the project.",
            "A relative path counts from the project's root, wherever you stand.",
            "Check --fixture.",
        )
    return found


def runs_of(db, case):
    """The newest runs of a case, and how many of all that were decided passed; a skipped run decides nothing."""
    counts = db.one(COUNTS, (case["id"],))
    decided = counts["runs"] - counts["skipped"]
    rate = round(counts["passed"] / decided, 4) if decided else None
    return {"results": {**counts, "pass_rate": rate}, "runs": db.rows(RUNS, (case["id"], RUNS_MAX))}
