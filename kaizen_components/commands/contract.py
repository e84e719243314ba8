"""Specs and contracts: Q10."""

from ..records.quality import contract


def lint(*, body):
    """Check a spec or contract for vague words, placeholders, repetition and criteria that cannot be tested.

    Example: printf '## Done when\\n- The command pytest exits 0 within 60 seconds.\\n' | kaizen Q10 --body -
    """
    return contract.lint_contract(body)
