"""The gate as a whole, with real pytest sessions: each reason for the right cause."""

import sys

from kaizen_components.pipeline.gates.tests import session
from kaizen_components.pipeline.job import Tools

from .conftest import BASE, DOUBLE, NEW, TEST

MAIN = BASE["app/main.py"]


def rules(verdict):
    return {finding.rule for finding in verdict.findings}


def test_good_candidate_passes_and_its_facts_say_what_was_measured(verdict):
    seen = verdict()

    assert (seen.reason, seen.findings) == ("pass", [])
    assert seen.facts["coverage"] == 1.0
    assert seen.facts["mutants"]["killed"] == seen.facts["mutants"]["tried"] > 0
    assert seen.facts["baseline_passed"] == 1
    assert all(run.argv[0] == seen.runs[0].argv[0] for run in seen.runs)


def test_what_passed_before_and_fails_now_is_a_regression(verdict):
    seen = verdict({"app/main.py": MAIN.replace("return 1", "return 2") + DOUBLE})

    assert seen.reason == "regression"
    assert "tests/test_main.py::test_one passed before and fails now" in seen.findings[0].text


def test_what_product_code_skips_is_a_regression(verdict):
    seen = verdict(
        {"app/main.py": "import pytest\n\n\ndef one():\n    pytest.skip('later')\n" + DOUBLE}
    )

    assert seen.reason == "regression"
    assert "is skipped now" in seen.findings[0].text


def test_failing_new_test_is_the_codes_fault(verdict):
    seen = verdict({"app/main.py": MAIN + DOUBLE.replace("* 2", "* 3")})

    assert (seen.reason, rules(seen)) == ("check", {"new-test"})
    assert "assert 9 == 6" in seen.findings[0].text


def test_product_that_cannot_be_imported_is_the_codes_fault(verdict):
    seen = verdict({"app/other.py": "import nothing_like_it\n", NEW: "import app.other\n" + TEST})

    assert (seen.reason, rules(seen)) == ("check", {"new-test"})


def test_name_that_the_test_never_made_is_the_tests_fault(verdict):
    seen = verdict(test="def test_double():\n    assert double(3) == 6\n")

    assert (seen.reason, rules(seen)) == ("weak", {"new-test"})
    assert "NameError" in seen.findings[0].text


def test_import_that_fails_in_the_test_itself_is_the_tests_fault(verdict):
    assert (
        verdict(
            test="from app.main import triple\n\n\ndef test_it():\n    assert triple(1) == 3\n"
        ).reason
        == "weak"
    )


def test_new_test_that_passes_before_the_change_is_weak(verdict):
    late = TEST.replace("from app.main import double\n\n\n", "").replace(
        ":\n", ":\n    from app.main import double\n\n", 1
    )
    seen = verdict(
        test=late + "\n\ndef test_one():\n    from app.main import one\n\n    assert one() == 1\n"
    )

    assert (seen.reason, rules(seen)) == ("weak", {"passes-before"})
    assert "test_one" in seen.findings[0].text


def test_new_file_without_a_test_is_weak(verdict):
    seen = verdict(test="from app.main import double\n\nassert double(1) == 2\n")

    assert (seen.reason, rules(seen)) == ("weak", {"empty"})


def test_new_test_that_skips_itself_is_weak(verdict):
    marked = TEST.replace("\n\n\ndef", "\nimport pytest\n\n\n@pytest.mark.skip\ndef")

    assert verdict(test=marked).reason == "weak"


def test_async_test_without_a_plugin_is_weak(verdict):
    assert verdict(test=TEST.replace("def test", "async def test")).reason == "weak"


def test_candidate_without_new_tests_is_weak(verdict):
    seen = verdict(test=None, tests=())

    assert (seen.reason, rules(seen)) == ("weak", {"no-tests"})


def test_changed_lines_that_no_test_runs_are_named(verdict):
    branch = (
        "\n\ndef double(number):\n    if number > 100:\n        number = 100\n"
        "        number += 0\n    return number * 2\n"
    )
    seen = verdict({"app/main.py": MAIN + branch})

    assert (seen.reason, rules(seen)) == ("weak", {"coverage"})
    assert [finding.line for finding in seen.findings] == [7, 8]


def test_comment_does_not_take_a_line_out_of_coverage(verdict):
    branch = (
        "\n\ndef double(number):\n    if number > 100:  # pragma: no cover\n"
        "        number = 100\n    return number * 2\n"
    )

    assert verdict({"app/main.py": MAIN + branch}, coverage_floor=0.9).reason == "weak"


def test_tests_that_notice_no_wrong_code_are_weak_and_the_survivors_are_shown(verdict):
    seen = verdict(
        test="from app.main import double\n\n\ndef test_double():\n    assert len(repr(double(3))) > 0\n"
    )

    assert (seen.reason, rules(seen)) == ("weak", {"mutant"})
    assert any(
        finding.line == 6 and "number * 2  ->  number + 2" in finding.text
        for finding in seen.findings
    )


def test_tests_that_notice_only_crashes_are_weak(verdict):
    code = "\n\ndef double(them):\n    last = them[len(them) - 1]\n    return [last, them[len(them) - 2]]\n"
    blind = "from app.main import double\n\n\ndef test_double():\n    assert len(repr(double([1, 2, 3]))) > 0\n"
    seen = verdict({"app/main.py": MAIN + code}, test=blind, kill_floor=0.1)

    assert (seen.reason, rules(seen)) == ("weak", {"crashes"})


def test_tests_that_do_not_notice_that_the_code_is_gone_are_weak(verdict):
    blind = (
        "import app.main\n\n\ndef test_double():\n    try:\n        app.main.double(3)\n"
        "    except SystemError:\n        pass\n"
        "    assert hasattr(app.main, 'double')\n"
    )
    seen = verdict(test=blind)

    assert (seen.reason, rules(seen)) == ("weak", {"gutted"})


def test_tests_that_need_their_order_are_flaky(verdict):
    steps = "".join(
        f"\n\ndef test_{at}():\n    assert double(len(DONE)) == {2 * at}\n    DONE.append(1)\n"
        for at in range(6)
    )
    seen = verdict(test="from app.main import double\n\nDONE = []\n" + steps, repeats=2)

    assert (seen.reason, rules(seen)) == ("flaky", {"flaky"})


def test_flaky_test_of_the_base_is_listed_and_not_compared(verdict):
    base = {
        **BASE,
        "tests/test_odd.py": "import sys\n\n\ndef test_odd():\n    assert sys.gettrace() is None\n",
    }
    seen = verdict(base=base)

    assert seen.reason == "pass"
    assert seen.facts["flaky"] == ["tests/test_odd.py::test_odd"]
    assert "1 flaky" in seen.says


def test_failing_base_is_refused_unless_allowed_and_then_nothing_new_may_fail(verdict):
    base = {
        **BASE,
        "tests/test_odd.py": "def test_odd():\n    assert 0\n",
        "tests/test_bad.py": "import nothing_like_it\n",
    }
    refused, allowed = verdict(base=base), verdict(base=base, allow_failing_baseline=True)
    broken = verdict(
        {"app/main.py": "def one():\n    return 2\n" + DOUBLE},
        base=base,
        allow_failing_baseline=True,
    )

    assert (refused.reason, allowed.reason, broken.reason) == ("missing", "pass", "regression")
    assert allowed.facts["baseline_failed"] == ["tests/test_bad.py", "tests/test_odd.py::test_odd"]


def test_interpreter_without_pytest_blocks_with_the_line_that_installs_it(verdict, tmp_path):
    import venv

    venv.create(tmp_path / "bare", symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    seen = verdict(tools=Tools([python], (str(tmp_path / "bare"), sys.base_prefix)))
    with_uv = verdict(
        base={**BASE, "uv.lock": ""},
        tools=Tools([python], (str(tmp_path / "bare"), sys.base_prefix)),
    )

    assert seen.reason == "missing"
    assert f"{python} -m pip install 'pytest>=8' 'coverage>=7'" in seen.says
    assert "uv add --dev 'pytest>=8' 'coverage>=7'" in with_uv.says


def test_sandbox_below_the_repositorys_minimum_blocks(verdict):
    from kaizen_components.sandbox import run as sandbox

    seen = verdict(minimum_level="L3")

    assert seen.reason == "missing" or sandbox.detect_level() == "L3"


def test_session_that_never_ends_is_not_believed(candidate):
    job = candidate(
        {"app/main.py": MAIN + "\n\ndef double(number):\n    while True:\n        pass\n"}
    )

    (seen,), _ = session.run_sessions(
        job, [session.plan_session("head", "head", [NEW], 3.0)], hash_seed=1
    )

    assert seen.doubts() == ["it did not end in time"]
