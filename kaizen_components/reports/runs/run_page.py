"""Lay out P2 as a page: the request, every gate and attempt, findings, change and cost."""

from __future__ import annotations

from ..engine.document import (
    Code,
    LinkTarget,
    Ref,
    add_tone,
    clip_text,
    document,
    fact,
    facts,
    format_dollars,
    listing,
    paragraph,
    points,
    prose,
    record_table,
    section,
    story,
    table,
    waterfall,
)
from .card import UNKNOWN, describe_outcome, format_if_known, format_seconds, suggest_next_step

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Row
    from ..engine.zone import Zone

FINDINGS_SHOWN_MAX = 30  # of one attempt
TEXT_CHARS_MAX = 600
DRIVER_EVENTS = {
    "leased": "took over the run",
    "released": "released the run",
    "refused": "was refused",
    "aborted": "aborted the run",
}


def layout(data: Row, zone: Zone) -> Row:
    """Lay out the run from its request to its files."""
    trace = waterfall("Waterfall of the steps", data["trace"]) if data["trace"] else None
    budget = record_table(
        "Spent and allowed amounts; usage that no server reported is missing",
        data["budget"],
        {
            "Budget": ("", lambda row: row["name"].replace("_", " ")),
            "Spent": ("number", "spent"),
            "Allowed": ("number", "most"),
        },
    )
    drivers = [
        {
            "at": zone.format_time(row["at"]),
            "by": clip_text(row["holder"] or row["actor"], 60),
            "what": DRIVER_EVENTS[row["event"]],
            "refs": [LinkTarget(row["id"])],
            "text": row["why"],
        }
        for row in data["drove"]
    ]
    artifacts = record_table(
        "Files of the run, relative to the project",
        data["artifacts"],
        {
            "File": ("", lambda row: Code(clip_text(row["path"] or row["name"]))),
            "What": ("", lambda row: clip_text(row["title"])),
            "Bytes": ("number", "bytes"),
            "SHA-256": ("whole", lambda row: Code(row["sha256"][:12] + "…")),
            "Artifact": ("", lambda row: LinkTarget(row["id"])),
        },
    )
    return document(
        f"Run: {clip_text(data['request'], 120)}",
        _write_lead(data, zone),
        [
            section("In numbers", _list_numbers(data)),
            section(
                "What was asked", prose("Request", data["request"]), *_lay_out_spec(data["spec"])
            ),
            section("Gates and attempts", _tabulate_gates(data["gates"])),
            section("Findings", _tabulate_findings(data["failed"])),
            section("Where the time went", trace),
            section("The change", _quote_change(data)),
            section("Answers", _tabulate_answers(data["answers"])),
            section("Budget", budget),
            section("Drivers", story(drivers)),
            section("Files", artifacts),
        ],
    )


def _write_lead(data: Row, zone: Zone) -> list[str]:
    """Return the lines above the sections: the outcome, the branch and the next step."""
    start = f"begun {zone.format_time(data['at'])}; task {data['task_id']}"
    lead = [
        describe_outcome(data),
        f"{data['id']}, {data['protocol']} on {data['repo']}, {start}.",
    ]
    if data.get("holder"):
        lead.append(f"{data['holder']} drives it, at most until {zone.format_time(data['until'])}.")
    if data.get("branch"):
        place = " and in the tree" if data["applied"] else ""
        lead.append(f"The work is on the branch {data['branch']}{place}.")
    if data.get("branch") or data["outcome"] is None:
        lead.append(suggest_next_step(data))
    if data["test"]:
        lead.append("This is a test record: `kaizen K7` removes it.")
    return lead


def _list_numbers(data: Row) -> Row:
    """List the numbers of the card; omit rejected answers until the run has ended."""
    has_ended = data["outcome"] is not None
    unknown_count = data["usage_unknown"]
    return facts(
        fact("outcome", data["outcome"] or "unfinished", show=str),
        fact("build attempts", data["build_attempts"]),
        fact("time", data["seconds"], show=format_seconds),
        fact("answers", len(data["answers"])),
        fact("tokens in", data["tokens_in"], show=format_if_known),
        fact("tokens out", data["tokens_out"], show=format_if_known),
        fact("cost", data["cost_usd"], show=_format_cost),
        fact("rejected answers", data["rejected_answers"]) if has_ended else None,
        fact("cost of rejected work", data["rejected_cost_usd"], show=_format_cost)
        if has_ended
        else None,
        fact("answers without usage", unknown_count) if unknown_count else None,
    )


def _format_cost(usd: float | None) -> str:
    """Format a cost; None as `unknown`."""
    return UNKNOWN if usd is None else format_dollars(usd)


def _lay_out_spec(spec: Row | None) -> list[Row | None]:
    """Lay out the criteria, constraints and grants of the spec."""
    if not spec:
        return [paragraph("There is no spec, because no plan could be parsed.")]
    note = "" if spec["accepted"] else ", whose checks did not pass"
    lists = {
        "Constraint": spec["constraints"],
        "Out of scope": spec["out_of_scope"],
        "May change": spec["grants"],
    }
    return [
        record_table(
            f"Criteria of the spec “{clip_text(spec['title'], 120)}”{note}",
            spec["criteria"],
            {
                "Criterion": ("whole", lambda row: Code(row["id"])),
                "Says": ("", lambda row: clip_text(row["text"], TEXT_CHARS_MAX)),
            },
        ),
        *(
            points([[f"{name}:", clip_text(text, TEXT_CHARS_MAX)] for text in texts])
            for name, texts in lists.items()
        ),
    ]


def _tabulate_gates(gates: list[Row]) -> Row:
    """Tabulate the gates in order, with their verdicts and proofs."""
    gates_table = record_table(
        "Every gate and attempt, in order",
        gates,
        {
            "Step": ("whole", "step"),
            "Attempt": ("number", "attempt"),
            "Ended": ("", lambda row: add_tone(row["reason"])),
            "Time": ("number", lambda row: format_seconds(row["seconds"])),
            "Findings": ("number", "findings"),
            "Says": ("", lambda row: clip_text(row["says"]) or None),
            "Proof": ("", lambda row: row["proof_id"] and Ref(row["proof_id"])),
        },
    )
    return gates_table or paragraph("No gate has given a verdict yet.")


def _tabulate_findings(attempts: list[Row]) -> Row | None:
    """Tabulate the findings of the failed attempts; without any, what the gate says."""
    rows: list[list[str | None]] = []
    for attempt in attempts:
        start = [f"{attempt['step']} {attempt['attempt']}", add_tone(attempt["reason"])]
        if not attempt["findings"]:
            rows.append([*start, None, None, clip_text(attempt["says"], TEXT_CHARS_MAX)])
        for row in attempt["findings"][:FINDINGS_SHOWN_MAX]:
            where = f"{row['path']}:{row['line']}" if row["path"] and row["line"] else row["path"]
            place = Code(clip_text(where, 200)) if where else None
            text = clip_text(row["text"], TEXT_CHARS_MAX)
            rows.append([*start, place, clip_text(row["rule"], 80), text])
    hidden_count = sum(
        max(0, len(attempt["findings"]) - FINDINGS_SHOWN_MAX) for attempt in attempts
    )
    columns = {"Attempt": "whole", "Ended": "", "Where": "", "Rule": "", "Says": ""}
    return table("The findings of every attempt that did not pass", columns, rows, hidden_count)


def _quote_change(data: Row) -> Row | None:
    """Show the diff of the last candidate, or say why there is none."""
    change = data["change"]
    if change is None:
        has_ended = data["outcome"] is not None
        failure = "No answer had a change that could be applied."
        return paragraph(failure if has_ended else "There is no candidate yet.")
    if change["text"] is None:
        return paragraph("The file with the candidate is gone or was modified.")
    is_accepted = data["outcome"] == "accepted"
    title = "The accepted change" if is_accepted else "The last candidate, which was not accepted"
    return listing(title, change["text"] or "(no change)", f"{change['path']} has all lines.")


def _tabulate_answers(answers: list[Row]) -> Row | None:
    """Tabulate the answers with their models, tokens and cost."""

    def describe_model(row: Row) -> str | None:
        name = row["model"] or UNKNOWN
        server = row["served_by"]
        if row["requested"] and row["requested"] != name:
            name = f"{row['requested']}, reported as {name}"
        return clip_text(f"{name} (served by {server})" if server and server != name else name, 120)

    return record_table(
        "The answers and their cost; a kept answer is part of accepted work",
        answers,
        {
            "Answer": ("", lambda row: LinkTarget(row["id"])),
            "Step": ("whole", "step"),
            "Attempt": ("number", "attempt"),
            "Model": ("", describe_model),
            "Characters": ("number", "chars"),
            "Tokens in": ("number", lambda row: format_if_known(row.get("tokens_in"))),
            "Tokens out": ("number", lambda row: format_if_known(row.get("tokens_out"))),
            "Cost": ("number", lambda row: _format_cost(row.get("cost_usd"))),
            "Time": ("number", lambda row: format_seconds(row.get("seconds"))),
            "Retries": ("number", lambda row: format_if_known(row["retries"])),
            "Kept": ("", lambda row: "yes" if row["kept"] else "no"),
        },
    )
