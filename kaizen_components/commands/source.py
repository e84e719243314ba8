"""Sources, what was read and in which version: S1 to S4."""


def add(
    write,
    store,
    *,
    title,
    tier,
    url=None,
    path=None,
    summary=None,
    body=None,
    version=None,
    commit_hash=None,
    retrieved_at=None,
    content_hash=None,
    license=None,
    supersedes=None,
    task_id=None,
    scope="project",
):
    """Lock a source: what was read, in which version, when, and its hash.

    Example: kaizen S1 --title "RFC 8785" --tier canonical --url https://www.rfc-editor.org/rfc/rfc8785
    """
    raise NotImplementedError


def query(db, *, query=None, tier=None, scope=None, task_id=None, since=None, until=None, limit=20):
    """Find sources by their words, or list the newest.

    Example: kaizen S2 --query canonical
    """
    raise NotImplementedError


def inspect(db, *, id):
    """Show one source, what it supersedes and what superseded it, and its place in the log.

    Example: kaizen S3 --id @last
    """
    raise NotImplementedError


def export(db, store, *, format="json", scope=None, out=None):
    """Write all sources to a file that is the same byte for byte as long as they are.

    Example: kaizen S4 --format md
    """
    raise NotImplementedError
