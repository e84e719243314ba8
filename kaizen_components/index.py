"""The table of contents: short code -> name. The name is the address.

`task-start` is the function `start` in `commands/task.py`: the first word is the module, the rest the function; a
name of one word is a function in the module of the same name. A function that would hide something its module
needs has a trailing underscore (`link_`).
"""

from .errors import Usage

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
}

FAMILIES = {
    "K": "The database: create, check, back up, verify",
    "W": "Work: tasks, plans, packets, claims",
}

NAMES = {name: code for code, name in COMMANDS.items()}


def code_of(word: str) -> str | None:
    """The code for a code or a name in any case, or None."""
    return word.upper() if word.upper() in COMMANDS else NAMES.get(word.lower())


class Command:
    """One command as its function declares it: positional parameters are the engine's, keyword-only the user's."""

    def __init__(self, code: str):
        self.code = code
        self.name = COMMANDS[code]
        self.noun, _, verb = self.name.partition("-")
        module = __import__(f"{__package__}.commands.{self.noun}", fromlist=["*"])
        function = verb.replace("-", "_") or self.noun
        self.function = getattr(module, function + "_", None) or getattr(module, function)
        shape = self.function.__code__
        self.needs = shape.co_varnames[: shape.co_argcount]
        self.options = shape.co_varnames[shape.co_argcount : shape.co_argcount + shape.co_kwonlyargcount]
        self.defaults = self.function.__kwdefaults__ or {}
        self.choices: list[str] = []  # filled in where they are searched; the fields know them

    @property
    def writes(self) -> bool:
        return "tx" in self.needs

    @property
    def can_be_first(self) -> bool:
        """May this write make the database? Not if it needs earlier records: those are not there."""
        names_a_record = any(name == "id" or name.endswith("_id") for name in self.required)
        return self.writes and not names_a_record and self.noun != "purge"

    @property
    def family(self) -> str:
        return self.code.rstrip("0123456789")

    @property
    def help(self) -> str:
        """The first paragraph of the docstring, in one line."""
        return " ".join(self._parts()[0].split())

    @property
    def example(self) -> str:
        return self._parts()[1].strip()

    def _parts(self):
        text, _, example = (self.function.__doc__ or "").partition("Example:")
        return text, example

    @property
    def required(self) -> list[str]:
        return [name for name in self.options if name not in self.defaults]


_found: dict[str, Command] = {}  # a batch of thousands looks each one up once


def find_command(word):
    code = code_of(word) if type(word) is str else None
    if code is None:
        raise unknown_command(word)
    if code not in _found:
        _found[code] = Command(code)
    return _found[code]


def unknown_command(word):
    from difflib import get_close_matches

    shown = repr(word if type(word) is str and len(word) <= 60 else str(word)[:57] + "...")
    words = [*COMMANDS, *COMMANDS.values(), "help", "completion"]
    near = get_close_matches(str(word)[:60].lower(), [name.lower() for name in words], 3, 0.5)
    near = [name.upper() if name.upper() in COMMANDS else name for name in near]
    return Usage(
        "unknown_command",
        f"There is no command {shown}.",
        f"Did you mean {' or '.join(near)}?" if near else "",
        '`--help` lists all commands; `K0 "what you want to do"` finds one.',
    )


def catalog():
    """Every command, loaded: what help, docs, schemas and K0 are made from."""
    return [Command(code) for code in COMMANDS]
