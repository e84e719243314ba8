"""The health of the database: quick facts, and the checks of `K1 --integrity`."""

from typing import Any

from ...errors import Integrity
from ...store import migrate
from ...store.connection import Connection
from ..kinds import KINDS
from ..search import full_text
from .hashing import read_log_end

HAS_SEARCH = "SELECT 1 FROM sqlite_master WHERE name = 'search'"
HAS_MIGRATION = "SELECT 1 FROM sqlite_master WHERE name = 'migration'"
RECORD_TABLES = """
SELECT m.name FROM sqlite_master m WHERE m.type = 'table' AND (
    SELECT count(*) FROM pragma_table_info(m.name) c
    WHERE c.name IN ('seq', 'id', 'at', 'actor', 'test')) = 5"""
NO_ENTRY = """
SELECT t.id FROM {kind} t LEFT JOIN log l ON l.seq = t.seq WHERE l.record_id IS NOT t.id LIMIT 5"""
SCHEMA = (
    "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY type, name"
)

_expected: dict[tuple[str, int], dict[tuple[str, str, str], str]] = {}


def summarize_log(connection: Connection) -> dict[str, Any]:
    """Return the schema, the size of the log and its root in constant time."""
    end = read_log_end(connection)
    return {
        "schema": end.schema,
        "origin": end.origin,
        "entries": end.frontier.size,
        "root": end.frontier.root(),
    }


def check_integrity(connection: Connection) -> dict[str, list[str]]:
    """Return the name of each check and the list of problems that it found."""
    keys = [
        f"{table} row {rowid} refers to a {parent} row that is missing"
        for table, rowid, parent, _ in connection.tuples("PRAGMA foreign_key_check")[:20]
    ]
    derived = [
        f"{state} seq {seq} does not agree with the records"
        for seq, state in find_stale_rows(connection)
    ]
    orphans = [
        f"{kind} {record_id} has no log entry"
        for kind in KINDS
        for (record_id,) in connection.tuples(NO_ENTRY.format(kind=kind))
    ]
    return {
        "pages": find_page_problems(connection),
        "schema": find_schema_problems(connection),
        "foreign_keys": keys,
        "derived": [*derived, *find_search_problems(connection)],
        "orphans": orphans,
    }


def find_page_problems(connection: Connection) -> list[str]:
    """Return what SQLite's check of every page and index finds.

    Leave out FTS5: while another process writes, SQLite 3.45.1 reports its index as malformed.
    `find_search_problems` compares the index with the records instead.
    """
    problems = [problem for (problem,) in connection.tuples("PRAGMA integrity_check(20)")]
    return [problem for problem in problems if problem != "ok" and "FTS5" not in problem]


def require_integrity(connection: Connection) -> dict[str, str]:
    checks = check_integrity(connection)
    for name, problems in checks.items():
        if problems:
            raise Integrity(
                "integrity_failed",
                f"The database failed its check of {name.replace('_', ' ')}.",
                " ".join(f"{problem.rstrip('.')}." for problem in problems[:5]),
                "Run `K8` to see which records are affected; backups are under AI/db/backups.",
            )
    return dict.fromkeys(checks, "ok")


def find_schema_problems(connection: Connection) -> list[str]:
    """Return the schema objects that are missing or changed, and those that Kaizen did not make.

    The latter are triggers, views, indexes on our tables, and tables that look like a table of
    records or a derived table. Other tables of other programs are harmless.
    """
    if connection.value(HAS_MIGRATION) and (problem := migrate.find_version_problem(connection)):
        return [problem]  # without a reliable version we do not know which schema to expect
    schema = read_schema(connection)
    expected = build_expected_schema(connection.value("PRAGMA user_version"))
    ours = {name for kind, name, _ in expected if kind == "table"}
    records = {name for (name,) in connection.tuples(RECORD_TABLES)}
    problems = [
        f"The {kind} {name} is missing or changed."
        for (kind, name, table), sql in expected.items()
        if schema.get((kind, name, table)) != sql
    ]
    for kind, name, table in schema.keys() - expected.keys():
        is_record = name in records or name.endswith("_state")
        if is_record if kind == "table" else kind != "index" or table in ours:
            problems.append(f"The {kind} {name} was not made by Kaizen.")
    return problems


def read_schema(connection: Connection) -> dict[tuple[str, str, str], str]:
    """Return (type, name, table) -> SQL. Indexes that SQLite makes itself are left out."""
    return {(kind, name, table): sql for kind, name, table, sql in connection.tuples(SCHEMA)}


def build_expected_schema(version: int) -> dict[tuple[str, str, str], str]:
    """Return the schema that the migrations up to this version make: 30 ms, once per process."""
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
    """Return (seq, table) of the rows of `x_state` tables that differ from their `x_fold` view."""
    stale: set[tuple[int, str]] = set()
    folds = connection.tuples(
        "SELECT name FROM sqlite_master WHERE type = 'view' AND name GLOB '*_fold'"
    )
    for (fold,) in folds:
        state = fold.removesuffix("_fold") + "_state"
        for left, right in ((fold, state), (state, fold)):
            only_left = f"SELECT * FROM {left} EXCEPT SELECT * FROM {right}"
            sql = f"SELECT seq FROM ({only_left}) ORDER BY seq LIMIT 5"
            stale.update((seq, state) for (seq,) in connection.tuples(sql))
    return sorted(stale)


def find_search_problems(connection: Connection) -> list[str]:
    return full_text.find_index_problems(connection) if connection.value(HAS_SEARCH) else []
