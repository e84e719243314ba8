"""Run a protocol's command gates on their fixtures: good ones must pass, bad ones must fail."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..answers.context import StepContext
from ..edits import apply as edits
from ..gates import command
from ..protocol import Protocol, Step
from ..target.target import Target
from ..target.workspace import Workspace
from ..verdict import Verdict

if TYPE_CHECKING:
    from ...parameters import Store

WANTED = {"good": "pass", "bad": "check"}


def prove_commands(
    protocol: Protocol, store: Store, repo: str, options: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Run each command gate on its fixtures and yield a row with the expected and actual reason.

    The commands run in the sandbox, on the target's last commit.
    """
    gates = [step for step in protocol.steps.values() if step.gate == "command"]
    if not gates:
        return
    with contextlib.closing(Target(repo)) as target:
        target_path, commit = os.path.relpath(target.path, store.place.root), target.find_head()
    run = {"id": "run_0", "repo": target_path, "base_commit": commit, "request": ""}
    with (
        tempfile.TemporaryDirectory(prefix="kaizen-prove-") as folder,
        contextlib.closing(Workspace(store.place, run, options, folder)) as workspace,
    ):
        for step in gates:
            for quality, fixtures in step.fixtures.items():
                for number, fixture in enumerate(fixtures, 1):
                    verdict = _judge_fixture(protocol, step, workspace, fixture)
                    first_finding = [finding.text for finding in verdict.findings[:1]]
                    yield {
                        "step": step.name,
                        "which": quality,
                        "number": number,
                        "expected": WANTED[quality],
                        "got": verdict.reason,
                        "ok": verdict.reason == WANTED[quality],
                        "says": " ".join([verdict.says, *first_finding]),
                    }


def _judge_fixture(
    protocol: Protocol, step: Step, workspace: Workspace, fixture: dict[str, Any]
) -> Verdict:
    """Run one gate on the fixture's answers and on a copy of the base with the fixture's files."""
    job = workspace.make_base_job()
    if files := fixture.get("files"):
        head = os.path.join(workspace.folder, "head")
        shutil.rmtree(head, ignore_errors=True)
        shutil.copytree(job.base, head, symlinks=True)
        edits.write_changes(
            head, {path: text.encode("utf-8", "replace") for path, text in files.items()}
        )
        job.head = head
    answers = {
        name: answer if isinstance(answer, str) else json.dumps(answer)
        for name, answer in fixture.get("answers", {}).items()
    }
    context = StepContext(protocol, "A fixture.", {**dict.fromkeys(protocol.steps), **answers})
    return command.judge_command(step, job, context)
