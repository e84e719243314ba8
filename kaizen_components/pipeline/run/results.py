"""What a finished run leaves behind as files: the answers that people read, and the last candidate as a diff."""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

from ...records.secrets import scan
from ..answers.context import StepContext
from ..answers.kinds import kind_of
from ..protocol import Protocol
from ..target.workspace import Workspace, build_commit_message
from . import recorder

ResultFile = tuple[str, str, str]  # file, title, text


def keep_results(work: Workspace, db) -> dict[str, dict[str, Any]]:
    """Keep the results, take away what can be made again, and give the facts of each artifact.

    The answers of a failed run may be broken: of each step the newest that can be used counts.
    """
    answers = [
        event
        for event in reversed(recorder.load_events(db, work.run))
        if event["event"] == "answered"
    ]
    newest = _Newest(work, recorder.load_protocol(work.run), answers, db)
    kept = {
        name: {**_write_result(work, name, text), "title": f"{title} of {work.run['id']}"}
        for name, title, text in newest.results()
    }
    work.clear()
    return kept


class _Newest:
    def __init__(self, work: Workspace, protocol: Protocol, answers: list[dict[str, Any]], db):
        self.work = work
        self.protocol = protocol
        self.answers = answers
        self.db = db

    def results(self) -> Iterator[ResultFile]:
        for step in self.protocol.steps.values():
            kept = self._usable(step, kind_of(step).kept) if step.kind == "ask" else None
            if kept:
                yield kept
        yield from self._change()

    def _change(self) -> Iterator[ResultFile]:
        build = self._of("edits", lambda step, text: self.work.changes(text, None))
        if build:
            tests = self._of("tests", lambda step, text: self.work.changes(None, text))
            spec = (
                self._of("spec", lambda step, text: kind_of(step).value(step, text))
                or self._unplanned()
            )
            commit = self.work.target.commit(
                self.work.commit,
                {**build, **(tests or {})},
                build_commit_message(spec, self.work.run),
                self.work.objects,
            )
            yield "change.diff", "The last candidate", self.work.diff_text(commit)

    def _unplanned(self):
        return StepContext(self.protocol, self.work.run["request"], {}).spec

    def _of(self, kind, read):
        step = next((step for step in self.protocol.steps.values() if step.answer == kind), None)
        return self._usable(step, read) if step else None

    def _usable(self, step, read):
        for event in self.answers:
            if event["step"] == step.name:
                try:
                    return read(step, recorder.load_body(self.db, event["id"]))
                except Exception:  # broken in whatever way: a run must come to its end
                    continue
        return None


def _write_result(work, name, text):
    """Write a file whole or not at all, without what looks like a secret; what an artifact says about it."""
    data = scan.redact_secrets(text).encode("utf-8", "replace")
    os.makedirs(work.folder, exist_ok=True)
    path = os.path.join(work.folder, name)
    with open(path + ".part", "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
    return {
        "path": f"AI/work/runs/{work.run['id']}/{name}", "name": name, "kind": "file",
        "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data),
    }  # fmt: skip
