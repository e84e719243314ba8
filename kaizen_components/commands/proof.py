"""Proofs: Q1 and R4."""

from __future__ import annotations

import sys

from ..errors import KaizenError, Usage
from ..limits import COMMAND_CHARS_MAX
from ..records.kinds import SEARCHABLE
from ..records.ledger.transaction import make_receipt
from ..records.quality import proof
from ..records.work.command_line import join_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import Output, Reader, ReadNow, Row, Store, WriteLater, Writer


def add(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    title: str | None = None,
    summary: str | None = None,
    body: str | None = None,
    task_id: str | None = None,
    about: str | None = None,
    command: str | None = None,
    exit_code: int | None = None,
    timeout_s: int = 600,
    run: Sequence[str] = (),
) -> Row:
    """Record a proof: witnessed when --run runs the command (and exits with its code), reported
    when you only state the result.

    Example: kaizen Q1 --run -- git --version
    """
    if run and (command or exit_code is not None):
        raise Usage(
            "both_ways",
            "--run cannot be combined with --command or --exit-code.",
            "--run records the command and its exit code itself.",
            "Omit --command and --exit-code.",
        )
    if not run and not (title or summary or command):
        raise Usage(
            "missing_option",
            "Q1 proof-add needs --run, or a description of the proof.",
            "A proof is either a command that Kaizen runs, or your report of one.",
            "Let Kaizen run it with --run -- CMD, or describe your run with --title, --summary or --command.",
        )
    words = {"title": title, "summary": summary, "body": body}
    if not run:

        def report_proof(tx: Writer) -> Row:
            of, links = find_subjects(tx, task_id, about)
            row = proof.add_reported_proof(tx, {**links, **words}, command, exit_code, of)
            title, outcome = row["title"], row["outcome"]
            return make_receipt(
                "proof", row, tier="reported", outcome=outcome, title=title, **links
            )

        return write(report_proof)

    if task_id or about:  # refuse an unknown id, and resolve @last, before the run
        _, links = find_subjects(look(), task_id, about)
        task_id, about = links["task_id"], links["about_id"]
    return add_witnessed(write, store, words, task_id, about, list(run), timeout_s)


def add_witnessed(
    write: WriteLater,
    store: Store,
    words: Row,
    task_id: str | None,
    about: str | None,
    argv: list[str],
    timeout_s: int,
) -> Row:
    """Run the command and record a witnessed proof."""
    command_line = join_words(argv)
    if len(command_line) > COMMAND_CHARS_MAX:
        raise Usage(
            "command_too_long",
            f"The command has {len(command_line):,} characters; the limit is {COMMAND_CHARS_MAX:,}.",
            "A proof stores the whole command.",
            "Put it into a script, and run the script.",
        )
    words = proof.add_title(words, command_line)
    facts, outputs, left_out_bytes = witness_command(store, argv, timeout_s)

    def record_proof(tx: Writer) -> Row:
        of, links = find_subjects(tx, task_id, about)
        row = proof.add_witnessed_proof(tx, {**links, **words, **facts}, of, outputs)
        hint = (
            "The command changed the tree, so this proof is stale already: "
            "ignore what it writes, or run it again."
        )
        return make_receipt(
            "proof",
            row,
            tier="witnessed",
            **{name: facts[name] for name in ("outcome", "command", "exit_code", "duration_ms")},
            **links,
            tree_hash=facts["tree_hash"],
            stdout=(outputs["stdout"] or {}).get("path"),
            stderr=(outputs["stderr"] or {}).get("path"),
            left_out_bytes=left_out_bytes or None,
            hint=hint if facts["tree_after"] else None,
        )

    return write(record_proof)


def find_subjects(db: Reader, task_id: str | None, about: str | None) -> tuple[list[Row], Row]:
    """Return the records that a proof is about, and the columns that link to them."""
    task = db.find("task", task_id) if task_id else None
    subject = db.find_any(SEARCHABLE, about)[1] if about else None
    links = {"task_id": task and task["id"], "about_id": subject and subject["id"]}
    return [record for record in (task, subject) if record], links


def witness_command(store: Store, argv: list[str], timeout_s: int) -> tuple[Row, Row, int]:
    """Run the command outside of any transaction, and hash the tree before and after it.

    Return the facts, where its outputs are stored, and how many bytes of them were left out.
    """
    from ..records.files.working_tree import read_working_tree
    from ..sandbox import process as runner

    root, cache = store.place.root, store.place.tree_cache
    tree_before = tree_after = read_working_tree(root, cache)
    result = runner.run_process(argv, root, timeout_s)
    try:
        tree_after = read_working_tree(root, cache)
    except KaizenError as error:  # record the run anyway
        store.notes.append(f"The tree could not be read after the run: {error.what}")
    facts = {
        "argv": argv,
        "command": join_words(argv),
        "exit_code": result.exit_code,
        "outcome": "timeout"
        if result.timed_out
        else "passed"
        if result.exit_code == 0
        else "failed",
        "duration_ms": result.duration_ms,
        "stdout_hash": result.stdout.sha256,
        "stderr_hash": result.stderr.sha256,
        "commit_hash": tree_before.commit,
        "tree_hash": tree_before.sha256,
        "tree_after": tree_after.sha256 if tree_after.sha256 != tree_before.sha256 else None,
        "platform": proof.describe_platform(),
        "protection": runner.PROTECTION,
    }
    sys.stderr.flush()
    outputs: Row = {}
    for name, stream in (("stdout", result.stdout), ("stderr", result.stderr)):
        try:
            outputs[name] = proof.store_output(store, stream.text())
        except OSError as error:
            outputs[name] = None
            store.notes.append(f"Cannot store the output in AI/work: {error.strerror}.")
    return facts, outputs, result.stdout.left_out + result.stderr.left_out


def report(
    output: Output,
    *,
    scope: str | None = None,
    since: str | None = None,
    until: str | None = None,
    query: str | None = None,
    limit: int = 50,
) -> Row:
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
