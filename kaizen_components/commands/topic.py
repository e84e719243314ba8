"""Topics, whatever is recorded about some words: R11."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import ReadNow, Row, Store, WriteLater


def report(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    query: str,
    scope: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 50,
    format: str = "html",
    out: str | None = None,
    open: bool = False,
    timezone: str | None = None,
    as_of: int | None = None,
) -> Row:
    """Report everything about a topic over all kinds of records, the best first.

    Example: kaizen R11 write gate
    """
    from ..reports.engine.publish import Output, publish
    from ..reports.lists import topic

    return publish(
        write,
        look,
        store,
        "R11",
        "topic-report",
        Output(format, out, open, as_of, timezone),
        topic.gather,
        topic.layout,
        query=query,
        scope=scope,
        since=since,
        until=until,
        limit=limit,
    )
