"""Packets: work given to a subagent or a diagnostic, and the result it returned."""

from __future__ import annotations

from ...errors import Conflict
from ..ledger.canonical import encode_canonical
from ..ledger.transaction import make_receipt
from ..search import listing as lists

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...parameters import Reader, Row, Writer

LIST = """
SELECT id, kind, outcome, recipient, actor, at, task_id, title FROM packet_current
WHERE (? IS NULL OR task_id = ?) AND (? IS NULL OR kind = ?) AND (? = 0 OR outcome = 'open')
ORDER BY seq DESC LIMIT ?"""


COLUMNS = "id, kind, outcome, recipient, actor, at, task_id, title"


def list_packets(
    db: Reader,
    task_ref: str | None,
    kind: str | None,
    only_open: bool,
    limit: int,
    query: str | None = None,
) -> Row:
    """List packets that pass the filters, the newest first, or the best for a query."""
    task = db.resolve("task", task_ref) if task_ref else None
    if query:
        filters = {
            "task_id = ?": task,
            "kind = ?": kind,
            "outcome = ?": "open" if only_open else None,
        }
        return lists.list_records(db, "packet", COLUMNS, limit, filters, query)
    rows = db.rows(LIST, (task, task, kind, kind, int(only_open), limit + 1))
    return {"records": rows[:limit], "count": min(len(rows), limit), "more": len(rows) > limit}


def create_packet(
    tx: Writer,
    kind: str,
    task_id: str,
    title: str,
    summary: str,
    body: str | None,
    recipient: str | None,
    payload: Any,
) -> Row:
    """Record a packet of a task."""
    task = tx.find("task", task_id)
    values = {
        "task_id": task["id"],
        "kind": kind,
        "recipient": recipient,
        "title": title,
        "summary": summary,
        "body": body,
        "payload": None if payload is None else encode_canonical(payload),
    }
    row = tx.add("packet", values, of=(task,))
    return make_receipt("packet", row, task_id=task["id"], title=title)


def ingest_result(
    tx: Writer, kind: str, ref: str, outcome: str, summary: str, body: str | None, payload: Any
) -> Row:
    """Record the result of a packet; refuse a packet of another kind."""
    packet = tx.find("packet", ref)
    if packet["kind"] != kind:
        raise Conflict(
            "other_packet_kind",
            f"{packet['id']} is a {packet['kind']} packet, not a {kind} one.",
            "Each kind of packet has its own command.",
            f"Use `{'W6' if packet['kind'] == 'subagent' else 'W8'}` for this packet.",
        )
    values = {
        "packet_id": packet["id"],
        "outcome": outcome,
        "summary": summary,
        "body": body,
        "payload": None if payload is None else encode_canonical(payload),
    }
    row = tx.add("packet_result", values, of=(packet,))
    facts = {"packet_id": packet["id"], "task_id": packet["task_id"], "outcome": outcome}
    return make_receipt("packet_result", row, **facts)
