"""Targets as they come: layouts, kinds of tests, and environments that already have the target."""

import sys

import pytest

from kaizen_components.pipeline.gates.tests import pytest_config
from kaizen_components.pipeline.job import Tools

from ..conftest import held_to
from .conftest import BASE, DOUBLE, NEW, TEST, world

SRC = {
    "src/pack/__init__.py": "",
    "src/pack/deep/__init__.py": "",
    "src/pack/deep/main.py": "def one():\n    return 1\n",
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "-x --strict-markers"\n',
    "tests/unit/__init__.py": "",
    "tests/unit/test_main.py": "from pack.deep.main import one\n\n\ndef test_one():\n    assert one() == 1\n",
}


def test_src_layout_with_subpackages_is_found(verdict):
    head = {"src/pack/deep/main.py": SRC["src/pack/deep/main.py"] + DOUBLE, "app/main.py": None}
    test = TEST.replace("app.main", "pack.deep.main")
    seen = verdict(
        {**head, "tests/unit/test_new.py": test, NEW: None},
        base=SRC,
        tests=("tests/unit/test_new.py",),
        paths=("src",),
    )

    assert seen.reason == "pass", seen.findings and seen.findings[0].text
    assert seen.facts["baseline_passed"] == 1


def test_target_without_tests_is_judged_by_the_new_ones(verdict):
    base = {name: text for name, text in BASE.items() if not name.startswith("tests/")}
    seen = verdict(base=base)

    assert (seen.reason, seen.facts["baseline_passed"]) == ("pass", 0)


def test_new_tests_outside_of_what_pytest_collects_are_run_too(verdict):
    base = {**BASE, "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'}
    seen = verdict({NEW: None, "spec/new.py": TEST}, base=base, tests=("spec/new.py",))

    assert seen.reason == "pass", seen.findings and seen.findings[0].text


def test_unittest_parametrized_and_async_cases_are_tests(verdict):
    test = """import unittest

import pytest
from app.main import double


class Doubles(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        self.number = 3

    def test_plain(self):
        self.assertEqual(double(self.number), 6)

    async def test_awaited(self):
        self.assertEqual(double(self.number), 6)


@pytest.mark.parametrize(("number", "twice"), [(1, 2), (-1, -2)])
def test_many(number, twice):
    assert double(number) == twice
"""
    seen = verdict(test=test)

    assert seen.reason == "pass", seen.findings and seen.findings[0].text


@pytest.mark.parametrize("level", ["L1", "L2"])  # in L2 the folder on the path cannot be read
def test_editable_install_does_not_hide_candidate(verdict, tmp_path, monkeypatch, level):
    """Both kinds: a folder on the path, and a finder that comes before all others."""
    held_to(level, monkeypatch)
    elsewhere, python = tmp_path / "elsewhere", world.make_environment(tmp_path / "editable")
    world.write(
        elsewhere,
        {
            "app/__init__.py": "",
            "app/main.py": "def one():\n    return 1\n\n\ndef double(number):\n    return 6\n",
        },
    )
    site = next((tmp_path / "editable").glob("lib/*/site-packages"))
    (site / "app.pth").write_text(f"{elsewhere}\nimport app_finder\n")
    (site / "app_finder.py").write_text(
        "import sys\nfrom importlib.machinery import PathFinder\nMAPPING = {}\nclass Finder:\n    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        return PathFinder.find_spec(name, [{str(elsewhere)!r}]) if name == 'app' else None\n"
        "sys.meta_path.insert(0, Finder)\n"
    )
    reads = (str(tmp_path / "editable"), sys.base_prefix)
    tools = Tools([str(python)], reads)
    wrong = {"app/main.py": BASE["app/main.py"] + DOUBLE.replace("* 2", "* 5")}

    assert verdict(tools=tools).reason == "pass"
    seen = verdict(wrong, tools=tools)
    assert (seen.reason, "assert 15 == 6" in seen.findings[0].text) == ("check", True)


@pytest.mark.parametrize(
    "name, text, blocked",
    [
        ("pytest.ini", "[pytest]\naddopts = -q -p no:xdist -pno:cov\n", ["cov", "xdist"]),
        (
            "pytest.ini",
            "[pytest]\n# -p no:xdist\naddopts = -p no:xdist.looponfail -p yes\n",
            ["xdist.looponfail"],
        ),
        ("setup.cfg", "[tool:pytest]\naddopts = -p no:a -k 'no: p'\n", ["a"]),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = ['-p', 'no:xdist']\n", ["xdist"]),
        ("pytest.toml", "[pytest]\naddopts = ['-p', 'no:xdist']\n", ["xdist"]),
        ("pytest.ini", "[pytest]\naddopts = 'open\n", []),
        ("pyproject.toml", "no TOML at all", []),
    ],
)
def test_plugins_that_the_configuration_blocks_are_known(tmp_path, name, text, blocked):
    (tmp_path / name).write_text(text)

    assert sorted(pytest_config.list_blocked_plugins(str(tmp_path / name))) == sorted(
        [*blocked, *(f"pytest_{one}" for one in blocked)]
    )


def test_a_configuration_may_block_all_plugins(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -q --disable-plugin-autoload\n")

    assert pytest_config.list_blocked_plugins(str(tmp_path / "pytest.ini")) == ["*"]
