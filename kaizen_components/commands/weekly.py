"""The weekly report: R8."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import ReadNow, Row, Store, WriteLater


def report(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    week: str | None = None,
    last: bool = False,
    days: int | None = None,
    until: str | None = None,
    so_far: bool = False,
    scope: str | None = None,
    limit: int = 10,
    format: str = "html",
    out: str | None = None,
    open: bool = False,
    timezone: str | None = None,
    as_of: int | None = None,
) -> Row:
    """Report a calendar week by days, or the last N days, against the one before, and what to look
    at next.

    Example: kaizen R8 --last
    """
    from ..reports.engine.publish import Output
    from ..reports.periods import period

    return period.report_period(
        write,
        look,
        store,
        "R8",
        "week",
        Output(format, out, open, as_of, timezone),
        week,
        last=last,
        days=days,
        until=until,
        so_far=so_far,
        scope=scope,
        limit=limit,
    )
