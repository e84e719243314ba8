"""Policy, the rules that every session must know: X1 to X6."""


def add(tx, *, title, summary, body=None, priority="normal", trigger=None, scope="project"):
    """Record a rule that sessions must follow.

    Example: kaizen X1 --title "No secrets in records" --summary "Write obviously fake values." --priority critical
    """
    raise NotImplementedError


def list_(db, *, status="active", priority=None, scope=None, limit=50):
    """List the rules, the newest first.

    Example: kaizen X2 --priority critical
    """
    raise NotImplementedError


def query(db, *, query, status=None, scope=None, limit=20):
    """Find rules by their words.

    Example: kaizen X3 --query secrets
    """
    raise NotImplementedError


def inspect(db, *, id):
    """Show one rule with its history and its place in the log.

    Example: kaizen X4 --id @last
    """
    raise NotImplementedError


def session_context(db, *, budget=1500, scope=None, query=None):
    """Print the rules a session must know, the most important first, within a budget of tokens.

    Example: kaizen X5 --budget 500
    """
    raise NotImplementedError


def retire(tx, *, id, reason):
    """Retire a rule; it stays in the record with the reason.

    Example: kaizen X6 --id @last --reason "The linter checks it now."
    """
    raise NotImplementedError
