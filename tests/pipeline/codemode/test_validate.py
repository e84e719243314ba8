"""Check that a spec runs twice and against mutants, and that a refined spec keeps what passed."""

import subprocess
import sys

import pytest

from kaizen_components.pipeline.codemode import mutate
from kaizen_components.pipeline.codemode.cases import check_refined_spec, parse_spec
from kaizen_components.pipeline.codemode.function import Function
from kaizen_components.pipeline.codemode.validate import validate_spec
from kaizen_components.pipeline.job import Tools

from .conftest import CASES, HONEST, REQUEST, SLUGIFY, case, change_case, finding_texts, spec_text

BUG = HONEST.replace('    return "-"', '    if not text:\n        return "n-a"\n    return "-"')
WEAK = [
    CASES[0],
    case(2, "slugify(None)", "S9", raises="TypeError"),
    case(3, "slugify(3)", "S10", raises="TypeError"),
]
FLAKY = HONEST.replace('return "-".join', 'return ("", "x")[hash("k") % 2] + "-".join')


@pytest.fixture
def validate(job):
    """Return a function that validates cases against a source."""

    def run(text=HONEST, cases=CASES, name="slugify", **options):
        spec = parse_spec(spec_text(cases, f"app.text:{name}"))
        return validate_spec(job(text, **options), Function("app.text", name), spec, REQUEST)

    return run


def test_good_spec_is_accepted(validate):
    verdict = validate()

    facts = verdict.facts
    assert verdict.reason == "pass"
    assert (facts["cases"], facts["survived"], facts["rate"]) == (5, 0, 1.0)
    assert facts["killed"] == facts["mutants"]


def test_function_that_contradicts_requirement_is_rejected(validate):
    verdict = validate(BUG)

    assert (verdict.reason, verdict.facts["failing"]) == ("reject", ["C1"])
    assert finding_texts(verdict) == (
        "C1: slugify('') gives '' by the requirement; here it gives 'n-a'."
    )


def test_failing_case_from_evidence_gives_reason_check(validate):
    other = HONEST.replace("[a-z0-9]+", "[a-z]+").replace("too long", "too short")

    verdict = validate(other, [*CASES, case(6, "slugify('1 2')", "S8", expect="'1-2'")])

    assert (verdict.reason, verdict.facts["failing"]) == ("check", ["C6"])
    assert finding_texts(verdict) == (
        "C6: slugify('1 2') gives '1-2' as S8 showed; here it gives ''."
    )


def test_unstable_function_is_flaky(validate):
    assert {hash_of("k", 1) % 2, hash_of("k", 2) % 2} == {0, 1}, "the seeds must differ here"

    verdict = validate(FLAKY)

    assert (verdict.reason, verdict.facts["failing"]) == ("flaky", ["C1", "C2", "C5"])
    assert "Expect only what does not change" in finding_texts(verdict)


def hash_of(text, seed):
    words = [sys.executable, "-c", f"print(hash({text!r}))"]
    env = {"PYTHONHASHSEED": str(seed)}
    return int(subprocess.run(words, env=env, capture_output=True, check=True).stdout)


def test_weak_spec_lists_undetected_mutants(validate):
    verdict = validate(cases=WEAK)

    assert verdict.reason == "weak" and verdict.facts["rate"] < 0.6
    mistake = "No case notices this mistake: '-'  ->  ''"
    assert any(mistake in finding.text and finding.line == 9 for finding in verdict.findings)


def test_endless_mutant_counts_as_detected(validate):
    count = "def count(n):\n    while n > 0:\n        n -= 1\n    return n\n"
    cases = [case(number, f"count({number})", "S1", expect="0") for number in (1, 2)]

    verdict = validate(count, [*cases, case(3, "count(-2)", "S1", expect="-2")], "count")

    assert verdict.reason == "pass" and verdict.facts["killed"] >= 3


def test_files_written_by_case_are_restored(validate):
    log = (
        "import os\n\n\ndef log(text):\n    with open('log.txt', 'a') as file:\n"
        "        file.write(text)\n    return os.path.getsize('log.txt')\n"
    )
    cases = [case(number, f"log('{'x' * number}')", "S1", expect=number) for number in (1, 2, 3)]

    verdict = validate(log, cases, "log")

    assert (verdict.reason, verdict.facts["survived"]) == ("pass", 0)
    assert verdict.facts["killed"] >= 3


def test_too_short_mutation_time_gives_reason_missing(validate):
    verdict = validate(
        HONEST.replace("import re\n", "import re, time\n\ntime.sleep(1)\n"), mutation_s=0.5
    )

    assert verdict.reason == "missing" and "mutation_s" in finding_texts(verdict)


def test_cases_too_slow_for_mutants_give_reason_missing(validate, monkeypatch):
    """Otherwise every mutant would run out of time and seem to be detected."""
    monkeypatch.setattr(mutate, "ITEM_S_MIN", 0.001)
    monkeypatch.setattr(mutate, "SLOWER", 0.0)

    assert validate().reason == "missing"


def test_missing_interpreter_gives_validation_reason_missing(validate):
    assert validate(tools=Tools(["no-such-python"])).reason == "missing"


@pytest.fixture
def refine(results):
    """Return a function that checks a refinement of CASES."""
    before = parse_spec(spec_text())
    return lambda failing, cases: check_refined_spec(
        before, failing, SLUGIFY, REQUEST, results, spec_text(cases)
    )


NEW = case(6, "slugify('a_b')", "S5", expect="'a-b'")
OTHER = {"call": "slugify('1 2')", "from": "S8", "expect": "'1-2'"}


def test_refinement_may_change_failing_and_add_cases(refine):
    assert refine(["C2"], change_case(2, **OTHER)).says == "0 new cases; changed: C2."
    assert refine([], [*CASES, NEW]).says == "1 new case; changed: none."


@pytest.mark.parametrize(
    ("failing", "cases", "says"),
    [
        (["C5"], CASES[:4], "C5 is gone: a case may be changed, but not removed."),
        ([], change_case(5, **OTHER), "C5 passes and must not change"),
        (["C1"], change_case(1, **{"from": "S2"}), "comes from the requirement and must not"),
        (["C2"], change_case(2, expect="'other'"), "S1 gives 'hello-world'"),
        ([], [*CASES, {**NEW, "expect": "'a_b'"}], "S5 gives 'a-b'"),
        (["C2"], CASES, "The spec is unchanged"),
    ],
)
def test_refinement_that_changes_passing_cases_is_refused(refine, failing, cases, says):
    verdict = refine(failing, cases)

    assert verdict.reason == "check"
    assert says in finding_texts(verdict)
