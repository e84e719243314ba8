"""The vocabulary: each option name means one thing in every command.

`FIELDS` declares for each name its kind, help, choices and bounds. A name with another meaning in
one noun, command or family is declared as `noun.name`, `verb.name` or `R.name`. `values.py` reads
values by these declarations.

Kinds: line (one line of text), prose, id, ids, words (a repeatable line), items (repeatable texts,
or a JSON list), int, float, flag, choice, json, time, path, input (the text of a file or of stdin),
argv (all words after `--`).
"""

from __future__ import annotations

from . import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .index import Command

CHARS_MAX = {  # unless a field says otherwise
    "line": limits.NAME_CHARS_MAX,
    "id": limits.NAME_CHARS_MAX,
    "ids": limits.NAME_CHARS_MAX,
    "prose": limits.SUMMARY_CHARS_MAX,
    "items": limits.SUMMARY_CHARS_MAX,
}


class Field:
    """An option. `most` is its largest number, or how many characters its text may have."""

    def __init__(
        self,
        kind: str,
        help: str,
        choices: Sequence[str] = (),
        least: Any = None,
        most: Any = None,
        bare: bool = False,
    ) -> None:
        self.kind = kind
        self.help = help
        self.choices = choices
        self.least = least
        self.most: Any = CHARS_MAX.get(kind) if most is None else most
        self.bare = bare  # may also be given without its option name


SHARED = {
    "json": Field("flag", "Print one JSON object; errors too"),
    "actor": Field(
        "line", "Who is calling (default: KAIZEN_ACTOR, or 'agent')", most=limits.ACTOR_CHARS_MAX
    ),
    "op_id": Field("line", "A retry with the same op-id returns the first result; reads ignore it"),
    "test": Field(
        "flag", "Mark the new records as a test, so that K7 removes them; reads ignore it"
    ),
}

FIELDS = {
    "title": Field("line", "A title in one line", most=limits.TITLE_CHARS_MAX),
    "summary": Field("prose", "What it is about, in a few sentences"),
    "body": Field("prose", "The whole text", most=limits.BODY_CHARS_MAX),
    "note": Field("prose", "What happened, without changing the text"),
    "scope": Field("line", "The part of the project that it belongs to"),
    "priority": Field("choice", "How urgent it is", limits.PRIORITY),
    "status": Field("choice", "The state of the task", limits.TASK_STATUS),
    "plan.status": Field("choice", "The state of the plan", limits.PLAN_STATUS),
    "id": Field("id", "The record: its id, a unique prefix of it, or @last"),
    "task_id": Field("id", "The task: its id, a unique prefix of it, or @last"),
    "target_id": Field("id", "The other task: its id, a unique prefix, @last or @last~1"),
    "parent": Field("id", "The task that this one is part of"),
    "depends_on": Field("ids", "A task that must be closed first; repeatable"),
    "done_when": Field("words", "A command that must pass before `done`; repeatable", most=1_000),
    "kind": Field("choice", "How the two tasks are related", limits.LINK_KIND),
    "packet.kind": Field("choice", "The kind of packet", limits.PACKET_KIND),
    "remove": Field("flag", "Remove the link instead of adding it"),
    "action": Field("choice", "What to do with the lease", limits.LEASE_ACTION),
    "ttl_s": Field("int", "How many seconds the lease lasts", least=1, most=604_800),
    "token": Field("int", "The fencing token that `take` returned", least=1, most=2**53),
    "recipient": Field("line", "Who receives the packet"),
    "outcome": Field("choice", "How it ended", limits.OUTCOME),
    "payload_json": Field("json", "Structured data as JSON", most=limits.BODY_CHARS_MAX),
    "limit": Field("int", "Show at most this many rows", least=1, most=10_000),
    "since": Field(
        "time", "From this date or time (local, or with a zone), or an age such as 7d, 12h, 30m"
    ),
    "until": Field(
        "time", "Before this date or time (local, or with a zone), or an age such as 7d, 12h, 30m"
    ),
    "task.actor": Field("line", "Only tasks of this actor", most=limits.ACTOR_CHARS_MAX),
    "task.test": Field("flag", "Also tasks made with --test"),
    "holder": Field("line", "Only tasks whose lease this actor holds", most=limits.ACTOR_CHARS_MAX),
    "open": Field("flag", "Only packets without a result yet"),
    "integrity": Field("flag", "Also check every page, foreign key and derived row"),
    "reindex": Field("flag", "Also rebuild the search index from the records"),
    "dry_run": Field("flag", "Only list what would be removed"),
    "verify.file": Field("path", "Another database file, such as a backup"),
    "batch.file": Field("input", "The JSONL file (default: stdin)", most=limits.BATCH_CHARS_MAX),
    "query": Field(
        "line", 'Words to find, the best match first; supports "a phrase" and +required', most=1_000
    ),
    "topic.query": Field(
        "line", 'Words to find; supports "a phrase" and +required', most=1_000, bare=True
    ),
    "evidence": Field(
        "items", "Evidence: a text or the id of a record; repeatable, or a JSON list"
    ),
    "paths": Field(
        "words", "A file or glob that it is about, such as src/*.py; repeatable", most=1_000
    ),
    "context.path": Field("words", "A file you are working on; repeatable", most=1_000),
    "reason": Field("prose", "Why"),
    "waive": Field("prose", "Continue without the proof, for this reason; every report shows it"),
    "superseded_by": Field("id", "The lesson that replaces it"),
    "gotcha.status": Field("choice", "The state of the gotcha", limits.GOTCHA_STATUS),
    "learning.status": Field("choice", "The state of the learning", limits.LEARNING_STATUS),
    "learned.status": Field("choice", "The state of the lesson", limits.LEARNED_STATUS),
    "policy.status": Field("choice", "The state of the rule", limits.POLICY_STATUS),
    "actor": Field("line", "Only records of this actor", most=limits.ACTOR_CHARS_MAX),
    "about": Field(
        "id",
        "Its subject: an id, a unique prefix, or @last, which skips proofs, verdicts and scores",
    ),
    "proof_id": Field("id", "The proof: its id, a unique prefix of it, or @last"),
    "verification_id": Field("id", "The verification: its id, a unique prefix of it, or @last"),
    "artifact_id": Field("ids", "An artifact that belongs to it; repeatable"),
    "run": Field(
        "argv", "Run this command (all words after --) and record its result", most=100_000
    ),
    "proof.command": Field("line", "The command that was run", most=limits.COMMAND_CHARS_MAX),
    "eval.command": Field(
        "line", "The command that decides the case", most=limits.COMMAND_CHARS_MAX
    ),
    "exit_code": Field("int", "The exit code of that command", least=-255, most=255),
    "timeout_s": Field("int", "Stop the command after this many seconds", least=1, most=86_400),
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
    "symptom": Field("prose", "How to recognize it"),
    "harm": Field("prose", "What it costs to maintain"),
    "trigger": Field("prose", "What causes it, or when it applies"),
    "correction": Field("prose", "What to do instead"),
    "exceptions": Field("prose", "When it is acceptable"),
    "verification": Field("prose", "How to check that it is gone"),
    "validate.kind": Field("line", "The command that takes it, such as W1 or task-start", most=60),
    "budget": Field(
        "int", "Print at most this many tokens of four characters", least=50, most=1_000_000
    ),
    "path": Field("path", "A file or folder in the project"),
    "allow_external": Field(
        "flag", "Also accept a path outside the project; only its name and hash are stored"
    ),
    "all": Field("flag", "Check the newest artifact of every path"),
    "verify.path": Field("path", "Where an external artifact is now"),
    "tier": Field("choice", "How authoritative the source is", limits.SOURCE_TIER),
    "url": Field(
        "line", "Its address: http, https, git+https, doi or urn", most=limits.PATH_CHARS_MAX
    ),
    "version": Field("line", "Its version"),
    "commit_hash": Field("line", "Its commit: 7 to 64 hex digits", most=64),
    "content_hash": Field("line", "The SHA-256 of the content (default: that of --path)", most=64),
    "retrieved_at": Field("time", "When it was read (default: now)"),
    "license": Field("line", "Its license as an SPDX name"),
    "supersedes": Field("id", "The source that this one replaces"),
    "format": Field("choice", "How to print it", ("text", "html", "json")),
    "R.format": Field("choice", "The file format", ("html", "md", "json")),
    "digest.format": Field(
        "choice", "How to print it; `hook` is for a SessionStart hook", ("md", "json", "hook")
    ),
    "R.out": Field(
        "path", "The file to write, or - for the screen (default: a dated file in AI/db/exports)"
    ),
    "R.open": Field("flag", "Also open the HTML in the browser"),
    "as_of": Field("int", "Report on the first N log entries", least=0, most=2**53),
    "timezone": Field("line", "The IANA timezone of days and weeks (default: yours)", most=60),
    "digest.query": Field(
        "line", "Lessons for these words, instead of for the files that changed in git", most=1_000
    ),
    "R.query": Field(
        "line",
        'Only records with any of these words; supports "a phrase" and +required',
        most=1_000,
    ),
    "R.scope": Field("line", "Only this part of the project"),
    "verify": Field("flag", "Recompute every hash first, as K8 does; exit 7 if one is wrong"),
    "week": Field("line", "The week, such as 2026-W46 (default: this one)", most=8),
    "month": Field("line", "The month, such as 2026-11 (default: this one)", most=7),
    "year": Field("int", "The year (default: this one)", least=1970, most=9998),
    "last": Field("flag", "The period before this one"),
    "days": Field(
        "int", "The last N days including today, instead of a calendar period", least=1, most=3_660
    ),
    "so_far": Field(
        "flag",
        "Compare with the same part of the previous period; the default while a period lasts",
    ),
    "export.format": Field("choice", "How to write it", ("json", "md")),
    "irl_id": Field("id", "The review: its id, a unique prefix of it, or @last"),
    "prediction_id": Field("id", "The prediction: its id, a unique prefix of it, or @last"),
    "probability": Field("float", "How likely it is, from 0 to 1", least=0, most=1),
    "deadline": Field(
        "time",
        "When the outcome is known: a date (its start), a time, or +7d, +12h from now",
    ),
    "irl.outcome": Field("choice", "The outcome", limits.PREDICTION_OUTCOME),
    "name": Field("line", "Its name"),
    "trace_id": Field("id", "The trace: its id, your own name for it, @last, or a span in it"),
    "trace.parent": Field("id", "The span around this one"),
    "trace.kind": Field("choice", "The kind of work", limits.SPAN_KIND),
    "trace.status": Field("choice", "How it ended", limits.SPAN_STATUS),
    "started_at": Field("time", "When it began (default: now minus its duration)"),
    "model": Field("line", "The model"),
    "tokens_in": Field("int", "Input tokens", least=0, most=10**12),
    "tokens_out": Field("int", "Output tokens", least=0, most=10**12),
    "cost_usd": Field("float", "The cost in US dollars", least=0, most=10**9),
    "jsonl": Field(
        "input",
        'One span per line, {"name": …, "parent": "$1"}: a file, or - for stdin',
        most=limits.BATCH_CHARS_MAX,
    ),
    "value": Field("float", "The score: a finite number", least=-1e300, most=1e300),
    "unit": Field("line", "The unit of the value", most=50),
    "score.test": Field("flag", "Also scores made with --test"),
    "score.source": Field("choice", "Who or what gave it", limits.SCORE_SOURCE),
    "contract": Field("line", "The name of the contract to improve"),
    "hypothesis": Field("prose", "What should get better, and why"),
    "metric": Field("line", "What is measured"),
    "better": Field("choice", "Which direction is better", limits.BETTER),
    "baseline": Field("float", "The metric without the change", least=-1e300, most=1e300),
    "candidate": Field("float", "The metric with the change", least=-1e300, most=1e300),
    "lab.test": Field("flag", "Also proposals made with --test"),
    "lab_id": Field("id", "The case set: its id, a unique prefix of it, or @last"),
    "patch": Field("path", "The change as a file in the project"),
    "roots": Field("words", "A folder to search (default: the project)", most=1_000),
    "out": Field("path", "The file to write (default: a dated file in AI/db)"),
    "request": Field(
        "prose",
        "What to build, in plain words; omit it for a replay",
        most=limits.REQUEST_CHARS_MAX,
    ),
    "repo": Field("path", "The git repository to change; omit it for a replay"),
    "write_skills": Field("flag", "Write each step that an agent answers to .agents/skills"),
    "protocol": Field("line", "The protocol with the steps and gates (default: factory)", most=100),
    "function": Field("line", "For codemode: the function, such as app.text:slugify", most=300),
    "driver": Field("choice", "Who answers the steps", limits.DRIVER),
    "from": Field("id", "The run that --driver replay takes its answers from"),
    "python": Field("path", "The target's Python interpreter, if Kaizen cannot find it"),
    "budget_json": Field(
        "json", 'Budgets of the run, such as {"tokens": 100000, "seconds": 900}', most=2_000
    ),
    "apply": Field(
        "flag", "Also apply accepted work to the working tree; never over uncommitted changes"
    ),
    "allow_failing_baseline": Field(
        "flag", "Start even if baseline tests fail; new failures are still refused"
    ),
    "strict": Field("flag", "Let the first illegal move of an agent end the run as failed"),
    "lease": Field("line", "The lease that P5 returned with the step", most=100),
    "pipeline.file": Field(
        "input", "The answer: a file, or - for stdin", most=limits.BODY_CHARS_MAX
    ),
    "step": Field("line", "Refuse the answer if the run is at another step", most=100),
    "base": Field("line", "Refuse the answer if the run has another base commit", most=64),
    "left": Field(
        "line",
        "One side: driver=NAME, model=NAME, protocol=NAME, version=HASH, or run ids",
        most=5_000,
    ),
    "right": Field("line", "The other side, in the same form", most=5_000),
    "abort": Field("flag", "End the run instead of continuing it"),
    "pipeline.format": Field(
        "choice", "A card for the screen, or a page to keep", ("text", "html", "md", "json")
    ),
    "pipeline.out": Field(
        "path", "The page to write, or - for the screen (default: a dated file in AI/db/exports)"
    ),
    "pipeline.open": Field("flag", "Also open the HTML page in the browser"),
    "pipeline.outcome": Field("choice", "Only runs with this outcome", limits.RUN_OUTCOME),
    "gates": Field(
        "flag", "Also try each step of each protocol on its fixtures (takes half a minute)"
    ),
    "adopt.path": Field("path", "The other repository: its top folder", bare=True),
    "adopt.link": Field("flag", "Link the engine (the default); on Windows with a junction"),
    "adopt.copy": Field(
        "flag", "Copy the engine into the repository instead, so that you can commit it"
    ),
    "adopt.hooks": Field("line", "Also install hooks: claude, codex or claude,codex", most=100),
    "adopt.skills": Field("path", "Also link the skills in this folder"),
    "adopt.vscode": Field("flag", "Also write tasks and snippets for VS Code"),
    "adopt.check": Field(
        "flag", "Only report what is missing, changed or out of date; exit 1 if anything is"
    ),
    "adopt.remove": Field("flag", "Remove unchanged files of the adoption; records stay"),
    "adopt.apply": Field("flag", "Carry out the plan; without it the plan is only shown"),
    "skill.store": Field(
        "path", "Also include the skills in this folder, which may be outside the project"
    ),
    "skill.path": Field("path", "Only the skill in this folder"),
    "links.store": Field("path", "The folder with the skills to link to (default: .agents/skills)"),
    "links.apply": Field(
        "line", "Carry out the plan with this hash; refuse if it has changed", most=64
    ),
    "links.remove": Field("flag", "Plan to remove the links to this store instead"),
    "event": Field("choice", "The event of the host", limits.HOOK_EVENT, bare=True),
    "host": Field("choice", "The host that calls", limits.HOOK_HOST),
    "intent": Field("prose", "What you want to do, in plain words", bare=True),
}

TEXT_KINDS = ("line", "prose", "json")  # also from a file (--x-file) or from stdin (-)
LIST_KINDS = ("ids", "words", "items", "argv")


def get_field(command: Command, name: str) -> Field:
    """Return the field of an option. A field of the verb, noun or family overrides the general one."""
    if name not in command.fields:
        verb = command.name.rpartition("-")[2]
        keys = (f"{verb}.{name}", f"{command.noun}.{name}", f"{command.family}.{name}", name)
        is_shared = name in SHARED and name not in command.options
        field_key = (
            None if is_shared else next((FIELDS[key] for key in keys if key in FIELDS), None)
        )
        command.fields[name] = field_key or SHARED[name]
    return command.fields[name]


class FromFile:
    """A value that is not read yet: the path of a file, or - for stdin."""

    def __init__(self, path: str) -> None:
        self.path = path


def find_option(command: Command, word: str) -> tuple[str | None, bool]:
    """Return the field for the word after `--`, or None, and whether it has the --x-file form."""
    name = word.replace("-", "_")
    if "_" in word:
        return None, False
    if name in command.options or name in SHARED:
        return name, False
    base = name.removesuffix("_file")
    if base != name and base in command.options and get_field(command, base).kind in TEXT_KINDS:
        return base, True
    return None, False


def takes_all_words(command: Command, word: str) -> bool:
    """Return whether the value of the option is all words after `--`."""
    name = word.replace("-", "_")
    return name in command.options and get_field(command, name).kind == "argv"


def is_known_option(command: Command, word: str) -> bool:
    """Return whether the word is an option of the command, not a value of the option before it."""
    return word[:2] == "--" and find_option(command, word[2:])[0] is not None


def read_shell_value(command: Command, name: str, value: Any, from_file: bool) -> Any:
    """Return a value from the shell; for a text, - means stdin."""
    is_stdin = value == "-" and get_field(command, name).kind in TEXT_KINDS
    return FromFile(value) if from_file or is_stdin else value


def assign_bare_words(command: Command, given: dict[str, list[Any]], bare: list[str]) -> bool:
    """Assign words without an option name to the field that takes them; False if none does."""
    if not bare:
        return True
    for name in command.options:
        if get_field(command, name).bare and name not in given:
            given[name] = [" ".join(bare)]
            return True
    return False


def format_option(name: str) -> str:
    return "--" + name.replace("_", "-")
