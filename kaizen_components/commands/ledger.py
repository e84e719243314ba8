"""The ledger: K8 and R2."""

from __future__ import annotations

from ..errors import Integrity
from ..records.ledger import anchor
from ..records.ledger.hashing import read_log_end
from ..records.ledger.verify import Verification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Output, Row, Store


def verify(store: Store, *, file: str | None = None) -> Row:
    """Recompute every hash and the Merkle root, compare with the anchors, and name the first bad
    record.

    Example: kaizen K8
    """
    if file is None:
        return verify_project(store)
    anchors, damaged_anchors = anchor.read_anchors(store.place.anchors)
    copy = store.open_file(file)
    try:
        origins = {row[0] for row in copy.tuples("SELECT origin FROM frontier")}
        own_anchors = [entry for entry in anchors if entry[0] in origins]
        verification = Verification(copy, own_anchors, is_copy=True)
        return report_verification(verification, store.place.relative(file), damaged_anchors)
    finally:
        copy.close()


def verify_project(store: Store) -> Row:
    """Verify the database of the project against its anchors."""
    # Read the anchors before the database: they never run ahead of it.
    anchors, damaged_anchors = anchor.read_anchors(store.place.anchors)
    path = store.place.relative(store.place.database)
    return report_verification(Verification(store.reader(), anchors), path, damaged_anchors)


def report_verification(verification: Verification, path: str, damaged_anchors: int) -> Row:
    """Return the facts about an intact ledger; raise Integrity with the findings otherwise."""
    findings = verification.run()
    if not findings:
        end = read_log_end(verification.connection)
        root = end.frontier.root()
        checkpoint = anchor.format_checkpoint(end.origin, end.frontier.size, root).strip()
        warning = "No anchors: a rollback or a cut-off end cannot be seen."
        return {
            "verified": True,
            "database": path,
            "entries": verification.entries,
            "intact": verification.records,
            "purged": verification.entries - verification.records,
            "root": root,
            "checkpoint": checkpoint,
            "anchors": len(verification.anchors),
            "warning": None if verification.anchors else warning,
            "damaged_anchors": damaged_anchors,
        }
    first, index = findings[0], findings[0]["log_index"]
    where = (
        "The finding is about the file as a whole."
        if index is None
        else f"Look at log index {index}."
    )
    if first["record_id"]:
        where = f"The first bad record is {first['kind']} {first['record_id']}"
        where += "." if index is None else f" (log index {index})."
    more = f" There are {len(findings)} findings." if len(findings) > 1 else ""
    error = Integrity(
        f"ledger_{first['problem']}",
        f"{first['problem'].capitalize()}: {first['says']}",
        f"{where}{more}",
        "Keep this file as evidence; compare it with a backup from AI/db/backups "
        "(`K8 --file PATH`).",
    )
    error.findings = findings
    raise error


def report(
    output: Output,
    *,
    since: str | None = None,
    until: str | None = None,
    query: str | None = None,
    limit: int = 100,
    verify: bool = False,
) -> Row:
    """Report what was recorded by day and actor, as a story in words; --verify checks every hash
    first.

    Example: kaizen R2 --limit 20
    """
    from ..reports.engine.past import find_size_without_reports
    from ..reports.ledger import log_story

    if verify:
        if output.as_of is None:  # leave out what others record during the check
            output.as_of = find_size_without_reports(output.look().connection)
        verify_project(output.store)
    return output.publish(
        log_story.gather,
        log_story.layout,
        since=since,
        until=until,
        query=query,
        limit=limit,
        verify=verify,
    )
