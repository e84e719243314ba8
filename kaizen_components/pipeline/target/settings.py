"""Read a repository's own settings: .kaizen/pipeline.toml of the base, never of a candidate.

The errors and the table in docs/pipeline-target.md are made from the tables below. Import this
module in the function that needs it: pydantic is slow.
"""

import os
import re
import tomllib
from functools import cache
from typing import Annotated, Any, Literal, Required

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from ...errors import Refused
from ..job import PROTECTED, Settings
from ..protocol import BUDGETS

PATH = ".kaizen/pipeline.toml"
TYPES = {
    "array": "a list of texts",
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
}
TABLES = (
    ("", "top"),
    ("budget", "`[budget]`"),
    ("attempts", "`[attempts]`"),
    ("gate", "`[gates.NAME]`"),
)
Word = Annotated[str, Field(pattern=r"^[^\x00]+$")]
table = with_config(ConfigDict(extra="forbid", strict=True, allow_inf_nan=False))


def _number(least: float, most: float, description: str) -> Any:
    return Field(ge=least, le=most, description=description)


@table
class Budget(TypedDict, total=False):
    asks: Annotated[int, _number(1, 1_000, "answers of a model in one run")]
    calls: Annotated[int, _number(1, 10_000, "calls of a scout's tools in one run")]
    tokens: Annotated[int, _number(1, 1_000_000_000, "tokens in and out in one run")]
    cost_usd: Annotated[float, _number(0.01, 1_000_000, "dollars in one run")]
    seconds: Annotated[float, _number(1, 1_000_000, "seconds of thinking and judging in one run")]


_Attempts = Annotated[int, _number(1, 100, "answers that a model may give in this step")]
Attempts = TypedDict(
    "Attempts",
    {
        "plan": _Attempts, "scout": _Attempts, "build": _Attempts, "tests": _Attempts,
        "review": _Attempts, "exploration-plan": _Attempts, "execution-analysis": _Attempts,
        "spec-synthesis": _Attempts, "spec-refinement": _Attempts,
    },
    total=False,
)  # fmt: skip
table(Attempts)


@table
class Gate(TypedDict, total=False):
    command: Required[
        Annotated[
            list[Word],
            Field(
                min_length=1,
                max_length=200,
                description="the command to run, as a list of words; exit code 0 passes",
            ),
        ]
    ]
    replace: Annotated[
        bool,
        Field(description="the command replaces Kaizen's checks, so their tools are not needed"),
    ]


@table
class Gates(TypedDict, total=False):
    check: Gate
    test: Gate


@table
class SettingsFile(TypedDict, total=False):
    coverage_floor: Annotated[
        float, _number(0, 1, "the share of changed lines that tests must run")
    ]
    kill_floor: Annotated[
        float, _number(0, 1, "the share of mutants on changed lines that new tests must detect")
    ]
    mutation_s: Annotated[float, _number(1, 3_600, "seconds for all mutants together")]
    repeats: Annotated[int, _number(1, 20, "how often new tests run, to find flaky ones")]
    timeout_s: Annotated[float, _number(1, 7_200, "seconds for one command")]
    minimum_level: Annotated[
        Literal["L0", "L1", "L2", "L3"],
        Field(description="the weakest sandbox in which a gate may pass"),
    ]
    protected: Annotated[
        list[Word],
        Field(max_length=200, description="globs of further files that a run may not change"),
    ]
    budget: Budget
    attempts: Attempts
    gates: Gates


assert set(Budget.__annotations__) == set(BUDGETS)


def read_settings(base: str) -> Settings:
    """Read the settings of an exported tree; return the defaults if it has none."""
    try:
        with open(os.path.join(base, *PATH.split("/")), "rb") as file:
            return parse_settings(file.read())
    except (FileNotFoundError, NotADirectoryError):
        return parse_settings(None)
    except OSError as error:
        raise Refused(
            "bad_settings",
            f"{PATH} cannot be read.",
            str(error.strerror),
            "Make it a plain, readable file and commit it.",
        ) from None


def parse_settings(data: bytes | None) -> Settings:
    """Parse and check the content of the file; None stands for a missing file."""
    text = (data or b"").decode("utf-8", "replace")
    try:
        values = tomllib.loads(text)
        _adapter().validate_python(values)
    except tomllib.TOMLDecodeError as error:
        raise Refused(
            "bad_settings",
            f"{PATH} is not valid TOML.",
            f"{error}.",
            "Fix that line and commit it.",
        ) from None
    except ValidationError as error:
        places = [(_find_line(text, fault["loc"]), fault) for fault in error.errors()]
        raise _explain_fault(*min(places, key=lambda place: place[0])) from None
    # The parsed TOML, because pydantic turns 60 into 60.0, and a run records its budget.
    gates, budget = values.pop("gates", {}), values.pop("budget", {})
    if "protected" in values:
        values["protected"] = (*PROTECTED, *values["protected"])
    return Settings(
        **values,
        budget=budget,
        commands={name: gate["command"] for name, gate in gates.items()},
        replaces=[name for name, gate in gates.items() if gate.get("replace")],
    )


@cache
def _adapter() -> TypeAdapter[SettingsFile]:
    return TypeAdapter(SettingsFile)


@cache
def _load_properties() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the keys by table: "", "budget", "gates" or "gate"."""
    schema = _adapter().json_schema()
    return {"": schema["properties"]} | {
        name.lower(): inner["properties"] for name, inner in schema["$defs"].items()
    }


def _explain_fault(line: int, fault: Any) -> Refused:
    """Return the error for a fault that pydantic found on this line."""
    keys = [part for part in fault["loc"] if isinstance(part, str)]
    name, parents = ".".join(keys), keys[:-1]
    properties = _load_properties()["gate" if len(parents) == 2 else "".join(parents)]
    if fault["type"] == "extra_forbidden":
        what = "is unknown"
        why = f"The known keys are {', '.join([*properties][:-1])} and {[*properties][-1]}."
    elif fault["type"] == "missing":
        what, why = "is missing", 'Add a line such as command = ["make", "check"].'
    elif fault["type"] == "dict_type":
        what, why = "is not a table", f"Write it as [{name}]."
    else:
        what = f"is not {_describe_value(properties[keys[-1]])}"
        why = f"It is {properties[keys[-1]]['description']}."
    return Refused(
        "bad_settings",
        f"{PATH}{f', line {line}' if line else ''}: {name} {what}.",
        why,
        "Fix it in the target and commit it: a run reads the settings of its base commit.",
    )


def _describe_value(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    limits = f" from {schema['minimum']:,} to {schema['maximum']:,}" if "minimum" in schema else ""
    return TYPES[schema["type"]] + limits


def _find_line(text: str, loc: tuple[int | str, ...]) -> int:
    """Return the line of a key, or of its table's header; 0 if neither is found."""
    *parents, name = [part for part in loc if isinstance(part, str)]
    place = ".".join(parents)
    table_name, header_line = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\s*([^\[\]]+?)\s*\]", line):
            table_name = header[1].replace('"', "").replace(" ", "")
            if table_name in (place, name) or table_name.endswith("." + name):
                header_line = number
        elif table_name == place and re.match(rf'\s*"?{re.escape(name)}"?\s*[=.]', line):
            return number
    return header_line


def render_settings_table() -> str:
    """Return the table of all keys for docs/pipeline-target.md."""
    defaults = {**vars(Settings()), "protected": "none", "replace": "false", "command": "none"}
    keys: dict[tuple[str, str], list[str]] = {}  # that differ only in their name share a row
    for name, where in TABLES:
        for key, schema in _load_properties()[name].items():
            if "$ref" not in schema:
                default = defaults.get(key, "the protocol's")
                is_text = default in ("none", "the protocol's")
                default = default if is_text else f"`{default}`"
                row = f"{_describe_value(schema)} | {default} | {schema['description']} |"
                keys.setdefault((where, row), []).append(f"`{key}`")
    head = ["| table | key | value | default | what it is |", "|---|---|---|---|---|"]
    return "\n".join(
        head + [f"| {where} | {', '.join(names)} | {row}" for (where, row), names in keys.items()]
    )
