"""Begin, resume or abort a run, and take an agent's answers: P1, P4, P5 and P7."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ...backends.reply import Reply
from ...errors import Busy, Conflict, KaizenError, NotFound, Refused, Unavailable, Usage
from ...records import ids
from ...records.quality import span
from ...sandbox import run as sandbox
from ...store.gate import try_lock
from ..ask.feedback import describe_finding
from ..protocol import Protocol
from ..target.target import Target
from ..target.toolchain import find_interpreter
from ..target.workspace import Workspace
from . import recorder, turn
from .account import summarize_run
from .engine import Engine
from .journal import Journal
from .progress import Progress

if TYPE_CHECKING:
    from ...parameters import ReadNow, Row, Store, WriteLater, Writer
    from ..job import Settings
    from .drivers import Driver

# If the process dies, the system frees its lock, and P7 takes over the lease.
LEASE_MS = 6 * 3_600_000
WAITING = """
SELECT id FROM run_current WHERE driver = 'agent' AND phase <> 'ended' ORDER BY seq DESC LIMIT 1"""
TITLE_CHARS = 200
FINDINGS_SHOWN = 5
SUMMARY_CHARS = 2_000
ROOT_SPAN = {
    "kind": "run", "status": "unset", "duration_ms": 0, "model": None, "tokens_in": 0,
    "tokens_out": 0, "cost_usd": 0, "summary": None,
}  # fmt: skip
NOT_JUDGED: dict[str, Any] = {
    "reason": None, "says": "It was not judged: the run ended before.", "payload": {"findings": []},
}  # fmt: skip
EXIT_CODES = {"accepted": 0, "blocked": 5}  # every other outcome is 1


def begin_run(
    write: WriteLater, store: Store, protocol: Protocol, driver: str, request: str, repo: str,
    task_id: str | None, options: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """Record a new run with its task and its root span, without events."""
    target = Target(repo)
    commit = target.find_head()
    if options["python"]:
        # Refuse a bad interpreter before recording anything.
        find_interpreter(target, options["python"])
    relative_path = os.path.relpath(target.path, store.place.root).replace(os.sep, "/")
    values = {
        "driver": driver, "request": request, "repo": relative_path, "base_commit": commit,
        "options": {**options, "sandbox": sandbox.detect_level()},
    }  # fmt: skip
    if target.is_dirty():
        store.notes.append(
            "The target has uncommitted changes; the run starts from its last commit without them."
        )
    submodules = target.list_submodules(commit)
    if submodules:
        store.notes.append(f"Submodules are not part of the run: {', '.join(submodules[:5])}.")

    def add_run(tx: Writer) -> dict[str, Any]:
        if task_id:
            task = tx.find("task", task_id)
        else:
            text = request.strip()
            title, summary = text.splitlines()[0][:TITLE_CHARS], text[:SUMMARY_CHARS]
            defaults = {"scope": "pipeline", "priority": "normal", "status": "open"}
            task = tx.add("task", {"title": title, "summary": summary, **defaults})
        run = recorder.start_run(tx, protocol, task, values)
        name = f"{protocol.name} {' '.join(request.split())}"[:200]
        attributes = {"run": run["id"], "protocol": protocol.name}
        root = span.add_span(
            tx, run["id"], None, task["id"], None, attributes, {**ROOT_SPAN, "name": name}
        )
        return {"id": run["id"], "kind": "run", "task_id": task["id"], "span_id": root["id"]}

    return write(add_run)


def drive_run(
    write: WriteLater, look: ReadNow, store: Store, run_id: str, driver: Driver
) -> dict[str, Any]:
    """Drive a run to its end, from the start or from its newest event. Lock the run meanwhile."""
    with _open_run(write, look, store, run_id) as (journal, work):
        if journal.state["phase"] == "ended":
            raise Conflict(
                "run_ended",
                f"{run_id} has ended.",
                f"Its outcome is {journal.state['outcome']}.",
                "Start another run with `P1`.",
            )
        if journal.state["lease"]:
            journal.add_event("released")  # we hold the lock, so its holder is gone
        until = ids.format_time(ids.now_ms() + LEASE_MS)
        journal.add_event("leased", holder=f"{journal.actor} {os.getpid()}", until=until)
        if driver is not None:
            driver.work = work  # the files that a scout may read
        _drive(journal, work, driver)
        return describe_end(journal)


def give_turn(
    write: WriteLater, look: ReadNow, store: Store, run_id: str, ttl_s: int
) -> dict[str, Any]:
    """Do the steps that need no agent; then lease the next question to the agent and return it."""
    with _open_run(write, look, store, run_id) as (journal, work):
        _refuse_other_driver(journal)
        engine = _drive(journal, work, None)
        if journal.state["phase"] == "ended":
            return describe_end(journal)
        turn.take_lease(journal, journal.actor, ttl_s)
        step = engine.protocol.steps[journal.state["step"]]
        context = engine.build_context(step, journal.state)
        question = engine.build_question(step, journal.state)
        return turn.build_contract(journal, work, engine.protocol, context, question)


def take_answer(
    write: WriteLater, look: ReadNow, store: Store, submission: dict[str, Any]
) -> dict[str, Any]:
    """Record an agent's answer, check it, and drive the run to the next question or its end."""
    try:
        run, lease = turn.find_leased_run(look(), submission["lease"])
    except NotFound:
        # The run is unknown, so record the refusal in the newest run that waits for an agent. If
        # that run is busy or cannot be opened, nothing is recorded.
        waiting_id = look().value(WAITING)
        if waiting_id:
            with (
                suppress(KaizenError),
                _open_run(write, look, store, waiting_id, needs_target=False) as (journal, work),
            ):
                journal.record_refusal("unknown-lease", "A lease was named that does not exist.")
                _end_if_failed(journal, work)
        raise
    with _open_run(write, look, store, run["id"]) as (journal, work):
        _refuse_other_driver(journal, answering=True)
        engine = Engine(journal, work, None, Progress())
        step = engine.protocol.steps[journal.state["step"]]
        try:
            earlier_answer = turn.find_same_answer(journal, submission["lease"], submission["text"])
            if earlier_answer is None:
                turn.check_submission(journal, step, submission)
                context = engine.build_context(step, journal.state)
                turn.check_paths(journal, work, step, context, submission["text"])
        except KaizenError:
            _end_if_failed(journal, work)
            raise
        if earlier_answer is None:
            leased_ms = round(datetime.fromisoformat(lease["at"]).timestamp() * 1000)
            seconds = max(0, ids.now_ms() - leased_ms) / 1000
            reply = Reply(submission["text"], served_by=f"agent {journal.actor}", seconds=seconds)
            journal.record_answer(step.name, journal.state["attempt"], reply, submission["lease"])
            journal.add_event("released")
        place = earlier_answer or journal.state
        step_name, attempt = place["step"], place["attempt"]
        _drive(journal, work, None)
        result = _describe_verdict(journal, step_name, attempt)
        return {**result, "replayed": True} if earlier_answer else result


def _end_if_failed(journal: Journal, work: Workspace) -> None:
    """Record the end of a run that failed because of too many illegal moves."""
    if journal.state["phase"] == "ending" and journal.state["outcome"] == "failed":
        journal.record_end(work, {})


def _describe_verdict(journal: Journal, step: str, attempt: int) -> dict[str, Any]:
    """Return the verdict on an answer and all later verdicts. An aborted run may have none."""
    verdicts = [event for event in journal.load_events() if event["event"] == "judged"]
    matches = [(event["step"], event["attempt"]) == (step, attempt) for event in verdicts]
    verdict = verdicts[matches.index(True)] if any(matches) else NOT_JUDGED
    later_verdicts = verdicts[matches.index(True) + 1 :] if any(matches) else []
    findings = verdict["payload"]["findings"][:FINDINGS_SHOWN]
    result = {
        "id": journal.run["id"], "kind": "run", "step": step, "attempt": attempt,
        "reason": verdict["reason"], "passed": verdict["reason"] == "pass", "says": verdict["says"],
        "findings": [describe_finding(finding) for finding in findings],
        "then": [
            f"{event['step']} {event['attempt']}: {event['reason']}. {event['says'] or ''}".strip()
            for event in later_verdicts
        ],
    }  # fmt: skip
    if journal.state["phase"] != "ended":
        hint = f"`P5 --id {journal.run['id']}` gives the next step."
        return {**result, "next_step": journal.state["step"], "hint": hint}
    end = describe_end(journal)
    # The exit code is that of the run, so that `P4 && deploy` does not deploy rejected work.
    code = {"exit_code": end.pop("exit_code")} if "exit_code" in end else {}
    return {**result, "run": end, "outcome": journal.state["outcome"], **code}


@contextmanager
def _open_run(
    write: WriteLater, look: ReadNow, store: Store, run_id: str, *, needs_target: bool = True
) -> Iterator[tuple[Journal, Workspace]]:
    """Lock a run for this process; yield its journal and its workspace."""
    run = look().find("run", run_id)
    with _lock_run(store, run):
        work = Workspace(store.place, run, json.loads(run["options"]))
        try:
            if needs_target:
                try:
                    _ = work.target  # fail now if the target is missing
                except (NotFound, Refused) as error:
                    raise NotFound(
                        "target_gone",
                        f"{run['repo']}, the target of {run['id']}, can no longer be used.",
                        f"{error.what} {error.why}".strip(),
                        f"Restore it, or end the run: `P7 --id {run['id']} --abort`.",
                    ) from None
            if run["driver"] == "agent":
                work.delete_gate_files()
            yield Journal(write, look, store, run), work
        finally:
            work.close()


def _drive(journal: Journal, work: Workspace, driver: Driver) -> Engine:
    """Drive the run while its progress is shown; return the engine."""
    progress = Progress()
    try:
        request = " ".join(journal.run["request"].split())[:100]
        progress.begin_run(journal.run["id"], f"{journal.run['protocol']}: {request}")
        engine = Engine(journal, work, driver, progress)
        engine.drive()
        return engine
    finally:
        progress.close()


def _refuse_other_driver(journal: Journal, answering: bool = False) -> None:
    """Raise Conflict unless the run was begun for an agent."""
    if journal.run["driver"] != "agent":
        if answering:
            journal.record_refusal("not-an-agents-run", "An agent has answered.")
        raise Conflict(
            "not_an_agents_run",
            f"{journal.run['id']} is driven by a {journal.run['driver']}.",
            "Rule not-an-agents-run: only a run started with --driver agent takes answers.",
            f"Continue the run with its own driver: `P7 --id {journal.run['id']}`.",
        )


def describe_end(journal: Journal) -> dict[str, Any]:
    """Return the answer of P1 and P7 for a run that has ended."""
    run, events = journal.run, journal.load_events()
    end = next(event["payload"] for event in reversed(events) if event["event"] == "ended")
    delivery = end["delivered"]
    failures = [
        event for event in events if event["event"] == "judged" and event["reason"] != "pass"
    ]
    last_failure: dict[str, Any] = {}
    if journal.state["outcome"] != "accepted" and failures:
        findings = failures[-1]["payload"]["findings"][:FINDINGS_SHOWN]
        last_failure["says"] = failures[-1]["says"]
        last_failure["findings"] = [describe_finding(finding) for finding in findings]
    if delivery.get("not_applied"):
        hint = f"The work is on the branch {delivery['branch']}, but not in the tree: "
        hint += delivery["not_applied"]
    elif "fixture" in delivery:
        hint = f"Run it later, as {delivery['case_id']} says: {delivery['command']}"
    elif delivery:
        base = run["base_commit"][:10]
        hint = f"Look at it: git -C {run['repo']} diff {base} {delivery['branch']}"
    else:
        hint = f"`P2 --id {run['id']}` shows every gate and attempt."
    code = EXIT_CODES.get(journal.state["outcome"], 1)
    return {
        "id": run["id"], "kind": "run", "task_id": run["task_id"], "protocol": run["protocol"],
        **summarize_run(journal.state, events), **last_failure, **delivery,
        "artifacts": list(end["artifacts"].values()), "hint": hint,
        **({"exit_code": code} if code else {}),
    }  # fmt: skip


def abort_run(
    write: WriteLater, look: ReadNow, store: Store, run_id: str, why: str
) -> dict[str, Any]:
    """End a run as aborted; raise Conflict if it has an outcome already."""
    with _open_run(write, look, store, run_id, needs_target=False) as (journal, work):
        phase, outcome = journal.state["phase"], journal.state["outcome"]
        ends_otherwise = phase == "ending" and outcome != "accepted"
        if phase in ("ending", "delivering", "ended") and not ends_otherwise:
            journal.record_refusal("run-ended", "An abort was requested.")
            raise Conflict(
                "run_ended",
                f"{journal.run['id']} is already {outcome}.",
                "Rule run-ended: only a run that has not ended can be aborted.",
                f"`P2 --id {journal.run['id']}` shows it."
                if phase == "ended"
                else f"Let the run finish first: `P7 --id {journal.run['id']}`.",
            )
        if not ends_otherwise:
            journal.add_event("aborted", why=why)
        journal.record_end(work, {})
        return {**describe_end(journal), "exit_code": 0}  # the abort has succeeded


@contextmanager
def _lock_run(store: Store, run: Row) -> Iterator[None]:
    """Lock a run for this process. The system frees the lock when the process ends."""
    folder = os.path.join(store.place.work, "runs", run["id"])
    try:
        os.makedirs(folder, exist_ok=True)
        descriptor = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Unavailable(
            "run_folder_not_usable",
            f"The run's folder {run['id']} cannot be used.",
            f"{os.path.basename(error.filename or folder)}: {error.strerror}.",
            (
                "Remove the file that blocks this folder in AI/work/runs, then continue "
                "the run. No record is lost."
            ),
        ) from None
    try:
        if not try_lock(descriptor):
            raise Busy(
                "run_is_driven",
                f"{run['id']} is being driven by another process.",
                "Rule one-at-a-time: only one process may drive a run.",
                f"Wait for that process, or look at the run: `P2 --id {run['id']}`.",
            )
        yield
    finally:
        os.close(descriptor)


def read_target_settings(repo: str) -> Settings:
    """Return the settings of the target's last commit."""
    from ..target.settings import PATH, parse_settings  # pydantic is slow

    target = Target(repo)
    try:
        return parse_settings(target.read_blob(target.find_head(), PATH))
    finally:
        target.close()


def check_budget(budget: Any) -> dict[str, float]:
    """Return --budget-json as numbers, or raise Usage."""
    if not isinstance(budget, dict) or not all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
        for value in budget.values()
    ):
        raise Usage(
            "bad_budget",
            "--budget-json must be an object of numbers above 0.",
            "Each number limits what the run may use.",
            'Write it such as {"tokens": 100000, "seconds": 900}.',
        )
    return budget
