"""Spans of work, and traces: the spans that share a `trace_id`.

A trace id is the id of the first span in the trace, unless the caller names the trace. A child span
is in the trace of its parent. A trace name cannot start with `span_`, so that a mistyped id does
not start a new trace.
"""

from __future__ import annotations

from ...errors import Conflict, NotFound, Usage
from .. import ids
from ..ledger.canonical import encode_canonical
from ..ledger.transaction import make_receipt
from ..secrets.excerpt import make_excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...parameters import Reader, Row, Writer

FIRST = "SELECT * FROM span WHERE trace_id = ? ORDER BY seq LIMIT 1"
NAMED = """
SELECT DISTINCT trace_id FROM span WHERE trace_id >= ? AND trace_id < ? ORDER BY trace_id LIMIT 3"""
TRACES_OF_TASK = """
SELECT trace_id FROM span WHERE task_id = ? GROUP BY trace_id ORDER BY min(seq)"""
SPANS_OF_TRACE = """
SELECT id, at, actor, test, parent_id, task_id, name, kind, status, started_at, duration_ms, model,
       tokens_in, tokens_out, cost_usd, summary
FROM span WHERE trace_id = ? ORDER BY seq"""
SHAPE = (
    'A line looks like {"name": "review", "kind": "model", "duration_ms": 5200, "parent": "$1"}.'
)
TRACES_SHOWN = 100


def find_trace(db: Reader, ref: str) -> Row:
    """Return the first span of a trace.

    `ref` is the trace id, a unique prefix of it, the id of a span in the trace, or @last for the
    trace of the actor's newest span.
    """
    if ids.parse_steps_back(ref) is not None:
        return db.rows(FIRST, (db.find("span", ref)["trace_id"],))[0]
    exact = db.one(FIRST, (ref,))
    if exact:
        return exact
    names = [row["trace_id"] for row in db.rows(NAMED, (ref, ref + "\U0010ffff"))]
    if len(names) > 1:
        shown_names = ", ".join(repr(make_excerpt(name)) for name in names)
        raise Usage(
            "ambiguous_id",
            f"{make_excerpt(ref)!r} fits more than one trace.",
            f"These traces begin with it: {shown_names}{' …' if len(names) > 2 else '.'}",
            "Give more characters of the id.",
        )
    if not names and ref[:5] == "span_":
        names = [db.find("span", ref)["trace_id"]]
    if not names:
        raise NotFound(
            "unknown_trace",
            f"There is no trace {make_excerpt(ref)!r}.",
            "No span belongs to a trace whose id starts with it.",
            "Use @last for the trace of your newest span, or begin one: `T1 --trace-id`.",
        )
    return db.rows(FIRST, (names[0],))[0]


def add_span(
    tx: Writer,
    trace_ref: str | None,
    parent_ref: str | None,
    task_ref: str | None,
    started_at: str | None,
    payload: Any,
    values: Row,
) -> Row:
    """Record one span; `values` are the columns that do not refer to other records."""
    parent = tx.find("span", parent_ref) if parent_ref else None
    task = tx.find("task", task_ref) if task_ref else None
    trace_id, first = _find_trace_id(tx, trace_ref, parent)
    task_id = task["id"] if task else parent and parent["task_id"]
    row = tx.add(
        "span",
        {
            **values,
            "trace_id": trace_id,
            "parent_id": parent and parent["id"],
            "task_id": task_id,
            "started_at": started_at or ids.format_time(tx.at_ms - values["duration_ms"]),
            "payload": None if payload is None else encode_canonical(payload),
        },
        of=[record for record in (first, parent, task) if record],
    )
    shown_names = ("name", "trace_id", "parent_id", "started_at", "duration_ms")
    return make_receipt("span", row, **{name: row[name] for name in shown_names if name in row})


def _find_trace_id(tx: Writer, ref: str | None, parent: Row | None) -> tuple[str, Row | None]:
    """Return the trace id of a new span, and the first span of that trace."""
    if ref is None:
        return (parent["trace_id"], None) if parent else (tx.next_id("span"), None)
    is_id = ids.parse_steps_back(ref) is not None or ref[:5] == "span_"
    first = find_trace(tx, ref) if is_id else tx.one(FIRST, (ref,))
    trace_id = first["trace_id"] if first else ref
    if parent and parent["trace_id"] != trace_id:
        raise Conflict(
            "other_trace",
            f"{parent['id']} belongs to another trace than {make_excerpt(trace_id)!r}.",
            f"It is in {make_excerpt(parent['trace_id'])!r}; a span is in the trace of its parent.",
            "Leave --trace-id out, or name another --parent.",
        )
    return trace_id, first


def add_spans(call: Callable[..., Row], text: str) -> Row:
    """Record a span for each line of JSONL.

    `parent` and `trace_id` may name an earlier line as `$N`.
    """
    from ..ledger import batch

    rows = batch.run_batch(text, call, _read_line, SHAPE)
    traces = list(dict.fromkeys(row["trace_id"] for row in rows))
    return {
        "kind": "span",
        "count": len(rows),
        "spans": len(rows),
        "traces": len(traces),
        "trace_ids": traces[:TRACES_SHOWN],
        "first_id": rows[0]["id"],
        "last_id": rows[-1]["id"],
    }


def _read_line(line: str) -> tuple[str, Row]:
    from ..ledger import batch

    item = batch.read_object(line, SHAPE)
    options = {name.replace("-", "_"): value for name, value in item.items() if value is not None}
    if "jsonl" in options:
        raise Usage(
            "bad_line",
            "This line sets --jsonl, which a line of JSONL input cannot do.",
            SHAPE,
            "Put all spans into one input.",
        )
    for name, column in (("parent", "id"), ("trace_id", "trace_id")):
        value = options.get(name)
        if (
            isinstance(value, str) and value[:1] == "$"
        ):  # turn $3 into $3.id or $3.trace_id, which a batch replaces
            number = value[1:].removesuffix(".id").removesuffix(".trace_id")
            options[name] = f"${number}.{column}" if number.isdecimal() else value
    return "T1", options
