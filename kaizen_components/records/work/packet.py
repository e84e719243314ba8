"""Packets: what a subagent or a diagnostic was asked, and what it brought back."""

from ...errors import Conflict
from ..ledger.canonical import encode_canonical
from ..ledger.transaction import make_receipt
from ..search import listing as lists

LIST = """
SELECT id, kind, outcome, recipient, actor, at, task_id, title FROM packet_current
WHERE (? IS NULL OR task_id = ?) AND (? IS NULL OR kind = ?) AND (? = 0 OR outcome = 'open')
ORDER BY seq DESC LIMIT ?"""


COLUMNS = "id, kind, outcome, recipient, actor, at, task_id, title"


def list_packets(db, task_ref, kind, only_open, limit, query=None):
    task = db.resolve("task", task_ref) if task_ref else None
    if query:
        filters = {
            "task_id = ?": task,
            "kind = ?": kind,
            "outcome = ?": "open" if only_open else None,
        }
        return lists.list_records(db, "packet", COLUMNS, limit, filters, query)
    found = db.rows(LIST, (task, task, kind, kind, int(only_open), limit + 1))
    return {"records": found[:limit], "count": min(len(found), limit), "more": len(found) > limit}


def create_packet(tx, kind, task_id, title, summary, body, recipient, payload):
    task = tx.find("task", task_id)
    values = {
        "task_id": task["id"], "kind": kind, "recipient": recipient, "title": title, "summary": summary, "body": body,
        "payload": None if payload is None else encode_canonical(payload),
    }  # fmt: skip
    return make_receipt(
        "packet", tx.add("packet", values, of=(task,)), task_id=task["id"], title=title
    )


def ingest_result(tx, kind, ref, outcome, summary, body, payload):
    packet = tx.find("packet", ref)
    if packet["kind"] != kind:
        raise Conflict(
            "other_packet_kind",
            f"{packet['id']} is a {packet['kind']} packet, not a {kind} one.",
            "",
            f"Use `{'W6' if packet['kind'] == 'subagent' else 'W8'}` for it.",
        )
    values = {
        "packet_id": packet["id"], "outcome": outcome, "summary": summary, "body": body,
        "payload": None if payload is None else encode_canonical(payload),
    }  # fmt: skip
    row = tx.add("packet_result", values, of=(packet,))
    return make_receipt(
        "packet_result", row, packet_id=packet["id"], task_id=packet["task_id"], outcome=outcome
    )
