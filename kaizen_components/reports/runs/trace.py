"""What a trace says in numbers: the tree of its spans, self time, totals per kind, the critical path.

A span lasts from its own start to its own end; its *extent* also covers everything below it, because a span that is
recorded before its parts are done has no duration yet. Where every span lies inside its parent, the two are the same.

The critical path is the chain that determined when the trace ended. It starts at the root whose extent ends last and
goes backwards in time: inside a span, to the child whose extent ends last; from where that one began, to the child
that ended last before; and so on, and the same among roots. Time in which no child is on the path belongs to the span
itself. Spans without any extent take no time and are never on it, unless there is nothing else.
"""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

from ...errors import NotFound, Usage
from ...records.quality import span as spans_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Span = dict[str, Any]


def build_trace_report(db, trace_ref: str | None, task_ref: str | None) -> dict[str, Any]:
    """The traces that were asked for, each with its spans and its critical path, and the totals over all of them."""
    traces = [
        analyze_trace(trace_id, db.rows(spans_of.SPANS_OF_TRACE, (trace_id,)))
        for trace_id in _wanted(db, trace_ref, task_ref)
    ]
    every = [span for trace in traces for span in trace["spans"]]
    return {
        "trace_ids": [trace["trace_id"] for trace in traces],
        "total": {"traces": len(traces), **_sum(every), "wall_ms": _wall(traces)},
        "kinds": sum_by_kind(every),
        "traces": traces,
    }


def _wanted(db, trace_ref, task_ref):
    if (trace_ref is None) == (task_ref is None):
        raise Usage(
            "one_of_two",
            "T3 trace-report needs either --trace-id or --task-id.",
            "",
            "`T3 --trace-id @last` shows the trace of your newest span.",
        )
    if trace_ref is not None:
        return [spans_of.find_trace(db, trace_ref)["trace_id"]]
    task = db.find("task", task_ref)
    found = [row["trace_id"] for row in db.rows(spans_of.TRACES_OF_TASK, (task["id"],))]
    if not found:
        raise NotFound(
            "no_trace",
            f"{task['id']} has no trace.",
            "No span names this task.",
            "Record one: `T1 --task-id`.",
        )
    return found


def analyze_trace(trace_id: str, rows: list[Span]) -> dict[str, Any]:
    """One trace: its spans in the order of the tree with offset, depth and self time, and its critical path."""
    began = min(_ms(row["started_at"]) for row in rows)
    spans = _in_tree_order([_placed(row, _ms(row["started_at"]) - began) for row in rows])
    below = _below(spans)
    _extend(spans)
    for span in spans:
        span["self_ms"] = span["duration_ms"] - _covered(_inside(span, below[span["id"]]))
    wall = max(span["end_ms"] for span in spans)
    path = _critical_path(spans, below, wall)
    on_path = {step["id"] for step in path}
    return {
        "trace_id": trace_id,
        "started_at": min(row["started_at"] for row in rows),
        "wall_ms": wall,
        **_sum(spans),
        "critical_path": path,
        "spans": [_shown(span, span["id"] in on_path) for span in spans],
    }


def sum_by_kind(spans: list[Span]) -> list[dict[str, Any]]:
    """Totals per kind; the one with the most self time first."""
    kinds = sorted({span["kind"] for span in spans})
    found = [
        {"kind": kind, **_sum([span for span in spans if span["kind"] == kind])} for kind in kinds
    ]
    return sorted(found, key=lambda row: -row["self_ms"])


def _sum(spans):
    return {
        "count": len(spans),
        "self_ms": sum(span["self_ms"] for span in spans),
        "tokens_in": sum(span["tokens_in"] for span in spans),
        "tokens_out": sum(span["tokens_out"] for span in spans),
        "cost_usd": round(math.fsum(span["cost_usd"] for span in spans), 9),
    }


def _wall(traces):
    """The time in which any of the traces was under way."""
    starts = [_ms(trace["started_at"]) for trace in traces]
    return _covered(
        [(start, start + trace["wall_ms"]) for start, trace in zip(starts, traces, strict=True)]
    )


def _ms(text):
    return (datetime.fromisoformat(text) - EPOCH) // timedelta(milliseconds=1)


def _placed(row, offset):
    end = offset + row["duration_ms"]
    return {**row, "offset_ms": offset, "end_ms": end, "first_ms": offset, "last_ms": end}


def _shown(span, critical):
    hidden = ("above", "first_ms", "last_ms")
    kept = {name: value for name, value in span.items() if name not in hidden and value is not None}
    return {**kept, "test": bool(span["test"]), "critical": critical}


def _in_tree_order(spans):
    """The spans, each followed by what is below it, by time. A span whose parent is missing stands at the top, and so
    does one in a circle, which only a damaged database has. No recursion: a chain may be as long as the trace."""
    spans.sort(
        key=lambda span: (span["offset_ms"], -span["duration_ms"])
    )  # stable: the recorded order breaks ties
    known = {span["id"] for span in spans}
    below: dict[str | None, list[Span]] = {}
    for span in spans:
        below.setdefault(span["parent_id"] if span["parent_id"] in known else None, []).append(span)
    ordered: list[Span] = []
    seen: set[str] = set()
    for root in [
        *below.get(None, []),
        *spans,
    ]:  # the second part: what a circle kept from being reached
        waiting: list[tuple[Span, str | None, int]] = [(root, None, 0)]
        while waiting:
            span, above, depth = waiting.pop()
            if span["id"] not in seen:
                seen.add(span["id"])
                ordered.append({**span, "above": above, "depth": depth})
                waiting += [
                    (child, span["id"], depth + 1) for child in reversed(below.get(span["id"], []))
                ]
    return ordered


def _below(spans):
    """id -> children; None -> roots."""
    found: dict[str | None, list[Span]] = {None: [], **{span["id"]: [] for span in spans}}
    for span in spans:
        found[span["above"]].append(span)
    return found


def _extend(spans):
    """Let the extent of each span cover those below it; children come after their parents, so the last come first."""
    by_id = {span["id"]: span for span in spans}
    for span in reversed(spans):
        if span["above"] is not None:
            above = by_id[span["above"]]
            above["first_ms"] = min(above["first_ms"], span["first_ms"])
            above["last_ms"] = max(above["last_ms"], span["last_ms"])


def _inside(span, children):
    """The times of the children, cut to that of the span."""
    return [
        (max(child["offset_ms"], span["offset_ms"]), min(child["end_ms"], span["end_ms"])) for child in children
    ]  # fmt: skip


def _covered(intervals):
    """How much time at least one of the intervals covers."""
    total, reached = 0, -math.inf
    for start, end in sorted(intervals):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def _critical_path(spans, below, wall):
    """The chain in the order of the tree, each span with the time that is its own on it."""
    roots = below[None]
    own: dict[str, int] = {}
    waiting: list[tuple[Span | None, int]] = [(None, wall)]
    while waiting:
        span, until = waiting.pop()
        spent = 0
        for child in sorted(
            below[span and span["id"]], key=lambda child: (-child["last_ms"], child["first_ms"])
        ):
            if child["first_ms"] < child["last_ms"] <= until:
                spent += until - child["last_ms"]
                waiting.append((child, child["last_ms"]))
                until = child["first_ms"]
        if span:
            own[span["id"]] = spent + until - span["first_ms"]
    if not own:
        own[max(roots, key=lambda root: root["last_ms"])["id"]] = 0
    return [
        {
            "id": span["id"], "name": span["name"], "kind": span["kind"], "depth": span["depth"],
            "ms": own[span["id"]], "share": round(own[span["id"]] / wall, 4) if wall else None,
        }
        for span in spans if span["id"] in own
    ]  # fmt: skip
