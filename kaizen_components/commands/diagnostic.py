"""Record what a diagnostic should find out and what it found: W7, W8."""

from __future__ import annotations

from ..records.work import packet

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..parameters import Row, Writer


def packet_create(
    tx: Writer,
    *,
    task_id: str,
    title: str,
    summary: str,
    body: str | None = None,
    recipient: str | None = None,
    payload_json: Any = None,
) -> Row:
    """Record what a diagnostic should find out for a task.

    Example: kaizen W7 --task-id @last --title "Why is start-up slow" --summary "Profile the
        imports."
    """
    return packet.create_packet(
        tx, "diagnostic", task_id, title, summary, body, recipient, payload_json
    )


def result_ingest(
    tx: Writer,
    *,
    id: str,
    summary: str,
    outcome: str = "completed",
    body: str | None = None,
    payload_json: Any = None,
) -> Row:
    """Record what a diagnostic found.

    Example: kaizen W8 --id @last --summary "One import costs half of the time." --outcome completed
    """
    return packet.ingest_result(tx, "diagnostic", id, outcome, summary, body, payload_json)
