"""What a session needs to begin: R0."""


def digest(write, look, store, *, budget=1500, scope=None, query=None, since=None, format="md"):
    """Print what a new session must know within a budget of tokens, and what changed since this actor's last digest.

    Example: kaizen R0 --budget 800
    """
    from ..reports.digest.digest import build_digest

    return build_digest(write, look, store, budget, scope, query, since, format)
