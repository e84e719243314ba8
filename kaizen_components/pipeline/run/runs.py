"""Begin a run, go on with one, or end one: what P1 and P7 do, whoever thinks."""

import json
import os
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

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

LEASE_MS = (
    6 * 3_600_000
)  # whoever dies before has his lock let go by the system, and P7 takes the lease over
WAITING = "SELECT id FROM run_current WHERE driver = 'agent' AND phase <> 'ended' ORDER BY seq DESC LIMIT 1"
TITLE_CHARS = 200
FINDINGS_SHOWN = 5
SUMMARY_CHARS = 2_000
NOTHING = {
    "kind": "run", "status": "unset", "duration_ms": 0, "model": None, "tokens_in": 0, "tokens_out": 0, "cost_usd": 0,
    "summary": None,
}  # fmt: skip
UNJUDGED: dict[str, Any] = {
    "reason": None, "says": "Nobody has judged it: the run ended before.", "payload": {"findings": []},
}  # fmt: skip
EXIT_CODES = {
    "accepted": 0,
    "blocked": 5,
}  # everything else is 1: a result, but not the one that was wanted


def begin_run(
    write,
    store,
    protocol: Protocol,
    driver: str,
    request: str,
    repo: str,
    task_id: str | None,
    options,
) -> dict[str, Any]:
    """Record a new run with its task and its root span; nothing has happened in it yet."""
    target = Target(repo)
    commit = target.head()
    if options["python"]:
        find_interpreter(target, options["python"])  # or it is refused before anything is recorded
    inside = os.path.relpath(target.path, store.place.root).replace(os.sep, "/")
    values = {
        "driver": driver, "request": request, "repo": inside, "base_commit": commit,
        "options": {**options, "sandbox": sandbox.detect_level()},
    }  # fmt: skip
    if target.is_dirty():
        store.notes.append(
            "The target has uncommitted changes; the run starts from its last commit without them."
        )
    if target.submodules(commit):
        store.notes.append(
            f"Submodules are no part of the run: {', '.join(target.submodules(commit)[:5])}."
        )

    def do(tx):
        task = tx.find("task", task_id) if task_id else _task(tx, request)
        run = recorder.start_run(tx, protocol, task, values)
        root = span.add_span(
            tx, run["id"], None, task["id"], None, {"run": run["id"], "protocol": protocol.name},
            {**NOTHING, "name": f"{protocol.name} {' '.join(request.split())}"[:200]},
        )  # fmt: skip
        return {"id": run["id"], "kind": "run", "task_id": task["id"], "span_id": root["id"]}

    return write(do)


def _task(tx, request):
    return tx.add(
        "task",
        {
            "title": request.strip().splitlines()[0][:TITLE_CHARS], "summary": request.strip()[:SUMMARY_CHARS],
            "scope": "pipeline", "priority": "normal", "status": "open",
        },
    )  # fmt: skip


def drive_run(write, look, store, run_id: str, driver) -> dict[str, Any]:
    """Drive a model's run from where it stands to its end; one process at a time."""
    with _open_run(write, look, store, run_id) as (book, work):
        _refuse_ended(book)
        if book.state["lease"]:
            book.add("released")  # its holder is gone, or we could not hold the lock
        book.add(
            "leased",
            holder=f"{book.actor} {os.getpid()}",
            until=ids.format_time(ids.now_ms() + LEASE_MS),
        )
        driver.work = work  # what a scout may look at
        _drive(book, work, driver)
        return describe_end(book.run, book)


def give_turn(write, look, store, run_id: str, ttl_s: int) -> dict[str, Any]:
    """What is legal in an agent's run, with a lease on it: whatever is ours to do is done first."""
    with _open_run(write, look, store, run_id) as (book, work):
        _refuse_other_driver(book)
        engine = _drive(book, work, None)
        if book.state["phase"] == "ended":
            return describe_end(book.run, book)
        turn.take_lease(book, book.actor, ttl_s)
        return _build_contract(book, work, engine)


def take_answer(write, look, store, given: dict[str, Any]) -> dict[str, Any]:
    """Take an agent's answer, judge it, and do what follows, as far as nobody has to think."""
    try:
        run, leased = turn.find_leased_run(look(), given["lease"])
    except NotFound:
        _record_unknown_lease(write, look, store)
        raise
    with _open_run(write, look, store, run["id"]) as (book, work):
        _refuse_other_driver(book, answering=True)
        past = turn.find_same_answer(book, given["lease"], given["text"])
        if past is None:
            _record_answer(book, work, given, leased)
        place = past or {"step": book.state["step"], "attempt": book.state["attempt"]}
        _drive(book, work, None)
        return {**_describe_verdict(book, place), **({"replayed": True} if past else {})}


def _record_unknown_lease(write, look, store):
    """On the newest run that waits for an agent: which one was meant nobody can tell.

    If that run is being driven, or cannot be opened, what counts is still that the lease is unknown.
    """
    waiting = look().value(WAITING)
    if waiting:
        with (
            suppress(KaizenError),
            _open_run(write, look, store, waiting, needs_target=False) as (book, _),
        ):
            book.record_refusal("unknown-lease", "A lease was named that nobody gave out.")


def _record_answer(book, work, given, leased):
    engine = Engine(book, work, None, Progress())
    step = engine.protocol.steps[book.state["step"]]
    turn.check_submission(book, step, given)
    turn.check_paths(book, work, step, engine.build_context(step, book.state), given["text"])
    thought_ms = ids.now_ms() - round(datetime.fromisoformat(leased["at"]).timestamp() * 1000)
    reply = Reply(given["text"], served_by=f"agent {book.actor}", seconds=max(0, thought_ms) / 1000)
    book.answer(step.name, book.state["attempt"], reply, given["lease"])
    book.add("released")


def _describe_verdict(book, place):
    """What became of an answer, and of the run. A run that was aborted in between has judged nothing."""
    judged = [one for one in book.events() if one["event"] == "judged"]
    own = [(one["step"], one["attempt"]) == (place["step"], place["attempt"]) for one in judged]
    found = judged[own.index(True)] if any(own) else UNJUDGED
    since = judged[own.index(True) + 1 :] if any(own) else []
    said = {
        "id": book.run["id"], "kind": "run", "step": place["step"], "attempt": place["attempt"],
        "reason": found["reason"], "passed": found["reason"] == "pass", "says": found["says"],
        "findings": [describe_finding(one) for one in found["payload"]["findings"][:FINDINGS_SHOWN]],
        "then": [f"{one['step']} {one['attempt']}: {one['reason']}. {one['says'] or ''}".strip() for one in since],
    }  # fmt: skip
    if book.state["phase"] == "ended":
        ended = describe_end(book.run, book)
        code = ended.pop(
            "exit_code", 0
        )  # of the call as a whole: `P4 && deploy` must not deploy what was rejected
        return {
            **said,
            "run": ended,
            "outcome": book.state["outcome"],
            **({"exit_code": code} if code else {}),
        }
    return {
        **said,
        "next_step": book.state["step"],
        "hint": f"`P5 --id {book.run['id']}` gives the next step.",
    }


def _build_contract(book, work, engine):
    step = engine.protocol.steps[book.state["step"]]
    asked = engine.build_context(step, book.state)
    return turn.build_contract(
        book, work, engine.protocol, asked, engine.question(step, book.state)
    )


@contextmanager
def _open_run(write, look, store, run_id, *, needs_target=True):
    """The run's book and its files, for this process alone."""
    run = look().find("run", run_id)
    with _lock_run(store, run):
        work = Workspace(store.place, run, json.loads(run["options"]))
        try:
            if needs_target:
                _require_target(work)
            if run["driver"] == "agent":
                work.forget()
            yield Journal(write, look, store, run), work
        finally:
            work.close()


def _require_target(work):
    """One that is gone is an error now, and no verdict later."""
    try:
        return work.target
    except (NotFound, Refused) as error:
        raise NotFound(
            "target_gone",
            f"{work.run['repo']}, which {work.run['id']} works for, cannot be worked on any more.",
            f"{error.what} {error.why}".strip(),
            f"Bring it back, or end the run: `P7 --id {work.run['id']} --abort`.",
        ) from None


def _drive(book, work, driver) -> Engine:
    progress = Progress()
    try:
        progress.begin(
            book.run["id"], f"{book.run['protocol']}: {' '.join(book.run['request'].split())[:100]}"
        )
        engine = Engine(book, work, driver, progress)
        engine.drive()
        return engine
    finally:
        progress.close()


def _refuse_ended(book):
    if book.state["phase"] == "ended":
        raise Conflict(
            "run_ended",
            f"{book.run['id']} has ended.",
            f"It was {book.state['outcome']}.",
            "Begin another: `P1`.",
        )


def _refuse_other_driver(book, answering=False):
    if book.run["driver"] != "agent":
        if answering:
            book.record_refusal("not-an-agents-run", "An agent has answered.")
        raise Conflict(
            "not_an_agents_run",
            f"{book.run['id']} is driven by a {book.run['driver']}.",
            "Rule not-an-agents-run. Expected is a run that was begun with --driver agent.",
            f"Go on with it: `P7 --id {book.run['id']}`.",
        )


def describe_end(run: dict[str, Any], book: Journal) -> dict[str, Any]:
    """What P1 and P7 say about a run that has ended."""
    events = book.events()
    last = next(event["payload"] for event in reversed(events) if event["event"] == "ended")
    found = {
        "id": run["id"], "kind": "run", "task_id": run["task_id"], "protocol": run["protocol"],
        **summarize_run(book.state, events), **_last_failure(book.state, events), **last["delivered"],
        "artifacts": list(last["artifacts"].values()),
        "hint": _suggest_next(run, last["delivered"]),
    }  # fmt: skip
    code = EXIT_CODES.get(found["outcome"], 1)
    return {**found, "exit_code": code} if code else found


def _last_failure(state, events):
    """What ended a run that was not accepted, in the words of whoever judged it."""
    judged = [event for event in events if event["event"] == "judged" and event["reason"] != "pass"]
    if state["outcome"] == "accepted" or not judged:
        return {}
    found = judged[-1]["payload"]["findings"][:FINDINGS_SHOWN]
    return {"says": judged[-1]["says"], "findings": [describe_finding(one) for one in found]}


def _suggest_next(run, delivered):
    if delivered.get("not_applied"):
        return f"The work is on the branch {delivered['branch']}, but not in the tree: {delivered['not_applied']}"
    if "fixture" in delivered:
        return f"Run it later, as {delivered['case_id']} says: {delivered['command']}"
    if delivered:
        return (
            f"Look at it: git -C {run['repo']} diff {run['base_commit'][:10]} {delivered['branch']}"
        )
    return f"`P2 --id {run['id']}` shows every gate and attempt."


def abort_run(write, look, store, run_id: str, why: str) -> dict[str, Any]:
    """End a run that nobody drives."""
    with _open_run(write, look, store, run_id, needs_target=False) as (book, work):
        ends_otherwise = book.state["phase"] == "ending" and book.state["outcome"] != "accepted"
        if book.state["phase"] in ("ending", "delivering", "ended") and not ends_otherwise:
            book.record_refusal("run-ended", "Somebody wanted to abort it.")
            raise Conflict(
                "run_ended",
                f"{book.run['id']} is {book.state['outcome']} already.",
                "Rule run-ended. Expected is a run that has not come to its end.",
                f"`P2 --id {book.run['id']}` shows it."
                if book.state["phase"] == "ended"
                else f"Let it come to its end: `P7 --id {book.run['id']}`.",
            )
        if not ends_otherwise:
            book.add("aborted", why=why)
        book.end(work, {})
        return {**describe_end(book.run, book), "exit_code": 0}  # it is what was asked for


@contextmanager
def _lock_run(store, run):
    """A lock that the system lets go when its holder dies, however that happens."""
    descriptor = _lock_file(os.path.join(store.place.work, "runs", run["id"]))
    try:
        if not try_lock(descriptor):
            raise Busy(
                "run_is_driven",
                f"{run['id']} is being driven by another process.",
                "Rule one-at-a-time. Expected is that nobody else works on it.",
                f"Wait for it, or look at it: `P2 --id {run['id']}`.",
            )
        yield
    finally:
        os.close(descriptor)


def _lock_file(folder):
    try:
        os.makedirs(folder, exist_ok=True)
        return os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise Unavailable(
            "run_folder_not_usable",
            f"The run's folder {os.path.basename(folder)} cannot be used.",
            f"{os.path.basename(error.filename or folder)}: {error.strerror}.",
            "Remove what is in its way below AI/work/runs, then go on: nothing that counts is kept there.",
        ) from None


def read_target_budget(repo: str) -> dict[str, float]:
    """What the target's own settings allow a run, as its last commit has them."""
    from ..target.settings import PATH, parse_settings  # pydantic is slow

    target = Target(repo)
    try:
        return parse_settings(target.blob(target.head(), PATH)).budget
    finally:
        target.close()


def check_budget(given: Any) -> dict[str, float]:
    """--budget-json as numbers, or a Usage error."""
    if not isinstance(given, dict) or not all(
        isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0
        for value in given.values()
    ):
        raise Usage(
            "bad_budget",
            "--budget-json must be an object of numbers above 0.",
            "",
            'Such as {"tokens": 100000, "seconds": 900}.',
        )
    return given
