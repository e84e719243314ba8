"""What an engine writes: events, and with each verdict its proof, its span and its log, in one transaction."""

import json
import os
from typing import Any

from ..records import proof, secrets, span
from ..records.canonical import canonical
from ..records.hashing import text_hash
from ..records.words import joined
from . import ledger
from .protocol import Step
from .verdict import Verdict

FINDINGS_MAX = 200


class Book:
    """One run in the database, for the one process that drives it."""

    def __init__(self, write, look, store, run: dict[str, Any], root_span: str):
        self._write = write
        self._look = look
        self.store = store
        self.run = run
        self.root_span = root_span

    @property
    def db(self):
        return self._look()

    @property
    def state(self) -> dict[str, Any]:
        return ledger.state_of(self.db, self.run)[1]

    def events(self) -> list[dict[str, Any]]:
        return ledger.events(self.db, self.run)

    def hashed(self, question: list[dict[str, str]]) -> str:
        return text_hash(canonical(question))

    def add(self, event: str, step: str | None = None, attempt: int | None = None, **more: Any) -> None:
        place = {"step": step, "attempt": attempt} if step else {}
        self._write(lambda tx: ledger.append(tx, self.run, {"event": event, **place, **more})[1])
        self._export()

    def answer(self, step: str, attempt: int, reply) -> None:
        """An answer as it came, with what it cost; what looks like a secret is taken out of it first."""
        text = secrets.redacted(reply.text)
        spent = {
            "tokens_in": reply.tokens_in, "tokens_out": reply.tokens_out, "cost_usd": reply.cost_usd,
            "seconds": round(reply.seconds, 3),
        }  # fmt: skip

        def do(tx):
            event = {
                "event": "answered", "step": step, "attempt": attempt, "body": text or None,
                "answer": tx.next_id("run_event"),
                "spent": spent, "model": reply.model, "served_by": reply.served_by, "retries": reply.retries,
                "sha256": text_hash(text),
            }  # fmt: skip
            return ledger.append(tx, self.run, event)[1]

        self._write(do)
        self._export()

    def judge(self, step: Step, attempt: int, verdict: Verdict, fingerprint: str, seconds: float) -> None:
        kept = proof.keep_text(self.store, _log(step, verdict)) if step.kind == "gate" else None
        self._write(lambda tx: self._judged(tx, step, attempt, verdict, fingerprint, seconds, kept))
        self._export()

    def _judged(self, tx, step, attempt, verdict, fingerprint, seconds, kept):
        task = tx.find("task", self.run["task_id"])
        proof_id = self._proof(tx, task, step, attempt, verdict, seconds, kept) if step.kind == "gate" else None
        answered = next((e for e in reversed(ledger.events(tx, self.run)) if e["event"] == "answered"), None)
        spent = (
            answered["payload"]["spent"] if answered and step.kind == "ask" and answered["attempt"] == attempt else {}
        )
        row = span.add(
            tx, None, self.root_span, task["id"], None,
            {"run": self.run["id"], "step": step.name, "attempt": attempt, "reason": verdict.reason, "proof": proof_id,
             **verdict.facts},
            {
                "name": f"{step.name} {attempt}",
                "kind": "gate" if step.kind == "gate" else "model", "status": "ok" if verdict.passed else "error",
                "duration_ms": round(((spent.get("seconds") or 0) + seconds) * 1000),
                "model": answered["payload"]["model"] if answered and spent else None,
                "tokens_in": spent.get("tokens_in") or 0, "tokens_out": spent.get("tokens_out") or 0,
                "cost_usd": spent.get("cost_usd") or 0, "summary": verdict.says[:2000] or None,
            },
        )  # fmt: skip
        event = {
            "event": "judged", "step": step.name, "attempt": attempt, "reason": verdict.reason,
            "says": verdict.says[:20000] or None,
            "findings": [one.as_dict() for one in verdict.findings[:FINDINGS_MAX]], "fingerprint": fingerprint,
            "proof_id": proof_id, "span_id": row["id"], "facts": verdict.facts, "spent": {"seconds": seconds},
        }  # fmt: skip
        return ledger.append(tx, self.run, event)[1]

    def _proof(self, tx, task, step, attempt, verdict, seconds, kept):
        """One witnessed proof for the gate as a whole; its log has every command that was run."""
        argv = ["kaizen-gate", step.gate or step.name]
        levels = sorted({run.level for run in verdict.runs}) or ["no command was run"]
        values = {
            "task_id": task["id"], "about_id": self.run["id"], "title": f"{step.stage} {attempt} of {self.run['id']}",
            "summary": verdict.says[:2000] or None, "argv": argv, "command": joined(argv),
            "exit_code": 0 if verdict.passed else 1, "outcome": "passed" if verdict.passed else "failed",
            "duration_ms": round(seconds * 1000), "stdout_hash": kept["sha256"] if kept else text_hash(""),
            "stderr_hash": text_hash(""), "commit_hash": self.run["base_commit"],
            "tree_hash": verdict.runs[-1].tree if verdict.runs and verdict.runs[-1].tree else text_hash(""),
            "platform": runner_platform(), "protection": verdict.runs[-1].protection if verdict.runs else levels[0],
        }  # fmt: skip
        return proof.add_witnessed(tx, values, (task, self.run), {"stdout": kept})["id"]

    def end(self, work, delivered: dict[str, Any]) -> None:
        """The last event, with the numbers of the whole run and what became of the work."""
        from .engine import summary

        state = self.state
        numbers = summary(state, self.events())
        files = work.leave(state, self.db)
        self._write(lambda tx: self._ended(tx, numbers, delivered, files))
        self._export()

    def _ended(self, tx, numbers, delivered, files):
        task = tx.find("task", self.run["task_id"])
        artifacts = {
            name: tx.add("artifact", {"task_id": task["id"], "about_id": self.run["id"], **facts}, of=(task,))["id"]
            for name, facts in files.items()
        }
        event = {
            "event": "ended",
            "reason": numbers["outcome"],
            "says": numbers["why"],
            **numbers,
            "delivered": delivered,
            "artifacts": artifacts,
        }
        return ledger.append(tx, self.run, event)[1]

    def _export(self) -> None:
        """AI/work/runs/<run>/trace.jsonl: the events as lines, made from the records each time."""
        folder = os.path.join(self.store.place.work, "runs", self.run["id"])
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "trace.jsonl")
        with open(path + ".part", "w", encoding="utf-8") as file:
            for event in self.events():
                flat = {name: value for name, value in event.items() if value is not None and name != "payload"}
                file.write(json.dumps({**flat, **event["payload"]}, ensure_ascii=False) + "\n")
        os.replace(path + ".part", path)


def _log(step: Step, verdict: Verdict) -> str:
    """What a gate did, as text: its verdict, its findings, and each command with what it said."""
    lines = [f"gate {step.gate}: {verdict.reason}. {verdict.says}", ""]
    lines += [f"{one.path}:{one.line}: {one.rule}: {one.text}" for one in verdict.findings]
    for run in verdict.runs:
        lines += [
            "",
            f"$ {joined(run.argv)}",
            f"exit {run.exit_code}, {run.duration_ms} ms, {run.protection}",
            run.stdout.text(),
            run.stderr.text(),
        ]
    return "\n".join(lines) + "\n"


def runner_platform() -> str:
    import platform

    return f"{platform.system()} {platform.release()} {platform.machine()}"
