"""Write the events of a run. A verdict, its proof, span and log are one transaction."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...limits import BODY_CHARS_MAX, REQUEST_CHARS_MAX, SUMMARY_CHARS_MAX
from ...records.ledger.hashing import hash_text
from ...records.quality import proof, span
from ...records.secrets import scan
from ...records.work.command_line import join_words
from ..ask.question import Question, hash_question, render_question
from ..codemode import eval_case
from ..edits.format import CUT
from ..protocol import Step
from ..verdict import Verdict
from . import machine, recorder, results
from .account import summarize_run

if TYPE_CHECKING:
    from ...backends.reply import Reply
    from ...parameters import Reader, ReadNow, Row, Store, WriteLater, Writer
    from ..target.workspace import Workspace

FINDINGS_MAX = 200
SPAN_KINDS = {"model": "model", "agent": "agent"}  # of an answer, by its driver


class Journal:
    """The events of one run, written by the one process that drives it."""

    def __init__(self, write: WriteLater, look: ReadNow, store: Store, run: Row):
        self._write = write
        self._look = look
        self.store = store
        self.run = run
        self.root_span = self.db.value(recorder.ROOT_SPAN, (run["id"],))
        self.number, self.state = recorder.load_state(self.db, run)

    @property
    def db(self) -> Reader:
        return self._look()

    @property
    def actor(self) -> str:
        return self.db.actor

    def load_events(self) -> list[dict[str, Any]]:
        """Return all events of the run in order."""
        return recorder.load_events(self.db, self.run)

    def add_event(
        self, event: str, step: str | None = None, attempt: int | None = None, **fields: Any
    ) -> None:
        """Record an event of the run, with its `fields`."""
        place = {"step": step, "attempt": attempt} if step else {}

        def build_event(tx: Writer) -> machine.Event:
            # The id of a lease is the id of its event.
            id_field = {"id": tx.next_id("run_event")} if event == "leased" else {}
            return {"event": event, **place, **fields, **id_field}

        self._append(build_event)

    def record_refusal(self, rule: str, says: str) -> None:
        """Record that an agent's call was refused, and by which rule."""
        self.add_event("refused", reason=rule, says=says, holder=self.actor)

    def record_question(self, step: str, attempt: int, question: Question) -> None:
        """Record a question before asking it. A replay finds the answer by its hash."""
        input_hash, body = hash_question(question), render_question(question)
        self.add_event("asked", step, attempt, input_hash=input_hash, body=body)

    def _append(self, build_event: Callable[[Writer], machine.Event]) -> None:
        """Write an event and its records in one transaction; then rewrite trace.jsonl."""
        self.number, self.state = self._write(
            lambda tx: recorder.append_event(tx, self.run, build_event(tx), self.number)
        )
        folder = os.path.join(self.store.place.work, "runs", self.run["id"])
        path = os.path.join(folder, "trace.jsonl")
        try:
            os.makedirs(folder, exist_ok=True)
            with open(path + ".part", "w", encoding="utf-8") as file:
                for event in self.load_events():
                    row = {name: value for name, value in event.items() if value is not None}
                    row |= row.pop("payload")
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
            os.replace(path + ".part", path)
        except OSError as error:  # only the copy is missing
            note = f"trace.jsonl of {self.run['id']} could not be written: {error.strerror}."
            self.store.notes += [note] if note not in self.store.notes else []

    def record_answer(
        self, step: str, attempt: int, reply: Reply, lease: str | None = None
    ) -> None:
        """Record an answer and its cost; secrets are redacted first."""
        text = scan.redact_secrets(reply.text)
        if len(text) > BODY_CHARS_MAX:  # the column `body` takes no more
            text = text[: BODY_CHARS_MAX - 100] + "\n" + CUT
        spent = {
            "tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out,
            "cost_usd": reply.cost_usd, "seconds": round(reply.seconds, 3), "calls": reply.calls,
        }  # fmt: skip
        self._append(
            lambda tx: {
                "event": "answered", "step": step, "attempt": attempt, "body": text or None,
                "answer": tx.next_id("run_event"), "spent": spent, "model": reply.model,
                "requested": reply.requested,
                "served_by": reply.served_by, "retries": reply.retries, "sha256": hash_text(text),
                **({"lease": lease} if lease else {}),
            }
        )  # fmt: skip

    def record_verdict(
        self, step: Step, attempt: int, verdict: Verdict, fingerprint: str, seconds: float
    ) -> None:
        """Record a verdict with its span; for a gate also with a witnessed proof and its log."""
        is_gate = step.kind == "gate"
        log = proof.store_output(self.store, _render_log(step, verdict)) if is_gate else None

        def build_event(tx: Writer) -> machine.Event:
            task = tx.find("task", self.run["task_id"])
            proof_id = (
                self._add_proof(tx, task, step, attempt, verdict, seconds, log) if log else None
            )
            # The payload of the answer that the verdict is about; a gate has none.
            answer: dict[str, Any] = {}
            for event in recorder.load_events(tx, self.run):
                place = event["event"], event["step"], event["attempt"]
                if place == ("answered", step.name, attempt):
                    answer = event["payload"]
            spent = answer.get("spent", {})
            attributes = {
                "run": self.run["id"], "step": step.name, "attempt": attempt,
                "reason": verdict.reason, "proof": proof_id, "served_by": answer.get("served_by"),
                "retries": answer.get("retries"), "requested": answer.get("requested") or None,
                **verdict.facts,
            }  # fmt: skip
            span_row = span.add_span(
                tx, None, self.root_span, task["id"], None,
                {name: value for name, value in attributes.items() if value is not None},
                {
                    "name": f"{step.stage if is_gate else step.name} {attempt}",
                    "kind": "gate" if is_gate else SPAN_KINDS.get(self.run["driver"], "other"),
                    "status": "ok" if verdict.is_pass else "error",
                    "model": answer.get("model") or None,
                    "duration_ms": round(((spent.get("seconds") or 0) + seconds) * 1000),
                    "tokens_in": spent.get("tokens_in") or 0,
                    "tokens_out": spent.get("tokens_out") or 0,
                    "cost_usd": spent.get("cost_usd") or 0, "summary": _shorten(verdict.says),
                },
            )  # fmt: skip
            return {
                "event": "judged", "step": step.name, "attempt": attempt, "reason": verdict.reason,
                "says": verdict.says[:REQUEST_CHARS_MAX] or None,
                "findings": [finding.as_dict() for finding in verdict.findings[:FINDINGS_MAX]],
                "fingerprint": fingerprint, "proof_id": proof_id, "span_id": span_row["id"],
                "facts": verdict.facts, "spent": {"seconds": seconds},
            }  # fmt: skip

        self._append(build_event)

    def _add_proof(
        self, tx: Writer, task: Row, step: Step, attempt: int, verdict: Verdict, seconds: float,
        log: Row,
    ) -> str:  # fmt: skip
        """Add one witnessed proof for a gate and return its id; its log has every command."""
        argv = ["kaizen-gate", step.gate or step.name]
        last = verdict.runs[-1] if verdict.runs else None
        values = {
            "task_id": task["id"], "about_id": self.run["id"],
            "title": f"{step.stage} {attempt} of {self.run['id']}",
            "summary": _shorten(verdict.says), "argv": argv, "command": join_words(argv),
            "exit_code": 0 if verdict.is_pass else 1,
            "outcome": "passed" if verdict.is_pass else "failed",
            "duration_ms": round(seconds * 1000), "stdout_hash": log["sha256"],
            "stderr_hash": hash_text(""), "commit_hash": self.run["base_commit"],
            "tree_hash": last.tree if last and last.tree else hash_text(""),
            "platform": proof.describe_platform(),
            "protection": last.protection if last else "no command was run",
        }  # fmt: skip
        return proof.add_witnessed_proof(tx, values, (task, self.run), {"stdout": log})["id"]

    def record_end(self, work: Workspace, delivery: dict[str, Any]) -> None:
        """Record the last event: the run's numbers, its artifacts and its delivery."""
        numbers = summarize_run(self.state, self.load_events())
        files = results.write_results(work, self.db)

        def build_event(tx: Writer) -> machine.Event:
            task = tx.find("task", self.run["task_id"])
            about = {"task_id": task["id"], "about_id": self.run["id"]}
            artifacts = {
                name: tx.add("artifact", {**about, **facts}, of=(task,))["id"]
                for name, facts in files.items()
            }
            case = {}
            if "fixture" in delivery:
                case["case_id"] = eval_case.record_eval_case(tx, task, self.run, delivery)
            return {
                "event": "ended", "reason": numbers["outcome"], "says": numbers["why"], **numbers,
                "delivered": {**delivery, **case}, "artifacts": artifacts,
            }  # fmt: skip

        self._append(build_event)


def _shorten(text: str) -> str | None:
    """Return a text that fits the column `summary`; None if it is empty."""
    return text.strip()[:SUMMARY_CHARS_MAX] or None


def _render_log(step: Step, verdict: Verdict) -> str:
    """Return the log of a gate: its verdict, its findings, and each command with its output."""
    lines = [f"gate {step.gate}: {verdict.reason}. {verdict.says}", ""]
    lines += [
        f"{finding.path}:{finding.line}: {finding.rule}: {finding.text}"
        for finding in verdict.findings
    ]
    for run in verdict.runs:
        end_note = f"exit {run.exit_code}, {run.duration_ms} ms, {run.protection}"
        if run.stopped:
            end_note += f", stopped: {run.stopped}"
        elif run.timed_out:
            end_note += ", out of time"
        lines += ["", f"$ {join_words(run.argv)}", end_note, run.stdout.text(), run.stderr.text()]
    return "\n".join(lines) + "\n"
