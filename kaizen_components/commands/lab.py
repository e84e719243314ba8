"""The improvement lab: O1 to O3."""

from ..records.quality import lab


def assemble(
    tx,
    *,
    contract,
    title=None,
    summary=None,
    query=None,
    category=None,
    scope=None,
    task_id=None,
    since=None,
):
    """Assemble the cases of a contract: eval cases, failed verdicts, open gotchas, corrections by people.

    Example: kaizen O1 --contract refuse-secrets --query key
    """
    filters = {
        "query": query,
        "category": category,
        "scope": scope,
        "task_id": task_id,
        "since": since,
    }
    return lab.assemble_cases(tx, contract, title, summary, filters)


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
    root = store.place.root
    change = lab.describe_change(root, patch, body)
    values = {
        "title": title, "summary": summary, "body": body, "hypothesis": hypothesis, "metric": metric,
        "better": better, "baseline": baseline, "candidate": candidate,
    }  # fmt: skip
    return write(lambda tx: lab.add_proposal(tx, root, lab_id, change, evidence, values))


def report(db, *, id=None, contract=None, limit=50, test=False):
    """Rank the proposals: what was measured first, then what was reported, then mere claims; each by gain.

    Example: kaizen O3
    """
    from ..reports.lists.lab import rank_proposals

    return rank_proposals(db, id, contract, limit, test)
