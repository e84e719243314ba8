"""The yearly report: R10."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Output, Row


def report(
    output: Output,
    *,
    year: int | None = None,
    last: bool = False,
    days: int | None = None,
    until: str | None = None,
    so_far: bool = False,
    scope: str | None = None,
    limit: int = 10,
) -> Row:
    """Report a calendar year by months, or the last N days, compared with the period before, and
    what to look at next.

    Example: kaizen R10 --last
    """
    from ..reports.periods import period

    return period.report_period(
        output, "year", year, last, days, until, so_far, scope=scope, limit=limit
    )
