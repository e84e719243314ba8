"""The vocabulary: each option name means one thing in every command.

`FIELDS` says for each name its kind, its help, its choices and its bounds. A name that means
something else to a noun, to one command or to a family stands as `noun.name`, `verb.name` or `R.name`. `values.py`
reads what was given by these.

Kinds: line (one line of text), prose, id, ids, words (a repeatable line), items (repeatable texts, or a JSON list),
int, float, flag, choice, json, time, path, input (the text of a file or of stdin), argv (all words after `--`).
"""

from . import limits

CHARS_MAX = {  # unless a field says otherwise
    "line": limits.NAME_CHARS_MAX, "id": limits.NAME_CHARS_MAX, "ids": limits.NAME_CHARS_MAX,
    "prose": limits.SUMMARY_CHARS_MAX, "items": limits.SUMMARY_CHARS_MAX,
}  # fmt: skip


class Field:
    def __init__(self, kind, help, choices=(), least=None, most=None, bare=False):
        self.kind = kind
        self.help = help
        self.choices = choices
        self.least = least
        self.most = (
            CHARS_MAX.get(kind) if most is None else most
        )  # the largest number, or the most characters of a text
        self.bare = bare  # may also be given without its option name


SHARED = {
    "json": Field("flag", "Print one JSON object; errors too"),
    "actor": Field(
        "line", "Who is calling; KAIZEN_ACTOR, or else 'agent'", most=limits.ACTOR_CHARS_MAX
    ),
    "op_id": Field("line", "The same op-id again returns the first result; a read ignores it"),
    "test": Field("flag", "Mark what is written as removable by K7; a read ignores it"),
}

FIELDS = {
    "title": Field("line", "One line that names it", most=limits.TITLE_CHARS_MAX),
    "summary": Field("prose", "What it is about, in a few sentences"),
    "body": Field("prose", "The whole text", most=limits.BODY_CHARS_MAX),
    "note": Field("prose", "What happened, without changing the text"),
    "scope": Field("line", "The part of the project it belongs to"),
    "priority": Field("choice", "How urgent it is", limits.PRIORITY),
    "status": Field("choice", "The state of the task", limits.TASK_STATUS),
    "plan.status": Field("choice", "The state of the plan", limits.PLAN_STATUS),
    "id": Field("id", "The record: its id, a unique prefix of it, or @last"),
    "task_id": Field("id", "The task: its id, a unique prefix of it, or @last"),
    "target_id": Field(
        "id", "The other task: its id, a unique prefix of it, @last, or @last~1 for the one before"
    ),
    "parent": Field("id", "The task that this one is a part of"),
    "depends_on": Field("ids", "A task that must be closed first; repeatable"),
    "done_when": Field(
        "words", "A command that must be witnessed before `done`; repeatable", most=1_000
    ),
    "kind": Field("choice", "How the two tasks hang together", limits.LINK_KIND),
    "packet.kind": Field("choice", "Which sort of packet", limits.PACKET_KIND),
    "remove": Field("flag", "Remove the link instead of adding it"),
    "action": Field("choice", "What to do with the lease", limits.LEASE_ACTION),
    "ttl_s": Field("int", "How many seconds the lease lasts", least=1, most=604_800),
    "token": Field("int", "The fencing token that `take` returned", least=1, most=2**53),
    "recipient": Field("line", "Who the packet is for"),
    "outcome": Field("choice", "How it ended", limits.OUTCOME),
    "payload_json": Field("json", "Structured data as JSON", most=limits.BODY_CHARS_MAX),
    "limit": Field("int", "The most rows to show", least=1, most=10_000),
    "since": Field(
        "time", "Not before: a date or time (yours, or with a zone), or an age such as 7d, 12h, 30m"
    ),
    "until": Field(
        "time", "Before: a date or time (yours, or with a zone), or an age such as 7d, 12h, 30m"
    ),
    "task.actor": Field("line", "Only tasks of this actor", most=limits.ACTOR_CHARS_MAX),
    "task.test": Field("flag", "Also tasks made with --test"),
    "holder": Field(
        "line", "Only tasks that this actor holds a lease on", most=limits.ACTOR_CHARS_MAX
    ),
    "open": Field("flag", "Only those without a result yet"),
    "integrity": Field("flag", "Also check every page, foreign key and derived row"),
    "reindex": Field("flag", "Also make the search index anew from the records"),
    "dry_run": Field("flag", "Only list what would be removed"),
    "verify.file": Field("path", "Another database file, such as a backup"),
    "batch.file": Field("input", "The JSONL file; stdin unless told", most=limits.BATCH_CHARS_MAX),
    "query": Field(
        "line", 'Words to find, the best match first; "a phrase" and +must work', most=1_000
    ),
    "topic.query": Field("line", 'Words to find; "a phrase" and +must work', most=1_000, bare=True),
    "evidence": Field(
        "items", "What shows it: a text or the id of a record; repeatable, or a JSON list"
    ),
    "paths": Field("words", "A file or glob it is about, such as src/*.py; repeatable", most=1_000),
    "context.path": Field("words", "A file you are working on; repeatable", most=1_000),
    "reason": Field("prose", "Why"),
    "waive": Field("prose", "Go on without the proof, for this reason, which every report shows"),
    "superseded_by": Field("id", "The lesson that takes its place"),
    "gotcha.status": Field("choice", "The state of the gotcha", limits.GOTCHA_STATUS),
    "learning.status": Field("choice", "The state of the learning", limits.LEARNING_STATUS),
    "learned.status": Field("choice", "The state of the lesson", limits.LEARNED_STATUS),
    "policy.status": Field("choice", "The state of the rule", limits.POLICY_STATUS),
    "actor": Field("line", "Only records of this actor", most=limits.ACTOR_CHARS_MAX),
    "about": Field(
        "id",
        "The record this is about: its id, a unique prefix, or @last (but for proofs, verdicts, scores)",
    ),
    "proof_id": Field("id", "The proof: its id, a unique prefix of it, or @last"),
    "verification_id": Field("id", "The verification: its id, a unique prefix of it, or @last"),
    "artifact_id": Field("ids", "An artifact that belongs to it; repeatable"),
    "run": Field(
        "argv", "Run this command and record what was seen: all words after --", most=100_000
    ),
    "proof.command": Field(
        "line", "The command that somebody else ran", most=limits.COMMAND_CHARS_MAX
    ),
    "eval.command": Field(
        "line", "The command that decides the case", most=limits.COMMAND_CHARS_MAX
    ),
    "exit_code": Field("int", "What that command exited with", least=-255, most=255),
    "timeout_s": Field("int", "Stop the command after so many seconds", least=1, most=86_400),
    "conclusion": Field("choice", "The verdict", limits.CONCLUSION),
    "severity": Field("choice", "How much it matters", limits.SEVERITY),
    "findings": Field("items", "What was found; repeatable, or a JSON list"),
    "remedies": Field("items", "What would help; repeatable, or a JSON list"),
    "category": Field("choice", "What the case is about", limits.EVAL_CATEGORY),
    "fixture": Field("path", "The fixture of the case, below the project"),
    "case_id": Field("id", "The eval case: its id, a unique prefix of it, or @last"),
    "eval.outcome": Field("choice", "How the run ended", limits.EVAL_OUTCOME),
    "score": Field("float", "How good it was, from 0 to 1", least=0, most=1),
    "duration_ms": Field("int", "How many milliseconds it took", least=0, most=10**12),
    "symptom": Field("prose", "How it shows"),
    "harm": Field("prose", "What it costs to maintain"),
    "trigger": Field("prose", "What brings it about, or when it applies"),
    "correction": Field("prose", "What to do instead"),
    "exceptions": Field("prose", "When it is all right"),
    "verification": Field("prose", "How to check that it is gone"),
    "validate.kind": Field(
        "line", "The command whose input it is, such as W1 or task-start", most=60
    ),
    "budget": Field(
        "int", "The most tokens to print, a token being four characters", least=50, most=1_000_000
    ),
    "path": Field("path", "A file or folder, below the project"),
    "allow_external": Field(
        "flag", "Also a path outside the project; only its name and hash are kept"
    ),
    "all": Field("flag", "Every path that has an artifact, by its newest one"),
    "verify.path": Field("path", "Where an external artifact is now"),
    "tier": Field("choice", "How authoritative the source is", limits.SOURCE_TIER),
    "url": Field(
        "line", "Where it was read: http, https, git+https, doi or urn", most=limits.PATH_CHARS_MAX
    ),
    "version": Field("line", "Which version of it"),
    "commit_hash": Field("line", "Which commit of it: 7 to 64 hex digits", most=64),
    "content_hash": Field(
        "line", "The SHA-256 of what was read; that of --path unless told", most=64
    ),
    "retrieved_at": Field("time", "When it was read; now unless told"),
    "license": Field("line", "Under which license, as an SPDX name"),
    "supersedes": Field("id", "The source that this one replaces"),
    "format": Field("choice", "How to print it", ("text", "html", "json")),
    "R.format": Field("choice", "What to write", ("html", "md", "json")),
    "digest.format": Field(
        "choice", "How to print it; hook is what a SessionStart hook prints", ("md", "json", "hook")
    ),
    "R.out": Field(
        "path", "Where to write it, - for the screen; a dated file below AI/db/exports unless told"
    ),
    "R.open": Field("flag", "Also open the HTML in the browser"),
    "as_of": Field(
        "int", "The record as it was when the log had so many entries", least=0, most=2**53
    ),
    "timezone": Field("line", "The IANA timezone of days and weeks; yours unless told", most=60),
    "digest.query": Field(
        "line", "Lessons for these words, instead of the files that git saw change", most=1_000
    ),
    "R.query": Field(
        "line", 'Only what has any of these words; "a phrase" and +must work', most=1_000
    ),
    "R.scope": Field("line", "Only what belongs to this part of the project"),
    "verify": Field("flag", "Recompute every hash first, as K8 does; exit 7 if something is wrong"),
    "week": Field(
        "line", "The calendar week, such as 2026-W46; the present one unless told", most=8
    ),
    "month": Field("line", "The month, such as 2026-11; the present one unless told", most=7),
    "year": Field("int", "The year; the present one unless told", least=1970, most=9998),
    "last": Field("flag", "The period before the present one"),
    "days": Field(
        "int",
        "The last so many days, today among them, instead of a calendar period",
        least=1,
        most=3_660,
    ),
    "so_far": Field(
        "flag", "Compare with the same part of the period before; done anyway while a period lasts"
    ),
    "export.format": Field("choice", "How to write it", ("json", "md")),
    "irl_id": Field("id", "The review: its id, a unique prefix of it, or @last"),
    "prediction_id": Field("id", "The prediction: its id, a unique prefix of it, or @last"),
    "probability": Field("float", "How likely it is, from 0 to 1", least=0, most=1),
    "deadline": Field(
        "time", "When it will be known: a date (its first moment), a time, or +7d, +12h from now"
    ),
    "irl.outcome": Field("choice", "What came of it", limits.PREDICTION_OUTCOME),
    "name": Field("line", "What it is called"),
    "trace_id": Field("id", "The trace: its id, your own name for it, @last, or a span in it"),
    "trace.parent": Field("id", "The span around this one"),
    "trace.kind": Field("choice", "What sort of work it was", limits.SPAN_KIND),
    "trace.status": Field("choice", "How it ended", limits.SPAN_STATUS),
    "started_at": Field("time", "When it began; the end less its duration unless told"),
    "model": Field("line", "The model that was asked"),
    "tokens_in": Field("int", "Tokens that went in", least=0, most=10**12),
    "tokens_out": Field("int", "Tokens that came out", least=0, most=10**12),
    "cost_usd": Field("float", "What it cost, in US dollars", least=0, most=10**9),
    "jsonl": Field(
        "input",
        'One span a line, {"name": …, "parent": "$1"}: a file, or - for stdin',
        most=limits.BATCH_CHARS_MAX,
    ),
    "value": Field("float", "The score: a finite number", least=-1e300, most=1e300),
    "unit": Field("line", "What it is counted in", most=50),
    "score.test": Field("flag", "Also scores made with --test"),
    "score.source": Field("choice", "Who or what gave it", limits.SCORE_SOURCE),
    "contract": Field("line", "The name of the contract that is to be improved"),
    "hypothesis": Field("prose", "What should get better, and why"),
    "metric": Field("line", "What is measured"),
    "better": Field("choice", "Which way is better", limits.BETTER),
    "baseline": Field("float", "The metric without the change", least=-1e300, most=1e300),
    "candidate": Field("float", "The metric with the change", least=-1e300, most=1e300),
    "lab.test": Field("flag", "Also proposals made with --test"),
    "lab_id": Field("id", "The case set: its id, a unique prefix of it, or @last"),
    "patch": Field("path", "The change as a file, below the project"),
    "roots": Field(
        "words", "A folder to look in, below the project; the whole project unless told", most=1_000
    ),
    "out": Field("path", "Where to write it; a dated file below AI/db unless told"),
    "request": Field(
        "prose",
        "What is to be built, in plain words; needed unless a replay has it",
        most=limits.REQUEST_CHARS_MAX,
    ),
    "repo": Field(
        "path", "The git repository that is to be changed; needed unless a replay has it"
    ),
    "write_skills": Field(
        "flag", "Write each step that somebody answers as a skill into .agents/skills"
    ),
    "protocol": Field(
        "line", "The protocol: which steps and gates there are; factory unless told", most=100
    ),
    "function": Field(
        "line", "For codemode: the function that is explored, such as app.text:slugify", most=300
    ),
    "driver": Field("choice", "Who thinks", limits.DRIVER),
    "from": Field(
        "id", "The run whose answers --driver replay gives: its id, a unique prefix, or @last"
    ),
    "python": Field("path", "The target's interpreter, if it is not found by itself"),
    "budget_json": Field(
        "json", 'Budgets of the run, such as {"tokens": 100000, "seconds": 900}', most=2_000
    ),
    "apply": Field(
        "flag",
        "Also put accepted work into the working tree, unless it has changes of its own there",
    ),
    "allow_failing_baseline": Field(
        "flag", "Begin although tests of the base fail; no others may then"
    ),
    "strict": Field("flag", "Let the first illegal move of an agent end the run as failed"),
    "lease": Field("line", "The lease that P5 gave out with the step", most=100),
    "pipeline.file": Field(
        "input", "The answer: a file, or - for stdin", most=limits.BODY_CHARS_MAX
    ),
    "step": Field("line", "The step that the answer is for, if it is to be checked", most=100),
    "base": Field(
        "line", "The commit that the answer was made for, if it is to be checked", most=64
    ),
    "left": Field(
        "line",
        "One side: driver=NAME, model=NAME, protocol=NAME, version=HASH, or ids of runs",
        most=5_000,
    ),
    "right": Field("line", "The other side, in the same form", most=5_000),
    "abort": Field("flag", "End the run instead of going on"),
    "pipeline.format": Field(
        "choice", "A card on the screen, or a page to keep", ("text", "html", "md", "json")
    ),
    "pipeline.out": Field(
        "path", "Where to write the page, - for the screen; below AI/db/exports unless told"
    ),
    "pipeline.open": Field("flag", "Also open the HTML page in the browser"),
    "pipeline.outcome": Field("choice", "Only runs that ended so", limits.RUN_OUTCOME),
    "gates": Field(
        "flag", "Also try each step of each protocol on its good and bad fixtures (half a minute)"
    ),
    "adopt.path": Field("path", "The other repository: its top folder", bare=True),
    "adopt.link": Field(
        "flag", "Link the engine, as is done unless told; a Windows junction there"
    ),
    "adopt.copy": Field("flag", "Copy the engine into the repository instead, to be committed"),
    "adopt.hooks": Field(
        "line", "Also hooks for these agent hosts: claude, codex or claude,codex", most=100
    ),
    "adopt.skills": Field("path", "A store of skills that is to be linked"),
    "adopt.vscode": Field("flag", "Also tasks and snippets for VS Code"),
    "adopt.check": Field(
        "flag", "Only say what is missing, changed or out of date; exit 1 if anything is"
    ),
    "adopt.remove": Field(
        "flag", "Take out what is as adoption left it; records and your own changes stay"
    ),
    "adopt.apply": Field(
        "flag", "Carry the plan out; without it the plan is shown and nothing is touched"
    ),
    "skill.store": Field(
        "path", "Also the skills in this folder, which may be outside of the project"
    ),
    "skill.path": Field("path", "Only the skill in this folder"),
    "links.store": Field(
        "path", "The folder with the skills to link to; .agents/skills unless told"
    ),
    "links.apply": Field(
        "line", "Carry out the plan with this hash, or refuse if it is another one by now", most=64
    ),
    "links.remove": Field("flag", "Plan to remove the links to this store instead"),
    "event": Field("choice", "What happened at the host", limits.HOOK_EVENT, bare=True),
    "host": Field("choice", "Which host calls", limits.HOOK_HOST),
    "intent": Field("prose", "What you want to do, in plain words", bare=True),
}

TEXT_KINDS = (
    "line",
    "prose",
    "json",
)  # these can also come from a file (--x-file) or from stdin (-)
LIST_KINDS = ("ids", "words", "items", "argv")


def get_field(command, name):
    """What `name` means in this command: the verb's own meaning first, then the noun's, the family's, everybody's."""
    found = command.fields.get(name)
    if found is None:
        found = command.fields[name] = _field(command, name)
    return found


def _field(command, name):
    if name in SHARED and name not in command.options:
        return SHARED[name]
    for owner in (command.name.rpartition("-")[2], command.noun, command.family):
        if f"{owner}.{name}" in FIELDS:
            return FIELDS[f"{owner}.{name}"]
    return FIELDS.get(name) or SHARED[name]


class FromFile:
    """A value that still has to be read: the path of a file, or - for stdin."""

    def __init__(self, path):
        self.path = path


def find_option(command, word):
    """(field name, is it the --x-file form) for the word after `--`, or (None, False)."""
    name = word.replace("-", "_")
    if "_" in word:
        return None, False
    if name in command.options or name in SHARED:
        return name, False
    base = name[:-5]
    if (
        name[-5:] == "_file"
        and base in command.options
        and get_field(command, base).kind in TEXT_KINDS
    ):
        return base, True
    return None, False


def takes_all_words(command, word):
    """Is this the option whose value is every word after `--`?"""
    name = word.replace("-", "_")
    return name in command.options and get_field(command, name).kind == "argv"


def is_known_option(command, word):
    """Is this word an option of the command, so that it can hardly be the value of the option before it?"""
    return word[:2] == "--" and find_option(command, word[2:])[0] is not None


def read_shell_value(command, name, value, from_file):
    """What a shell gave: - means stdin where text is wanted."""
    stdin = value == "-" and get_field(command, name).kind in TEXT_KINDS
    return FromFile(value) if from_file or stdin else value


def assign_bare_words(command, given, bare):
    """Words without an option name go to the one field that takes them; False if there is none."""
    if not bare:
        return True
    for name in command.options:
        if get_field(command, name).bare and name not in given:
            given[name] = [" ".join(bare)]
            return True
    return False


def format_option(name):
    return "--" + name.replace("_", "-")
