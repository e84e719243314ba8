"""The monthly report: R9."""


def report(
    output,
    *,
    month=None,
    last=False,
    days=None,
    until=None,
    so_far=False,
    scope=None,
    limit=10,
):
    """Report a calendar month by days, or the last N days, against the one before, and what to look at next.

    Example: kaizen R9 --last
    """
    from ..reports.periods import period

    return period.report_period(
        output, "month", month, last, days, until, so_far, scope=scope, limit=limit
    )
