"""Sources, what was read and in which version: S1 to S4 and R6."""

from ..records.files import source
from ..records.search.listing import inspect_record, list_records


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
    values = {
        "title": title, "tier": tier, "url": url, "path": path, "summary": summary, "body": body, "version": version,
        "commit_hash": commit_hash, "retrieved_at": retrieved_at, "content_hash": content_hash, "license": license,
        "scope": scope,
    }  # fmt: skip
    values = source.check_source(
        store.place, values
    )  # before the lock: hashing a copy takes its time
    return write(lambda tx: source.add_source(tx, values, supersedes, task_id))


def query(db, *, query=None, tier=None, scope=None, task_id=None, since=None, until=None, limit=20):
    """Find sources by their words, or list the newest.

    Example: kaizen S2 --query canonical
    """
    filters = {
        "tier = ?": tier, "scope = ?": scope, "task_id = ?": task_id and db.resolve("task", task_id),
        "at >= ?": since, "at < ?": until,
    }  # fmt: skip
    return list_records(db, "source", source.COLUMNS, limit, filters, query)


def inspect(db, *, id):
    """Show one source, what it supersedes and what superseded it, and its place in the log.

    Example: kaizen S3 --id @last
    """
    record = db.find("source", id)
    return inspect_record(db, "source", record, **source.list_versions(db, record))


def export(db, store, *, format="json", scope=None, out=None):
    """Write all sources to a file that is the same byte for byte as long as they are.

    Example: kaizen S4 --format md
    """
    from ..reports.lists import source_export

    return source_export.export_sources(db, store, format, scope, out)


def report(
    output,
    *,
    scope=None,
    tier=None,
    since=None,
    until=None,
    query=None,
    limit=50,
):
    """Report the sources by tier, their lines of versions, and which records still stand on a superseded one.

    Example: kaizen R6
    """
    from ..reports.lists import source_list

    return output.publish(
        source_list.gather,
        source_list.layout,
        scope=scope,
        tier=tier,
        since=since,
        until=until,
        query=query,
        limit=limit,
    )
