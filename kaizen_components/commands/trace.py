"""Traces, spans of work: T1 and T3."""

from __future__ import annotations

from ..errors import Usage
from ..records.quality import span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..parameters import Reader, Row, Store, Writer


def add(
    tx: Writer,
    call: Callable[..., Any],
    *,
    name: str | None = None,
    kind: str = "other",
    status: str = "ok",
    trace_id: str | None = None,
    parent: str | None = None,
    task_id: str | None = None,
    started_at: str | None = None,
    duration_ms: int = 0,
    model: str | None = None,
    tokens_in: int = 0,
    tokens_out: int = 0,
    cost_usd: float = 0,
    summary: str | None = None,
    payload_json: Any = None,
    jsonl: str | None = None,
) -> Row:
    """Record a span of work, or many of them from JSONL.

    Example: kaizen T1 --name "review the diff" --kind model --duration-ms 5200 --tokens-in 1800
        --tokens-out 240
    """
    values = {
        "name": name,
        "kind": kind,
        "status": status,
        "duration_ms": duration_ms,
        "model": model,
        "tokens_in": tokens_in,
        "tokens_out": tokens_out,
        "cost_usd": cost_usd,
        "summary": summary,
    }
    if jsonl is not None:
        links = {"trace_id": trace_id, "parent": parent, "task_id": task_id}
        options = {**values, **links, "started_at": started_at, "payload_json": payload_json}
        defaults = add.__kwdefaults__ or {}
        extra = [key for key, value in options.items() if value != defaults[key]]
        if extra:
            names = ", ".join("--" + key.replace("_", "-") for key in extra)
            raise Usage(
                "not_with_jsonl",
                f"{names} cannot be combined with --jsonl.",
                "With --jsonl, each line of the input describes a whole span.",
                f"Omit {'it' if len(extra) == 1 else 'them'}, and set the values in the JSON lines.",
            )
        return span.add_spans(call, jsonl)
    if name is None:
        raise Usage(
            "missing_option",
            "T1 trace-add needs --name or --jsonl.",
            "A span is found by its name.",
            "Add --name with the name of the work, or --jsonl FILE.",
        )
    return span.add_span(tx, trace_id, parent, task_id, started_at, payload_json, values)


def report(
    db: Reader,
    store: Store,
    *,
    trace_id: str | None = None,
    task_id: str | None = None,
    format: str = "text",
    out: str | None = None,
) -> Row:
    """Show a trace as a waterfall, with totals per kind and the critical path.

    Example: kaizen T3 --trace-id @last
    """
    from ..reports.charts import waterfall
    from ..reports.engine.page import save_report
    from ..reports.runs import trace

    answer = trace.build_trace_report(db, trace_id, task_id)
    if not out and format == "json":
        return answer
    if not out and format == "text":
        return {**answer, "text": waterfall.draw_text(answer)}
    suffix = "txt" if format == "text" else format
    page = waterfall.render_page(db, answer, format)
    path = save_report(store, "trace", suffix, page, out)
    return {"path": path, "trace_ids": answer["trace_ids"], "total": answer["total"]}
