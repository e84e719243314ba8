"""Analyze a trace (T3): its tree of spans, their self time, totals per kind, and critical path.

The *extent* of a span is its own time plus that of all spans below it. It is needed because a
parent that is recorded before its children has no duration yet.

The critical path is the chain of spans that determined when the trace ended. It is found backwards
in time, from the root whose extent ends last. Within a span, the path takes the child whose extent
ends last, then the child that ended last before the chosen one began, and so on. Earlier roots are
chosen the same way. Time that no child on the path covers belongs to the span itself. A span with
an empty extent is on the path only if all extents are empty.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from ...errors import NotFound, Usage
from ...records.quality import span as spans_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...parameters import Reader, Row

    Children = dict[str | None, list[Row]]  # by the id of their parent; None has the roots

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def build_trace_report(db: Reader, trace_ref: str | None, task_ref: str | None) -> Row:
    """Return one trace, or all traces of a task, each with its critical path, and the totals."""
    if trace_ref is not None and task_ref is None:
        ids = [spans_of.find_trace(db, trace_ref)["trace_id"]]
    elif task_ref is not None and trace_ref is None:
        task = db.find("task", task_ref)
        ids = [row["trace_id"] for row in db.rows(spans_of.TRACES_OF_TASK, (task["id"],))]
        if not ids:
            raise NotFound(
                "no_trace",
                f"{task['id']} has no trace.",
                "No span names this task.",
                "Record a span of the task: `T1 --task-id ID`.",
            )
    else:
        raise Usage(
            "one_of_two",
            "T3 trace-report needs either --trace-id or --task-id.",
            "A report shows one trace.",
            "`T3 --trace-id @last` shows the trace of your newest span.",
        )
    traces = [analyze_trace(id, db.rows(spans_of.SPANS_OF_TRACE, (id,))) for id in ids]
    spans = [span for trace in traces for span in trace["spans"]]
    starts = [_parse_ms(trace["started_at"]) for trace in traces]
    wall_ms = _measure_covered_time(
        (start, start + trace["wall_ms"]) for start, trace in zip(starts, traces, strict=True)
    )
    return {
        "trace_ids": [trace["trace_id"] for trace in traces],
        "total": {"traces": len(traces), **_sum_spans(spans), "wall_ms": wall_ms},
        "kinds": sum_by_kind(spans),
        "traces": traces,
    }


def analyze_trace(trace_id: str, rows: list[Row]) -> Row:
    """Return the totals, the spans in tree order with their self time, and the critical path."""
    start = min(_parse_ms(row["started_at"]) for row in rows)
    spans = _order_spans_by_tree(rows, start)
    children: Children = {None: [], **{span["id"]: [] for span in spans}}
    for span in spans:
        children[span["above"]].append(span)
    by_id = {span["id"]: span for span in spans}
    for span in reversed(spans):  # children come after their parents: extend from the leaves up
        if span["above"] is not None:
            above = by_id[span["above"]]
            above["first_ms"] = min(above["first_ms"], span["first_ms"])
            above["last_ms"] = max(above["last_ms"], span["last_ms"])
        covered_ms = _measure_covered_time(
            (max(child["offset_ms"], span["offset_ms"]), min(child["end_ms"], span["end_ms"]))
            for child in children[span["id"]]
        )
        span["self_ms"] = span["duration_ms"] - covered_ms
    wall_ms = max(span["end_ms"] for span in spans)
    path = _find_critical_path(spans, children, wall_ms)
    on_path = {step["id"] for step in path}
    internal = ("above", "first_ms", "last_ms")
    return {
        "trace_id": trace_id,
        "started_at": min(row["started_at"] for row in rows),
        "wall_ms": wall_ms,
        **_sum_spans(spans),
        "critical_path": path,
        "spans": [
            {
                **{k: v for k, v in span.items() if k not in internal and v is not None},
                "test": bool(span["test"]),
                "critical": span["id"] in on_path,
            }
            for span in spans
        ],
    }


def sum_by_kind(spans: list[Row]) -> list[Row]:
    """Return the totals per kind of span, those with the most self time first."""
    kinds = sorted({span["kind"] for span in spans})
    totals = [
        {"kind": kind, **_sum_spans([span for span in spans if span["kind"] == kind])}
        for kind in kinds
    ]
    return sorted(totals, key=lambda row: -row["self_ms"])


def _sum_spans(spans: list[Row]) -> Row:
    """Return the number of spans with their total self time, tokens and cost."""
    names = ("self_ms", "tokens_in", "tokens_out")
    return {
        "count": len(spans),
        **{name: sum(span[name] for span in spans) for name in names},
        "cost_usd": round(math.fsum(span["cost_usd"] for span in spans), 9),
    }


def _parse_ms(text: str) -> int:
    """Return a recorded time as milliseconds since 1970."""
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)


def _order_spans_by_tree(rows: list[Row], start: int) -> list[Row]:
    """Return the spans depth first, siblings by start time, with their depth and offsets.

    A span whose parent is missing becomes a root. So does a span in a cycle, which only a damaged
    database has. The walk uses a stack, because a chain of thousands would exceed the recursion
    limit.
    """
    spans = []
    for row in rows:
        offset = _parse_ms(row["started_at"]) - start
        end = offset + row["duration_ms"]
        times = {"offset_ms": offset, "end_ms": end, "first_ms": offset, "last_ms": end}
        spans.append({**row, **times})
    # The sort is stable: the recorded order breaks ties.
    spans.sort(key=lambda span: (span["offset_ms"], -span["duration_ms"]))
    ids = {span["id"] for span in spans}
    children: Children = {}
    for span in spans:
        parent = span["parent_id"] if span["parent_id"] in ids else None
        children.setdefault(parent, []).append(span)
    ordered_items: list[Row] = []
    seen_ids: set[str] = set()
    for root in [*children.get(None, []), *spans]:  # a cycle has no root, so try every span
        stack: list[tuple[Row, str | None, int]] = [(root, None, 0)]
        while stack:
            span, above, depth = stack.pop()
            if span["id"] not in seen_ids:
                seen_ids.add(span["id"])
                ordered_items.append({**span, "above": above, "depth": depth})
                stack += [
                    (child, span["id"], depth + 1)
                    for child in reversed(children.get(span["id"], []))
                ]
    return ordered_items


def _measure_covered_time(intervals: Iterable[tuple[int, int]]) -> int:
    """Return how much time the intervals cover together; overlaps count once."""
    ordered_items = sorted(intervals)
    total, covered_until = 0, ordered_items[0][0] if ordered_items else 0
    for start, end in ordered_items:
        total += max(0, end - max(start, covered_until))
        covered_until = max(covered_until, end)
    return total


def _find_critical_path(spans: list[Row], children: Children, wall_ms: int) -> list[Row]:
    """Return the spans on the path in tree order, each with its own time on the path."""
    own_ms: dict[str, int] = {}
    stack: list[tuple[Row | None, int]] = [(None, wall_ms)]
    while stack:
        span, until = stack.pop()
        gaps_ms = 0
        child_spans = children[span["id"] if span else None]
        for child in sorted(child_spans, key=lambda child: (-child["last_ms"], child["first_ms"])):
            if child["first_ms"] < child["last_ms"] <= until:
                gaps_ms += until - child["last_ms"]
                stack.append((child, child["last_ms"]))
                until = child["first_ms"]
        if span:
            own_ms[span["id"]] = gaps_ms + until - span["first_ms"]
    if not own_ms:
        own_ms[max(children[None], key=lambda root: root["last_ms"])["id"]] = 0
    return [
        {
            "id": span["id"],
            "name": span["name"],
            "kind": span["kind"],
            "depth": span["depth"],
            "ms": own_ms[span["id"]],
            "share": round(own_ms[span["id"]] / wall_ms, 4) if wall_ms else None,
        }
        for span in spans
        if span["id"] in own_ms
    ]
