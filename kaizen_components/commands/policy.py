"""Policy, the rules that every session must know: X1 to X6."""

from ..records.ledger import revision
from ..records.ledger.transaction import make_receipt
from ..records.search.listing import inspect_record, list_records
from ..records.work import policy


def add(tx, *, title, summary, body=None, priority="normal", trigger=None, scope="project"):
    """Record a rule that sessions must follow: --summary is the rule, --trigger says when it applies.

    Example: kaizen X1 --title "No secrets in records" --summary "Write obviously fake values." --priority critical
    """
    values = {
        "title": title, "summary": summary, "body": body, "scope": scope, "priority": priority, "trigger": trigger,
    }  # fmt: skip
    return make_receipt(
        "policy", tx.add("policy", values), title=title, priority=priority, scope=scope
    )


def list_(db, *, status="active", priority=None, scope=None, limit=50):
    """List the rules, the most important first, and among equals the newest.

    Example: kaizen X2 --priority critical
    """
    return policy.list_policies(db, limit, status, priority, scope)


def query(db, *, query, status=None, scope=None, limit=20):
    """Find rules by their words, the best match first; retired ones too unless --status says otherwise.

    Example: kaizen X3 --query secrets
    """
    filters = {"status = ?": status, "scope = ?": scope}
    return list_records(db, "policy", policy.COLUMNS + ", summary", limit, filters, query)


def inspect(db, *, id):
    """Show one rule with its history and its place in the log.

    Example: kaizen X4 --id @last
    """
    rule = db.find("policy", id)
    return inspect_record(db, "policy", rule, revisions=revision.list_revisions(db, "policy", rule))


def session_context(db, *, budget=1500, scope=None, query=None):
    """Print the rules a session must know, the most important first, within a budget of tokens.

    Example: kaizen X5 --budget 500
    """
    return policy.build_session_context(db, budget, scope, query)


def retire(tx, *, id, reason):
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
