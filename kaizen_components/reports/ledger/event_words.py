"""Build the sentence that describes a log entry, and the query for its values.

A query reads all records of a kind that match `{condition}`. Its columns fill the sentence; `text`
is printed below it, and `about` is the record it links to. The actor is the subject of every
sentence. Most kinds declare their sentence in `records/kinds.py`. Here are the queries that need
other tables, and the sentences that need code.
"""

import re
from string import Formatter
from typing import Any

from ...records.kinds import KINDS
from ...records.work.link import SENTENCES as LINKS
from ..engine.document import (
    clip_text,
    format_count,
    format_duration,
    format_percent,
    format_quantity,
)

Row = dict[str, Any]
LINE_CHARS_MAX = 160  # of a title or a command inside a sentence
OPTIONAL = re.compile(r"\[([^]]*)\]")
FORMATS: dict[str, Any] = {
    "probability": format_percent,
    "duration_ms": format_duration,
    **dict.fromkeys(("score", "value", "baseline", "candidate"), format_count),
}
CHANGEABLE = ("status", "priority", "scope", "title")  # fields of a task shown as before → after
RUN_REPORT_COMMANDS = ("P2", "P8")
LEASE_VERBS = {
    "take": "claimed",
    "renew": "renewed the claim on",
    "release": "released",
    "break": "broke the claim on",
}


def _select_value_before(kind: str, name: str) -> str:
    """Return SQL for the value of a field before a revision.

    It is the value of the last revision that set the field, or that of the first record.
    """
    return f"""CASE WHEN e.{name} IS NOT NULL THEN coalesce(
           (SELECT r.{name} FROM {kind}_revision r WHERE r.{kind}_id = e.{kind}_id AND r.rev < e.rev
            AND r.{name} IS NOT NULL ORDER BY r.rev DESC LIMIT 1), f.{name}) END AS {name}_before"""


QUERIES = {
    "purge": "SELECT e.seq, json_array_length(e.records) AS records FROM purge e WHERE {condition}",
    "task_revision": f"""
SELECT e.seq, e.task_id AS about, e.note AS text, t.title AS task,
       e.status, e.priority, e.scope, e.title,
       e.summary IS NOT NULL AS summary, e.body IS NOT NULL AS body,
       {", ".join(_select_value_before("task", name) for name in CHANGEABLE)}
FROM task_revision e JOIN task f ON f.id = e.task_id JOIN task_current t ON t.id = e.task_id
WHERE {{condition}}""",
    "task_link": """
SELECT e.seq, e.kind AS link, e.state, e.task_id, e.target_id AS about, t.title AS task,
       o.title AS other
FROM task_link e JOIN task_current t ON t.id = e.task_id JOIN task_current o ON o.id = e.target_id
WHERE {condition}""",
    "lease": """
SELECT e.seq, e.action, e.until, e.note AS text, e.task_id AS about, t.title
FROM lease e JOIN task_current t ON t.id = e.task_id WHERE {condition}""",
    "plan_revision": f"""
SELECT e.seq, p.title, e.status, e.note AS text, e.plan_id AS about,
       {_select_value_before("plan", "status")}
FROM plan_revision e JOIN plan f ON f.id = e.plan_id JOIN plan_current p ON p.id = e.plan_id
WHERE {{condition}}""",
    "packet_result": """
SELECT e.seq, p.title, e.outcome, e.summary AS text, e.packet_id AS about
FROM packet_result e JOIN packet p ON p.id = e.packet_id WHERE {condition}""",
    "artifact": """
SELECT e.seq, e.name, e.bytes, e.title, coalesce(e.about_id, e.task_id) AS about
FROM artifact e WHERE {condition}""",
    "proof": """
SELECT e.seq, e.tier, e.outcome, e.command AS line, e.title, e.duration_ms,
       coalesce(e.summary, CASE WHEN e.title <> e.command THEN e.title END) AS text,
       coalesce(e.task_id, e.about_id) AS about
FROM proof e WHERE {condition}""",
    "verification": """
SELECT e.seq, e.conclusion, e.severity, e.scope, e.summary AS text, e.findings, v.superseded_by,
       coalesce(e.task_id, e.about_id) AS about
FROM verification e JOIN verification_current v ON v.id = e.id WHERE {condition}""",
    "eval_run": """
SELECT e.seq, c.title, e.outcome, e.score, e.summary AS text, e.case_id AS about
FROM eval_run e JOIN eval_case c ON c.id = e.case_id WHERE {condition}""",
    "run_event": """
SELECT e.seq, e.event, e.step, e.attempt, e.reason, e.outcome, length(e.body) AS chars,
       e.run_id AS about,
       coalesce(json_array_length(e.payload, '$.findings'), 0) AS finding_count,
       coalesce(e.says, json_extract(e.payload, '$.why')) AS text
FROM run_event e WHERE {condition}""",
    **{
        f"{noun}_revision": f"""
SELECT e.seq, c.title, e.status, e.note AS text, e.{noun}_id AS about
FROM {noun}_revision e JOIN {noun}_current c ON c.id = e.{noun}_id WHERE {{condition}}"""
        for noun in ("gotcha", "learning", "learned", "policy")
    },
}  # fmt: skip


def build_query(kind: str) -> str:
    """Return the query for records of a kind; the caller fills in `{condition}`."""
    if kind in QUERIES:
        return QUERIES[kind]
    declaration = KINDS[kind]
    columns = ["e.seq", *_list_columns(declaration.sentence)]
    columns += [f"{declaration.note} AS text", f"{declaration.about} AS about"]
    return f"SELECT {', '.join(columns)} FROM {kind} e WHERE {{condition}}"


def _list_columns(template: str) -> list[str]:
    """Return the names between braces in a sentence."""
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def build_sentence(kind: str, record: Row) -> str:
    """Return what the actor did, such as: opened task "Fix the gate". Long texts are cut."""
    row: Row = {
        name: clip_text(value, LINE_CHARS_MAX) if isinstance(value, str) else value
        for name, value in record.items()
    }
    match kind:
        case "purge":
            return f"removed {format_quantity(row['records'], 'test record')}"
        case "task_revision":
            changes = [_describe_change(row, name) for name in CHANGEABLE if row[name] is not None]
            changes += [f"a new {name}" for name in ("summary", "body") if row[name]]
            if not changes:
                return f'added a note to task "{row["task"]}"'
            return f'changed task "{row["task"]}": {", ".join(changes)}'
        case "plan_revision":
            change = f": {_describe_change(row, 'status')}" if row["status"] else ""
            return f'revised plan "{row["title"]}"{change}'
        case "task_link":
            link = f'"{row["task"]}" {LINKS[row["link"], "out"]} "{row["other"]}"'
            return f"linked: {link}" if row["state"] == "added" else f"removed the link: {link}"
        case "lease":
            return f'{LEASE_VERBS[row["action"]]} task "{row["title"]}"'
        case "artifact" if row["command"][:1] == "R" or row["command"] in RUN_REPORT_COMMANDS:
            return f'made the report "{row["title"]}"'
        case "artifact":
            return f"recorded the artifact {row['name']} ({format_quantity(row['bytes'], 'byte')})"
        case "proof":
            return _describe_proof(row)
        case "run_event":
            return _describe_run_event(row)

    def keep_if_known(match: re.Match[str]) -> str:
        is_known = all(row[name] is not None for name in _list_columns(match[1]))
        return match[1] if is_known else ""

    values = {name: FORMATS.get(name, lambda value: value)(value) for name, value in row.items()}
    return OPTIONAL.sub(keep_if_known, KINDS[kind].sentence).format(**values)


def _describe_change(row: Row, name: str) -> str:
    """Return how a field changed, such as: status open → active."""
    before, after = row[f"{name}_before"], row[name]
    return f"{name} stays {after}" if before == after else f"{name} {before} → {after}"


def _describe_proof(row: Row) -> str:
    """Return what was proved, its tier and how long it took."""
    what = f"`{row['line']}`" if row["line"] else f'"{row["title"]}"'
    duration = (
        f" in {format_duration(row['duration_ms'])}" if row["duration_ms"] is not None else ""
    )
    if row["outcome"] == "passed":
        return f"proved {what} passed ({row['tier']}){duration}"
    if row["outcome"] == "unknown":
        return f"reported {what} ({row['tier']}, outcome unknown)"
    result = "timed out" if row["outcome"] == "timeout" else "failed"
    return f"recorded that {what} {result} ({row['tier']}){duration}"


def _describe_run_event(row: Row) -> str:
    """Return what happened in a step of a run."""
    place = f"{row['step']} {row['attempt']}"
    chars = format_quantity(row["chars"] or 0, "character")
    findings = (
        f", {format_quantity(row['finding_count'], 'finding')}" if row["finding_count"] else ""
    )
    return {
        "asked": f"asked for {place}",
        "answered": f"got an answer for {place} ({chars})",
        "started": f"started the gate {place}",
        "judged": f"judged {place}: {row['reason']}{findings}",
        "delivering": "began to deliver the result of a run",
        "ended": f"ended a run: {row['outcome']}",
        "aborted": "aborted a run",
        "leased": "began to drive a run",
        "released": "paused a run" if row["text"] else "released a run",
        "refused": "refused an answer to a run",
    }[row["event"]]


def summarize_entries(kind: str, number: int) -> str:
    """Return one sentence for `number` entries of a kind, such as: recorded 40 spans."""
    return KINDS[kind].sentences.format(n=format_count(number))
