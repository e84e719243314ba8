"""Report everything about a topic: R11."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Output, Row


def report(
    output: Output,
    *,
    query: str,
    scope: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 50,
) -> Row:
    """Report everything about a topic over all kinds of records, the best first.

    Example: kaizen R11 write gate
    """
    from ..reports.lists import topic

    return output.publish(
        topic.gather, topic.layout, query=query, scope=scope, since=since, until=until, limit=limit
    )
