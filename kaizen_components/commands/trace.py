"""Traces, spans of work: T1 and T3."""

from ..errors import Usage
from ..records.quality import span


def add(
    tx,
    call,
    *,
    name=None,
    kind="other",
    status="ok",
    trace_id=None,
    parent=None,
    task_id=None,
    started_at=None,
    duration_ms=0,
    model=None,
    tokens_in=0,
    tokens_out=0,
    cost_usd=0,
    summary=None,
    payload_json=None,
    jsonl=None,
):
    """Record a span of work, or many of them from JSONL.

    Example: kaizen T1 --name "review the diff" --kind model --duration-ms 5200 --tokens-in 1800 --tokens-out 240
    """
    values = {
        "name": name, "kind": kind, "status": status, "duration_ms": duration_ms, "model": model,
        "tokens_in": tokens_in, "tokens_out": tokens_out, "cost_usd": cost_usd, "summary": summary,
    }  # fmt: skip
    if jsonl is not None:
        _refuse_beside_jsonl(
            {
                **values, "trace_id": trace_id, "parent": parent, "task_id": task_id, "started_at": started_at,
                "payload_json": payload_json,
            }
        )  # fmt: skip
        return span.add_spans(call, jsonl)
    if name is None:
        raise Usage(
            "missing_option",
            "T1 trace-add needs --name.",
            "",
            "Name the work, or give --jsonl FILE.",
        )
    return span.add_span(tx, trace_id, parent, task_id, started_at, payload_json, values)


def _refuse_beside_jsonl(values):
    defaults = add.__kwdefaults__ or {}
    given = [name for name, value in values.items() if value != defaults[name]]
    if given:
        raise Usage(
            "not_with_jsonl",
            ", ".join("--" + name.replace("_", "-") for name in given)
            + " cannot stand beside --jsonl.",
            "With --jsonl each line says everything about its span.",
            "Put it into the lines.",
        )


def report(db, store, *, trace_id=None, task_id=None, format="text", out=None):
    """Show a trace as a waterfall, with totals per kind and the critical path.

    Example: kaizen T3 --trace-id @last
    """
    from ..reports.charts import waterfall
    from ..reports.engine.page import save_report
    from ..reports.runs import trace

    found = trace.build_trace_report(db, trace_id, task_id)
    if format == "json" and not out:
        return found
    if format == "text" and not out:
        return {**found, "text": waterfall.draw_text(found)}
    path = save_report(
        store,
        "trace",
        "txt" if format == "text" else format,
        waterfall.render_page(db, found, format),
        out,
    )
    return {"path": path, "trace_ids": found["trace_ids"], "total": found["total"]}
