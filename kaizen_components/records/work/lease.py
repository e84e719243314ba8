"""Leases: who works on a task right now. A lease ends by itself; its fencing token tells an old holder from the new.

Rules: a live lease has one holder; `take` succeeds only when there is none, and its token is one more than the last;
`renew` and `release` need the current token; a lease that ran out can be renewed until somebody else takes the task;
`break` ends another's lease and needs a reason; closing the task ends the lease.
"""

import os

from ...errors import Conflict, Refused, Usage
from .. import ids

CLOSED = ("done", "canceled")
SESSION_VARIABLES = (
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_THREAD_ID",
)  # that the hosts set in the shells of their sessions
UUID_CHARS = frozenset("0123456789abcdef-")
SESSION_CHARS_MAX = 64


def is_live(task, at):
    return task["lease_until"] is not None and task["lease_until"] > at


def require_holder(tx, task, token, changes_status):
    """Refuse an update that comes from somebody who no longer holds the task, or never did."""
    live = is_live(task, tx.at)
    if token is not None and (token != task["token"] or not live or task["holder"] != tx.actor):
        raise Conflict(
            "stale_token",
            f"Token {token} of {tx.actor} does not hold {task['id']}.",
            _holder_of(task) if live else _why_ended(task),
            _after_a_stale_token(tx, task, live),
        )
    if token is None and changes_status and live and task["holder"] != tx.actor:
        raise Conflict(
            "held_by_another",
            f"{task['id']} is held by another actor.",
            _holder_of(task),
            "Wait for the lease to end, leave a --note instead, or end it with `W13 --action break --note REASON`.",
        )


def end_lease(tx, task):
    """A task that is closed is held by nobody; reopened, it can be taken at once."""
    if is_live(task, tx.at):
        tx.add(
            "lease",
            {"task_id": task["id"], "token": task["token"], "action": "release"},
            of=(task,),
        )


def change_lease(tx, task, action, ttl_s, token, note):
    """Carry out one lease action and return the new lease row."""
    if tx.test and not task["test"]:
        raise Refused(
            "test_lease",
            f"{task['id']} is not a test task.",
            "A lease that K7 could remove would let its token be given out twice.",
            "Leave --test out, or claim a task made with --test.",
        )
    if action in ("take", "renew") and task["status"] in CLOSED:
        raise Refused(
            "task_closed",
            f"{task['id']} is {task['status']}.",
            "",
            "Reopen it first: `W2 --status open`.",
        )
    if action == "take":
        token = _token_to_take(tx, task)
    elif action == "break":
        token = _token_to_break(tx, task, note)
    else:
        _require_current(tx, task, action, token)
    until = ids.format_time(tx.at_ms + ttl_s * 1000) if action in ("take", "renew") else None
    session = read_host_session() if until else None
    values = {
        "task_id": task["id"], "token": token, "action": action, "until": until, "note": note, "session": session,
    }  # fmt: skip
    return tx.add("lease", values, of=(task,))


def _token_to_take(tx, task):
    if is_live(task, tx.at):
        raise Conflict(
            "already_claimed",
            f"{task['id']} is taken.",
            _holder_of(task),
            "If that was you, `W13 --action renew --token N` keeps it. If another of the same name did, take another "
            "one (`W12`), and give each agent a name of its own (--actor, KAIZEN_ACTOR)."
            if task["holder"] == tx.actor
            else "Take another one: `W12` lists what is ready.",
        )
    return (task["token"] or 0) + 1


def _token_to_break(tx, task, note):
    if not is_live(task, tx.at):
        raise Conflict("not_claimed", f"Nobody holds {task['id']}.", "", "Take it: `W13 --id` …")
    if not note:
        raise Usage(
            "reason_missing",
            "Breaking a lease needs a reason.",
            "",
            "Add --note REASON; who holds it gives it back with `--action release --token N`.",
        )
    return task["token"]


def _require_current(tx, task, action, token):
    if token is None:
        raise Usage(
            "missing_option",
            f"--action {action} needs --token.",
            "",
            "Give the token that `take` returned.",
        )
    if token != task["token"] or task["lease_until"] is None or task["holder"] != tx.actor:
        raise Conflict(
            "stale_token",
            f"Token {token} of {tx.actor} does not hold {task['id']}.",
            _holder_of(task) if is_live(task, tx.at) else _why_ended(task),
            _after_a_stale_token(tx, task, is_live(task, tx.at)),
        )


def _after_a_stale_token(tx, task, live):
    if live and task["holder"] == tx.actor:
        return "Give the token that `take` returned; `W10` shows the lease."
    if task["status"] in CLOSED:
        return "Nothing is left to release; whoever changes the task now leaves --token out."
    if live:
        return "Wait for the lease to end, and look at what changed meanwhile (`W10`)."
    return "Take the task again (`W13`) and look at what changed meanwhile (`W10`)."


def _why_ended(task):
    is_closed = task["status"] in CLOSED
    return (
        f"The task is {task['status']}, which ended its lease."
        if is_closed
        else "The lease has ended."
    )


def _holder_of(task):
    return f"{task['holder']} holds it until {task['lease_until']}."


def read_host_session():
    """The session that this process runs in; None for none, and for one host within another, where it is not clear."""
    found = {os.environ.get(name, "") for name in SESSION_VARIABLES} - {""}
    return validate_session(found.pop()) if len(found) == 1 else None


def validate_session(session):
    """An id as both hosts make them; None for other text, which is not recorded."""
    return (
        session
        if session and len(session) <= SESSION_CHARS_MAX and UUID_CHARS.issuperset(session)
        else None
    )
