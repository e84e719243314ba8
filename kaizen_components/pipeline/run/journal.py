"""What an engine writes: events, and with each verdict its proof, its span and its log, in one transaction."""

import json
import os
from typing import Any

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
from . import recorder, results
from .account import summarize_run

FINDINGS_MAX = 200
SPAN_KINDS = {"model": "model", "agent": "agent"}  # of an answer, by who gave it


class Journal:
    """One run in the database, for the one process that drives it. What it knows, it has written itself."""

    def __init__(self, write, look, store, run: dict[str, Any]):
        self._write = write
        self._look = look
        self.store = store
        self.run = run
        self.root_span = self.db.value(recorder.ROOT_SPAN, (run["id"],))
        self.number, self.state = recorder.load_state(self.db, run)

    @property
    def db(self):
        return self._look()

    @property
    def actor(self) -> str:
        return self.db.actor

    def events(self) -> list[dict[str, Any]]:
        return recorder.load_events(self.db, self.run)

    def add(
        self, event: str, step: str | None = None, attempt: int | None = None, **more: Any
    ) -> None:
        place = {"step": step, "attempt": attempt} if step else {}
        named = {"leased"}  # whose own id is what others call it by
        self._append(
            lambda tx: {
                "event": event, **place, **more, **({"id": tx.next_id("run_event")} if event in named else {}),
            }
        )  # fmt: skip

    def record_refusal(self, rule: str, says: str) -> None:
        """That somebody tried what is not legal; nothing else changes by it."""
        self.add("refused", reason=rule, says=says, holder=self.actor)

    def ask(self, step: str, attempt: int, question: Question) -> None:
        """What is asked, before it is: by its hash a replay finds the answer, its text says what differs if none."""
        self.add(
            "asked",
            step,
            attempt,
            input_hash=hash_question(question),
            body=render_question(question),
        )

    def _append(self, made) -> None:
        """Write what `made(tx)` gives, with whatever it adds beside it; then the file that mirrors the records."""
        self.number, self.state = self._write(
            lambda tx: recorder.append_event(tx, self.run, made(tx), self.number)
        )
        try:
            self._export()
        except (
            OSError
        ) as error:  # the records have it all; a mirror that cannot be written stops nobody
            note = f"trace.jsonl of {self.run['id']} could not be written: {error.strerror}."
            self.store.notes += [note] if note not in self.store.notes else []

    def answer(self, step: str, attempt: int, reply, lease: str | None = None) -> None:
        """An answer as it came, with what it cost; what looks like a secret is taken out of it first."""
        text = _bounded(scan.redact_secrets(reply.text))
        spent = {
            "tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "cost_usd": reply.cost_usd,
            "seconds": round(reply.seconds, 3), "calls": reply.calls,
        }  # fmt: skip
        self._append(
            lambda tx: {
                "event": "answered", "step": step, "attempt": attempt, "body": text or None,
                "answer": tx.next_id("run_event"), "spent": spent, "model": reply.model, "served_by": reply.served_by,
                "retries": reply.retries, "sha256": hash_text(text), **({"lease": lease} if lease else {}),
            }
        )  # fmt: skip

    def judge(
        self, step: Step, attempt: int, verdict: Verdict, fingerprint: str, seconds: float
    ) -> None:
        kept = (
            proof.store_output(self.store, _render_log(step, verdict))
            if step.kind == "gate"
            else None
        )
        self._append(
            lambda tx: self._judged(tx, step, attempt, verdict, fingerprint, seconds, kept)
        )

    def _judged(self, tx, step, attempt, verdict, fingerprint, seconds, kept):
        task = tx.find("task", self.run["task_id"])
        proof_id = (
            self._proof(tx, task, step, attempt, verdict, seconds, kept)
            if step.kind == "gate"
            else None
        )
        answered = self._answered(tx, step, attempt)
        spent = answered.get("spent", {})
        about = {
            "run": self.run["id"], "step": step.name, "attempt": attempt, "reason": verdict.reason, "proof": proof_id,
            "served_by": answered.get("served_by"), "retries": answered.get("retries"), **verdict.facts,
        }  # fmt: skip
        row = span.add_span(
            tx, None, self.root_span, task["id"], None, {name: one for name, one in about.items() if one is not None},
            {
                "name": f"{step.stage} {attempt}" if step.kind == "gate" else f"{step.name} {attempt}",
                "kind": "gate" if step.kind == "gate" else SPAN_KINDS.get(self.run["driver"], "other"),
                "status": "ok" if verdict.passed else "error", "model": answered.get("model") or None,
                "duration_ms": round(((spent.get("seconds") or 0) + seconds) * 1000),
                "tokens_in": spent.get("tokens_in") or 0, "tokens_out": spent.get("tokens_out") or 0,
                "cost_usd": spent.get("cost_usd") or 0, "summary": _shorten(verdict.says),
            },
        )  # fmt: skip
        return {
            "event": "judged", "step": step.name, "attempt": attempt, "reason": verdict.reason,
            "says": verdict.says[:REQUEST_CHARS_MAX] or None,
            "findings": [one.as_dict() for one in verdict.findings[:FINDINGS_MAX]], "fingerprint": fingerprint,
            "proof_id": proof_id, "span_id": row["id"], "facts": verdict.facts, "spent": {"seconds": seconds},
        }  # fmt: skip

    def _answered(self, tx, step, attempt):
        """What is known about the answer that is judged; nothing for a gate."""
        found = [
            event["payload"]
            for event in recorder.load_events(tx, self.run)
            if (event["event"], event["step"], event["attempt"]) == ("answered", step.name, attempt)
        ]
        return found[-1] if found else {}

    def _proof(self, tx, task, step, attempt, verdict, seconds, kept):
        """One witnessed proof for the gate as a whole; its log has every command that was run."""
        argv = ["kaizen-gate", step.gate or step.name]
        last = verdict.runs[-1] if verdict.runs else None
        values = {
            "task_id": task["id"], "about_id": self.run["id"], "title": f"{step.stage} {attempt} of {self.run['id']}",
            "summary": _shorten(verdict.says), "argv": argv, "command": join_words(argv),
            "exit_code": 0 if verdict.passed else 1, "outcome": "passed" if verdict.passed else "failed",
            "duration_ms": round(seconds * 1000), "stdout_hash": kept["sha256"], "stderr_hash": hash_text(""),
            "commit_hash": self.run["base_commit"],
            "tree_hash": last.tree if last and last.tree else hash_text(""),
            "platform": proof.describe_platform(), "protection": last.protection if last else "no command was run",
        }  # fmt: skip
        return proof.add_witnessed_proof(tx, values, (task, self.run), {"stdout": kept})["id"]

    def end(self, work, delivered: dict[str, Any]) -> None:
        """The last event, with the numbers of the whole run and what became of the work."""
        numbers = summarize_run(self.state, self.events())
        files = results.keep_results(work, self.db)
        self._append(lambda tx: self._ended(tx, numbers, delivered, files))

    def _ended(self, tx, numbers, delivered, files):
        task = tx.find("task", self.run["task_id"])
        artifacts = {
            name: tx.add(
                "artifact", {"task_id": task["id"], "about_id": self.run["id"], **facts}, of=(task,)
            )["id"]
            for name, facts in files.items()
        }
        if "fixture" in delivered:
            delivered = {
                **delivered,
                "case_id": eval_case.record_eval_case(tx, task, self.run, delivered),
            }
        return {
            "event": "ended", "reason": numbers["outcome"], "says": numbers["why"], **numbers, "delivered": delivered,
            "artifacts": artifacts,
        }  # fmt: skip

    def _export(self) -> None:
        """AI/work/runs/<run>/trace.jsonl: the events as lines, made from the records each time."""
        folder = os.path.join(self.store.place.work, "runs", self.run["id"])
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "trace.jsonl")
        with open(path + ".part", "w", encoding="utf-8") as file:
            for event in self.events():
                flat = {
                    name: value
                    for name, value in event.items()
                    if value is not None and name != "payload"
                }
                file.write(json.dumps({**flat, **event["payload"]}, ensure_ascii=False) + "\n")
        os.replace(path + ".part", path)


def _bounded(text):
    """An answer that no column holds is no answer: what is kept of it says that it was cut."""
    return text if len(text) <= BODY_CHARS_MAX else text[: BODY_CHARS_MAX - 100] + "\n" + CUT


def _shorten(says):
    return says.strip()[:SUMMARY_CHARS_MAX] or None


def _render_log(step: Step, verdict: Verdict) -> str:
    """What a gate did, as text: its verdict, its findings, and each command with what it said."""
    lines = [f"gate {step.gate}: {verdict.reason}. {verdict.says}", ""]
    lines += [f"{one.path}:{one.line}: {one.rule}: {one.text}" for one in verdict.findings]
    for run in verdict.runs:
        ended = f"exit {run.exit_code}, {run.duration_ms} ms, {run.protection}"
        ended += (
            f", stopped: {run.stopped}" if run.stopped else ", out of time" if run.timed_out else ""
        )
        lines += ["", f"$ {join_words(run.argv)}", ended, run.stdout.text(), run.stderr.text()]
    return "\n".join(lines) + "\n"
