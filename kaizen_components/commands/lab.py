"""The improvement lab: O1 to O3."""

from __future__ import annotations

from ..records.quality import lab

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..parameters import Reader, Row, Store, WriteLater, Writer


def assemble(
    tx: Writer,
    *,
    contract: str,
    title: str | None = None,
    summary: str | None = None,
    query: str | None = None,
    category: str | None = None,
    scope: str | None = None,
    task_id: str | None = None,
    since: str | None = None,
) -> Row:
    """Assemble the cases of a contract: eval cases, failed verdicts, open gotchas, corrections by
    people.

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
    write: WriteLater,
    store: Store,
    *,
    lab_id: str,
    title: str,
    hypothesis: str,
    metric: str,
    baseline: float,
    candidate: float,
    better: str = "higher",
    patch: str | None = None,
    body: str | None = None,
    summary: str | None = None,
    evidence: Sequence[str] = (),
) -> Row:
    """Record a proposal with its hypothesis, its scores before and after, and the change itself.

    Example: kaizen O2 --lab-id @last --title "One finding" --hypothesis "Fewer, better."
        --metric precision
        --baseline 0.6 --candidate 0.7 --body "Name the one thing."
    """
    root = store.place.root
    change = lab.describe_change(root, patch, body)
    values = {
        "title": title,
        "summary": summary,
        "body": body,
        "hypothesis": hypothesis,
        "metric": metric,
        "better": better,
        "baseline": baseline,
        "candidate": candidate,
    }
    return write(lambda tx: lab.add_proposal(tx, root, lab_id, change, evidence, values))


def report(
    db: Reader,
    *,
    id: str | None = None,
    contract: str | None = None,
    limit: int = 50,
    test: bool = False,
) -> Row:
    """Rank the proposals: measured ones first, then reported ones, then mere claims; each group by
    gain.

    Example: kaizen O3
    """
    from ..reports.lists.lab import rank_proposals

    return rank_proposals(db, id, contract, limit, test)
