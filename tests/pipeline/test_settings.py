"""A repository's own settings: read from the commit, checked, and documented from the data that checks them."""

import pytest

from kaizen_components.errors import Refused
from kaizen_components.pipeline.job import PROTECTED, Settings
from kaizen_components.pipeline.target.settings import (
    KEYS,
    parse_settings,
    read_settings,
    render_settings_table,
)

from ..conftest import ROOT
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
[gates.check]
command = ["make", "check"]
replace = true
[gates.test]
command = ["make", "test"]
"""


def test_a_tree_without_settings_has_the_defaults(tmp_path):
    assert vars(read_settings(str(tmp_path))) == vars(Settings())


def test_every_key_is_read(tmp_path):
    write(tmp_path, {".kaizen/pipeline.toml": ALL})
    found = read_settings(str(tmp_path))

    assert (found.coverage_floor, found.kill_floor, found.mutation_s, found.repeats) == (
        0.5,
        0.4,
        5,
        2,
    )
    assert (found.timeout_s, found.minimum_level) == (30, "L3")
    assert found.protected == (*PROTECTED, "schema/**")
    assert found.budget == {"asks": 3, "calls": 9, "tokens": 1000, "cost_usd": 0.5, "seconds": 60}
    assert found.commands == {"check": ["make", "check"], "test": ["make", "test"]}
    assert found.replaces == {"check"}
    assert all(key.name in ALL for key in KEYS)


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
        ("[gates.test]\nreplace = true\n", 1, ["gates.test", "without a command"]),
        ("gates = 1\n", 1, ["gates", "[gates]"]),
        ("repeats = \n", 1, ["TOML"]),
    ],
)
def test_what_is_wrong_is_named_with_its_line_and_what_is_allowed(text, line, names):
    with pytest.raises(Refused) as caught:
        parse_settings(text.encode())
    said = f"{caught.value.what} {caught.value.why}"

    assert f"line {line}" in said
    assert [name for name in names if name not in said] == []


def test_settings_that_are_no_file_are_refused(tmp_path):
    (tmp_path / ".kaizen" / "pipeline.toml").mkdir(parents=True)

    with pytest.raises(Refused):
        read_settings(str(tmp_path))


def test_the_table_in_the_docs_is_the_one_that_the_reader_uses():
    page = (ROOT / "docs" / "pipeline-target.md").read_text()

    assert render_settings_table() in page, "run `make docs`"
