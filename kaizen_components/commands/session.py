"""Print what a new session needs: R0."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import ReadNow, Row, Store, WriteLater


def digest(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    budget: int = 1500,
    scope: str | None = None,
    query: str | None = None,
    since: str | None = None,
    format: str = "md",
) -> Row:
    """Print what a new session must know within a budget of tokens, and what changed since this
    actor's last digest.

    Example: kaizen R0 --budget 800
    """
    from ..reports.digest.digest import build_digest

    return build_digest(write, look, store, budget, scope, query, since, format)
