"""The whole TEST gate with real pytest sessions: each fault gives its reason."""

import sys
import venv

from kaizen_components.pipeline.gates.prove import prove_test_gate
from kaizen_components.pipeline.job import Tools

from .conftest import BASE, DOUBLE, MAIN, NEW, TEST

ODD = "import sys\n\n\ndef test_odd():\n    assert sys.gettrace() is None\n"
LIAR = """

class Yes:
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0


def lie(number):
    return [Yes()]
"""
HONEST = '''from __future__ import annotations

from unittest import mock

import pytest
from app.main import double


def test_double():
    """Text."""
    assert double(3) == 6 != 7
    assert double(0.5) == pytest.approx(1.0)
    assert [double(1), double(2)] == [2, mock.ANY]
    assert 1 < double(1) < 3
'''


def rules(verdict):
    return {finding.rule for finding in verdict.findings}


def test_good_candidate_passes_and_records_facts(judge):
    verdict = judge()

    assert (verdict.reason, verdict.findings) == ("pass", [])
    assert verdict.facts["coverage"] == 1.0
    assert verdict.facts["mutants"]["killed"] == verdict.facts["mutants"]["tried"] > 0
    assert verdict.facts["baseline_passed"] == 1
    assert all(run.argv[0] == verdict.runs[0].argv[0] for run in verdict.runs)


def test_newly_failing_or_skipped_test_is_regression(judge):
    base = {
        **BASE,
        "app/two.py": "def two():\n    return 2\n",
        "tests/test_two.py": "from app.two import two\n\n\ndef test_two():\n    assert two() == 2\n",
    }
    skips = "import pytest\n\n\ndef two():\n    pytest.skip('later')\n"
    wrong = MAIN.replace("return 1", "return 2") + DOUBLE
    verdict = judge({"app/main.py": wrong, "app/two.py": skips}, base=base)

    assert (verdict.reason, rules(verdict)) == ("regression", {"regression"})
    first, second = verdict.findings
    assert "tests/test_main.py::test_one passed before and fails now" in first.text
    assert "tests/test_two.py::test_two passed before and is skipped now" in second.text


def test_failing_new_test_gets_reason_check(judge):
    verdict = judge({"app/main.py": MAIN + DOUBLE.replace("* 2", "* 3")})

    assert (verdict.reason, rules(verdict)) == ("check", {"new-test"})
    assert "assert 9 == 6" in verdict.findings[0].text


def test_candidate_without_new_tests_gets_reason_weak(judge):
    verdict = judge(test=None, tests=())

    assert (verdict.reason, rules(verdict)) == ("weak", {"no-tests"})


def test_uncovered_lines_are_reported_despite_pragma(judge):
    branch = (
        "\n\ndef double(number):\n    if number > 100:  # pragma: no cover\n        number = 100\n"
        "        number += 0\n    return number * 2\n"
    )
    verdict = judge({"app/main.py": MAIN + branch})

    assert (verdict.reason, rules(verdict)) == ("weak", {"coverage"})
    assert [finding.line for finding in verdict.findings] == [7, 8]


def test_surviving_mutants_are_reported(judge):
    blind = (
        "from app.main import double\n\n\ndef test_double():\n    assert len(repr(double(3))) > 0\n"
    )
    verdict = judge(test=blind)

    assert (verdict.reason, rules(verdict)) == ("weak", {"mutant"})
    assert ("number * 2  ->  number + 2" in verdict.findings[0].text) or any(
        finding.line == 6 and "number * 2  ->  number + 2" in finding.text
        for finding in verdict.findings
    )


def test_order_dependent_tests_are_reported_as_flaky(judge):
    steps = "".join(
        f"\n\ndef test_{at}():\n    assert double(len(DONE)) == {2 * at}\n    DONE.append(1)\n"
        for at in range(6)
    )
    verdict = judge(test="from app.main import double\n\nDONE = []\n" + steps, repeats=2)

    assert (verdict.reason, rules(verdict)) == ("flaky", {"flaky"})


def test_comparison_with_always_equal_value_is_reported(judge):
    lie = "from app.main import lie\n\n\ndef test_lie():\n    assert lie(3) == [6]\n"
    files = {"app/main.py": MAIN + DOUBLE + LIAR, "tests/test_lie.py": lie}
    verdict = judge(files, test=HONEST, tests=(NEW, "tests/test_lie.py"), coverage_floor=0.5)

    assert (verdict.reason, rules(verdict)) == ("check", {"equals-everything"})
    assert [finding.text.split()[0] for finding in verdict.findings] == [
        "tests/test_lie.py::test_lie"
    ]


def test_base_with_failing_tests_is_refused_unless_allowed(judge):
    base = {
        **BASE,
        "tests/test_odd.py": ODD,  # fails in the second run, which has a tracer
        "tests/test_fails.py": "def test_fails():\n    assert 0\n",
        "tests/test_bad.py": "import nothing_like_it\n",
    }
    wrong = {"app/main.py": "def one():\n    return 2\n" + DOUBLE}
    refused = judge(base=base)
    allowed = judge(base=base, allow_failing_baseline=True)
    broken = judge(wrong, base=base, allow_failing_baseline=True)

    assert (refused.reason, allowed.reason, broken.reason) == ("missing", "pass", "regression")
    failed = ["tests/test_bad.py", "tests/test_fails.py::test_fails"]
    assert allowed.facts["baseline_failed"] == failed
    assert allowed.facts["flaky"] == ["tests/test_odd.py::test_odd"]
    assert "1 flaky" in allowed.says


def test_missing_pytest_is_reported_with_install_command(judge, tmp_path):
    venv.create(tmp_path / "bare", symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    tools = Tools([python], (str(tmp_path / "bare"), sys.base_prefix))
    verdict, with_uv = judge(tools=tools), judge(base={**BASE, "uv.lock": ""}, tools=tools)

    assert verdict.reason == "missing"
    assert f"{python} -m pip install 'pytest>=8' 'coverage>=7'" in verdict.says
    assert "uv add --dev 'pytest>=8' 'coverage>=7'" in with_uv.says


def test_sandbox_below_minimum_level_blocks_gate(judge, monkeypatch):
    monkeypatch.setenv("KAIZEN_SANDBOX_MAX", "L1")

    assert judge(minimum_level="L3").reason == "missing"


def test_endless_test_session_is_not_trusted(candidate, run_head):
    endless = "\n\ndef double(number):\n    while True:\n        pass\n"
    report = run_head(candidate({"app/main.py": MAIN + endless}), [NEW], timeout_s=1.0)

    assert report.list_doubts() == ["it did not end in time"]


def test_early_end_of_test_session_reports_last_lines(candidate, run_head):
    leaves = "import os\n\nos.write(2, b'first\\nlast words\\n')\nos._exit(0)\n"
    base = {**BASE, "pytest.ini": "[pytest]\naddopts = -s\n"}
    report = run_head(candidate({"app/main.py": leaves}, base=base))

    assert report.list_doubts() == ["it ended before pytest did: first\nlast words"]


def test_proof_of_test_gate_without_interpreter_fails():
    """`K11 --gates` tests that the gate tells its good candidate from its bad one."""
    rows = prove_test_gate(Tools(["no-such-python"]))

    assert [(row["got"], row["ok"]) for row in rows] == [("missing", False)] * 2


def test_src_layout_with_unittest_tests_passes(judge):
    base = {
        "src/pack/__init__.py": "",
        "src/pack/deep/__init__.py": "",
        "src/pack/deep/main.py": MAIN,
        "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "-x --strict-markers"\n',
        "tests/unit/__init__.py": "",
        "tests/unit/test_main.py": BASE["tests/test_main.py"].replace("app.main", "pack.deep.main"),
    }
    test = """import unittest

import pytest
from pack.deep.main import double


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
    head = {"src/pack/deep/main.py": MAIN + DOUBLE, "app/main.py": None}
    tests = ("tests/unit/test_new.py",)
    verdict = judge({**head, tests[0]: test}, None, base, tests, paths=("src",))

    assert verdict.reason == "pass", verdict.findings[0].text
    assert verdict.facts["baseline_passed"] == 1


def test_target_without_tests_passes_with_new_tests(judge):
    """The new test is outside `testpaths`, so pytest collects it only by name."""
    base = {name: text for name, text in BASE.items() if not name.startswith("tests/")}
    base["pyproject.toml"] = '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'
    verdict = judge({"spec/new.py": TEST}, None, base, ("spec/new.py",))

    assert (verdict.reason, verdict.facts["baseline_passed"]) == ("pass", 0), verdict.findings[
        0
    ].text
