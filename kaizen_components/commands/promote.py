"""Promotions, gotcha to learning to learned: L2, L3."""

from ..records.lessons import promotion


def gotcha_learning(
    write, look, store, *, id, title=None, summary=None, body=None, evidence=(), paths=()
):
    """Promote an active gotcha to a learning, once. Without evidence the learning is listed as unproven.

    Example: kaizen L2 --id @last
    """
    texts = {"title": title, "summary": summary, "body": body}
    return promotion.promote_gotcha(write, look(), store, id, texts, evidence, paths)


def learning_learned(
    write,
    look,
    store,
    *,
    id,
    title=None,
    summary=None,
    body=None,
    proof_id=None,
    verification_id=None,
    waive=None,
):
    """Promote a learning to learned, once: it needs a passing verification, a witnessed proof, or a waiver.

    Example: kaizen L3 --id @last --waive "Seen in production for a month."
    """
    texts = {"title": title, "summary": summary, "body": body}
    return promotion.promote_learning(
        write, look(), store, id, texts, proof_id, verification_id, waive
    )
