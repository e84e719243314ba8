"""Proofs: Q1."""


def add(
    write,
    store,
    *,
    title=None,
    summary=None,
    body=None,
    task_id=None,
    about=None,
    command=None,
    exit_code=None,
    timeout_s=600,
    run=(),
):
    """Record a proof: witnessed when --run runs the command, reported when you only say so.

    Example: kaizen Q1 --run -- git --version
    """
    raise NotImplementedError
