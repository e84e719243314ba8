"""The improvement lab: O1 to O3."""


def assemble(
    tx, *, contract, title=None, summary=None, query=None, category=None, scope=None, task_id=None, since=None
):
    """Assemble the cases of a contract: eval cases, failed verdicts, open gotchas, corrections by people.

    Example: kaizen O1 --contract review-prompt --query review
    """
    raise NotImplementedError


def propose(
    write,
    store,
    *,
    lab_id,
    title,
    hypothesis,
    metric,
    baseline,
    candidate,
    better="higher",
    patch=None,
    body=None,
    summary=None,
    evidence=(),
):
    """Record a proposal with its hypothesis, its scores before and after, and the change itself.

    Example: kaizen O2 --lab-id @last --title "One finding" --hypothesis "Fewer, better." --metric precision
        --baseline 0.6 --candidate 0.7 --body "Name the one thing."
    """
    raise NotImplementedError


def report(db, *, id=None, contract=None, limit=50):
    """Rank the proposals by gain, and say which have evidence and which only claim.

    Example: kaizen O3
    """
    raise NotImplementedError
