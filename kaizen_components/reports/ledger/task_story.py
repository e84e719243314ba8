"""Report on one task (R1): its goal, its state, and everything that happened to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ...records.quality import span as spans_of
from ...records.work import link
from ...records.work.task import describe_task
from ..engine import drawing
from ..engine.document import (
    Block,
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

if TYPE_CHECKING:
    from ...parameters import Reader, Row
    from ..engine.zone import Zone

TRACES_DRAWN_MAX = 3  # the newest; T3 draws any other
OBJECTIONS_MAX = 10
LINKS_MAX = 100
SPAN_KEYS = (  # the fields of a span that the drawing and the table need
    "id", "name", "kind", "status", "depth", "offset_ms", "end_ms", "duration_ms", "critical",
)  # fmt: skip

# Every record that names the task, but only the outermost spans. From its runs, only the decisions:
# the verdict of a gate is already there as its proof, and the page of the run has the rest.
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
EVENT_COUNT = f"SELECT count(*) FROM ({EVENTS}) e JOIN log l ON l.seq = e.seq WHERE l.test <= ?"
DONE_AT = """
SELECT at FROM task_revision d WHERE task_id = ? AND status = 'done' AND test <= ?
  AND NOT EXISTS (SELECT 1 FROM task_revision b
                  WHERE b.task_id = d.task_id AND b.rev > d.rev AND b.status <> 'done')
ORDER BY rev LIMIT 1"""
PROOFS = """
SELECT tier, outcome, count(*) AS number FROM proof WHERE task_id = ? AND test <= ?
GROUP BY tier, outcome ORDER BY tier DESC, outcome DESC"""
NEWEST_PROOF = """
SELECT id, at, outcome, tree_hash, tree_after FROM proof
WHERE tier = 'witnessed' AND command = ? AND test <= ? ORDER BY seq DESC LIMIT 1"""
WAIVERS = "SELECT count(*) FROM waiver WHERE task_id = ? AND gate = 'done' AND test <= ?"
OBJECTIONS = """
SELECT id, at, conclusion, summary FROM verification_current
WHERE task_id = ? AND blocking AND superseded_by IS NULL AND test <= ? ORDER BY seq DESC LIMIT ?"""
# A span belongs to the task of its parent unless it names another task. CROSS JOIN keeps the planner
# from reading all spans.
COST = """
WITH RECURSIVE own (task_id, id) AS (
    SELECT task_id, id FROM span WHERE task_id IN (SELECT value FROM json_each(?)) AND test <= ?
    UNION
    SELECT own.task_id, s.id FROM own CROSS JOIN span s ON s.parent_id = own.id
    WHERE s.task_id IS NULL AND s.test <= ?
)
SELECT own.task_id, count(*) AS spans,
       sum(s.tokens_in) AS tokens_in, sum(s.tokens_out) AS tokens_out,
       round(sum(s.cost_usd), 9) AS cost_usd
FROM own CROSS JOIN span s ON s.id = own.id GROUP BY own.task_id ORDER BY own.task_id"""
TRACES = """
SELECT trace_id, count(*) AS count, min(started_at) AS started_at, sum(tokens_in) AS tokens_in,
       sum(tokens_out) AS tokens_out, round(sum(cost_usd), 9) AS cost_usd
FROM span WHERE trace_id IN (SELECT trace_id FROM span WHERE task_id = ? AND test <= ?)
GROUP BY trace_id ORDER BY max(seq) DESC LIMIT ?"""
SPAN_TOTALS = """
WITH RECURSIVE below (top, id) AS (
    SELECT id, id FROM span WHERE id IN (SELECT value FROM json_each(?))
    UNION
    SELECT below.top, s.id FROM below CROSS JOIN span s ON s.parent_id = below.id
)
SELECT below.top AS id, count(*) AS spans,
       sum(s.tokens_in) AS tokens_in, sum(s.tokens_out) AS tokens_out,
       round(sum(s.cost_usd), 9) AS cost_usd
FROM below CROSS JOIN span s ON s.id = below.id GROUP BY below.top"""
ZERO_COST = {"spans": 0, "tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0}


def gather(db: Reader, zone: Zone, options: dict[str, Any]) -> dict[str, Any]:
    """Return the task, its numbers, its newest events, and the newest traces to draw."""
    task = db.find("task", options["id"])
    options["id"] = task["id"]  # the footer must not contain @last
    test = task["test"]
    record = describe_task(db, task)
    done_at = db.value(DONE_AT, (task["id"], test)) if task["status"] == "done" else None
    task_ids = (task["id"],) * EVENTS.count("?")
    newest = db.rows(NEWEST, (*task_ids, test, options["limit"]))
    events = describe_events(db, newest[::-1])
    span_ids = json.dumps([event["id"] for event in events if event["kind"] == "span"])
    totals = {row["id"]: row for row in db.rows(SPAN_TOTALS, (span_ids,))}
    for event in events:  # add the totals of a span and all spans below it
        if total := totals.get(event["id"]):
            event["totals"] = {name: total[name] for name in ZERO_COST}
            tokens = f"{total['tokens_in']:,} tokens in, {total['tokens_out']:,} out"
            cost = format_dollars(total["cost_usd"])
            event["what"] += f": {format_quantity(total['spans'], 'span')}, {tokens}, {cost}"
    # The newest proof of each command. Whether its tree is still current is not in the database.
    done_when = []
    for command in record["done_when"]:
        proof = db.one(NEWEST_PROOF, (command, test)) or {}
        state = proof.get("outcome", "never witnessed")
        done_when.append({"command": command, "state": state, **proof})
    traces = db.rows(TRACES, (task["id"], test, options["limit"]))
    # Add the spans of the newest traces that are small enough to draw.
    for row in [row for row in traces if row["count"] <= drawing.ROWS_MAX][:TRACES_DRAWN_MAX]:
        rows = db.rows(spans_of.SPANS_OF_TRACE, (row["trace_id"],))
        analysis = trace.analyze_trace(row["trace_id"], rows)
        row["wall_ms"] = analysis["wall_ms"]
        row["critical_path"] = analysis["critical_path"]
        row["spans"] = [{name: span[name] for name in SPAN_KEYS} for span in analysis["spans"]]
    return {
        "id": task["id"],
        "record": record,
        "age_ms": compute_elapsed_ms(task["at"], db.at),
        "lead_time_ms": compute_elapsed_ms(task["at"], done_at) if done_at else None,
        "cost": sum_costs(db, [task["id"]], test).get(task["id"], ZERO_COST),
        "proofs": db.rows(PROOFS, (task["id"], test)),
        "done_when": done_when,
        "waivers": db.value(WAIVERS, (task["id"], test)),
        "objections": db.rows(OBJECTIONS, (task["id"], test, OBJECTIONS_MAX)),
        "links": link.list_links(db, task),
        "events": events,
        "events_before": db.value(EVENT_COUNT, (*task_ids, test)) - len(newest),
        "traces": traces,
    }


def sum_costs(db: Reader, task_ids: list[str], test: int) -> dict[str, Row]:
    """Return {task id: spans, tokens and cost}, for tasks that have spans."""
    return {row.pop("task_id"): row for row in db.rows(COST, (json.dumps(task_ids), test, test))}


def layout(data: dict[str, Any], zone: Zone) -> dict[str, Any]:
    """Return the report: the numbers, the goal, the objections, the links, events and traces."""
    record = data["record"]
    lead = [
        f"{data['id']}, opened {zone.format_time(record['at'])} by {record['actor']}, "
        f"last changed {zone.format_time(record['changed_at'])}."
    ]
    if record["test"]:
        lead.append("This is a test record. `kaizen K7` removes it.")
    if data["waivers"]:
        waivers = format_quantity(data["waivers"], "waiver")
        lead.append(f"It became done without a proof, with {waivers}. The reasons are below.")
    whole = f"`kaizen W10 --id {data['id']}` shows all of it."
    columns = {"Verdict": "", "When": "whole", "Summary": "", "Record": ""}
    rows: list[list[Any]] = [
        [
            add_tone(row["conclusion"]),
            zone.format_time(row["at"]),
            clip_text(row["summary"]),
            Ref(row["id"]),
        ]
        for row in data["objections"]
    ]
    objections = table("Verdicts against the task that no later verdict supersedes", columns, rows)
    columns = {"This task": "", "Task": "", "Status": "", "Title": ""}
    rows = [
        [row["link"], Ref(row["task_id"]), add_tone(row["status"]), clip_text(row["title"])]
        for row in data["links"][:LINKS_MAX]
    ]
    links = table("Links as they are now", columns, rows, len(data["links"]) - len(rows))
    sections = [
        section("In numbers", facts(*_list_numbers(data))),
        section(
            "Goal",
            prose("Summary", record["summary"]),
            prose("Text", record["body"], whole),
        ),
        section("Definition of done", *_list_conditions(data, zone)),
        section("Open objections", objections),
        section("Links", links),
        section("What happened", *_build_story(data, zone)),
        section("Traces", *_list_traces(data, zone)),
    ]
    return document(f"Task: {clip_text(record['title'])}", lead, sections)


def _list_numbers(data: dict[str, Any]) -> list[Block]:
    """Return the numbers of a task; omit numbers that are zero or unknown."""
    record, cost = data["record"], data["cost"]
    numbers = [
        fact("status", record["status"], show=str),
        fact("priority", record["priority"], show=str),
        fact("scope", clip_text(record["scope"], 40), show=str),
        fact("age", data["age_ms"], show=format_duration),
    ]
    if data["lead_time_ms"] is not None:
        numbers.append(fact("lead time to done", data["lead_time_ms"], show=format_duration))
    if record["holder"]:
        numbers.append(fact("claimed by", clip_text(record["holder"], 40), show=str))
    for row in data["proofs"]:
        numbers.append(fact(f"proofs {row['outcome']}, {row['tier']}", row["number"]))
    for name in ("spans", "tokens_in", "tokens_out"):
        if cost[name]:
            numbers.append(fact(name.replace("_", " "), cost[name]))
    if cost["spans"]:
        numbers.append(fact("cost", cost["cost_usd"], show=format_dollars))
    if data["waivers"]:
        numbers.append(fact("waivers", data["waivers"]))
    return numbers


def _list_conditions(data: dict[str, Any], zone: Zone) -> list[Block | None]:
    """Return a table of the `done_when` commands with the newest witnessed proof of each."""
    columns = {"Command": "", "Newest witnessed proof": ""}
    columns |= {"On tree": "whole", "When": "whole", "Proof": ""}
    rows: list[list[Any]] = []
    for row in data["done_when"]:
        command = Code(clip_text(row["command"], 200))
        if "id" in row:
            tree, at = Code(row["tree_hash"][:12] + "…"), zone.format_time(row["at"])
            rows.append([command, add_tone(row["state"]), tree, at, Ref(row["id"])])
        else:
            rows.append([command, row["state"], None, None, None])
    note = (
        "Before the task can be `done`, each command must have passed on the tree of that moment. "
        "This report does not check the tree."
    )
    commands = table("Commands that must be witnessed", columns, rows)
    return [commands, paragraph(note)] if rows else []


def _build_story(data: dict[str, Any], zone: Zone) -> list[Block | None]:
    """Return the story of the task, and how many earlier events it omits."""
    entries = [
        {**format_entry(event, zone.format_time, data["id"]), "by": clip_text(event["actor"], 60)}
        for event in data["events"]
    ]
    before = format_quantity(data["events_before"], "event")
    note = paragraph(f"{before} before these are not shown. Use --limit to see more.")
    return [note if data["events_before"] else None, story(entries)]


def _list_traces(data: dict[str, Any], zone: Zone) -> list[Block | None]:
    """Return a table of the traces, and a waterfall of each analyzed trace."""
    numbers = ("Spans", "Wall time", "Tokens in", "Tokens out", "Cost")
    columns = {"Trace": "", "Start": "whole"} | dict.fromkeys(numbers, "number")
    rows = [
        [
            Code(clip_text(row["trace_id"], 60)),
            zone.format_time(row["started_at"]),
            row["count"],
            format_duration(row.get("wall_ms")),
            row["tokens_in"],
            row["tokens_out"],
            format_dollars(row["cost_usd"]),
        ]
        for row in data["traces"]
    ]
    analyzed_traces = [row for row in data["traces"] if "spans" in row]
    omitted = format_quantity(len(rows) - len(analyzed_traces), "trace")
    note = paragraph(f"Not drawn: {omitted}. `kaizen T3 --trace-id` draws one.")
    return [
        table("Traces with spans of the task, the newest first", columns, rows),
        *(
            waterfall(f"Waterfall of {clip_text(row['trace_id'], 60)}", row)
            for row in analyzed_traces
        ),
        note if len(analyzed_traces) < len(rows) else None,
    ]
