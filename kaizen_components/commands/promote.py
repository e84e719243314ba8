"""Promotions, gotcha to learning to learned: L2, L3."""

from __future__ import annotations

from ..records.lessons import promotion

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import ReadNow, Row, Store, WriteLater


def gotcha_learning(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    id: str,
    title: str | None = None,
    summary: str | None = None,
    body: str | None = None,
    evidence: Sequence[str] = (),
    paths: Sequence[str] = (),
) -> Row:
    """Promote an active gotcha to a learning, once. Without evidence the learning is listed as
    unproven.

    Example: kaizen L2 --id @last
    """
    texts = {"title": title, "summary": summary, "body": body}
    return promotion.promote_gotcha(write, look(), store, id, texts, evidence, paths)


def learning_learned(
    write: WriteLater,
    look: ReadNow,
    store: Store,
    *,
    id: str,
    title: str | None = None,
    summary: str | None = None,
    body: str | None = None,
    proof_id: str | None = None,
    verification_id: str | None = None,
    waive: str | None = None,
) -> Row:
    """Promote a learning to learned, once: it needs a passing verification, a witnessed proof, or
    a waiver.

    Example: kaizen L3 --id @last --waive "Seen in production for a month."
    """
    texts = {"title": title, "summary": summary, "body": body}
    return promotion.promote_learning(
        write, look(), store, id, texts, proof_id, verification_id, waive
    )
