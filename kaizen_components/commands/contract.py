"""Specs and contracts: Q10."""


def lint(*, body):
    """Check a spec or contract for vague words, filler, repetition and criteria that cannot be tested.

    Example: kaizen Q10 --body "## Acceptance criteria\\n- \\`kaizen K1\\` exits 0 within 1 second."
    """
    raise NotImplementedError
