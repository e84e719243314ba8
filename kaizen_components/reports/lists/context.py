"""Find the lessons that fit a query or some files (L10), each with its lineage."""

from __future__ import annotations

from ...records.files.paths import FileMatcher, matches_glob, normalize_path
from ...records.lessons.lesson import LESSONS
from ...records.lessons.lineage import check_freshness, find_backing, trace_lineage
from ...records.search.listing import list_records, read_json_list

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ...parameters import Reader, Row

IN_FORCE = {
    "learned": ("status = ?", "active"),
    "learning": ("status = ?", "active"),
    # A promoted gotcha is left out: its learning is shown instead.
    "gotcha": ("status IN ('active', ?)", "resolved"),
}
BY_WORDS = "fits the query"
FIELDS = ("status", "scope", "at", "title", "summary", "body", "superseded_by")


def find_lessons(
    db: Reader, root: str, query: str | None, paths: Sequence[str], scope: str | None, limit: int
) -> Row:
    """Return whole lessons that fit a query or files, each with the reasons why it fits."""
    normalized_paths = [normalize_path(root, path) for path in paths]
    matches, has_more = match_lessons(db, query, normalized_paths, scope, limit)
    matcher = FileMatcher(root)
    records = []
    for kind, id, reasons in matches:
        (lesson,) = db.rows(f"SELECT * FROM {kind}_current WHERE id = ?", (id,))
        record = {
            "id": id,
            "kind": kind,
            **{name: lesson[name] for name in FIELDS if lesson[name] is not None},
            "evidence": read_json_list(db, lesson["evidence"]),
            "paths": read_json_list(db, lesson["paths"]),
            "because": reasons,
            **check_freshness(db, matcher, kind, lesson),
            **({"unproven": True} if kind == "learning" and lesson["evidence"] is None else {}),
            "lineage": trace_lineage(db, kind, lesson),
            **({"backing": find_backing(db, lesson)} if kind == "learned" else {}),
            **({"test": True} if lesson["test"] else {}),
        }
        records.append({name: value for name, value in record.items() if value != []})
    return {"records": records, "count": len(records), "more": has_more}


def match_lessons(
    db: Reader,
    query: str | None,
    paths: Sequence[str],
    scope: str | None,
    limit: int,
    compared_max: int | None = None,
) -> tuple[list[tuple[str, str, list[str]]], bool]:
    """Return ([(kind, id, reasons)], whether there are more), proven lessons first.

    Without a query and files, return the newest proven lessons. With `compared_max`, compare only
    that many of the newest lessons of each kind with the files, which is enough for a digest.
    """
    matches: dict[str, dict[str, list[str]]]
    if query is None and not paths:
        proven_lessons = list_records(db, "learned", "id", limit, _build_filters("learned", scope))
        matches = {"learned": {row["id"]: [] for row in proven_lessons["records"]}}
        has_more = proven_lessons["more"]
    else:
        matches = {
            kind: _match_kind(db, kind, query, paths, scope, limit, compared_max)
            for kind in reversed(LESSONS)
        }
        has_more = sum(map(len, matches.values())) > limit
    # The kinds take turns, so that many proven lessons do not hide a fitting gotcha.
    ids = {kind: list(reasons) for kind, reasons in matches.items()}
    best: list[tuple[str, str]] = []
    for turn in range(min(limit, max(map(len, ids.values())))):
        best += [(kind, ids[kind][turn]) for kind in ids if turn < len(ids[kind])]
    best = best[:limit]
    return [
        (kind, id, matches[kind][id]) for group in matches for kind, id in best if kind == group
    ], has_more


def _build_filters(kind: str, scope: str | None) -> dict[str, Any]:
    """Return {condition: value} that select the lessons of a kind in force, within the scope."""
    condition, status = IN_FORCE[kind]
    return {condition: status, "scope = ?": scope}


def _match_kind(
    db: Reader,
    kind: str,
    query: str | None,
    paths: Sequence[str],
    scope: str | None,
    limit: int,
    compared_max: int | None,
) -> dict[str, list[str]]:
    """Return {lesson id: reasons}: active lessons first, then resolved ones.

    Within each group, lessons that fit both the files and the query come first, then lessons
    for the files only, then lessons for the query only.
    """
    reasons: dict[str, list[str]] = {}
    status: dict[str, str] = {}
    if paths:
        import json

        filters = _build_filters(kind, scope)
        if scope is None:
            del filters["scope = ?"]
        if compared_max is not None:
            oldest = f"SELECT seq FROM {kind} ORDER BY seq DESC LIMIT 1 OFFSET ?"
            filters["seq > ?"] = db.value(oldest, (compared_max,)) or 0
        rows = db.connection.tuples(
            f"SELECT id, status, paths FROM {kind}_current "
            f"WHERE {' AND '.join(filters)} AND paths IS NOT NULL ORDER BY seq DESC",
            tuple(filters.values()),
        )
        texts = list({text for _, _, text in rows})  # many lessons are about the same files
        # Parsing 5,000 lists at once takes 0.7 ms; one by one it takes 6.5 ms.
        lists = json.loads("[" + ",".join(texts) + "]")
        reasons_by_text = {
            text: [
                f"{path} fits {glob}"
                for glob in globs
                for path in paths
                if matches_glob(glob, path)
            ]
            for text, globs in zip(texts, lists, strict=True)
        }
        for id, state, text in rows:
            if reasons_by_text[text]:
                reasons[id], status[id] = list(reasons_by_text[text]), state
    ids_for_files = set(reasons)
    ids_for_both = set()
    if query is not None:
        filters = _build_filters(kind, scope)
        for row in list_records(db, kind, "id, status", limit + 1, filters, query)["records"]:
            reasons.setdefault(row["id"], []).append(BY_WORDS)
            status[row["id"]] = row["status"]
        ids_for_both = {id for id in ids_for_files if reasons[id][-1] == BY_WORDS}
    # "active" sorts before "resolved".
    order = sorted(reasons, key=lambda id: (status[id], id not in ids_for_both))
    return {id: reasons[id] for id in order}
