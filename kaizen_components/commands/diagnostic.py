"""What a diagnostic was to find out and what it found: W7, W8."""

from ..records.work import packet


def packet_create(tx, *, task_id, title, summary, body=None, recipient=None, payload_json=None):
    """Record what a diagnostic is to find out for a task.

    Example: kaizen W7 --task-id @last --title "Why is start-up slow" --summary "Profile the imports."
    """
    return packet.create_packet(
        tx, "diagnostic", task_id, title, summary, body, recipient, payload_json
    )


def result_ingest(tx, *, id, summary, outcome="completed", body=None, payload_json=None):
    """Record what a diagnostic found.

    Example: kaizen W8 --id @last --summary "One import costs half of the time." --outcome completed
    """
    return packet.ingest_result(tx, "diagnostic", id, outcome, summary, body, payload_json)
