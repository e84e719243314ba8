"""R1 about one task: what is to be done, how far it is, and everything that happened to it in the order of the log."""

import json
from typing import Any

from ...records.quality import span as spans_of
from ...records.work import link
from ...records.work.task import describe_task
from ..engine import drawing
from ..engine.document import (  # fmt: skip
    Code,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_dollars,
    format_duration,
    format_quantity,
    paragraph,
    prose,
    section,
    story,
    table,
    waterfall,
)
from ..engine.zone import compute_elapsed_ms
from ..runs import trace
from .event import describe_events, format_entry

TRACES_DRAWN_MAX = 3  # the newest; T3 draws the others
OBJECTIONS_MAX = 10
LINKS_MAX = 100
SPAN_SHOWN = (
    "id",
    "name",
    "kind",
    "status",
    "depth",
    "offset_ms",
    "end_ms",
    "duration_ms",
    "critical",
)

# Every record that names the task, spans only where no span around them names it too. Of its runs, what was decided:
# a gate's verdict is its proof, and who asked whom is on the page of the run.
EVENTS = """
SELECT seq FROM task WHERE id = ?
UNION SELECT seq FROM task_revision WHERE task_id = ?
UNION SELECT seq FROM task_link WHERE task_id = ?
UNION SELECT seq FROM task_link WHERE target_id = ?
UNION SELECT seq FROM lease WHERE task_id = ?
UNION SELECT seq FROM plan WHERE task_id = ?
UNION SELECT r.seq FROM plan p JOIN plan_revision r ON r.plan_id = p.id WHERE p.task_id = ?
UNION SELECT seq FROM packet WHERE task_id = ?
UNION SELECT r.seq FROM packet p JOIN packet_result r ON r.packet_id = p.id WHERE p.task_id = ?
UNION SELECT seq FROM proof WHERE task_id = ? OR about_id = ?
UNION SELECT seq FROM verification WHERE task_id = ? OR about_id = ?
UNION SELECT seq FROM waiver WHERE task_id = ?
UNION SELECT seq FROM artifact WHERE task_id = ? OR about_id = ?
UNION SELECT s.seq FROM span s LEFT JOIN span p ON p.id = s.parent_id
      WHERE s.task_id = ? AND p.task_id IS NOT s.task_id
UNION SELECT seq FROM score WHERE task_id = ? OR about_id = ?
UNION SELECT seq FROM gotcha WHERE task_id = ?
UNION SELECT seq FROM learning WHERE task_id = ?
UNION SELECT seq FROM learned WHERE task_id = ?
UNION SELECT seq FROM source WHERE task_id = ?
UNION SELECT seq FROM eval_case WHERE task_id = ?
UNION SELECT r.seq FROM eval_case c JOIN eval_run r ON r.case_id = c.id WHERE c.task_id = ?
UNION SELECT seq FROM anti_pattern WHERE task_id = ?
UNION SELECT seq FROM irl WHERE task_id = ?
UNION SELECT seq FROM run WHERE task_id = ?
UNION SELECT e.seq FROM run r JOIN run_event e ON e.run_id = r.id
      WHERE r.task_id = ? AND (e.event IN ('aborted', 'refused', 'ended')
        OR (e.event = 'released' AND json_extract(e.payload, '$.why') IS NOT NULL)
        OR (e.event = 'judged' AND json_extract(e.payload, '$.proof_id') IS NULL))"""
NEWEST = f"""
SELECT l.seq, l.idx, l.at, l.actor, l.command, l.kind, l.record_id, l.test
FROM ({EVENTS}) e JOIN log l ON l.seq = e.seq WHERE l.test <= ? ORDER BY l.seq DESC LIMIT ?"""
NUMBER = f"SELECT count(*) FROM ({EVENTS}) e JOIN log l ON l.seq = e.seq WHERE l.test <= ?"
DONE_AT = """
SELECT at FROM task_revision d WHERE task_id = ? AND status = 'done' AND test <= ?
  AND NOT EXISTS (SELECT 1 FROM task_revision b WHERE b.task_id = d.task_id AND b.rev > d.rev AND b.status <> 'done')
ORDER BY rev LIMIT 1"""
PROOFS = """
SELECT tier, outcome, count(*) AS number FROM proof WHERE task_id = ? AND test <= ?
GROUP BY tier, outcome ORDER BY tier DESC, outcome DESC"""
PROOF_OF = """
SELECT id, at, outcome, tree_hash, tree_after FROM proof
WHERE tier = 'witnessed' AND command = ? AND test <= ? ORDER BY seq DESC LIMIT 1"""
WAIVERS = "SELECT count(*) FROM waiver WHERE task_id = ? AND gate = 'done' AND test <= ?"
OBJECTIONS = """
SELECT id, at, conclusion, summary FROM verification_current
WHERE task_id = ? AND blocking AND superseded_by IS NULL AND test <= ? ORDER BY seq DESC LIMIT ?"""
# A span below one that names the task belongs to it too, unless it names another. CROSS JOIN: the planner takes the
# spans for few, and would read them all.
COST = """
WITH RECURSIVE own (task_id, id) AS (
    SELECT task_id, id FROM span WHERE task_id IN (SELECT value FROM json_each(?)) AND test <= ?
    UNION
    SELECT own.task_id, s.id FROM own CROSS JOIN span s ON s.parent_id = own.id WHERE s.task_id IS NULL AND s.test <= ?
)
SELECT own.task_id, count(*) AS spans, sum(s.tokens_in) AS tokens_in, sum(s.tokens_out) AS tokens_out,
       round(sum(s.cost_usd), 9) AS cost_usd
FROM own CROSS JOIN span s ON s.id = own.id GROUP BY own.task_id ORDER BY own.task_id"""
TRACES = """
SELECT trace_id, count(*) AS count, min(started_at) AS started_at, sum(tokens_in) AS tokens_in,
       sum(tokens_out) AS tokens_out, round(sum(cost_usd), 9) AS cost_usd
FROM span WHERE trace_id IN (SELECT trace_id FROM span WHERE task_id = ? AND test <= ?)
GROUP BY trace_id ORDER BY max(seq) DESC LIMIT ?"""
BELOW = """
WITH RECURSIVE below (top, id) AS (
    SELECT id, id FROM span WHERE id IN (SELECT value FROM json_each(?))
    UNION
    SELECT below.top, s.id FROM below CROSS JOIN span s ON s.parent_id = below.id
)
SELECT below.top AS id, count(*) AS spans, sum(s.tokens_in) AS tokens_in, sum(s.tokens_out) AS tokens_out,
       round(sum(s.cost_usd), 9) AS cost_usd
FROM below CROSS JOIN span s ON s.id = below.id GROUP BY below.top"""
NO_COST = {"spans": 0, "tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0}


def gather(db, zone, options: dict[str, Any]) -> dict[str, Any]:
    task = db.find("task", options["id"])
    options["id"], test = task["id"], task["test"]
    record = describe_task(db, task)
    events, number = _events(db, task, options["limit"])
    done_at = db.value(DONE_AT, (task["id"], test)) if task["status"] == "done" else None
    return {
        "id": task["id"],
        "record": record,
        "age_ms": compute_elapsed_ms(task["at"], db.at),
        "lead_time_ms": compute_elapsed_ms(task["at"], done_at) if done_at else None,
        "cost": sum_costs(db, [task["id"]], test).get(task["id"], NO_COST),
        "proofs": db.rows(PROOFS, (task["id"], test)),
        "done_when": [_condition(db, command, test) for command in record["done_when"]],
        "waivers": db.value(WAIVERS, (task["id"], test)),
        "objections": db.rows(OBJECTIONS, (task["id"], test, OBJECTIONS_MAX)),
        "links": link.list_links(db, task),
        "events": events,
        "events_before": number - len(events),
        "traces": _traces(db, task, options["limit"]),
    }


def sum_costs(db, task_ids: list[str], test: int) -> dict[str, dict[str, Any]]:
    """id -> what the spans of that task took, for those that have any."""
    return {row.pop("task_id"): row for row in db.rows(COST, (json.dumps(task_ids), test, test))}


def _events(db, task, limit):
    """The newest so many, the oldest of them first, and how many there are in all."""
    names = (task["id"],) * EVENTS.count("?")
    newest = db.rows(NEWEST, (*names, task["test"], limit))
    return _with_totals(db, describe_events(db, newest[::-1])), db.value(
        NUMBER, (*names, task["test"])
    )


def _with_totals(db, events):
    """A span says what it took together with all below it."""
    spans = json.dumps([event["id"] for event in events if event["kind"] == "span"])
    totals = {row["id"]: row for row in db.rows(BELOW, (spans,))}
    for event in events:
        total = totals.get(event["id"])
        if total:
            event["totals"] = {name: total[name] for name in NO_COST}
            event["what"] += f": {_spent(total)}"
    return events


def _spent(total):
    parts = [
        format_quantity(total["spans"], "span"),
        f"{total['tokens_in']:,} tokens in",
        f"{total['tokens_out']:,} out",
    ]
    return ", ".join([*parts, format_dollars(total["cost_usd"])])


def _condition(db, command, test):
    """A command of the definition of done with its newest proof; whether that tree is still there, no record knows."""
    proof = db.one(PROOF_OF, (command, test))
    return {
        "command": command,
        "state": proof["outcome"] if proof else "never witnessed",
        **(proof or {}),
    }


def _traces(db, task, limit):
    found = db.rows(TRACES, (task["id"], task["test"], limit))
    for row in [row for row in found if row["count"] <= drawing.ROWS_MAX][:TRACES_DRAWN_MAX]:
        analysed = trace.analyze_trace(
            row["trace_id"], db.rows(spans_of.SPANS_OF_TRACE, (row["trace_id"],))
        )
        row["wall_ms"], row["critical_path"] = analysed["wall_ms"], analysed["critical_path"]
        row["spans"] = [{name: span[name] for name in SPAN_SHOWN} for span in analysed["spans"]]
    return found


# Saying it


def layout(found: dict[str, Any], zone) -> dict[str, Any]:
    record = found["record"]
    return document(
        f"Task: {clip_text(record['title'])}",
        _lead(found, zone),
        [
            section("In numbers", _numbers(found)),
            section("What is to be done", prose("Summary", record["summary"]), _body(found)),
            section("Definition of done", *_definition(found, zone)),
            section("Objections that stand", _objections(found, zone)),
            section("Links", _links(found)),
            section("What happened", *_timeline(found, zone)),
            section("Traces", *_trace_blocks(found, zone)),
        ],
    )  # fmt: skip


def _lead(found, zone):
    record = found["record"]
    lead = [
        f"{found['id']}, opened {zone.show(record['at'])} by {record['actor']}, "
        f"last changed {zone.show(record['changed_at'])}."
    ]
    if record["test"]:
        lead.append("This is a test record: `kaizen K7` removes it.")
    if found["waivers"]:
        lead.append(
            f"{format_quantity(found['waivers'], 'waiver')} let it pass without a proof; the reasons are below."
        )
    return lead


def _numbers(found):
    record, spent = found["record"], found["cost"]
    return facts(
        fact("status", record["status"], show=str),
        fact("priority", record["priority"], show=str),
        fact("scope", clip_text(record["scope"], 40), show=str),
        fact("age", found["age_ms"], show=format_duration),
        fact("lead time to done", found["lead_time_ms"], show=format_duration)
        if found["lead_time_ms"] is not None
        else None,
        fact("claimed by", clip_text(record["holder"], 40), show=str) if record["holder"] else None,
        *(
            fact(f"proofs {row['outcome']}, {row['tier']}", row["number"])
            for row in found["proofs"]
        ),
        fact("spans", spent["spans"]) if spent["spans"] else None,
        fact("tokens in", spent["tokens_in"]) if spent["tokens_in"] else None,
        fact("tokens out", spent["tokens_out"]) if spent["tokens_out"] else None,
        fact("cost", spent["cost_usd"], show=format_dollars) if spent["spans"] else None,
        fact("waivers", found["waivers"]) if found["waivers"] else None,
    )


def _body(found):
    return prose(
        "Text", found["record"]["body"], f"`kaizen W10 --id {found['id']}` shows it whole."
    )


def _definition(found, zone):
    columns = {
        "Command": "",
        "Newest witnessed proof": "",
        "On tree": "whole",
        "When": "whole",
        "Proof": "",
    }
    rows = [
        [
            Code(clip_text(row["command"], 200)), add_tone(row["state"]), Code(row["tree_hash"][:12] + "…"),
            zone.show(row["at"]), Ref(row["id"]),
        ]
        if "id" in row
        else [Code(clip_text(row["command"], 200)), row["state"], None, None, None]
        for row in found["done_when"]
    ]  # fmt: skip
    note = "`done` needs each of these to have passed on the tree as it is then; this report does not look at the tree."
    return (
        (table("Commands that must be witnessed", columns, rows), paragraph(note)) if rows else ()
    )


def _objections(found, zone):
    columns = {"Verdict": "", "When": "whole", "Says": "", "Record": ""}
    rows = [
        [
            add_tone(row["conclusion"]),
            zone.show(row["at"]),
            clip_text(row["summary"]),
            Ref(row["id"]),
        ]
        for row in found["objections"]
    ]
    return table("Verdicts against it that no later one supersedes", columns, rows)


def _links(found):
    columns = {"This task": "", "Task": "", "Status": "", "Title": ""}
    rows = [
        [row["link"], Ref(row["task_id"]), add_tone(row["status"]), clip_text(row["title"])]
        for row in found["links"][:LINKS_MAX]
    ]
    return table("Links as they are now", columns, rows, len(found["links"]) - len(rows))


def _timeline(found, zone):
    entries = [
        {**format_entry(event, zone.show, found["id"]), "by": clip_text(event["actor"], 60)}
        for event in found["events"]
    ]
    before = found["events_before"]
    if not before:
        return (story(entries),)
    return paragraph(
        f"{format_quantity(before, 'event')} before these: --limit shows more."
    ), story(entries)


def _trace_blocks(found, zone):
    columns = {
        "Trace": "", "Begun": "whole", "Spans": "number", "Wall time": "number", "Tokens in": "number",
        "Tokens out": "number", "Cost": "number",
    }  # fmt: skip
    rows = [
        [
            Code(clip_text(row["trace_id"], 60)), zone.show(row["started_at"]), row["count"],
            format_duration(row.get("wall_ms")), row["tokens_in"], row["tokens_out"], format_dollars(row["cost_usd"]),
        ]
        for row in found["traces"]
    ]  # fmt: skip
    drawn = [row for row in found["traces"] if "spans" in row]
    left = len(found["traces"]) - len(drawn)
    return (
        table("Traces that the task takes part in, the newest first", columns, rows),
        *(waterfall(f"Waterfall of {clip_text(row['trace_id'], 60)}", row) for row in drawn),
        paragraph(f"Not drawn: {format_quantity(left, 'trace')}. `kaizen T3 --trace-id` draws one.")
        if left
        else None,
    )
