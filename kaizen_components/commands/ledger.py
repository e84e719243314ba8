"""The ledger: K8."""

from ..errors import Integrity, NotFound
from ..records import anchor
from ..records.hashing import Frontier
from ..records.verify import Verification
from ..store.connection import Connection


def verify(store, *, file=None):
    """Recompute every hash and the Merkle root, compare with the anchors, and name the first bad record.

    Example: kaizen K8
    """
    anchors, damaged = anchor.read(store.place.anchors)  # before the database: anchors never run ahead of it
    if file is None:
        return report(Verification(store.reader(), anchors), damaged, store.place.relative(store.place.database))
    import os

    if not os.path.isfile(file):
        raise NotFound("file_not_found", f"There is no file {os.path.basename(file)!r}.", "", "Check the path.")
    connection = Connection(os.path.abspath(file), read_only=True)
    try:
        return report(Verification(connection, anchors, is_copy=True), damaged, store.place.relative(file))
    finally:
        connection.close()


def report(verification, damaged, name):
    findings = verification.run()
    if findings:
        first = findings[0]
        more = f" {len(findings) - 1} more findings follow." if len(findings) > 1 else ""
        index = first["log_index"]
        name = f"{first['kind']} {first['record_id']}" if first["record_id"] else "not of one record"
        where = "" if index is None else f" (log index {index})" if first["record_id"] else f"; see log index {index}"
        error = Integrity(
            f"ledger_{first['problem']}",
            f"{first['problem'].capitalize()}: {first['says']}",
            f"The first finding is {name}{where}.{more}",
            "Keep this file as evidence; compare it with a backup under AI/db/backups (`K8 --file PATH`).",
        )
        error.findings = findings
        raise error
    local = verification.connection.one("SELECT origin, size, peaks FROM frontier WHERE local = 1")
    root = Frontier(local["size"], local["peaks"].split()).root()
    return {
        "verified": True,
        "database": name,
        "entries": verification.entries,
        "intact": verification.records,
        "purged": verification.entries - verification.records,
        "root": root,
        "checkpoint": anchor.checkpoint(local["origin"], local["size"], root).strip(),
        "anchors": len(verification.anchors),
        "damaged_anchors": damaged,
        "warning": None if verification.anchors else "No anchors: a rollback or a cut-off end cannot be seen.",
    }
