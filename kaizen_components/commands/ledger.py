"""The ledger: K8 and R2."""

from ..errors import Integrity
from ..records.ledger import anchor
from ..records.ledger.hashing import read_log_end
from ..records.ledger.verify import Verification


def verify(store, *, file=None):
    """Recompute every hash and the Merkle root, compare with the anchors, and name the first bad record.

    Example: kaizen K8
    """
    if file is None:
        return _in_order(store)
    anchors, damaged = anchor.read_anchors(store.place.anchors)
    copy = store.open_file(file)
    try:
        origins = {row[0] for row in copy.tuples("SELECT origin FROM frontier")}
        mine = [one for one in anchors if one[0] in origins]
        return {
            **check_ledger(Verification(copy, mine, is_copy=True), store.place.relative(file)),
            "damaged_anchors": damaged,
        }
    finally:
        copy.close()


def _in_order(store):
    """The project's own ledger, verified."""
    anchors, damaged = anchor.read_anchors(
        store.place.anchors
    )  # before the database: anchors never run ahead of it
    shown = store.place.relative(store.place.database)
    return {
        **check_ledger(Verification(store.reader(), anchors), shown),
        "damaged_anchors": damaged,
    }


def report(
    output,
    *,
    since=None,
    until=None,
    query=None,
    limit=100,
    verify=False,
):
    """Tell the ledger as a story: by day and actor, what was recorded, in words; --verify checks every hash first.

    Example: kaizen R2 --limit 20
    """
    from ..reports.engine.past import find_newest_size
    from ..reports.ledger import log_story

    if verify:
        if output.as_of is None:  # the report ends before what others record meanwhile
            output.as_of = find_newest_size(output.look().connection)
        _in_order(output.store)
    return output.publish(
        log_story.gather,
        log_story.layout,
        since=since,
        until=until,
        query=query,
        limit=limit,
        verify=verify,
    )


def check_ledger(verification, shown):
    """The report on a ledger in order, or an Integrity error with what was found."""
    findings = verification.run()
    if findings:
        raise build_integrity_error(findings)
    end = read_log_end(verification.connection)
    return {
        "verified": True,
        "database": shown,
        "entries": verification.entries,
        "intact": verification.records,
        "purged": verification.entries - verification.records,
        "root": end.frontier.root(),
        "checkpoint": anchor.format_checkpoint(
            end.origin, end.frontier.size, end.frontier.root()
        ).strip(),
        "anchors": len(verification.anchors),
        "warning": None
        if verification.anchors
        else "No anchors: a rollback or a cut-off end cannot be seen.",
    }


def build_integrity_error(findings):
    first, index = findings[0], findings[0]["log_index"]
    where = "It concerns the file as a whole." if index is None else f"Look at log index {index}."
    if first["record_id"]:
        where = f"The first bad record is {first['kind']} {first['record_id']}"
        where += "." if index is None else f" (log index {index})."
    more = f" There are {len(findings)} findings." if len(findings) > 1 else ""
    error = Integrity(
        f"ledger_{first['problem']}",
        f"{first['problem'].capitalize()}: {first['says']}",
        f"{where}{more}",
        "Keep this file as evidence; compare it with a backup under AI/db/backups (`K8 --file PATH`).",
    )
    error.findings = findings
    return error
