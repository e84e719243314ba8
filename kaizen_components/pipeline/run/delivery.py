"""What becomes of accepted work. Everything here is the same when it is done twice."""

from typing import Any

from ...errors import KaizenError
from ..answers.context import StepContext
from ..codemode import eval_case
from ..target.workspace import Workspace
from .journal import Journal


def deliver(book: Journal, work: Workspace, asked: StepContext) -> dict[str, Any]:
    """Where the result is; of a protocol that changes no files the answers themselves are it, kept as artifacts."""
    build = asked.text("edits")
    if build:
        return _branch(book, work, work.candidate(asked.spec, build, asked.text("tests")))
    return (
        eval_case.deliver_fixture(book.store.place.root, book.run, asked)
        if asked.text("cases")
        else {}
    )


def _branch(book, work, commit):
    """A branch, and with --apply the change in the tree."""
    work.target.adopt_commit(work.objects, commit)
    name = f"kaizen/{book.run['id']}"
    work.target.create_branch(name, commit)
    delivered = {"branch": name, "commit": commit, "applied": False}
    if work.options.get("apply"):
        try:
            if not work.target.is_applied(work.commit, commit):
                work.target.apply_to_worktree(work.commit, commit)
            delivered["applied"] = True
        except KaizenError as error:
            delivered["not_applied"] = f"{error.what} {error.why} {error.next}".strip()
    return delivered
