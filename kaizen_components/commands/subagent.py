"""Record what a subagent should do and what it found: W5, W6."""

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
    """Record what a subagent is asked to do for a task.

    Example: kaizen W5 --task-id @last --title "Find dead links" --summary "Check README."
        --recipient scout
    """
    return packet.create_packet(
        tx, "subagent", task_id, title, summary, body, recipient, payload_json
    )


def packet_ingest(
    tx: Writer,
    *,
    id: str,
    summary: str,
    outcome: str = "completed",
    body: str | None = None,
    payload_json: Any = None,
) -> Row:
    """Record what a subagent brought back for its packet.

    Example: kaizen W6 --id @last --summary "Two dead links, both fixed." --payload-json
        '{"dead": 2}'
    """
    return packet.ingest_result(tx, "subagent", id, outcome, summary, body, payload_json)
