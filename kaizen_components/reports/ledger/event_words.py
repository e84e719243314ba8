"""What an entry of the log says in words: for each kind, the question that reads its records, and the sentence.

A question reads many records of one kind at once (`{asked}` chooses them by `seq`); its columns fill the sentence,
`text` is shown below it, and `about` is the record it leads to. The actor is the subject of every sentence.
"""

from typing import Any

from ...records.work.link import SENTENCES
from ..engine.document import clipped, count, number_of, percent, time_taken

Row = dict[str, Any]
LINE_CHARS_MAX = 160  # of a title or a command inside a sentence

OP = "SELECT e.seq, e.op_id FROM op e WHERE {asked}"
PURGE = "SELECT e.seq, json_array_length(e.records) AS records FROM purge e WHERE {asked}"
TASK = "SELECT e.seq, e.title, e.summary AS text FROM task e WHERE {asked}"
# Each value with the one before it; the walk back to that ends at the last revision that changed the same.
TASK_REVISION = """
SELECT e.seq, e.task_id AS about, e.note AS text, t.title AS task, e.status, e.priority, e.scope, e.title,
       e.summary IS NOT NULL AS summary, e.body IS NOT NULL AS body,
       CASE WHEN e.status IS NOT NULL THEN coalesce(
           (SELECT r.status FROM task_revision r WHERE r.task_id = e.task_id AND r.rev < e.rev AND r.status IS NOT NULL
            ORDER BY r.rev DESC LIMIT 1), f.status) END AS status_before,
       CASE WHEN e.priority IS NOT NULL THEN coalesce(
           (SELECT r.priority FROM task_revision r WHERE r.task_id = e.task_id AND r.rev < e.rev
            AND r.priority IS NOT NULL ORDER BY r.rev DESC LIMIT 1), f.priority) END AS priority_before,
       CASE WHEN e.scope IS NOT NULL THEN coalesce(
           (SELECT r.scope FROM task_revision r WHERE r.task_id = e.task_id AND r.rev < e.rev AND r.scope IS NOT NULL
            ORDER BY r.rev DESC LIMIT 1), f.scope) END AS scope_before,
       CASE WHEN e.title IS NOT NULL THEN coalesce(
           (SELECT r.title FROM task_revision r WHERE r.task_id = e.task_id AND r.rev < e.rev AND r.title IS NOT NULL
            ORDER BY r.rev DESC LIMIT 1), f.title) END AS title_before
FROM task_revision e JOIN task f ON f.id = e.task_id JOIN task_current t ON t.id = e.task_id WHERE {asked}"""
TASK_LINK = """
SELECT e.seq, e.kind AS link, e.state, e.task_id, e.target_id AS about, t.title AS task, o.title AS other
FROM task_link e JOIN task_current t ON t.id = e.task_id JOIN task_current o ON o.id = e.target_id WHERE {asked}"""
LEASE = """
SELECT e.seq, e.action, e.until, e.note AS text, e.task_id AS about, t.title
FROM lease e JOIN task_current t ON t.id = e.task_id WHERE {asked}"""
PLAN = "SELECT e.seq, e.title, e.summary AS text, e.task_id AS about FROM plan e WHERE {asked}"
PLAN_REVISION = """
SELECT e.seq, p.title, e.status, e.note AS text, e.plan_id AS about,
       CASE WHEN e.status IS NOT NULL THEN coalesce(
           (SELECT r.status FROM plan_revision r WHERE r.plan_id = e.plan_id AND r.rev < e.rev AND r.status IS NOT NULL
            ORDER BY r.rev DESC LIMIT 1), f.status) END AS status_before
FROM plan_revision e JOIN plan f ON f.id = e.plan_id JOIN plan_current p ON p.id = e.plan_id WHERE {asked}"""
PACKET = """
SELECT e.seq, e.title, e.kind AS sort, e.recipient, e.summary AS text, e.task_id AS about FROM packet e WHERE {asked}"""
PACKET_RESULT = """
SELECT e.seq, p.title, e.outcome, e.summary AS text, e.packet_id AS about
FROM packet_result e JOIN packet p ON p.id = e.packet_id WHERE {asked}"""
WAIVER = "SELECT e.seq, e.gate, e.reason AS text, e.subject_id AS about FROM waiver e WHERE {asked}"
ARTIFACT = """
SELECT e.seq, e.name, e.bytes, e.title, coalesce(e.about_id, e.task_id) AS about FROM artifact e WHERE {asked}"""
PROOF = """
SELECT e.seq, e.tier, e.outcome, e.command AS line, e.title, e.duration_ms,
       coalesce(e.summary, CASE WHEN e.title <> e.command THEN e.title END) AS text,
       coalesce(e.task_id, e.about_id) AS about
FROM proof e WHERE {asked}"""
VERIFICATION = """
SELECT e.seq, e.conclusion, e.severity, e.scope, e.summary AS text, e.findings, v.superseded_by,
       coalesce(e.task_id, e.about_id) AS about
FROM verification e JOIN verification_current v ON v.id = e.id WHERE {asked}"""
GOTCHA = "SELECT e.seq, e.title, e.summary AS text, e.task_id AS about FROM gotcha e WHERE {asked}"
LEARNING = """
SELECT e.seq, e.title, e.summary AS text, coalesce(e.gotcha_id, e.task_id) AS about FROM learning e WHERE {asked}"""
LEARNED = """
SELECT e.seq, e.title, e.summary AS text, coalesce(e.learning_id, e.task_id) AS about FROM learned e WHERE {asked}"""
GOTCHA_REVISION = """
SELECT e.seq, l.title, e.status, e.note AS text, e.gotcha_id AS about
FROM gotcha_revision e JOIN gotcha_current l ON l.id = e.gotcha_id WHERE {asked}"""
LEARNING_REVISION = """
SELECT e.seq, l.title, e.status, e.note AS text, e.learning_id AS about
FROM learning_revision e JOIN learning_current l ON l.id = e.learning_id WHERE {asked}"""
LEARNED_REVISION = """
SELECT e.seq, l.title, e.status, e.note AS text, e.learned_id AS about
FROM learned_revision e JOIN learned_current l ON l.id = e.learned_id WHERE {asked}"""
LESSON_IMPORT = "SELECT e.seq, e.path, e.entries, e.added FROM lesson_import e WHERE {asked}"
EVAL_CASE = "SELECT e.seq, e.title, e.category, e.summary AS text, e.task_id AS about FROM eval_case e WHERE {asked}"
EVAL_RUN = """
SELECT e.seq, c.title, e.outcome, e.score, e.summary AS text, e.case_id AS about
FROM eval_run e JOIN eval_case c ON c.id = e.case_id WHERE {asked}"""
ANTI_PATTERN = "SELECT e.seq, e.title, e.symptom AS text, e.task_id AS about FROM anti_pattern e WHERE {asked}"
POLICY = "SELECT e.seq, e.title, e.priority, e.summary AS text FROM policy e WHERE {asked}"
POLICY_REVISION = """
SELECT e.seq, p.title, e.status, e.note AS text, e.policy_id AS about
FROM policy_revision e JOIN policy p ON p.id = e.policy_id WHERE {asked}"""
SOURCE = (
    "SELECT e.seq, e.title, e.tier, coalesce(e.url, e.path) AS text, e.task_id AS about FROM source e WHERE {asked}"
)
IRL = "SELECT e.seq, e.title, e.summary AS text, e.task_id AS about FROM irl e WHERE {asked}"
IRL_PREDICTION = """
SELECT e.seq, e.probability, e.deadline, e.summary AS text, e.irl_id AS about FROM irl_prediction e WHERE {asked}"""
IRL_CORRECTION = """
SELECT e.seq, e.summary AS text, coalesce(e.prediction_id, e.irl_id) AS about FROM irl_correction e WHERE {asked}"""
IRL_OUTCOME = """
SELECT e.seq, e.outcome, e.summary AS text, e.prediction_id AS about FROM irl_outcome e WHERE {asked}"""
SPAN = """
SELECT e.seq, e.name, e.kind AS sort, e.status, e.duration_ms, e.summary AS text, e.task_id AS about
FROM span e WHERE {asked}"""
SCORE = """
SELECT e.seq, e.name, e.value, e.unit, e.source, e.summary AS text, coalesce(e.about_id, e.task_id) AS about
FROM score e WHERE {asked}"""
LAB = "SELECT e.seq, e.title, e.contract, e.summary AS text FROM lab e WHERE {asked}"
DIGEST = "SELECT e.seq, e.tokens FROM digest e WHERE {asked}"
LAB_PROPOSAL = """
SELECT e.seq, e.title, e.metric, e.baseline, e.candidate, e.hypothesis AS text, e.lab_id AS about
FROM lab_proposal e WHERE {asked}"""

RUN = "SELECT e.seq, e.protocol, e.request AS text, e.task_id AS about FROM run e WHERE {asked}"
RUN_EVENT = """
SELECT e.seq, e.event, e.step, e.attempt, e.reason, e.outcome, length(e.body) AS chars, e.run_id AS about,
       coalesce(json_array_length(e.payload, '$.findings'), 0) AS found,
       coalesce(e.says, json_extract(e.payload, '$.why')) AS text
FROM run_event e WHERE {asked}"""


def _task_revised(row: Row) -> str:
    changed = [_from_to(name, row[f"{name}_before"], row[name]) for name in ("status", "priority", "scope", "title")]
    changed += [f"a new {name}" for name in ("summary", "body") if row[name]]
    said = ", ".join(part for part in changed if part)
    return f'changed task "{row["task"]}": {said}' if said else f'noted something on task "{row["task"]}"'


def _from_to(name: str, before: str | None, after: str | None) -> str:
    if after is None:
        return ""
    return f"{name} stays {after}" if before == after else f"{name} {before} → {after}"


def _plan_revised(row: Row) -> str:
    return f'revised plan "{row["title"]}"' + (
        f": {_from_to('status', row['status_before'], row['status'])}" if row["status"] else ""
    )


def _linked(row: Row) -> str:
    said = f'"{row["task"]}" {SENTENCES[row["link"], "out"]} "{row["other"]}"'
    return f"linked: {said}" if row["state"] == "added" else f"removed the link: {said}"


def _leased(row: Row) -> str:
    verbs = {"take": "claimed", "renew": "renewed the claim on", "release": "released", "break": "broke the claim on"}
    return f'{verbs[row["action"]]} task "{row["title"]}"'


def _sent(row: Row) -> str:
    return f'sent the {row["sort"]} packet "{row["title"]}"' + (f" to {row['recipient']}" if row["recipient"] else "")


def _purged(row: Row) -> str:
    return f"removed {number_of(row['records'], 'test record')}"


def _kept(row: Row) -> str:
    if row["command"][:1] == "R" or row["command"] in ("P2", "P8"):
        return f'made the report "{row["title"]}"'
    return f"recorded the artifact {row['name']} ({number_of(row['bytes'], 'byte')})"


def _proved(row: Row) -> str:
    what = f"`{row['line']}`" if row["line"] else f'"{row["title"]}"'
    took = f" in {time_taken(row['duration_ms'])}" if row["duration_ms"] is not None else ""
    if row["outcome"] == "passed":
        return f"proved {what} passed ({row['tier']}){took}"
    if row["outcome"] == "unknown":
        return f"reported {what} ({row['tier']}, outcome unknown)"
    ended = "timed out" if row["outcome"] == "timeout" else "failed"
    return f"recorded that {what} {ended} ({row['tier']}){took}"


def _judged(row: Row) -> str:
    more = [row["severity"] and f"severity {row['severity']}", f"scope {row['scope']}"]
    later = f"; superseded by {row['superseded_by']}" if row["superseded_by"] else ""
    return f"gave the verdict {row['conclusion']} ({', '.join(filter(None, more))}){later}"


def _lesson_revised(noun: str) -> Any:
    def said(row: Row) -> str:
        return f'revised {noun} "{row["title"]}"' + (f": status {row['status']}" if row["status"] else "")

    return said


def _evaluated(row: Row) -> str:
    score = "" if row["score"] is None else f", score {count(row['score'])}"
    return f'ran the eval case "{row["title"]}": {row["outcome"]}{score}'


def _predicted(row: Row) -> str:
    return f"predicted with {percent(row['probability'])}, to be known by {row['deadline'][:10]}"


def _spanned(row: Row) -> str:
    return f'recorded the span "{row["name"]}" ({row["sort"]}, {row["status"]}, {time_taken(row["duration_ms"])})'


def _scored(row: Row) -> str:
    unit = f" {row['unit']}" if row["unit"] else ""
    return f"scored {row['name']}: {count(row['value'])}{unit} (by a {row['source']})"


def _proposed(row: Row) -> str:
    return f'proposed "{row["title"]}": {row["metric"]} {count(row["baseline"])} → {count(row["candidate"])}'


def _ran(row: Row) -> str:
    """A step of a run; who waits for whom is left to its page."""
    place = f"{row['step']} {row['attempt']}"
    found = f", {number_of(row['found'], 'finding')}" if row["found"] else ""
    return {
        "asked": f"asked for {place}",
        "answered": f"got an answer for {place} ({number_of(row['chars'] or 0, 'character')})",
        "started": f"started the gate {place}",
        "judged": f"judged {place}: {row['reason']}{found}",
        "delivering": "began to deliver what a run made",
        "ended": f"ended a run: {row['outcome']}",
        "aborted": "aborted a run",
        "leased": "began to drive a run",
        "released": "paused a run" if row["text"] else "let go of a run",
        "refused": "refused what was given to a run",
    }[row["event"]]


# kind -> (question, sentence or what makes it, the same for many)
WORDS: dict[str, tuple[str, Any, str]] = {
    "op": (OP, "kept the answer for an op-id", "kept {n} answers for op-ids"),
    "purge": (PURGE, _purged, "removed test records {n} times"),
    "task": (TASK, 'opened task "{title}"', "opened {n} tasks"),
    "task_revision": (TASK_REVISION, _task_revised, "changed tasks {n} times"),
    "task_link": (TASK_LINK, _linked, "changed {n} links between tasks"),
    "lease": (LEASE, _leased, "claimed, renewed or released tasks {n} times"),
    "plan": (PLAN, 'planned "{title}"', "made {n} plans"),
    "plan_revision": (PLAN_REVISION, _plan_revised, "revised plans {n} times"),
    "packet": (PACKET, _sent, "sent {n} packets"),
    "packet_result": (PACKET_RESULT, 'brought back "{title}": {outcome}', "brought back {n} results"),
    "waiver": (WAIVER, "waived the proof for `{gate}`", "waived proofs {n} times"),
    "artifact": (ARTIFACT, _kept, "recorded {n} artifacts"),
    "proof": (PROOF, _proved, "recorded {n} proofs"),
    "verification": (VERIFICATION, _judged, "gave {n} verdicts"),
    "gotcha": (GOTCHA, 'met the gotcha "{title}"', "met {n} gotchas"),
    "gotcha_revision": (GOTCHA_REVISION, _lesson_revised("gotcha"), "revised gotchas {n} times"),
    "learning": (LEARNING, 'noted the learning "{title}"', "noted {n} learnings"),
    "learning_revision": (LEARNING_REVISION, _lesson_revised("learning"), "revised learnings {n} times"),
    "learned": (LEARNED, 'proved the lesson "{title}"', "proved {n} lessons"),
    "learned_revision": (LEARNED_REVISION, _lesson_revised("lesson"), "revised lessons {n} times"),
    "lesson_import": (LESSON_IMPORT, "took {added} of {entries} lessons from {path}", "took lessons from {n} files"),
    "eval_case": (EVAL_CASE, 'added the eval case "{title}" ({category})', "added {n} eval cases"),
    "eval_run": (EVAL_RUN, _evaluated, "ran {n} eval cases"),
    "anti_pattern": (ANTI_PATTERN, 'named the anti-pattern "{title}"', "named {n} anti-patterns"),
    "policy": (POLICY, 'set the rule "{title}" ({priority})', "set {n} rules"),
    "policy_revision": (POLICY_REVISION, 'made the rule "{title}" {status}', "changed rules {n} times"),
    "source": (SOURCE, 'read the source "{title}" ({tier})', "read {n} sources"),
    "irl": (IRL, 'opened the review "{title}"', "opened {n} reviews"),
    "irl_prediction": (IRL_PREDICTION, _predicted, "made {n} predictions"),
    "irl_correction": (IRL_CORRECTION, "corrected a prediction or a review", "made {n} corrections"),
    "irl_outcome": (IRL_OUTCOME, "closed a prediction: {outcome}", "closed {n} predictions"),
    "span": (SPAN, _spanned, "recorded {n} spans"),
    "score": (SCORE, _scored, "recorded {n} scores"),
    "lab": (LAB, 'assembled the case set "{title}" for {contract}', "assembled {n} case sets"),
    "digest": (DIGEST, "read a digest of {tokens} tokens", "read {n} digests"),
    "lab_proposal": (LAB_PROPOSAL, _proposed, "made {n} proposals"),
    "run": (RUN, "began a run of {protocol}", "began {n} runs"),
    "run_event": (RUN_EVENT, _ran, "recorded {n} events of runs"),
}  # fmt: skip


def words_of(kind: str) -> tuple:
    """Its question and sentences; plain ones for a kind that nobody has given any."""
    noun = kind.replace("_", " ")
    plain = (f"SELECT e.seq FROM {kind} e WHERE {{asked}}", f"recorded a {noun}", f"recorded {{n}} of kind {noun}")
    return WORDS.get(kind, plain)


def sentence(kind: str, row: Row) -> str:
    """What the actor did, without the actor; texts of the record are cut to one line."""
    says = words_of(kind)[1]
    line = {name: clipped(value, LINE_CHARS_MAX) if isinstance(value, str) else value for name, value in row.items()}
    return says(line) if callable(says) else says.format(**line)


def many(kind: str, number: int) -> str:
    """The sentence for so many entries of one kind in a row."""
    return words_of(kind)[2].format(n=count(number))
