"""Proofs: Q1 and R4."""

import sys

from ..errors import KaizenError, Usage
from ..limits import COMMAND_CHARS_MAX
from ..records.kinds import SEARCHABLE
from ..records.ledger.transaction import make_receipt
from ..records.quality import proof
from ..records.work.command_line import join_words


def add(
    write,
    look,
    store,
    *,
    title=None,
    summary=None,
    body=None,
    task_id=None,
    about=None,
    command=None,
    exit_code=None,
    timeout_s=600,
    run=(),
):
    """Record a proof: witnessed when --run runs the command (and exits as it does), reported when you only say so.

    Example: kaizen Q1 --run -- git --version
    """
    if run and (command or exit_code is not None):
        raise Usage(
            "both_ways",
            "--run sees the command and its exit code itself.",
            "",
            "Leave --command out.",
        )
    if not run and not (title or summary or command):
        raise Usage(
            "missing_option",
            "Q1 proof-add needs --run, or what is reported.",
            "",
            "Give --title, --summary or --command.",
        )
    words = {"title": title, "summary": summary, "body": body}
    if not run:
        return write(lambda tx: _report(tx, words, task_id, about, command, exit_code))
    if (
        task_id or about
    ):  # an unknown id is refused before minutes of tests, and @last is who is last now
        task, subject = _subjects(look(), task_id, about)
        task_id, about = task and task["id"], subject and subject["id"]
    proof.with_title(words, _checked(run))
    seen, outputs, left_out = _witness(store, list(run), timeout_s)
    return write(lambda tx: _record(tx, words, task_id, about, seen, outputs, left_out))


def _checked(run):
    """The command as one line; too long a one is refused before it runs."""
    command = join_words(run)
    if len(command) > COMMAND_CHARS_MAX:
        raise Usage(
            "command_too_long",
            f"The command has {len(command):,} characters; at most {COMMAND_CHARS_MAX:,} fit.",
            "",
            "Put it into a script, and run that.",
        )
    return command


def _subjects(db, task_id, about):
    task = db.find("task", task_id) if task_id else None
    subject = db.find_any(SEARCHABLE, about)[1] if about else None
    return task, subject


def _links(task, subject):
    of = [record for record in (task, subject) if record]
    return of, {"task_id": task and task["id"], "about_id": subject and subject["id"]}


def _report(tx, words, task_id, about, command, exit_code):
    of, links = _links(*_subjects(tx, task_id, about))
    row = proof.add_reported_proof(tx, {**links, **words}, command, exit_code, of)
    return make_receipt(
        "proof", row, tier="reported", outcome=row["outcome"], title=row["title"], **links
    )


def _witness(store, argv, timeout_s):
    """Run the command between two looks at the tree; minutes may pass, and nobody waits for us meanwhile."""
    from ..records.files.working_tree import read_working_tree
    from ..sandbox import process as runner

    root = store.place.root
    cache = store.place.tree_cache
    before = read_working_tree(root, cache)
    ran = runner.run_process(argv, root, timeout_s)
    after = _tree_after(store, root, cache) or before
    seen = {
        "argv": argv,
        "command": join_words(argv),
        "exit_code": ran.exit_code,
        "outcome": "timeout" if ran.timed_out else "passed" if ran.exit_code == 0 else "failed",
        "duration_ms": ran.duration_ms,
        "stdout_hash": ran.stdout.sha256,
        "stderr_hash": ran.stderr.sha256,
        "commit_hash": before.commit,
        "tree_hash": before.sha256,
        "tree_after": after.sha256 if after.sha256 != before.sha256 else None,
        "platform": proof.describe_platform(),
        "protection": runner.PROTECTION,
    }
    sys.stderr.flush()
    outputs = {"stdout": _kept(store, ran.stdout.text()), "stderr": _kept(store, ran.stderr.text())}
    return seen, outputs, ran.stdout.left_out + ran.stderr.left_out


def _tree_after(store, root, cache):
    """A run that was seen is recorded, whatever became of the tree."""
    from ..records.files.working_tree import read_working_tree

    try:
        return read_working_tree(root, cache)
    except KaizenError as error:
        store.notes.append(f"The tree could not be looked at after the run: {error.what}")
        return None


def _kept(store, text):
    try:
        return proof.store_output(store, text)
    except OSError as error:
        store.notes.append(f"The output could not be kept below AI/work: {error.strerror}.")
        return None


def _record(tx, words, task_id, about, seen, outputs, left_out):
    of, links = _links(*_subjects(tx, task_id, about))
    row = proof.add_witnessed_proof(
        tx, {**links, **proof.with_title(words, seen["command"]), **seen}, of, outputs
    )
    hint = "The command changed the tree, so this proof is stale already: ignore what it writes, or run it again."
    return make_receipt(
        "proof", row, tier="witnessed", outcome=seen["outcome"], command=seen["command"], exit_code=seen["exit_code"],
        duration_ms=seen["duration_ms"], **links, tree_hash=seen["tree_hash"],
        stdout=(outputs["stdout"] or {}).get("path"), stderr=(outputs["stderr"] or {}).get("path"),
        left_out_bytes=left_out or None, hint=hint if seen["tree_after"] else None,
    )  # fmt: skip


def report(
    output,
    *,
    scope=None,
    since=None,
    until=None,
    query=None,
    limit=50,
):
    """Report the proofs by tier with their pass rates, and which commands fail.

    Example: kaizen R4 --since 30d
    """
    from ..reports.lists import proofs

    return output.publish(
        proofs.gather,
        proofs.layout,
        scope=scope,
        since=since,
        until=until,
        query=query,
        limit=limit,
    )
