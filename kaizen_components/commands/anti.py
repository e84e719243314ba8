"""Anti-patterns: Q5, Q6."""


def pattern_add(
    tx,
    *,
    title,
    symptom,
    correction,
    summary=None,
    body=None,
    harm=None,
    trigger=None,
    exceptions=None,
    verification=None,
    task_id=None,
    scope="project",
):
    """Record a pattern that harms, how it shows, and what to do instead.

    Example: kaizen Q5 --title "Sleep in tests" --symptom "Tests wait for seconds." --correction "Wait for the event."
    """
    raise NotImplementedError


def pattern_query(db, *, query=None, scope=None, task_id=None, limit=20):
    """Find anti-patterns by their words, or list the newest.

    Example: kaizen Q6 --query tests
    """
    raise NotImplementedError
