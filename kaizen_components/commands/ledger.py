"""The ledger: K8."""

from ..errors import Integrity
from ..records import anchor
from ..records.hashing import log_end
from ..records.verify import Verification


def verify(store, *, file=None):
    """Recompute every hash and the Merkle root, compare with the anchors, and name the first bad record.

    Example: kaizen K8
    """
    anchors, damaged = anchor.read(store.place.anchors)  # before the database: anchors never run ahead of it
    if file is None:
        shown = store.place.relative(store.place.database)
        return {**checked(Verification(store.reader(), anchors), shown), "damaged_anchors": damaged}
    copy = store.look_at(file)
    try:
        origins = {row[0] for row in copy.tuples("SELECT origin FROM frontier")}
        mine = [one for one in anchors if one[0] in origins]
        return {
            **checked(Verification(copy, mine, is_copy=True), store.place.relative(file)),
            "damaged_anchors": damaged,
        }
    finally:
        copy.close()


def checked(verification, shown):
    """The report on a ledger in order, or an Integrity error with what was found."""
    findings = verification.run()
    if findings:
        raise failure(findings)
    end = log_end(verification.connection)
    return {
        "verified": True,
        "database": shown,
        "entries": verification.entries,
        "intact": verification.records,
        "purged": verification.entries - verification.records,
        "root": end.frontier.root(),
        "checkpoint": anchor.checkpoint(end.origin, end.frontier.size, end.frontier.root()).strip(),
        "anchors": len(verification.anchors),
        "warning": None if verification.anchors else "No anchors: a rollback or a cut-off end cannot be seen.",
    }


def failure(findings):
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
