"""The weekly report: R8."""


def report(
    write,
    look,
    store,
    *,
    week=None,
    last=False,
    days=None,
    until=None,
    so_far=False,
    scope=None,
    limit=10,
    format="html",
    out=None,
    open=False,
    timezone=None,
    as_of=None,
):
    """Report a calendar week by days, or the last N days, against the one before, and what to look at next.

    Example: kaizen R8 --last
    """
    from ..reports.engine.publish import Output
    from ..reports.periods import period

    return period.report_period(
        write, look, store, "R8", "week", Output(format, out, open, as_of, timezone), week, last=last, days=days,
        until=until, so_far=so_far, scope=scope, limit=limit,
    )  # fmt: skip
