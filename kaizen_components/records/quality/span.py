"""Spans of work and the traces they make. A trace is the spans that share a `trace_id`.

That is the id of its first span, unless somebody brought a name of their own. A span inside another is always in the
same trace. Text that starts with `span_` is never a name of one's own: a mistyped id must not begin a trace.
"""

from ...errors import Conflict, NotFound, Usage
from .. import ids
from ..ledger.canonical import encode_canonical
from ..ledger.transaction import make_receipt
from ..secrets.excerpt import make_excerpt

FIRST = "SELECT * FROM span WHERE trace_id = ? ORDER BY seq LIMIT 1"
NAMED = "SELECT DISTINCT trace_id FROM span WHERE trace_id >= ? AND trace_id < ? ORDER BY trace_id LIMIT 3"
TRACES_OF_TASK = "SELECT trace_id FROM span WHERE task_id = ? GROUP BY trace_id ORDER BY min(seq)"
SPANS_OF_TRACE = """
SELECT id, at, actor, test, parent_id, task_id, name, kind, status, started_at, duration_ms, model, tokens_in,
       tokens_out, cost_usd, summary
FROM span WHERE trace_id = ? ORDER BY seq"""

SHAPE = (
    'A line looks like {"name": "review", "kind": "model", "duration_ms": 5200, "parent": "$1"}.'
)
TRACES_SHOWN = 100


def find_trace(db, ref):
    """The first span of the trace that `ref` names: its id, a unique prefix of that, any span in it, or @last, which
    is the trace of the actor's newest span."""
    if ids.parse_steps_back(ref) is not None:
        return db.one(FIRST, (db.find("span", ref)["trace_id"],))
    exact = db.one(FIRST, (ref,))
    if exact:
        return exact
    named = [row["trace_id"] for row in db.rows(NAMED, (ref, ref + "\U0010ffff"))]
    if len(named) > 1:
        raise Usage(
            "ambiguous_id",
            f"{make_excerpt(ref)!r} fits more than one trace.",
            "It starts "
            + ", ".join(repr(make_excerpt(one)) for one in named)
            + (" …" if len(named) > 2 else "."),
            "Give more characters of the id.",
        )
    if not named and ref[:5] == "span_":
        named = [db.find("span", ref)["trace_id"]]
    if not named:
        raise NotFound(
            "unknown_trace",
            f"There is no trace {make_excerpt(ref)!r}.",
            "No span belongs to a trace whose id starts with it.",
            "Use @last for the trace of your newest span, or begin one: `T1 --trace-id`.",
        )
    return db.one(FIRST, (named[0],))


def add_span(tx, trace_ref, parent_ref, task_ref, started_at, payload, values):
    """Record one span; `values` are the columns that need no looking up."""
    parent = tx.find("span", parent_ref) if parent_ref else None
    task = tx.find("task", task_ref) if task_ref else None
    trace_id, first = _place(tx, trace_ref, parent)
    row = tx.add(
        "span",
        {
            **values,
            "trace_id": trace_id,
            "parent_id": parent and parent["id"],
            "task_id": task["id"]
            if task
            else parent and parent["task_id"],  # a part of the same work
            "started_at": started_at or ids.format_time(tx.at_ms - values["duration_ms"]),
            "payload": None if payload is None else encode_canonical(payload),
        },
        of=[record for record in (first, parent, task) if record],
    )
    shown = {
        name: row[name]
        for name in ("name", "trace_id", "parent_id", "started_at", "duration_ms")
        if name in row
    }
    return make_receipt("span", row, **shown)


def _place(tx, ref, parent):
    """(trace id, first span of that trace if it has one) for a new span."""
    if ref is None:
        return (parent["trace_id"], None) if parent else (tx.next_id("span"), None)
    ours = ids.parse_steps_back(ref) is not None or ref[:5] == "span_"
    first = find_trace(tx, ref) if ours else tx.one(FIRST, (ref,))
    trace_id = first["trace_id"] if first else ref
    if parent and parent["trace_id"] != trace_id:
        raise Conflict(
            "other_trace",
            f"{parent['id']} belongs to another trace than {make_excerpt(trace_id)!r}.",
            f"It is in {make_excerpt(parent['trace_id'])!r}, and a span is in the trace of the span around it.",
            "Leave --trace-id out, or name another --parent.",
        )
    return trace_id, first


def add_spans(call, text):
    """Record a span for each line of JSONL; `parent` and `trace_id` may name an earlier line as `$N`."""
    from ..ledger import batch

    found = batch.run_batch(text, call, _read_line, SHAPE)
    traces = list(dict.fromkeys(row["trace_id"] for row in found))
    return {
        "kind": "span",
        "count": len(found),
        "spans": len(found),
        "traces": len(traces),
        "trace_ids": traces[:TRACES_SHOWN],
        "first_id": found[0]["id"],
        "last_id": found[-1]["id"],
    }


def _read_line(line):
    from ..ledger import batch

    item = batch.read_object(line, SHAPE)
    given = {name.replace("-", "_"): value for name, value in item.items() if value is not None}
    if "jsonl" in given:
        raise Usage("bad_line", "has --jsonl inside JSONL.", SHAPE, "Put the spans into one input.")
    for name, wanted in (("parent", "id"), ("trace_id", "trace_id")):
        if name in given:
            given[name] = _reference(given[name], wanted)
    return "T1", given


def _reference(value, wanted):
    """`$3` and `$3.id` in the form that a batch fills in; anything else as it is."""
    if not isinstance(value, str) or value[:1] != "$":
        return value
    number = value[1:].removesuffix(".id").removesuffix(".trace_id")
    return f"${number}.{wanted}" if number.isdecimal() else value
