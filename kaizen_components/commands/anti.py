"""Anti-patterns: Q5, Q6 and R7."""

from __future__ import annotations

from ..records.ledger.transaction import make_receipt
from ..records.search.listing import list_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Output, Reader, Row, Writer


COLUMNS = "id, title, symptom, correction, scope, task_id, at, test"


def pattern_add(
    tx: Writer,
    *,
    title: str,
    symptom: str,
    correction: str,
    summary: str | None = None,
    body: str | None = None,
    harm: str | None = None,
    trigger: str | None = None,
    exceptions: str | None = None,
    verification: str | None = None,
    task_id: str | None = None,
    scope: str = "project",
) -> Row:
    """Record a harmful pattern, its symptoms, and what to do instead.

    Example: kaizen Q5 --title "Sleep in tests" --symptom "Tests wait for seconds." --correction
        "Wait for the event."
    """
    task = tx.find("task", task_id) if task_id else None
    values = {
        "task_id": task and task["id"],
        "title": title,
        "summary": summary,
        "body": body,
        "scope": scope,
        "symptom": symptom,
        "harm": harm,
        "trigger": trigger,
        "correction": correction,
        "exceptions": exceptions,
        "verification": verification,
    }
    row = tx.add("anti_pattern", values, of=(task,) if task else ())
    return make_receipt("anti_pattern", row, title=title, scope=scope, task_id=row.get("task_id"))


def pattern_query(
    db: Reader,
    *,
    query: str | None = None,
    scope: str | None = None,
    task_id: str | None = None,
    limit: int = 20,
) -> Row:
    """Find anti-patterns by their words, or list the newest.

    Example: kaizen Q6 --query tests
    """
    task = db.resolve("task", task_id) if task_id else None
    return list_records(
        db, "anti_pattern", COLUMNS, limit, {"scope = ?": scope, "task_id = ?": task}, query
    )


def pattern_report(
    output: Output,
    *,
    scope: str | None = None,
    since: str | None = None,
    until: str | None = None,
    query: str | None = None,
    limit: int = 20,
) -> Row:
    """Report the anti-patterns: how each shows, what it costs, what to do instead, and which
    records refer to it.

    Example: kaizen R7
    """
    from ..reports.lists import anti_patterns

    return output.publish(
        anti_patterns.gather,
        anti_patterns.layout,
        scope=scope,
        since=since,
        until=until,
        query=query,
        limit=limit,
    )
