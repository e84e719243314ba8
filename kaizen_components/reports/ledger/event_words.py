"""What an entry of the log says in words: the question that reads the records of a kind, and the sentence.

A question reads many records of one kind at once (`{asked}` chooses them by `seq`); its columns fill the sentence,
`text` is shown below it, and `about` is the record it leads to. The actor is the subject of every sentence. Most kinds
declare both in `records/kinds.py`; here are the questions that need other tables and the sentences that need code.
"""

import re
from string import Formatter
from typing import Any

from ...records.kinds import KINDS
from ...records.work.link import SENTENCES as LINKED
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
    "probability": format_percent, "duration_ms": format_duration, "score": format_count, "value": format_count, "baseline": format_count,
    "candidate": format_count,
}  # fmt: skip


def _before(kind: str, name: str) -> str:
    """The value before a revision changed it: that of the last revision which changed the same, or the first one."""
    return f"""CASE WHEN e.{name} IS NOT NULL THEN coalesce(
           (SELECT r.{name} FROM {kind}_revision r WHERE r.{kind}_id = e.{kind}_id AND r.rev < e.rev
            AND r.{name} IS NOT NULL ORDER BY r.rev DESC LIMIT 1), f.{name}) END AS {name}_before"""


QUESTIONS = {
    "purge": "SELECT e.seq, json_array_length(e.records) AS records FROM purge e WHERE {asked}",
    "task_revision": f"""
SELECT e.seq, e.task_id AS about, e.note AS text, t.title AS task, e.status, e.priority, e.scope, e.title,
       e.summary IS NOT NULL AS summary, e.body IS NOT NULL AS body,
       {", ".join(_before("task", name) for name in ("status", "priority", "scope", "title"))}
FROM task_revision e JOIN task f ON f.id = e.task_id JOIN task_current t ON t.id = e.task_id WHERE {{asked}}""",
    "task_link": """
SELECT e.seq, e.kind AS link, e.state, e.task_id, e.target_id AS about, t.title AS task, o.title AS other
FROM task_link e JOIN task_current t ON t.id = e.task_id JOIN task_current o ON o.id = e.target_id WHERE {asked}""",
    "lease": """
SELECT e.seq, e.action, e.until, e.note AS text, e.task_id AS about, t.title
FROM lease e JOIN task_current t ON t.id = e.task_id WHERE {asked}""",
    "plan_revision": f"""
SELECT e.seq, p.title, e.status, e.note AS text, e.plan_id AS about, {_before("plan", "status")}
FROM plan_revision e JOIN plan f ON f.id = e.plan_id JOIN plan_current p ON p.id = e.plan_id WHERE {{asked}}""",
    "packet_result": """
SELECT e.seq, p.title, e.outcome, e.summary AS text, e.packet_id AS about
FROM packet_result e JOIN packet p ON p.id = e.packet_id WHERE {asked}""",
    "artifact": """
SELECT e.seq, e.name, e.bytes, e.title, coalesce(e.about_id, e.task_id) AS about FROM artifact e WHERE {asked}""",
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
SELECT e.seq, e.event, e.step, e.attempt, e.reason, e.outcome, length(e.body) AS chars, e.run_id AS about,
       coalesce(json_array_length(e.payload, '$.findings'), 0) AS found,
       coalesce(e.says, json_extract(e.payload, '$.why')) AS text
FROM run_event e WHERE {asked}""",
    **{
        f"{noun}_revision": f"""
SELECT e.seq, c.title, e.status, e.note AS text, e.{noun}_id AS about
FROM {noun}_revision e JOIN {noun}_current c ON c.id = e.{noun}_id WHERE {{asked}}"""
        for noun in ("gotcha", "learning", "learned", "policy")
    },
}  # fmt: skip


def _task_revised(row: Row) -> str:
    changed = [
        _from_to(name, row[f"{name}_before"], row[name])
        for name in ("status", "priority", "scope", "title")
    ]
    changed += [f"a new {name}" for name in ("summary", "body") if row[name]]
    said = ", ".join(part for part in changed if part)
    return (
        f'changed task "{row["task"]}": {said}'
        if said
        else f'noted something on task "{row["task"]}"'
    )


def _from_to(name: str, before: str | None, after: str | None) -> str:
    if after is None:
        return ""
    return f"{name} stays {after}" if before == after else f"{name} {before} → {after}"


def _plan_revised(row: Row) -> str:
    return f'revised plan "{row["title"]}"' + (
        f": {_from_to('status', row['status_before'], row['status'])}" if row["status"] else ""
    )


def _linked(row: Row) -> str:
    said = f'"{row["task"]}" {LINKED[row["link"], "out"]} "{row["other"]}"'
    return f"linked: {said}" if row["state"] == "added" else f"removed the link: {said}"


def _leased(row: Row) -> str:
    verbs = {
        "take": "claimed",
        "renew": "renewed the claim on",
        "release": "released",
        "break": "broke the claim on",
    }
    return f'{verbs[row["action"]]} task "{row["title"]}"'


def _purged(row: Row) -> str:
    return f"removed {format_quantity(row['records'], 'test record')}"


def _kept(row: Row) -> str:
    if row["command"][:1] == "R" or row["command"] in ("P2", "P8"):
        return f'made the report "{row["title"]}"'
    return f"recorded the artifact {row['name']} ({format_quantity(row['bytes'], 'byte')})"


def _proved(row: Row) -> str:
    what = f"`{row['line']}`" if row["line"] else f'"{row["title"]}"'
    took = f" in {format_duration(row['duration_ms'])}" if row["duration_ms"] is not None else ""
    if row["outcome"] == "passed":
        return f"proved {what} passed ({row['tier']}){took}"
    if row["outcome"] == "unknown":
        return f"reported {what} ({row['tier']}, outcome unknown)"
    ended = "timed out" if row["outcome"] == "timeout" else "failed"
    return f"recorded that {what} {ended} ({row['tier']}){took}"


def _ran(row: Row) -> str:
    """A step of a run; who waits for whom is left to its page."""
    place = f"{row['step']} {row['attempt']}"
    found = f", {format_quantity(row['found'], 'finding')}" if row["found"] else ""
    return {
        "asked": f"asked for {place}",
        "answered": f"got an answer for {place} ({format_quantity(row['chars'] or 0, 'character')})",
        "started": f"started the gate {place}",
        "judged": f"judged {place}: {row['reason']}{found}",
        "delivering": "began to deliver what a run made",
        "ended": f"ended a run: {row['outcome']}",
        "aborted": "aborted a run",
        "leased": "began to drive a run",
        "released": "paused a run" if row["text"] else "let go of a run",
        "refused": "refused what was given to a run",
    }[row["event"]]


SENTENCES = {
    "purge": _purged, "task_revision": _task_revised, "task_link": _linked, "lease": _leased,
    "plan_revision": _plan_revised, "artifact": _kept, "proof": _proved, "run_event": _ran,
}  # fmt: skip


def build_question(kind: str) -> str:
    """The SQL for records of a kind."""
    if kind in QUESTIONS:
        return QUESTIONS[kind]
    declared = KINDS[kind]
    columns = [
        "e.seq",
        *_columns(declared.sentence),
        f"{declared.note} AS text",
        f"{declared.about} AS about",
    ]
    return f"SELECT {', '.join(columns)} FROM {kind} e WHERE {{asked}}"


def _columns(template: str) -> list[str]:
    return [name for _, name, _, _ in Formatter().parse(template) if name]


def build_sentence(kind: str, row: Row) -> str:
    """What the actor did, without the actor; texts of the record are cut to one line."""
    line = {
        name: clip_text(value, LINE_CHARS_MAX) if isinstance(value, str) else value
        for name, value in row.items()
    }
    if kind in SENTENCES:
        return SENTENCES[kind](line)

    def part(found: re.Match[str]) -> str:
        return found[1] if all(line[name] is not None for name in _columns(found[1])) else ""

    shown = {
        name: FORMATS[name](value) if name in FORMATS else value for name, value in line.items()
    }
    return OPTIONAL.sub(part, KINDS[kind].sentence).format(**shown)


def summarize_entries(kind: str, number: int) -> str:
    """The sentence for so many entries of one kind in a row."""
    return KINDS[kind].sentences.format(n=format_count(number))
