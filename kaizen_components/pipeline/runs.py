"""Begin a run, or go on with one: what P1 and P7 do, whoever thinks."""

import os
from contextlib import contextmanager
from typing import Any

from ..errors import Busy, Conflict, Usage
from ..records import ids, span
from . import ledger, machine
from .book import Book
from .engine import Engine, summary
from .progress import Progress
from .protocol import Protocol
from .target import Target
from .work import Work

LEASE_MS = 6 * 3_600_000  # whoever dies before has his lock let go by the system, and P7 takes the lease over
TITLE_CHARS = 200
SUMMARY_CHARS = 2_000
NOTHING = {
    "kind": "run", "status": "unset", "duration_ms": 0, "model": None, "tokens_in": 0, "tokens_out": 0, "cost_usd": 0,
    "summary": None,
}  # fmt: skip
EXIT_CODES = {"accepted": 0, "blocked": 5}  # everything else is 1: a result, but not the one that was wanted


def begin(
    write, store, protocol: Protocol, driver: str, request: str, repo: str, task_id: str | None, options
) -> dict[str, Any]:
    """Record a new run with its task and its root span; nothing has happened in it yet."""
    target = Target(repo)
    commit = target.head()
    inside = os.path.relpath(target.path, store.place.root).replace(os.sep, "/")
    values = {"driver": driver, "request": request, "repo": inside, "base_commit": commit, "options": options}
    if target.dirty():
        store.notes.append("The target has uncommitted changes; the run starts from its last commit without them.")

    def do(tx):
        task = tx.find("task", task_id) if task_id else _task(tx, request, protocol)
        run = ledger.start(tx, protocol, task, values)
        root = span.add(
            tx, run["id"], None, task["id"], None, {"run": run["id"], "protocol": protocol.name},
            {**NOTHING, "name": f"{protocol.name} {request}"[:200]},
        )  # fmt: skip
        return {"id": run["id"], "kind": "run", "task_id": task["id"], "span_id": root["id"]}

    return write(do)


def _task(tx, request, protocol):
    lines = request.strip().splitlines()
    return tx.add(
        "task",
        {
            "title": lines[0][:TITLE_CHARS], "summary": request.strip()[:SUMMARY_CHARS], "scope": "pipeline",
            "priority": "normal", "status": "open",
        },
    )  # fmt: skip


def go_on(write, look, store, run_id: str, driver) -> dict[str, Any]:
    """Drive the run from where it stands to its end; one process at a time."""
    import json

    run = look().find("run", run_id)
    with _alone(store, run):
        root = look().value("SELECT id FROM span WHERE trace_id = ? ORDER BY seq LIMIT 1", (run["id"],))
        book = Book(write, look, store, run, root)
        if book.state["phase"] == "ended":
            raise Conflict(
                "run_ended", f"{run['id']} has ended.", f"It was {book.state['outcome']}.", "Begin another: `P1`."
            )
        holder = f"{look().actor} {os.getpid()}"
        if book.state["lease"]:
            book.add("released")  # its holder is gone, or we could not hold the lock
        book.add("leased", holder=holder, token=book.state["refusals"] + 1, until=ids.iso(ids.now_ms() + LEASE_MS))
        work = Work(store.place, run, json.loads(run["options"]))
        driver.work = work  # what a scout may look at
        progress = Progress()
        try:
            state = Engine(book, work, driver, progress).drive()
        finally:
            progress.close()
        return answer(run, state, book.events())


def answer(run: dict[str, Any], state: machine.State, events: list[dict[str, Any]]) -> dict[str, Any]:
    numbers = summary(state, events)
    ended = next((event for event in reversed(events) if event["event"] == "ended"), None)
    delivered = ended["payload"]["delivered"] if ended else {}
    found = {
        "id": run["id"], "kind": "run", "task_id": run["task_id"], "protocol": run["protocol"], **numbers, **delivered,
        "artifacts": list((ended["payload"]["artifacts"] if ended else {}).values()),
    }  # fmt: skip
    code = EXIT_CODES.get(state["outcome"] or "", 1) if ended else 0
    return {**found, "hint": _hint(run, state, delivered), **({"exit_code": code} if code else {})}


def _hint(run, state, delivered):
    if delivered.get("not_applied"):
        return f"The work is on the branch {delivered['branch']}, but not in the tree: {delivered['not_applied']}"
    if delivered:
        return f"Look at it: git -C {run['repo']} diff {run['base_commit'][:10]} {delivered['branch']}"
    return f"`P2 --id {run['id']}` shows every gate and attempt."


def abort(write, look, store, run_id: str, why: str) -> dict[str, Any]:
    """End a run that nobody drives."""
    import json

    run = look().find("run", run_id)
    with _alone(store, run):
        root = look().value("SELECT id FROM span WHERE trace_id = ? ORDER BY seq LIMIT 1", (run["id"],))
        book = Book(write, look, store, run, root)
        if book.state["phase"] in ("ending", "delivering", "ended"):
            raise Conflict(
                "run_ended", f"{run['id']} is {book.state['outcome']} already.", "", f"`P2 --id {run['id']}`"
            )
        book.add("aborted", why=why)
        book.end(Work(store.place, run, json.loads(run["options"])), {})
        return answer(run, book.state, book.events())


@contextmanager
def _alone(store, run):
    """A lock that the system lets go when its holder dies, however that happens."""
    folder = os.path.join(store.place.work, "runs", run["id"])
    os.makedirs(folder, exist_ok=True)
    descriptor = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(descriptor, run)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor, run):
    busy = Busy(
        "run_is_driven", f"{run['id']} is being driven by another process.", "", "Wait for it, or look at it: `P2`."
    )
    try:
        import fcntl
    except ImportError:
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            raise busy from None
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise busy from None


def budget_of(given: Any) -> dict[str, float]:
    """--budget-json as numbers, or a Usage error."""
    if not isinstance(given, dict) or not all(
        isinstance(value, (int, float)) and value > 0 for value in given.values()
    ):
        raise Usage(
            "bad_budget",
            "--budget-json must be an object of numbers.",
            "",
            'Such as {"tokens": 100000, "seconds": 900}.',
        )
    return given
