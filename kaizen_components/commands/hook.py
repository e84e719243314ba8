"""Answer agent hosts: D3. A hook answers in time or prints nothing; it never breaks its host."""

from __future__ import annotations

import sys

from ..errors import Blocked, KaizenError
from ..records.ledger.canonical import encode_compact
from ..records.quality import proof
from ..records.secrets import scan
from ..records.work import completion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..parameters import ReadNow, Row, Store, WriteLater, Writer

PATIENCE_S = 1.0  # how long to wait for a database that another process holds
BUDGET_TOKENS = 1_500
SILENT = {"document": ""}
NEW_SESSION = "startup"  # the source of SessionStart; after a clear the id differs


def hook(
    write: WriteLater, look: ReadNow, store: Store, *, event: str, host: str = "claude"
) -> Row:
    """Answer a hook of Claude Code or Codex, whose JSON is on stdin: load the digest, block an
    unproven stop, note a test run.

    Example: echo '{"hook_event_name": "SessionStart", "source": "startup"}' | kaizen D3
        session-start
    """
    from ..projects.hooks import event as host_event
    from ..projects.hooks.log import log_failure

    message = host_event.read_event(sys.stdin, event)
    if message is None or not store.exists():
        return SILENT
    store.limit_wait(PATIENCE_S)
    try:
        if event == "session-start":
            return load_digest(write, look, store, message)
        if event == "stop":
            refuse_unproven_stop(look, store, message)
        else:
            record_test_run(write, store, message, host)
    except Blocked:
        raise
    except KaizenError as error:
        log_failure(store.place, event, f"{error.code}: {error.what} {error.why}")
    except Exception as error:
        log_failure(store.place, event, f"{type(error).__name__}: {error}")
    return SILENT


def load_digest(write: WriteLater, look: ReadNow, store: Store, message: dict[str, Any]) -> Row:
    """Return the output of the hook SessionStart, with the digest.

    The host asks for it at the start, and after a resume, a clear or a compaction.
    """
    from ..projects.hooks.event import get_session
    from ..records.work.lease import validate_session
    from ..reports.digest.digest import build_digest

    is_new = message.get("source") == NEW_SESSION
    session = validate_session(get_session(message)) if is_new else None
    digest = build_digest(write, look, store, BUDGET_TOKENS, None, None, None, "md", session)
    output = {"hookEventName": "SessionStart", "additionalContext": digest["text"]}
    return {"document": encode_compact({"hookSpecificOutput": output}) + "\n"}


def refuse_unproven_stop(look: ReadNow, store: Store, message: dict[str, Any]) -> None:
    """Raise Blocked once if a claimed task lacks its proofs.

    With stop_hook_active the host was already blocked once; blocking it again would loop forever.
    """
    from ..projects.hooks.event import get_session

    if message.get("stop_hook_active"):
        return
    db = look()
    unproven_tasks = []
    for task in completion.list_claimed_tasks(db, get_session(message)):
        points = completion.list_open_points(db, task, "") if task["done_when"] else []
        if any(point["state"] != "missing" for point in points):
            # Hash the tree only if there is a proof to compare it with.
            from ..records.files.working_tree import read_working_tree

            tree = read_working_tree(store.place.root, store.place.tree_cache).sha256
            points = completion.list_open_points(db, task, tree)
        if points:
            unproven_tasks.append((task, points))
    if not unproven_tasks:
        return
    task, points = unproven_tasks[0]
    id, refusal = task["id"], completion.open_points_error(task, points)
    other_ids = ", ".join(other["id"] for other, _ in unproven_tasks[1:])
    other_points = " and the others" if len(points) > 1 else ""
    error = Blocked(
        refusal.code,
        f"You hold the task {id} ({task['title']}), which is not proven to be done.",
        refusal.why + (f" Also unproven: {other_ids}." if other_ids else ""),
        f"Run `kaizen Q1 --task-id {id} --run -- {points[0]['command']}`{other_points}, then "
        f"`kaizen W2 --id {id} --status done`. "
        f'If you cannot: `kaizen W2 --id {id} --status blocked --note "why"`.',
    )
    error.findings = points
    raise error


def record_test_run(write: WriteLater, store: Store, message: dict[str, Any], host: str) -> None:
    """Record a test run that the host has seen as a reported proof: Kaizen did not run it."""
    from ..projects.hooks import event as host_event
    from ..projects.hooks.log import log_failure
    from ..projects.hooks.runs_tests import exits_as_its_tests, read_test_commands, runs_tests

    host_command = host_event.find_command(message)
    if host_command is None:
        return
    command, test_commands = host_command.command, read_test_commands(store.place.root)
    if not runs_tests(command, test_commands):
        return
    if scan.find_secret(command):
        problem = "A test command was not recorded: it seems to hold a secret."
        log_failure(store.place, "post-tool-use", problem)
        return
    exit_code = host_command.exit_code if exits_as_its_tests(command, test_commands) else None

    def add_proof(tx: Writer) -> None:
        tasks = completion.list_claimed_tasks(tx, host_event.get_session(message))
        tasks = tasks if len(tasks) == 1 else []
        summary = f"Reported by a hook of {host}; Kaizen did not run it."
        if exit_code is None:
            summary += " The exit code of the tests is unknown."
        words = {"title": command.split("\n")[0], "summary": summary, "body": None}
        words["task_id"] = tasks[0]["id"] if tasks else None
        proof.add_reported_proof(tx, words, command, exit_code, tasks)

    write(add_proof)
