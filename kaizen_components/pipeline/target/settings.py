"""What a repository decides for itself: .kaizen/pipeline.toml, read from the base tree and never from a candidate.

KEYS is all there is: the reader, the errors and the table in docs/pipeline-target.md are made from it.
"""

import os
import re
import tomllib
from typing import Any, NamedTuple

from ...errors import Refused
from ...sandbox.run import LEVELS
from ..job import PROTECTED, Settings
from ..protocol import BUDGETS

__all__ = ["PATH", "Settings", "parse_settings", "read_settings", "render_settings_table"]
PATH = ".kaizen/pipeline.toml"
GATES = ("check", "test")
NUMBER, WHOLE, WORDS, LEVEL, TRUTH = (
    "a number",
    "a whole number",
    "a list of texts",
    "a level",
    "true or false",
)


class Key(NamedTuple):
    table: str  # "" at the top, "budget", "gates.*"
    name: str
    kind: str
    least: float
    most: float
    help: str


KEYS = (
    Key("", "coverage_floor", NUMBER, 0, 1, "the share of changed lines that tests must run"),
    Key("", "kill_floor", NUMBER, 0, 1, "the share of mutants on changed lines that new tests must notice"),
    Key("", "mutation_s", NUMBER, 1, 3_600, "seconds for all mutants together"),
    Key("", "repeats", WHOLE, 1, 20, "how often new tests are run to see whether they are flaky"),
    Key("", "timeout_s", NUMBER, 1, 7_200, "seconds for one command"),
    Key("", "minimum_level", LEVEL, 0, 0, "the weakest sandbox in which a gate may pass: " + ", ".join(LEVELS)),
    Key("", "protected", WORDS, 0, 200, "globs of files that a run may not change, besides those always protected"),
    Key("budget", "asks", WHOLE, 1, 1_000, "answers of a model in one run"),
    Key("budget", "calls", WHOLE, 1, 10_000, "calls of a scout's tools in one run"),
    Key("budget", "tokens", WHOLE, 1, 1_000_000_000, "tokens in and out in one run"),
    Key("budget", "cost_usd", NUMBER, 0.01, 1_000_000, "dollars in one run"),
    Key("budget", "seconds", NUMBER, 1, 1_000_000, "seconds of thinking and judging in one run"),
    Key("gates.*", "command", WORDS, 1, 200, "a command of its own, as a list of words; exit code 0 passes"),
    Key("gates.*", "replace", TRUTH, 0, 0, "the command stands instead of ours, so other tools are not needed"),
)  # fmt: skip
assert {key.name for key in KEYS if key.table == "budget"} == set(BUDGETS)


def read_settings(base: str) -> Settings:
    """The settings of an exported tree; the defaults where it has none."""
    try:
        with open(os.path.join(base, *PATH.split("/")), "rb") as file:
            return parse_settings(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return parse_settings(None)
    except OSError as error:
        raise Refused(
            "bad_settings", f"{PATH} cannot be read.", str(error.strerror), "Make it a plain file."
        ) from None


def parse_settings(data: bytes | None) -> Settings:
    """The settings that a file's content says; None is no file."""
    text = (data or b"").decode("utf-8", "replace")
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Refused(
            "bad_settings", f"{PATH} is no TOML.", f"{error}.", "Mend that line and commit it."
        ) from None
    gates = _table(given.pop("gates", {}), "gates", text)
    budget = _checked("budget", "budget", _table(given.pop("budget", {}), "budget", text), text)
    values = _checked("", "", given, text)
    for name, gate in gates.items():
        if name not in GATES:
            raise _wrong(
                text, f"gates.{name}", name, "no such gate", "the gates are " + " and ".join(GATES)
            )
        gates[name] = _checked(
            "gates.*", f"gates.{name}", _table(gate, f"gates.{name}", text), text
        )
        if "command" not in gates[name]:
            raise _wrong(
                text,
                f"gates.{name}",
                name,
                "a gate without a command",
                'add command = ["make", "check"]',
            )
    if "protected" in values:
        values["protected"] = (*PROTECTED, *values["protected"])
    return Settings(
        **values, budget=budget, commands={name: gate["command"] for name, gate in gates.items()},
        replaces=[name for name, gate in gates.items() if gate.get("replace")],
    )  # fmt: skip


def _table(value, name, text):
    if not isinstance(value, dict):
        raise _wrong(text, "", name, "not a table", f"write it as [{name}]")
    return dict(value)


def _checked(table, place, given, text):
    """The values of one table, if all of them are known and what they should be."""
    known = {key.name: key for key in KEYS if key.table == table}
    for name, value in given.items():
        if name not in known:
            allowed = ", ".join([*known, *(("budget", "gates") if not table else ())])
            raise _wrong(text, place, name, "not a key that exists", f"there are {allowed}")
        if not _fits(known[name], value):
            raise _wrong(text, place, name, f"not {_wanted(known[name])}", known[name].help)
    return given


def _fits(key: Key, value: Any) -> bool:
    if key.kind == TRUTH:
        return isinstance(value, bool)
    if key.kind == LEVEL:
        return value in LEVELS
    if key.kind == WORDS:
        texts = isinstance(value, list) and all(
            isinstance(word, str) and word and "\0" not in word for word in value
        )
        return texts and key.least <= len(value) <= key.most
    kinds = (int,) if key.kind == WHOLE else (int, float)
    return (
        isinstance(value, kinds) and not isinstance(value, bool) and key.least <= value <= key.most
    )


def _wanted(key: Key) -> str:
    if key.kind in (NUMBER, WHOLE):
        return f"{key.kind} from {key.least:,} to {key.most:,}"
    return f"one of {', '.join(LEVELS)}" if key.kind == LEVEL else key.kind


def _wrong(text, place, name, what, allowed):
    full = place if place.endswith(f".{name}") else f"{place}.{name}" if place else name
    line = _line(text, place, name)
    return Refused(
        "bad_settings",
        f"{PATH}{f', line {line}' if line else ''}: {full} is {what}.",
        f"{allowed[0].upper()}{allowed[1:]}.",
        "Mend it in the target and commit it: settings are read from the commit that a run starts from.",
    )


def _line(text, place, name):
    """The line that has a key, or the header of its table; 0 where it is written in some other way."""
    here, table = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line)
        if header:
            here = header[1].replace('"', "").replace(" ", "")
            table = number if here in (place, name) or here.endswith("." + name) else table
        elif here == place and re.match(rf'\s*"?{re.escape(name)}"?\s*[=.]', line):
            return number
    return table


def render_settings_table() -> str:
    """The reference in docs/pipeline-target.md."""
    defaults = vars(Settings())
    lines = ["| table | key | value | default | what it is |", "|---|---|---|---|---|"]
    for key in KEYS:
        default = {"protected": "none", "replace": "false", "command": "none"}.get(
            key.name, defaults.get(key.name)
        )
        shown = (
            "the protocol's"
            if default is None
            else f"`{default}`"
            if default not in ("none",)
            else default
        )
        where = f"`[{key.table}]`" if key.table else "top"
        lines.append(
            f"| {where.replace('*', 'NAME')} | `{key.name}` | {_wanted(key)} | {shown} | {key.help} |"
        )
    return "\n".join(lines)
