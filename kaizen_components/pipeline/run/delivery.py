"""Deliver accepted work. Every action here is idempotent, because a crash can repeat it."""

from typing import Any

from ...errors import KaizenError
from ..answers.context import StepContext
from ..codemode import eval_case
from ..target.workspace import Workspace
from .journal import Journal


def deliver(journal: Journal, work: Workspace, context: StepContext) -> dict[str, Any]:
    """Create a branch with the change, apply it if --apply was given, and return what was done.

    A protocol without edits delivers a fixture of its cases, or only its artifacts.
    """
    build = context.find_answer("edits")
    if not build:
        if context.find_answer("cases"):
            return eval_case.deliver_fixture(journal.store.place.root, journal.run, context)
        return {}
    commit = work.write_candidate(context.spec, build, context.find_answer("tests"))
    work.target.adopt_commit(work.objects, commit)
    name = f"kaizen/{journal.run['id']}"
    work.target.create_branch(name, commit)
    result = {"branch": name, "commit": commit, "applied": False}
    if work.options.get("apply"):
        try:
            if not work.target.is_applied(work.commit, commit):
                work.target.apply_to_worktree(work.commit, commit)
            result["applied"] = True
        except KaizenError as error:
            result["not_applied"] = f"{error.what} {error.why} {error.next}".strip()
    return result
