"""Leases: they record who is working on a task.

A lease expires after some time. A live lease has one holder; its fencing token distinguishes this
holder from earlier ones. `take` succeeds only without a live lease and increments the token.
`renew` and `release` need the current token. An expired lease can be renewed until another actor
takes the task. `break` ends the lease of another actor and needs a reason. Closing the task ends
the lease.
"""

import os

from ...errors import Conflict, Refused, Usage
from .. import ids

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Row, Writer

CLOSED = ("done", "canceled")
# Claude Code and Codex set these in the shells of their sessions.
SESSION_VARIABLES = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
UUID_CHARS = frozenset("0123456789abcdef-")
SESSION_CHARS_MAX = 64


def is_live(task: "Row", at: str) -> bool:
    return task["lease_until"] is not None and task["lease_until"] > at


def require_holder(tx: "Writer", task: "Row", token: int | None, changes_status: bool) -> None:
    """Refuse an update with an old token, or a status change of a task that another actor holds."""
    live = is_live(task, tx.at)
    if token is not None and (token != task["token"] or not live or task["holder"] != tx.actor):
        raise _stale_token_error(tx, task, token)
    if token is None and changes_status and live and task["holder"] != tx.actor:
        raise Conflict(
            "held_by_another",
            f"{task['id']} is held by another actor.",
            _describe_holder(task),
            "Wait for the lease to end, leave a --note instead, "
            "or end it with `W13 --action break --note REASON`.",
        )


def end_lease(tx: "Writer", task: "Row") -> None:
    """Release the lease of a closed task, so that the task can be taken as soon as it reopens."""
    if is_live(task, tx.at):
        values = {"task_id": task["id"], "token": task["token"], "action": "release"}
        tx.add("lease", values, of=(task,))


def change_lease(
    tx: "Writer", task: "Row", action: str, ttl_s: int, token: int | None, note: str | None
) -> "Row":
    """Carry out one lease action and return the new lease row."""
    if tx.test and not task["test"]:
        raise Refused(
            "test_lease",
            f"{task['id']} is not a test task.",
            "K7 would remove the lease, and its token would be given out again.",
            "Leave --test out, or claim a task made with --test.",
        )
    if action in ("take", "renew") and task["status"] in CLOSED:
        raise Refused(
            "task_closed",
            f"{task['id']} is {task['status']}.",
            "Only an open task can be claimed.",
            "Reopen the task first: `W2 --status open`.",
        )
    live = is_live(task, tx.at)
    if action == "take":
        if live:
            step = "Claim another task: `W12` lists the tasks that are ready."
            if task["holder"] == tx.actor:
                step = (
                    "If that was you, `W13 --action renew --token N` keeps it. If another agent has "
                    "the same name, take another task (`W12`), and give each agent its own name "
                    "(--actor, KAIZEN_ACTOR)."
                )
            what = f"{task['id']} is already claimed."
            raise Conflict("already_claimed", what, _describe_holder(task), step)
        token = (task["token"] or 0) + 1
    elif action == "break":
        if not live:
            what = f"{task['id']} has no live lease."
            why, step = "Only a live lease can be broken.", f"Claim it: `W13 --id {task['id']}`."
            raise Conflict("not_claimed", what, why, step)
        if not note:
            step = "Add --note REASON. If you are the holder, use `--action release --token N`."
            why = "The holder must learn why the lease was ended."
            raise Usage("reason_missing", "Breaking a lease needs a reason.", why, step)
        token = task["token"]
    elif token is None:
        step = "Give the token that `take` returned."
        why = "The token proves that you hold the lease."
        raise Usage("missing_option", f"--action {action} needs --token.", why, step)
    elif token != task["token"] or task["lease_until"] is None or task["holder"] != tx.actor:
        raise _stale_token_error(tx, task, token)
    until = ids.format_time(tx.at_ms + ttl_s * 1000) if action in ("take", "renew") else None
    session = read_host_session() if until else None
    values = {"task_id": task["id"], "token": token, "action": action, "until": until}
    values |= {"note": note, "session": session}
    return tx.add("lease", values, of=(task,))


def _stale_token_error(tx: "Writer", task: "Row", token: int) -> Conflict:
    live, closed = is_live(task, tx.at), task["status"] in CLOSED
    why = "The lease has ended."
    step = "Claim the task again (`W13`) and look at what changed meanwhile (`W10`)."
    if closed:
        why = f"The task is {task['status']}, which ended its lease."
        step = "There is nothing to release; leave --token out to change the task now."
    if live:
        why = _describe_holder(task)
        if task["holder"] == tx.actor:
            step = "Give the token that `take` returned; `W10` shows the lease."
        elif not closed:
            step = "Wait for the lease to end, and look at what changed meanwhile (`W10`)."
    what = f"Token {token} of {tx.actor} does not hold {task['id']}."
    return Conflict("stale_token", what, why, step)


def _describe_holder(task: "Row") -> str:
    return f"{task['holder']} holds it until {task['lease_until']}."


def read_host_session() -> str | None:
    """Return the session id of this process; None without one, or if two hosts set one."""
    sessions = {os.environ.get(name, "") for name in SESSION_VARIABLES} - {""}
    return validate_session(sessions.pop()) if len(sessions) == 1 else None


def validate_session(session: str | None) -> str | None:
    """Return the session id if it has the form of a UUID, else None: other text is not recorded."""
    if session and len(session) <= SESSION_CHARS_MAX and UUID_CHARS.issuperset(session):
        return session
    return None
