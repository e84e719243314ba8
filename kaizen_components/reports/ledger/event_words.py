"""What an entry of the log says in words: a query for the records of a kind, and a sentence.

A query reads many records of one kind at once (`{asked}` chooses them by `seq`). Its columns fill
the sentence, `text` is shown below it, and `about` is the record it leads to. The actor is the
subject of every sentence. Most kinds declare both in `records/kinds.py`; here are the queries that
need other tables and the sentences that need code.
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
CHANGEABLE = ("status", "priority", "scope", "title")  # of a task, whose values a sentence names
REPORTS_OF_RUNS = ("P2", "P8")
LEASE_VERBS = {
    "take": "claimed",
    "renew": "renewed the claim on",
    "release": "released",
    "break": "broke the claim on",
}


def _select_value_before(kind: str, name: str) -> str:
    """Return SQL for the value before a revision: the last one set, or the first."""
    return f"""CASE WHEN e.{name} IS NOT NULL THEN coalesce(
           (SELECT r.{name} FROM {kind}_revision r WHERE r.{kind}_id = e.{kind}_id AND r.rev < e.rev
            AND r.{name} IS NOT NULL ORDER BY r.rev DESC LIMIT 1), f.{name}) END AS {name}_before"""


QUESTIONS = {
    "purge": "SELECT e.seq, json_array_length(e.records) AS records FROM purge e WHERE {asked}",
    "task_revision": f"""
SELECT e.seq, e.task_id AS about, e.note AS text, t.title AS task,
       e.status, e.priority, e.scope, e.title,
       e.summary IS NOT NULL AS summary, e.body IS NOT NULL AS body,
       {", ".join(_select_value_before("task", name) for name in CHANGEABLE)}
FROM task_revision e JOIN task f ON f.id = e.task_id JOIN task_current t ON t.id = e.task_id
WHERE {{asked}}""",
    "task_link": """
SELECT e.seq, e.kind AS link, e.state, e.task_id, e.target_id AS about, t.title AS task,
       o.title AS other
FROM task_link e JOIN task_current t ON t.id = e.task_id JOIN task_current o ON o.id = e.target_id
WHERE {asked}""",
    "lease": """
SELECT e.seq, e.action, e.until, e.note AS text, e.task_id AS about, t.title
FROM lease e JOIN task_current t ON t.id = e.task_id WHERE {asked}""",
    "plan_revision": f"""
SELECT e.seq, p.title, e.status, e.note AS text, e.plan_id AS about,
       {_select_value_before("plan", "status")}
FROM plan_revision e JOIN plan f ON f.id = e.plan_id JOIN plan_current p ON p.id = e.plan_id
WHERE {{asked}}""",
    "packet_result": """
SELECT e.seq, p.title, e.outcome, e.summary AS text, e.packet_id AS about
FROM packet_result e JOIN packet p ON p.id = e.packet_id WHERE {asked}""",
    "artifact": """
SELECT e.seq, e.name, e.bytes, e.title, coalesce(e.about_id, e.task_id) AS about
FROM artifact e WHERE {asked}""",
    "proof": """
SELECT e.seq, e.tier, e.outcome, e.command AS line, e.title, e.duration_ms,
       coalesce(e.summary, CASE WHEN e.title <> e.command THEN e.title END) AS text,
       coalesce(e.task_id, e.about_id) AS about
FROM proof e WHERE {asked}""",
    "verification": """
SELECT e.seq, e.conclusion, e.severity, e.scope, e.summary AS text, e.findings, v.superseded_by,
       coalesce(e.task_id, e.about_id) AS about
FROM verification e JOIN verification_current v ON v.id = e.id WHERE {asked}""",
    "eval_run": """
SELECT e.seq, c.title, e.outcome, e.score, e.summary AS text, e.case_id AS about
FROM eval_run e JOIN eval_case c ON c.id = e.case_id WHERE {asked}""",
    "run_event": """
SELECT e.seq, e.event, e.step, e.attempt, e.reason, e.outcome, length(e.body) AS chars,
       e.run_id AS about,
       coalesce(json_array_length(e.payload, '$.findings'), 0) AS finding_count,
       coalesce(e.says, json_extract(e.payload, '$.why')) AS text
FROM run_event e WHERE {asked}""",
    **{
        f"{noun}_revision": f"""
SELECT e.seq, c.title, e.status, e.note AS text, e.{noun}_id AS about
FROM {noun}_revision e JOIN {noun}_current c ON c.id = e.{noun}_id WHERE {{asked}}"""
        for noun in ("gotcha", "learning", "learned", "policy")
    },
}  # fmt: skip


def build_question(kind: str) -> str:
    """Return the SQL for records of a kind."""
    if kind in QUESTIONS:
        return QUESTIONS[kind]
    declared = KINDS[kind]
    names = ["e.seq", *_list_columns(declared.sentence)]
    shown = f"{declared.note} AS text, {declared.about} AS about"
    return f"SELECT {', '.join(names)}, {shown} FROM {kind} e WHERE {{asked}}"


def _list_columns(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def build_sentence(kind: str, record: Row) -> str:
    """Return what the actor did, without the actor; texts of the record are cut to one line."""
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
                return f'noted something on task "{row["task"]}"'
            return f'changed task "{row["task"]}": {", ".join(changes)}'
        case "plan_revision":
            change = f": {_describe_change(row, 'status')}" if row["status"] else ""
            return f'revised plan "{row["title"]}"{change}'
        case "task_link":
            link = f'"{row["task"]}" {LINKS[row["link"], "out"]} "{row["other"]}"'
            return f"linked: {link}" if row["state"] == "added" else f"removed the link: {link}"
        case "lease":
            return f'{LEASE_VERBS[row["action"]]} task "{row["title"]}"'
        case "artifact" if row["command"][:1] == "R" or row["command"] in REPORTS_OF_RUNS:
            return f'made the report "{row["title"]}"'
        case "artifact":
            return f"recorded the artifact {row['name']} ({format_quantity(row['bytes'], 'byte')})"
        case "proof":
            return _describe_proof(row)
        case "run_event":
            return _describe_run_event(row)

    def fill_optional(match: re.Match[str]) -> str:
        is_known = all(row[name] is not None for name in _list_columns(match[1]))
        return match[1] if is_known else ""

    values = {name: FORMATS.get(name, lambda value: value)(value) for name, value in row.items()}
    return OPTIONAL.sub(fill_optional, KINDS[kind].sentence).format(**values)


def _describe_change(row: Row, name: str) -> str:
    before, after = row[f"{name}_before"], row[name]
    return f"{name} stays {after}" if before == after else f"{name} {before} → {after}"


def _describe_proof(row: Row) -> str:
    what = f"`{row['line']}`" if row["line"] else f'"{row["title"]}"'
    took = f" in {format_duration(row['duration_ms'])}" if row["duration_ms"] is not None else ""
    if row["outcome"] == "passed":
        return f"proved {what} passed ({row['tier']}){took}"
    if row["outcome"] == "unknown":
        return f"reported {what} ({row['tier']}, outcome unknown)"
    result = "timed out" if row["outcome"] == "timeout" else "failed"
    return f"recorded that {what} {result} ({row['tier']}){took}"


def _describe_run_event(row: Row) -> str:
    """Describe a step of a run; the page of the run says who waits for whom."""
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
        "delivering": "began to deliver what a run made",
        "ended": f"ended a run: {row['outcome']}",
        "aborted": "aborted a run",
        "leased": "began to drive a run",
        "released": "paused a run" if row["text"] else "let go of a run",
        "refused": "refused what was given to a run",
    }[row["event"]]


def summarize_entries(kind: str, number: int) -> str:
    """Return the sentence for so many entries of one kind in a row."""
    return KINDS[kind].sentences.format(n=format_count(number))
