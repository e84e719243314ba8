"""What agent hosts call: D3. A hook answers within its time or keeps quiet; it never fails its host."""

import sys

from ..errors import Blocked, KaizenError
from ..records.ledger.canonical import encode_compact
from ..records.quality import proof
from ..records.secrets import scan
from ..records.work import completion

PATIENCE_S = 1.0  # for a database that somebody else keeps
BUDGET_TOKENS = 1_500
SILENT = {"document": ""}
BEGINS = "startup"  # of SessionStart's sources; the others go on in a conversation, which a clear gives another id


def hook(write, look, store, *, event, host="claude"):
    """Answer a hook of Claude Code or Codex, whose JSON is on stdin: load the digest, refuse to stop, note a test run.

    Example: echo '{"hook_event_name": "SessionStart", "source": "startup"}' | kaizen D3 session-start
    """
    from ..projects.hooks import event as host_event
    from ..projects.hooks import log as hook_log

    told = host_event.read_event(sys.stdin, event)
    if told is None or not store.exists():
        return SILENT
    store.limit_wait(PATIENCE_S)
    try:
        return ANSWERS[event](write, look, store, told, host) or SILENT
    except Blocked:
        raise
    except KaizenError as error:
        hook_log.log_failure(store.place, event, f"{error.code}: {error.what} {error.why}")
    except Exception as error:
        hook_log.log_failure(store.place, event, f"{type(error).__name__}: {error}")
    return SILENT


def _session_start(write, look, store, told, host):
    """The digest, also after a compaction, a resume or a clear: whatever the host forgot, it is told again."""
    from ..projects.hooks.event import get_session
    from ..records.work.lease import validate_session
    from ..reports.digest.digest import build_digest

    known = validate_session(get_session(told)) if told.get("source") == BEGINS else None
    text = build_digest(write, look, store, BUDGET_TOKENS, None, None, None, "md", known)["text"]
    said = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
    return {"document": encode_compact(said) + "\n"}


def _stop(write, look, store, told, host):
    """Refuse once; a host that comes again with stop_hook_active may go, or it would go round for ever."""
    from ..projects.hooks.event import get_session

    if told.get("stop_hook_active"):
        return
    db = look()
    tasks = [
        task for task in completion.list_claimed_tasks(db, get_session(told)) if task["done_when"]
    ]
    unproven = [(task, points) for task in tasks if (points := _open_points(db, task, store))]
    if unproven:
        raise _blocked(unproven)


def _open_points(db, task, store):
    """The tree is hashed only if there is a proof to compare it with."""
    points = completion.list_open_points(db, task, "")
    if all(point["state"] == "missing" for point in points):
        return points
    from ..records.files.working_tree import read_working_tree

    return completion.list_open_points(
        db, task, read_working_tree(store.place.root, store.place.tree_cache).sha256
    )


def _blocked(unproven):
    task, points = unproven[0]
    id, refusal = task["id"], completion.open_points_error(task, points)
    others = ", ".join(one["id"] for one, _ in unproven[1:])
    error = Blocked(
        refusal.code,
        f"You hold {id} ({task['title']}), and it is not proven to be done.",
        refusal.why + (f" Also unproven: {others}." if others else ""),
        f"Run `kaizen Q1 --task-id {id} --run -- {points[0]['command']}`{' and the others' * (len(points) > 1)}, then "
        f'`kaizen W2 --id {id} --status done`. If you cannot: `kaizen W2 --id {id} --status blocked --note "why"`.',
    )
    error.findings = points
    return error


def _post_tool_use(write, look, store, told, host):
    """A test run that the host says it has seen: reported, because nobody of us ran it."""
    from ..projects.hooks import event as host_event
    from ..projects.hooks import log as hook_log
    from ..projects.hooks.runs_tests import exits_as_its_tests, read_test_commands, runs_tests

    ran = host_event.find_command(told)
    if ran is None:
        return
    more = read_test_commands(store.place.root)
    if not runs_tests(ran.command, more):
        return
    if scan.find_secret(ran.command):
        hook_log.log_failure(
            store.place,
            "post-tool-use",
            "A test command was not recorded: it seems to hold a secret.",
        )
        return
    exit_code = ran.exit_code if exits_as_its_tests(ran.command, more) else None
    write(lambda tx: _reported(tx, ran, exit_code, host, host_event.get_session(told)))


def _reported(tx, ran, exit_code, host, session):
    held = completion.list_claimed_tasks(tx, session)
    task = held[0] if len(held) == 1 else None
    summary = f"Reported by a hook of {host}; Kaizen did not run it."
    if exit_code is None:
        summary += " Nobody named an exit code that would be that of the tests."
    words = {
        "title": ran.command.split("\n")[0],
        "summary": summary,
        "body": None,
        "task_id": task and task["id"],
    }
    return proof.add_reported_proof(tx, words, ran.command, exit_code, [task] if task else [])


ANSWERS = {"session-start": _session_start, "stop": _stop, "post-tool-use": _post_tool_use}
