"""Policy, the rules that every session must know: X1 to X6."""

from __future__ import annotations

from ..records.ledger import revision
from ..records.ledger.transaction import make_receipt
from ..records.search.listing import inspect_record, list_records
from ..records.work import policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row, Writer


def add(
    tx: Writer,
    *,
    title: str,
    summary: str,
    body: str | None = None,
    priority: str = "normal",
    trigger: str | None = None,
    scope: str = "project",
) -> Row:
    """Record a rule that sessions must follow: --summary is the rule, --trigger says when it
    applies.

    Example: kaizen X1 --title "No secrets in records" --summary "Write obviously fake values."
        --priority critical
    """
    values = {
        "title": title,
        "summary": summary,
        "body": body,
        "scope": scope,
        "priority": priority,
        "trigger": trigger,
    }
    return make_receipt(
        "policy", tx.add("policy", values), title=title, priority=priority, scope=scope
    )


def list_(
    db: Reader,
    *,
    status: str = "active",
    priority: str | None = None,
    scope: str | None = None,
    limit: int = 50,
) -> Row:
    """List the rules, the most important first, then the newest.

    Example: kaizen X2 --priority critical
    """
    return policy.list_policies(db, limit, status, priority, scope)


def query(
    db: Reader, *, query: str, status: str | None = None, scope: str | None = None, limit: int = 20
) -> Row:
    """Find rules by their words, the best match first; retired ones too unless --status says
    otherwise.

    Example: kaizen X3 --query secrets
    """
    filters = {"status = ?": status, "scope = ?": scope}
    return list_records(db, "policy", policy.COLUMNS + ", summary", limit, filters, query)


def inspect(db: Reader, *, id: str) -> Row:
    """Show one rule with its history and its place in the log.

    Example: kaizen X4 --id @last
    """
    rule = db.find("policy", id)
    return inspect_record(db, "policy", rule, revisions=revision.list_revisions(db, "policy", rule))


def session_context(
    db: Reader, *, budget: int = 1500, scope: str | None = None, query: str | None = None
) -> Row:
    """Print the rules a session must know, the most important first, within a budget of tokens.

    Example: kaizen X5 --budget 500
    """
    return policy.build_session_context(db, budget, scope, query)


def retire(tx: Writer, *, id: str, reason: str) -> Row:
    """Retire a rule; it stays in the record with the reason.

    Example: kaizen X6 --id @last --reason "The linter checks it now."
    """
    rule = tx.find("policy", id)
    row = policy.retire_policy(tx, rule, reason)
    return make_receipt(
        "policy_revision",
        row,
        policy_id=rule["id"],
        rev=row["rev"],
        title=rule["title"],
        policy_status="retired",
    )
