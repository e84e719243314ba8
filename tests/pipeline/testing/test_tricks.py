"""Tricks that get past the file checks must not change the reported outcomes."""

import importlib.util
import marshal
import os
import sys

import pytest

from kaizen_components.pipeline.gates import session_box
from kaizen_components.pipeline.gates.tests import session
from kaizen_components.pipeline.job import Tools

from ..conftest import held_to
from .conftest import BASE, DOUBLE, MAIN, NEW, world

WRONG = MAIN + DOUBLE.replace("* 2", "* 3")
PASSES = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
"""


def compile_stale():
    code = compile(MAIN + DOUBLE, "main.py", "exec")
    return importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)


TRICKS = {
    "conftest.py": PASSES,
    "tests/conftest.py": PASSES,
    "pytest.ini": "[pytest]\naddopts = --ignore=tests/test_new.py\n",
    "sitecustomize.py": "import os\nos._exit(0)\n",
    f"app/__pycache__/main.{sys.implementation.cache_tag}.pyc": compile_stale(),
    "pytest.py": "",
    "_pytest/__init__.py": "",
    "pluggy.py": "",
}


def test_candidate_tricks_do_not_hide_a_failing_test(candidate, run_head):
    report = run_head(candidate({"app/main.py": WRONG, **TRICKS}))

    assert {id: outcome.kind for id, outcome in report.outcomes.items()} == {
        "tests/test_main.py::test_one": "passed",
        f"{NEW}::test_double": "failed",
    }
    assert report.list_doubts() == []


def test_base_that_rewrites_test_reports_is_not_trusted(judge):
    fails = {"conftest.py": PASSES, "tests/test_fails.py": "def test_fails():\n    assert 0\n"}
    verdict = judge(base={**BASE, **fails})

    assert verdict.reason == "missing"
    assert "test_fails passed only in the report" in "".join(one.text for one in verdict.findings)


def test_source_tree_is_restored_between_test_sessions(candidate):
    vandal = (
        "import pathlib\n\n\ndef test_it():\n    here = pathlib.Path(__file__).parent\n"
        "    assert not (here / 'left').exists()\n    (here / 'left').write_text('')\n"
        "    (here / 'test_main.py').write_text('def test_one(): assert 0')\n"
        "    (here.parent / 'app/main.py').unlink()\n"
    )
    plans = [session.plan_session("run", "head", [], 60.0, shuffle=f"{at}") for at in range(3)]

    reports, _ = session.run_sessions(candidate(test=vandal), plans, hash_seed=1)

    assert [report.outcomes[f"{NEW}::test_it"].kind for report in reports] == ["passed"] * 3


def test_test_report_with_wrong_signature_is_ignored(tmp_path):
    (tmp_path / "report.json").write_bytes(b"0" * 64 + b'\n{"sessions": []}')

    assert session_box.read_signed_report(str(tmp_path), "ab" * 32) is None


FORGER = """
import os


def test_it():
    line = b'{"kind": "test", "id": "x", "own": "", "outcome": "passed"}\\n'
    for number in range(3, 40):
        try:
            os.write(number, line)
        except OSError:
            pass
"""
KEY = """
import os, sys


def test_it():
    frame, seen = sys._getframe(), []
    while frame:
        seen += [v for v in frame.f_locals.values() if isinstance(v, bytearray) and len(v) == 32]
        frame = frame.f_back
    assert seen and not any(any(one) for one in seen)
    assert not os.path.exists('../../plan.json')
"""
ENVIRONMENT = """
import os, sys


def test_it():
    assert not [name for name in os.environ if name.startswith('PYTEST_ADD')]
    assert OUTSIDE not in sys.path
    assert os.path.realpath(sys.path[0]).startswith(os.getcwd())
    assert sys.dont_write_bytecode
"""


def test_session_hides_key_and_reports_forged_events(candidate, run_head, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTEST_ADDOPTS", "--collect-only")
    environment = ENVIRONMENT.replace("OUTSIDE", repr(str(tmp_path)))
    tests = {"key": KEY, "environment": environment, "forger": FORGER}
    files = {f"tests/test_{name}.py": text for name, text in tests.items()}
    job = candidate(files, None, tests=tuple(files))

    report = run_head(job, files)

    for path in files:
        outcome = report.outcomes[f"{path}::test_it"]
        assert outcome.kind == "passed", outcome.text
    assert "other code wrote into its report" in report.list_doubts()
    assert not [name for name in os.listdir(job.scratch) if name.startswith("box-")]


@pytest.mark.parametrize("level", ["L1", "L2"])  # in L2 the folder on the path cannot be read
def test_editable_install_does_not_hide_candidate(
    candidate, run_head, tmp_path, monkeypatch, level
):
    """The install has a folder on the path and a finder before all others."""
    held_to(level, monkeypatch)
    elsewhere, python = tmp_path / "elsewhere", world.copy_environment(tmp_path / "editable")
    world.write_tree(elsewhere, {"app/__init__.py": "", "app/main.py": MAIN + DOUBLE})
    site = next((tmp_path / "editable").glob("lib/*/site-packages"))
    (site / "app.pth").write_text(f"{elsewhere}\nimport app_finder\n")
    (site / "app_finder.py").write_text(
        "import sys\nfrom importlib.machinery import PathFinder\nMAPPING = {}\nclass Finder:\n    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        f"        return PathFinder.find_spec(name, [{str(elsewhere)!r}]) if name == 'app' else None\n"
        "sys.meta_path.insert(0, Finder)\n"
    )
    tools = Tools([str(python)], (str(tmp_path / "editable"), sys.base_prefix))

    report = run_head(candidate({"app/main.py": WRONG}, tools=tools))

    assert "assert 9 == 6" in report.outcomes[f"{NEW}::test_double"].text
