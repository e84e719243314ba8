"""The weekly report: R8."""


def report(
    output,
    *,
    week=None,
    last=False,
    days=None,
    until=None,
    so_far=False,
    scope=None,
    limit=10,
):
    """Report a calendar week by days, or the last N days, against the one before, and what to look at next.

    Example: kaizen R8 --last
    """
    from ..reports.periods import period

    return period.report_period(
        output, "week", week, last, days, until, so_far, scope=scope, limit=limit
    )
