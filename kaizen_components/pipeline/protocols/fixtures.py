"""A protocol's own gates on their own fixtures: the good ones must pass, the bad ones must not."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from ..answers.context import StepContext
from ..edits import apply as edits
from ..gates import command
from ..job import Job
from ..protocol import Protocol
from ..target.target import Target
from ..target.workspace import Workspace

WANTED = {"good": "pass", "bad": "check"}


def prove_commands(
    protocol: Protocol, store, repo: str, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """A row for each fixture, on the target's last commit; the command runs in the box, as it does in a run."""
    gates = [step for step in protocol.steps.values() if step.gate == "command"]
    if not gates:
        return
    with tempfile.TemporaryDirectory(prefix="kaizen-prove-") as folder:
        work = _work(store, repo, options, folder)
        try:
            for step in gates:
                for which, number, fixture in _each(step.fixtures):
                    verdict = command.judge_command(
                        step, _job(work, fixture), _asked(protocol, fixture)
                    )
                    yield {
                        "step": step.name, "which": which, "number": number, "expected": WANTED[which],
                        "got": verdict.reason, "ok": verdict.reason == WANTED[which],
                        "says": " ".join([verdict.says, *(one.text for one in verdict.findings[:1])]),
                    }  # fmt: skip
        finally:
            work.close()


def _each(fixtures):
    return (
        (which, number, one)
        for which, rows in fixtures.items()
        for number, one in enumerate(rows, 1)
    )


def _work(store, repo, options, folder):
    target = Target(repo)
    inside, commit = os.path.relpath(target.path, store.place.root), target.head()
    target.close()
    return Workspace(
        store.place,
        {"id": "run_0", "repo": inside, "base_commit": commit, "request": ""},
        options,
        folder,
    )


def _job(work: Workspace, fixture: dict[str, Any]) -> Job:
    """The base with the fixture's files in it."""
    job = work.make_base_job()
    if fixture.get("files"):
        head = os.path.join(work.folder, "head")
        shutil.rmtree(head, ignore_errors=True)
        shutil.copytree(job.base, head, symlinks=True)
        edits.write_changes(
            head, {path: text.encode("utf-8", "replace") for path, text in fixture["files"].items()}
        )
        job.head = head
    return job


def _asked(protocol: Protocol, fixture: dict[str, Any]) -> StepContext:
    given = fixture.get("answers", {})
    texts = {name: one if isinstance(one, str) else json.dumps(one) for name, one in given.items()}
    return StepContext(protocol, "A fixture.", {**dict.fromkeys(protocol.steps), **texts})
