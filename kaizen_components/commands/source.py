"""Sources, what was read and in which version: S1 to S4 and R6."""

from __future__ import annotations

from ..records.files import source
from ..records.search.listing import inspect_record, list_records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Output, Reader, Row, Store, WriteLater


def add(
    write: WriteLater,
    store: Store,
    *,
    title: str,
    tier: str,
    url: str | None = None,
    path: str | None = None,
    summary: str | None = None,
    body: str | None = None,
    version: str | None = None,
    commit_hash: str | None = None,
    retrieved_at: str | None = None,
    content_hash: str | None = None,
    license: str | None = None,
    supersedes: str | None = None,
    task_id: str | None = None,
    scope: str = "project",
) -> Row:
    """Record a source: what was read, in which version, when, and its hash.

    Example: kaizen S1 --title "RFC 8785" --tier canonical --url
        https://www.rfc-editor.org/rfc/rfc8785
    """
    values = {
        "title": title,
        "tier": tier,
        "url": url,
        "path": path,
        "summary": summary,
        "body": body,
        "version": version,
        "commit_hash": commit_hash,
        "retrieved_at": retrieved_at,
        "content_hash": content_hash,
        "license": license,
        "scope": scope,
    }
    values = source.check_source(store.place, values)  # hash a copy before taking the lock
    return write(lambda tx: source.add_source(tx, values, supersedes, task_id))


def query(
    db: Reader,
    *,
    query: str | None = None,
    tier: str | None = None,
    scope: str | None = None,
    task_id: str | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int = 20,
) -> Row:
    """Find sources by their words, or list the newest.

    Example: kaizen S2 --query canonical
    """
    filters = {
        "tier = ?": tier,
        "scope = ?": scope,
        "task_id = ?": task_id and db.resolve("task", task_id),
        "at >= ?": since,
        "at < ?": until,
    }
    return list_records(db, "source", source.COLUMNS, limit, filters, query)


def inspect(db: Reader, *, id: str) -> Row:
    """Show one source, what it supersedes and what superseded it, and its place in the log.

    Example: kaizen S3 --id @last
    """
    record = db.find("source", id)
    return inspect_record(db, "source", record, **source.list_versions(db, record))


def export(
    db: Reader,
    store: Store,
    *,
    format: str = "json",
    scope: str | None = None,
    out: str | None = None,
) -> Row:
    """Write all sources to a file; the same sources always give the same bytes.

    Example: kaizen S4 --format md
    """
    from ..reports.lists import source_export

    return source_export.export_sources(db, store, format, scope, out)


def report(
    output: Output,
    *,
    scope: str | None = None,
    tier: str | None = None,
    since: str | None = None,
    until: str | None = None,
    query: str | None = None,
    limit: int = 50,
) -> Row:
    """Report the sources by tier, their versions, and which records still cite a superseded
    one.

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
