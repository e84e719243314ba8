"""Promotions, gotcha to learning to learned: L2, L3."""


def gotcha_learning(tx, store, *, id, title=None, summary=None, body=None, evidence=(), paths=()):
    """Promote an active gotcha with evidence to a learning, once.

    Example: kaizen L2 --id @last
    """
    raise NotImplementedError


def learning_learned(
    tx, store, *, id, title=None, summary=None, body=None, proof_id=None, verification_id=None, waive=None
):
    """Promote a learning to learned, once: it needs a passing verification, a witnessed proof, or a waiver.

    Example: kaizen L3 --id @last --waive "Seen in production for a month."
    """
    raise NotImplementedError
