"""The table of contents: short code -> name. The name is the address.

`task-start` is the function `start` in `commands/task.py`: the first word is the module, the rest
the function; a name of one word is a function in the module of the same name. A function has
a trailing underscore (`link_`) if its name would hide something that its module needs.
"""

from __future__ import annotations

from .errors import Usage
from .fields import get_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .fields import Field

COMMANDS = {
    "K0": "op-find",
    "K1": "db-check",
    "K2": "schema-status",
    "K3": "db-backup",
    "K5": "db-batch",
    "K6": "db-manifest",
    "K7": "purge-test",
    "K8": "ledger-verify",
    "K11": "doctor",
    "W1": "task-start",
    "W2": "task-update",
    "W3": "plan-create",
    "W4": "plan-revise",
    "W5": "subagent-packet-create",
    "W6": "subagent-packet-ingest",
    "W7": "diagnostic-packet-create",
    "W8": "diagnostic-result-ingest",
    "W9": "task-list",
    "W10": "task-inspect",
    "W11": "task-link",
    "W12": "task-ready",
    "W13": "task-claim",
    "W14": "plan-inspect",
    "W15": "packet-list",
    "G1": "gotcha-add",
    "G2": "gotcha-list",
    "G3": "gotcha-query",
    "G4": "gotcha-inspect",
    "G5": "gotcha-update",
    "L1": "learning-add",
    "L2": "promote-gotcha-learning",
    "L3": "promote-learning-learned",
    "L4": "learning-list",
    "L5": "learning-query",
    "L6": "learning-inspect",
    "L7": "learned-list",
    "L8": "learned-query",
    "L9": "learned-inspect",
    "L10": "learned-context",
    "L11": "lesson-retire",
    "Q1": "proof-add",
    "Q2": "verification-add",
    "Q3": "eval-case-add",
    "Q4": "eval-run-add",
    "Q5": "anti-pattern-add",
    "Q6": "anti-pattern-query",
    "Q7": "quality-inspect",
    "Q8": "output-validate",
    "Q9": "verify-query",
    "Q10": "contract-lint",
    "X1": "policy-add",
    "X2": "policy-list",
    "X3": "policy-query",
    "X4": "policy-inspect",
    "X5": "policy-session-context",
    "X6": "policy-retire",
    "A1": "artifact-add",
    "A2": "artifact-hash",
    "A3": "artifact-inspect",
    "A4": "artifact-list",
    "A5": "artifact-verify",
    "S1": "source-add",
    "S2": "source-query",
    "S3": "source-inspect",
    "S4": "source-export",
    "I1": "irl-create",
    "I2": "irl-prediction-add",
    "I3": "irl-correction-add",
    "I4": "irl-outcome-add",
    "I5": "irl-report",
    "T1": "trace-add",
    "T2": "score-add",
    "T3": "trace-report",
    "T4": "score-query",
    "O1": "lab-assemble",
    "O2": "lab-propose",
    "O3": "lab-report",
    "M1": "migration-scan",
    "M2": "migration-dry-run",
    "M3": "migration-apply",
    "M4": "migration-verify",
    "M5": "migration-report",
    "R0": "session-digest",
    "R1": "task-report",
    "R2": "ledger-report",
    "R3": "learning-report",
    "R4": "proof-report",
    "R5": "eval-report",
    "R6": "source-report",
    "R7": "anti-pattern-report",
    "R8": "weekly-report",
    "R9": "monthly-report",
    "R10": "yearly-report",
    "R11": "topic-report",
    "P1": "pipeline-run",
    "P2": "pipeline-inspect",
    "P3": "pipeline-list",
    "P4": "pipeline-submit",
    "P5": "pipeline-next",
    "P6": "pipeline-replay",
    "P7": "pipeline-resume",
    "P8": "pipeline-compare",
    "P11": "protocol-check",
    "D1": "project-adopt",
    "D2": "publish-check",
    "D3": "hook",
    "SK1": "skill-inventory",
    "SK2": "skill-validate",
    "SK3": "skill-links",
}

ALIASES = {"adopt": "D1"}  # other names that people type

FAMILIES = {
    "K": "The database: create, check, back up, verify",
    "W": "Work: tasks, plans, packets, claims",
    "G": "Gotchas: pitfalls that a session met",
    "L": "Lessons: what a gotcha taught, and what is proven",
    "Q": "Quality: proofs, verdicts, evals, anti-patterns",
    "X": "Policy: rules that every session must know",
    "A": "Artifacts: files by their hash",
    "S": "Sources: what was read, and in which version",
    "I": "IRL reviews: predictions and what came of them",
    "T": "Traces: spans of work with time, tokens and cost; scores",
    "O": "Lab: case sets and proposals for improvement",
    "M": "Migration: Markdown lessons become records",
    "R": "Reports: what a session needs, what people want to see",
    "P": "Pipeline: a request becomes a proven change, or a recorded failure",
    "D": "Adoption: other projects, agent hosts, publishing",
    "SK": "Skills: what agents can pick up",
}

NAMES = {**{name: code for code, name in COMMANDS.items()}, **ALIASES}


def find_code(word: str) -> str | None:
    """Return the code for a code or name in any case; None if it is unknown."""
    return word.upper() if word.upper() in COMMANDS else NAMES.get(word.lower())


def join_split_name(argv: list[str]) -> list[str]:
    """Join a name that was typed as two words: `pipeline run` is `pipeline-run`."""
    name = "-".join(argv[:2])
    is_split = len(argv) > 1 and find_code(argv[0]) is None and find_code(name)
    return [name, *argv[2:]] if is_split else argv


# The options of every report, which reach its function as the parameter `output`; `format`
# defaults to its first choice.
OUTPUT_DEFAULTS = {"format": None, "out": None, "open": False, "timezone": None, "as_of": None}


class Command:
    """A command as its function declares it: positional parameters come from the engine,
    keyword-only ones from the user."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.name = COMMANDS[code]
        self.family = code.rstrip("0123456789")
        self.noun, _, verb = self.name.partition("-")
        module = __import__(f"{__package__}.commands.{self.noun}", fromlist=["*"])
        function = verb.replace("-", "_") or self.noun
        self.function: Any = getattr(module, function + "_", None) or getattr(module, function)
        shape = self.function.__code__
        self.needs = shape.co_varnames[: shape.co_argcount]
        option_names = shape.co_varnames[
            shape.co_argcount : shape.co_argcount + shape.co_kwonlyargcount
        ]
        # `from_` is the option `from`, which is a Python keyword
        self.python_names = {name.rstrip("_"): name for name in option_names if name[-1] == "_"}
        self.options = tuple(name.rstrip("_") for name in option_names)
        defaults = self.function.__kwdefaults__ or {}
        self.defaults = {name.rstrip("_"): value for name, value in defaults.items()}
        self.required = [name for name in self.options if name not in self.defaults]
        self.fields: dict[str, Field] = {}  # filled in by get_field
        self.choices: list[str] = []  # filled in for K0
        if "output" in self.needs:
            self.options += tuple(OUTPUT_DEFAULTS)
            format = get_field(self, "format").choices[0]
            self.defaults |= {**OUTPUT_DEFAULTS, "format": format}
        self.writes = bool({"tx", "write", "output"}.intersection(self.needs))
        # A command that needs earlier records must not create the database.
        names_a_record = any(name == "id" or name.endswith("_id") for name in self.required)
        is_late = names_a_record or self.noun == "purge" or self.family == "R"
        self.can_be_first = self.writes and not is_late

    @property
    def help(self) -> str:
        """The docstring before its example, in one line."""
        return " ".join((self.function.__doc__ or "").partition("Example:")[0].split())

    @property
    def example(self) -> str:
        return " ".join((self.function.__doc__ or "").partition("Example:")[2].split())


_commands_by_code: dict[str, Command] = {}  # cached for batches of thousands of lines


def find_command(word: Any) -> Command:
    code = find_code(word) if type(word) is str else None
    if code is None:
        raise explain_unknown_command(word)
    if code not in _commands_by_code:
        _commands_by_code[code] = Command(code)
    return _commands_by_code[code]


def explain_unknown_command(word: Any) -> Usage:
    """Return the error for an unknown command, with the names that are most like it."""
    from difflib import get_close_matches

    from .records.secrets.excerpt import make_excerpt

    words = [*COMMANDS, *NAMES, "help", "completion"]
    near = get_close_matches(str(word)[:60].lower(), [name.lower() for name in words], 3, 0.5)
    near = [name.upper() if name.upper() in COMMANDS else name for name in near]
    return Usage(
        "unknown_command",
        f"There is no command {make_excerpt(word)!r}.",
        f"Did you mean {' or '.join(near)}?" if near else "",
        '`--help` lists all commands; `K0 "what you want to do"` suggests a command.',
    )


def load_commands() -> list[Command]:
    """Load every command, for help, docs, schemas and K0."""
    return [Command(code) for code in COMMANDS]


def describe_commands() -> list[Command]:
    """Return every command with the choices of its options: what K0 searches."""
    commands = load_commands()
    for command in commands:
        command.choices = [
            choice for name in command.options for choice in get_field(command, name).choices
        ]
    return commands
