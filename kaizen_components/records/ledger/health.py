"""Is the database sound? The quick facts, and the checks of `K1 --integrity`."""

from typing import Any

from ...errors import Integrity
from ...store import migrate
from ...store.connection import Connection
from ..search import full_text
from .hashing import read_log_end

HAS_SEARCH = "SELECT 1 FROM sqlite_master WHERE name = 'search'"
HAS_MIGRATION = "SELECT 1 FROM sqlite_master WHERE name = 'migration'"
RECORD_TABLES = (
    "SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND (SELECT count(*) FROM pragma_table_info(m.name) c"
    " WHERE c.name IN ('seq', 'id', 'at', 'actor', 'test')) = 5"
)
SCHEMA = (
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
)

_expected: dict[tuple[str, int], dict[tuple[str, str, str], str]] = {}


def summarize_log(connection: Connection) -> dict[str, Any]:
    """Schema, log size and root: constant time."""
    end = read_log_end(connection)
    return {
        "schema": end.schema,
        "origin": end.origin,
        "entries": end.frontier.size,
        "root": end.frontier.root(),
    }


def check_integrity(connection: Connection) -> dict[str, list[str]]:
    """Every check and what it found wrong; empty lists are good news."""
    keys = [
        f"{table} row {rowid} refers to a missing {parent}"
        for table, rowid, parent, _ in connection.tuples("PRAGMA foreign_key_check")[:20]
    ]
    derived = [
        f"{state} seq {seq} is not what the records say"
        for seq, state in find_stale_rows(connection)
    ]
    return {
        "pages": find_page_problems(connection),
        "schema": find_schema_problems(connection),
        "foreign_keys": keys,
        "derived": [*derived, *find_search_problems(connection)],
        "orphans": _orphans(connection),
    }


def find_page_problems(connection: Connection) -> list[str]:
    """What SQLite's own check of every page and index finds. Of FTS5 it is left out: beside somebody who writes,
    3.45.1 takes its index for malformed. What search can find is compared with the records instead."""
    found = [says for (says,) in connection.tuples("PRAGMA integrity_check(20)")]
    return [says for says in found if says != "ok" and "FTS5" not in says]


def require_integrity(connection: Connection) -> dict[str, str]:
    found = check_integrity(connection)
    bad = {name: problems for name, problems in found.items() if problems}
    if bad:
        name, problems = next(iter(bad.items()))
        raise Integrity(
            "integrity_failed",
            f"The database failed its check of {name.replace('_', ' ')}.",
            " ".join(f"{one.rstrip('.')}." for one in problems[:5]),
            "Run `K8` to see which records are affected; backups are under AI/db/backups.",
        )
    return dict.fromkeys(found, "ok")


def _orphans(connection):
    """Records without a log entry, or with an entry of another kind."""
    from ..kinds import KINDS

    problems = []
    for kind in KINDS:
        for (record_id,) in connection.tuples(
            f"SELECT t.id FROM {kind} t LEFT JOIN log l ON l.seq = t.seq WHERE l.record_id IS NOT t.id LIMIT 5"
        ):
            problems.append(f"{kind} {record_id} has no log entry")
    return problems


def find_schema_problems(connection: Connection) -> list[str]:
    """Objects that are missing or changed, and those that the migrations do not make and that would have an effect."""
    if connection.value(HAS_MIGRATION) and (problem := migrate.find_version_problem(connection)):
        return [
            problem
        ]  # which of the two is right is not known, so there is nothing to compare with
    found = read_schema(connection)
    wanted = build_expected_schema(connection.value("PRAGMA user_version"))
    ours = {name for kind, name, _ in wanted if kind == "table"}
    records = {name for (name,) in connection.tuples(RECORD_TABLES)}
    changed = [
        f"The {one[0]} {one[1]} is missing or changed."
        for one, sql in wanted.items()
        if found.get(one) != sql
    ]
    added = [
        f"The {one[0]} {one[1]} is not ours."
        for one in found
        if one not in wanted and _acts(*one, ours, records)
    ]
    return [*changed, *added]


def _acts(kind, name, table, ours, records):
    """Has it an effect on us? A trigger, a view, an index on a table of ours, and what is taken for a table of records
    or for a derived one. Any other table is somebody's own business."""
    if kind == "table":
        return name in records or name.endswith("_state")
    return kind != "index" or table in ours


def read_schema(connection: Connection) -> dict[tuple[str, str, str], str]:
    """(type, name, its table) -> SQL; indexes that SQLite makes by itself have none."""
    return {(kind, name, table): sql for kind, name, table, sql in connection.tuples(SCHEMA)}


def build_expected_schema(version: int) -> dict[tuple[str, str, str], str]:
    """The schema that the migrations up to this version make: 30 ms, so once in a process."""
    key = (migrate.FOLDER, version)
    if key not in _expected:
        fresh = Connection(":memory:")
        try:
            for number, name in migrate.list_migrations():
                if number <= version:
                    for statement in migrate.split_statements(migrate.read_migration(name)):
                        fresh.execute(statement)
            _expected[key] = read_schema(fresh)
        finally:
            fresh.close()
    return _expected[key]


def find_stale_rows(connection: Connection) -> list[tuple[int, str]]:
    """(seq, table) of rows of `x_state` tables that are not what the `x_fold` view computes from the records."""
    found: set[tuple[int, str]] = set()
    folds = connection.tuples(
        "SELECT name FROM sqlite_master WHERE type = 'view' AND name GLOB '*_fold'"
    )
    for (fold,) in folds:
        state = fold.removesuffix("_fold") + "_state"
        for left, right in ((fold, state), (state, fold)):
            rows = f"SELECT seq FROM (SELECT * FROM {left} EXCEPT SELECT * FROM {right}) ORDER BY seq LIMIT 5"
            found.update((seq, state) for (seq,) in connection.tuples(rows))
    return sorted(found)


def find_search_problems(connection: Connection) -> list[str]:
    return full_text.find_index_problems(connection) if connection.value(HAS_SEARCH) else []
