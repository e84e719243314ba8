"""Topics, whatever is recorded about some words: R11."""


def report(
    output,
    *,
    query,
    scope=None,
    since=None,
    until=None,
    limit=50,
):
    """Report everything about a topic over all kinds of records, the best first.

    Example: kaizen R11 write gate
    """
    from ..reports.lists import topic

    return output.publish(
        topic.gather,
        topic.layout,
        query=query,
        scope=scope,
        since=since,
        until=until,
        limit=limit,
    )
