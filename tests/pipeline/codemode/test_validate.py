"""The engine runs the spec twice, and against mistakes in the function; the refined spec keeps what held."""

import subprocess
import sys

import pytest

from kaizen_components.pipeline.codemode import mutate
from kaizen_components.pipeline.codemode.cases import parse_spec
from kaizen_components.pipeline.codemode.function import Function
from kaizen_components.pipeline.codemode.refine import check_refined_spec as refined
from kaizen_components.pipeline.codemode.validate import validate_spec
from kaizen_components.pipeline.job import Tools

from .conftest import CASES, HONEST, REQUEST, SLUGIFY, case, spec_text

BUG = HONEST.replace('    return "-"', '    if not text:\n        return "n-a"\n    return "-"')
WEAK = [
    CASES[0],
    case(2, "slugify(None)", "S9", raises="TypeError"),
    case(3, "slugify(3)", "S10", raises="TypeError"),
]
FLAKY = HONEST.replace('return "-".join', 'return ("", "x")[hash("k") % 2] + "-".join')


def test_a_spec_that_holds_and_notices_mistakes_is_accepted(job):
    verdict = validate_spec(job(), SLUGIFY, parse_spec(spec_text()), REQUEST)

    assert verdict.reason == "pass"
    assert verdict.facts["cases"] == 5
    assert (verdict.facts["killed"], verdict.facts["survived"]) == (verdict.facts["mutants"], 0)
    assert verdict.facts["rate"] == 1.0


def test_a_function_that_does_not_do_what_the_requirement_says_is_rejected_with_both_values(job):
    verdict = validate_spec(job(BUG), SLUGIFY, parse_spec(spec_text()), REQUEST)

    assert (verdict.reason, verdict.facts["failing"]) == ("reject", ["C1"])
    assert (
        verdict.findings[0].text
        == "C1: slugify('') gives '' by the requirement; here it gives 'n-a'."
    )


def test_a_case_of_evidence_that_fails_is_for_the_spec_to_mend(job):
    other = HONEST.replace("[a-z0-9]+", "[a-z]+").replace("too long", "too short")
    cases = [*CASES, case(6, "slugify('1 2')", "S8", expect="'1-2'")]

    verdict = validate_spec(job(other), SLUGIFY, parse_spec(spec_text(cases)), REQUEST)

    assert (verdict.reason, verdict.facts["failing"]) == ("check", ["C6"])
    assert (
        verdict.findings[0].text == "C6: slugify('1 2') gives '1-2' as S8 showed; here it gives ''."
    )


def test_a_function_that_ends_differently_from_run_to_run_is_flaky(job):
    assert {hash_of("k", 1) % 2, hash_of("k", 2) % 2} == {0, 1}, (
        "the two seeds must tell these apart"
    )

    verdict = validate_spec(job(FLAKY), SLUGIFY, parse_spec(spec_text()), REQUEST)

    assert (verdict.reason, verdict.facts["failing"]) == ("flaky", ["C1", "C2", "C5"])
    assert "Ask for what does not change" in verdict.findings[0].text


def hash_of(text, seed):
    words = [sys.executable, "-c", f"print(hash({text!r}))"]
    return int(
        subprocess.run(
            words, env={"PYTHONHASHSEED": str(seed)}, capture_output=True, check=True
        ).stdout
    )


def test_a_spec_that_notices_too_little_is_weak_and_says_what_it_misses(job):
    verdict = validate_spec(job(), SLUGIFY, parse_spec(spec_text(WEAK)), REQUEST)

    assert verdict.reason == "weak"
    assert verdict.facts["rate"] < 0.6
    assert any(
        "No case notices this mistake: '-'  ->  ''" in one.text and one.line == 9
        for one in verdict.findings
    )


def test_a_mistake_that_never_ends_is_noticed_and_does_not_hold_up_the_rest(job):
    counting = "def count(n):\n    while n > 0:\n        n -= 1\n    return n\n"
    cases = [case(number, f"count({number})", "S1", expect="0") for number in (1, 2)]
    cases += [case(3, "count(-2)", "S1", expect="-2")]

    verdict = validate_spec(
        job(counting),
        Function("app.text", "count"),
        parse_spec(spec_text(cases, "app.text:count")),
        "counts",
    )

    assert verdict.reason == "pass"
    assert verdict.facts["killed"] >= 3


def test_a_function_that_leaves_files_behind_is_judged_on_a_tidy_tree(job):
    writes = (
        "import os\n\n\ndef log(text):\n    with open('log.txt', 'a') as file:\n        file.write(text)\n"
        "    return os.path.getsize('log.txt')\n"
    )
    cases = [case(number, f"log('{'x' * number}')", "S1", expect=number) for number in (1, 2, 3)]

    verdict = validate_spec(
        job(writes),
        Function("app.text", "log"),
        parse_spec(spec_text(cases, "app.text:log")),
        "logs",
    )

    assert (verdict.reason, verdict.facts["survived"]) == ("pass", 0)
    assert verdict.facts["killed"] >= 3


def test_no_time_for_any_mistake_is_never_a_pass(job):
    slow = HONEST.replace("import re\n", "import re\nimport time\n\ntime.sleep(3)\n")

    verdict = validate_spec(job(slow, mutation_s=0.5), SLUGIFY, parse_spec(spec_text()), REQUEST)

    assert verdict.reason == "missing"
    assert "mutation_s" in verdict.findings[0].text


def test_a_case_that_is_too_slow_for_its_mistakes_proves_nothing(job, monkeypatch):
    """Every mistake would seem to be noticed: all of them run out of time, and so does the function itself."""
    monkeypatch.setattr(mutate, "LEAST_S", 0.001)
    monkeypatch.setattr(mutate, "SLOWER", 0.0)

    assert validate_spec(job(), SLUGIFY, parse_spec(spec_text()), REQUEST).reason == "missing"


def test_without_an_interpreter_nothing_is_validated(job):
    assert (
        validate_spec(
            job(tools=Tools(["no-such-python"])), SLUGIFY, parse_spec(spec_text()), REQUEST
        ).reason
        == "missing"
    )


@pytest.fixture
def mended(results):
    """`mended(failing, cases)`: the verdict on a new spec after CASES."""
    return lambda failing, cases: refined(
        parse_spec(spec_text()), failing, SLUGIFY, REQUEST, results, spec_text(cases)
    )


NEW = case(6, "slugify('a_b')", "S5", expect="'a-b'")


def test_what_failed_may_change_and_new_cases_may_come(mended):
    other = case(2, "slugify('1 2')", "S8", expect="'1-2'")

    assert mended(["C2"], [CASES[0], other, *CASES[2:]]).says == "0 new cases; changed: C2."
    assert mended([], [*CASES, NEW]).says == "1 new case; changed: none."


@pytest.mark.parametrize(
    ("failing", "cases", "says"),
    [
        (["C5"], CASES[:4], "C5 is gone: a case may be mended, never removed."),
        (
            [],
            [*CASES[:4], case(5, "slugify('1 2')", "S8", expect="'1-2'")],
            "C5 holds and must stay as it was",
        ),
        (
            ["C1"],
            [case(1, "slugify('')", "S2", expect="''"), *CASES[1:]],
            "comes from the requirement and must stay",
        ),
        (
            ["C2"],
            [CASES[0], {**CASES[1], "expect": "'other'"}, *CASES[2:]],
            "S1 gives 'hello-world'",
        ),
        ([], [*CASES, {**NEW, "expect": "'a_b'"}], "S5 gives 'a-b'"),
        (["C2"], CASES, "the spec as it was"),
    ],
)
def test_nothing_that_held_changes_and_nothing_goes(mended, failing, cases, says):
    verdict = mended(failing, cases)

    assert verdict.reason == "check"
    assert says in " ".join(one.text for one in verdict.findings)
