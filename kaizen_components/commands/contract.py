"""Specs and contracts: Q10."""

from __future__ import annotations

from ..records.quality import contract

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Row


def lint(*, body: str) -> Row:
    """Check a spec or contract for vague words, placeholders, repetition and criteria that cannot
    be tested.

    Example: printf '## Done when\\n- The command pytest exits 0 within 60 seconds.\\n' | kaizen
        Q10 --body -
    """
    return contract.lint_contract(body)
