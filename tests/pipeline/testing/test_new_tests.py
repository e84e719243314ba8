"""Which new tests are weak and which failures are the code's fault; all cases share one session."""

import copy

import pytest

from kaizen_components.pipeline.gates.tests import line_coverage, mutation, new_tests

from .conftest import DOUBLE, MAIN, TEST

LATE = "def test_double():\n    from app.main import double\n\n    assert double(3) == 6\n"
CASES = {  # new test -> (its text, the reason, the rule, a word of the finding)
    "undefined name": ("def test_it():\n    assert double(3) == 6\n", "weak", "new-test", "NameError"),
    "bad import": (
        "from app.main import triple\n\n\ndef test_it():\n    assert triple(1) == 3\n",
        "weak", "new-test", "ImportError",
    ),
    "passes before": (
        LATE + "\n\ndef test_one():\n    from app.main import one\n\n    assert one() == 1\n",
        "weak", "passes-before", "test_one",
    ),
    "no test": ("from app.main import double\n\nassert double(1) == 2\n", "weak", "empty", "no test"),
    "skip": (
        TEST.replace("\n\n\ndef", "\nimport pytest\n\n\n@pytest.mark.skip\ndef"), "weak", "new-test", "is skipped",
    ),
    "async": (TEST.replace("def test", "async def test"), "weak", "new-test", "async"),
    "wrong code": (TEST.replace("== 6", "== 7"), "check", "new-test", "assert 6 == 7"),
    "broken product": ("import app.other\n" + TEST, "check", "new-test", "nothing_like_it"),
}  # fmt: skip


@pytest.fixture(scope="module")
def sessions(candidate, run_head):
    """Return the job, the report on head and the ids passing before, with all cases as files."""
    texts = {f"tests/test_{name.replace(' ', '_')}.py": case[0] for name, case in CASES.items()}
    files = {"app/other.py": "import nothing_like_it\n", **texts}
    job = candidate(files, None, tests=tuple(texts))
    return job, run_head(job), new_tests.find_passing_before(job)[0]


@pytest.mark.parametrize("name", CASES)
def test_each_faulty_new_test_gets_its_reason(sessions, name):
    job, head, passing = sessions
    _, reason, rule, word = CASES[name]
    job = copy.copy(job)
    job.tests = (f"tests/test_{name.replace(' ', '_')}.py",)

    found, findings = new_tests.check_new_tests(job, head, passing)

    assert (found, {finding.rule for finding in findings}) == (reason, {rule})
    assert word in findings[0].text


LAST = """

def last(them):
    last = them[len(them) - 1]
    return [last, them[len(them) - 2]]
"""
BLIND = {
    "crashes": "from app.main import last\n\n\ndef test_last():\n    assert len(repr(last([1, 2, 3]))) > 0\n",
    "gutted": "import app.main\n\n\ndef test_double():\n    try:\n        app.main.double(3)\n"
    "    except SystemError:\n        pass\n    assert hasattr(app.main, 'double')\n",
}


def test_tests_that_miss_changed_values_are_reported(candidate, run_head):
    files = {f"tests/test_{name}.py": text for name, text in BLIND.items()}
    job = candidate(
        {"app/main.py": MAIN + DOUBLE + LAST, **files}, None, tests=tuple(files), kill_floor=0.1
    )
    head = run_head(job, cover=["app/main.py"])
    rules = {}
    for name, lines in (("gutted", {5, 6}), ("crashes", {9, 10, 11})):
        job.changed["app/main.py"] = lines
        coverage = line_coverage.measure_coverage(job, head)
        ids = [id for id in head.ids if name in id]
        found = mutation.run_mutants(job, head, coverage, ids)
        rules[name] = [finding.rule for finding in mutation.check_mutants(job, found)]

    assert rules == {"gutted": ["gutted"], "crashes": ["crashes"]}
