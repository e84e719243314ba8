"""Topics, whatever is recorded about some words: R11."""


def report(
    write,
    look,
    store,
    *,
    query,
    scope=None,
    since=None,
    until=None,
    limit=50,
    format="html",
    out=None,
    open=False,
    timezone=None,
    as_of=None,
):
    """Report everything about a topic over all kinds of records, the best first.

    Example: kaizen R11 write gate
    """
    from ..reports.engine.publish import Output, publish
    from ..reports.lists import topic

    return publish(
        write, look, store, "R11", "topic-report", Output(format, out, open, as_of, timezone),
        topic.gather, topic.layout, query=query, scope=scope, since=since, until=until, limit=limit,
    )  # fmt: skip
