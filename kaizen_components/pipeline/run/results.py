"""Write the result files of a finished run: its answers, and its last candidate as a diff."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...records.secrets import scan
from ..answers.context import StepContext
from ..answers.kinds import get_kind
from ..protocol import Step
from ..target.workspace import Workspace, build_commit_message
from . import recorder

if TYPE_CHECKING:
    from ...parameters import Reader

ResultFile = tuple[str, str, str]  # file, title, text


def write_results(work: Workspace, db: Reader) -> dict[str, dict[str, Any]]:
    """Write the result files, clear the workspace, and return the artifacts by file name.

    Answers of a failed run may be invalid. The newest valid answer of each step is used.
    """
    protocol = recorder.load_protocol(work.run)
    answers = [
        event for event in recorder.load_events(db, work.run) if event["event"] == "answered"
    ]

    def read_newest(step: Step, read: Callable[[Step, str], Any]) -> Any:
        """Return the result of `read` for the newest answer that it can read, or None."""
        for event in reversed(answers):
            if event["step"] == step.name:
                try:
                    return read(step, recorder.load_body(db, event["id"]))
                except Exception:  # an invalid answer must not keep a run from ending
                    continue
        return None

    def read_kind(kind: str, read: Callable[[Step, str], Any]) -> Any:
        """Return the result of `read` for the newest answer of that kind, or None."""
        step = next((step for step in protocol.steps.values() if step.answer == kind), None)
        return read_newest(step, read) if step else None

    files: list[ResultFile] = [
        file
        for step in protocol.steps.values()
        if step.kind == "ask" and (file := read_newest(step, get_kind(step).build_result_file))
    ]
    build = read_kind("edits", lambda step, text: work.collect_changes(text, None))
    if build:
        tests = read_kind("tests", lambda step, text: work.collect_changes(None, text))
        spec = read_kind("spec", lambda step, text: get_kind(step).parse_answer(step, text))
        spec = spec or StepContext(protocol, work.run["request"], {}).spec
        changes, message = {**build, **(tests or {})}, build_commit_message(spec, work.run)
        commit = work.target.write_commit(work.commit, changes, message, work.objects)
        files.append(("change.diff", "The last candidate", work.render_diff(commit)))
    artifacts = {
        name: {
            "path": f"AI/work/runs/{work.run['id']}/{name}",
            **write_file(
                os.path.join(work.folder, name),
                scan.redact_secrets(text).encode("utf-8", "replace"),
            ),
            "title": f"{title} of {work.run['id']}",
        }
        for name, title, text in files
    }
    work.delete_files()
    return artifacts


def write_file(path: str, data: bytes) -> dict[str, Any]:
    """Write a file atomically. Return the columns of its artifact except path and title."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary_path = f"{path}.{os.getpid()}"
    with open(temporary_path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary_path, path)
    sha256 = hashlib.sha256(data).hexdigest()
    return {"name": os.path.basename(path), "kind": "file", "sha256": sha256, "bytes": len(data)}
