"""What a subagent was asked and what it brought back: W5, W6."""

from ..records.work import packet


def packet_create(tx, *, task_id, title, summary, body=None, recipient=None, payload_json=None):
    """Record what a subagent is asked to do for a task.

    Example: kaizen W5 --task-id @last --title "Find dead links" --summary "Check README." --recipient scout
    """
    return packet.create_packet(
        tx, "subagent", task_id, title, summary, body, recipient, payload_json
    )


def packet_ingest(tx, *, id, summary, outcome="completed", body=None, payload_json=None):
    """Record what a subagent brought back for its packet.

    Example: kaizen W6 --id @last --summary "Two dead links, both fixed." --payload-json '{"dead": 2}'
    """
    return packet.ingest_result(tx, "subagent", id, outcome, summary, body, payload_json)
