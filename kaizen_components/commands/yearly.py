"""The yearly report: R10."""


def report(
    output,
    *,
    year=None,
    last=False,
    days=None,
    until=None,
    so_far=False,
    scope=None,
    limit=10,
):
    """Report a calendar year by months, or the last N days, against the one before, and what to look at next.

    Example: kaizen R10 --last
    """
    from ..reports.periods import period

    return period.report_period(
        output, "year", year, last, days, until, so_far, scope=scope, limit=limit
    )
