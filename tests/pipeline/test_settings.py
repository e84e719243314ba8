"""Check .kaizen/pipeline.toml: its values, errors with line numbers, and the table in the docs."""

import json
import re

import pytest

from kaizen_components.errors import Refused
from kaizen_components.pipeline.job import PROTECTED, Settings
from kaizen_components.pipeline.target.settings import (
    parse_settings,
    read_settings,
    render_settings_table,
)

from .targets import write

ALL = """
coverage_floor = 0.5
kill_floor = 0.4
mutation_s = 5
repeats = 2
timeout_s = 30
minimum_level = "L3"
protected = ["schema/**"]
[budget]
asks = 3
calls = 9
tokens = 1000
cost_usd = 0.5
seconds = 60
[attempts]
build = 5
exploration-plan = 7
[gates.check]
command = ["make", "check"]
replace = true
[gates.test]
command = ["make", "test"]
"""


def test_tree_without_settings_has_defaults(tmp_path):
    assert vars(read_settings(str(tmp_path))) == vars(Settings())


def test_every_documented_key_is_read(tmp_path):
    write(tmp_path, {".kaizen/pipeline.toml": ALL})

    budget = {"asks": 3, "calls": 9, "tokens": 1000, "cost_usd": 0.5, "seconds": 60}
    assert vars(read_settings(str(tmp_path))) == {
        "coverage_floor": 0.5,
        "kill_floor": 0.4,
        "mutation_s": 5,
        "repeats": 2,
        "timeout_s": 30,
        "minimum_level": "L3",
        "protected": (*PROTECTED, "schema/**"),
        "budget": budget,
        "attempts": {"build": 5, "exploration-plan": 7},
        "commands": {"check": ["make", "check"], "test": ["make", "test"]},
        "replaces": {"check"},
        "allow_failing_baseline": False,
    }
    rows = re.findall(r"^\| [^|]*\| (`[^|]*`) ", render_settings_table(), re.M)
    keys = [row.split("`")[1] for row in rows if not row.startswith("`plan`")]
    assert len(keys) == 14 and len(rows) == 15
    assert [key for key in keys if not re.search(rf"^{key} = ", ALL, re.M)] == []


def test_whole_number_in_budget_stays_integer():
    budget = parse_settings(b"[budget]\nseconds = 60\n").budget

    assert json.dumps(budget) == '{"seconds": 60}', "the record of a run has these bytes"


@pytest.mark.parametrize(
    "text, line, names",
    [
        ("repeats = 1\ncovrage_floor = 1\n", 2, ["covrage_floor", "coverage_floor", "budget"]),
        ("coverage_floor = 1.5\n", 1, ["coverage_floor", "from 0 to 1"]),
        ("repeats = true\n", 1, ["repeats", "a whole number"]),
        ("repeats = 1.5\n", 1, ["repeats", "a whole number"]),
        ("minimum_level = 'L9'\n", 1, ["L0, L1, L2, L3"]),
        ("protected = 'x'\n", 1, ["protected", "a list of texts"]),
        ("[budget]\n\nasks = 0\n", 3, ["budget.asks"]),
        ("[budget]\nminutes = 1\n", 2, ["budget.minutes", "asks, calls, tokens"]),
        ("[gates.lint]\ncommand = ['x']\n", 1, ["gates.lint", "check and test"]),
        ("[gates.check]\ncommand = 'make check'\n", 2, ["gates.check.command", "a list of texts"]),
        ("[gates.check]\ncommand = []\n", 2, ["gates.check.command"]),
        ("[gates.test]\nreplace = true\n", 1, ["gates.test.command", "missing"]),
        ("gates = 1\n", 1, ["gates", "[gates]"]),
        ("repeats = \n", 1, ["TOML"]),
        ("kill_floor = nan\n", 1, ["kill_floor", "from 0 to 1"]),
        ("kill_floor = true\n", 1, ["kill_floor", "from 0 to 1"]),
        ('protected = ["a", ""]\n', 1, ["protected", "a list of texts"]),
        ('protected = ["a\\u0000"]\n', 1, ["protected", "a list of texts"]),
        ("[gates]\ncheck = 1\n", 2, ["gates.check", "not a table", "[gates.check]"]),
        ("repeats = 1\n[budget]\nasks = 0\n[gates]\nlint = 1\n", 3, ["budget.asks"]),
    ],
)
def test_error_names_line_and_allowed_values(text, line, names):
    with pytest.raises(Refused) as caught:
        parse_settings(text.encode())
    said = f"{caught.value.what} {caught.value.why}"

    assert f"line {line}" in said
    assert [name for name in names if name not in said] == []


def test_settings_folder_is_refused(tmp_path):
    (tmp_path / ".kaizen" / "pipeline.toml").mkdir(parents=True)

    with pytest.raises(Refused):
        read_settings(str(tmp_path))
