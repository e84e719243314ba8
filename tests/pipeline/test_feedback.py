"""The feedback of a step that is asked again, and the fingerprints of failures."""

import pytest

from kaizen_components.pipeline.ask.feedback import (
    CHARS_MAX,
    FINDINGS_MAX,
    fingerprint_verdict,
    write_feedback,
)
from kaizen_components.pipeline.verdict import Finding, Verdict


def judged(step, attempt, reason, *texts, says=""):
    """Return a judged event as the ledger stores it; a text is `path:line:rule:text`."""
    found = []
    for text in texts:
        path, line, rule, words = text.split(":", 3)
        found.append({"path": path, "line": int(line or 0), "rule": rule, "text": words})
    return {
        "event": "judged", "step": step, "attempt": attempt, "reason": reason, "says": says,
        "payload": {"findings": found},
    }  # fmt: skip


PLANS = frozenset({"plan"})
PLANNED = [judged("plan", 1, "pass"), judged("scout", 1, "pass")]
F401, F841 = "app/main.py:2:F401:`os` imported but unused", "app/main.py:9:F841:`x` is never used"


def test_first_attempt_gets_no_feedback():
    assert write_feedback([], "plan", PLANS) == ""
    assert write_feedback(PLANNED, "build", PLANS) == ""


def test_feedback_lists_sorted_findings():
    history = [
        *PLANNED,
        judged("build", 1, "pass"),
        judged("validate", 1, "check", F841, F401, says="2 new findings."),
    ]

    assert write_feedback(history, "build", PLANS).splitlines() == [
        "validate 1 ended with check: 2 new findings.",
        "- app/main.py:2: F401: `os` imported but unused",
        "- app/main.py:9: F841: `x` is never used",
    ]


def test_feedback_marks_persisting_and_fixed_findings():
    history = [
        *PLANNED,
        judged("build", 1, "pass"),
        judged("validate", 1, "check", F401, F841),
        judged("build", 2, "pass"),
        judged("validate", 2, "check", F841.replace(":9:", ":12:"), "app/main.py:3:E999:odd"),
    ]
    said = write_feedback(history, "build", PLANS)

    assert "- app/main.py:12: F841: `x` is never used (again)" in said
    assert "- app/main.py:3: E999: odd\n" in said
    assert said.endswith("it must not come back:\n- app/main.py: F401: `os` imported but unused")


def test_feedback_keeps_failures_of_later_gates():
    history = [
        *PLANNED, judged("build", 1, "pass"), judged("validate", 1, "pass"), judged("tests", 1, "pass"),
        judged("test", 1, "regression", "tests/test_a.py:0:regression:test_a fails"),
        judged("build", 2, "pass"), judged("validate", 2, "check", F401),
    ]  # fmt: skip
    said = write_feedback(history, "build", PLANS)

    assert said.index("F401") < said.index("Not looked at again yet:") < said.index("test_a fails")
    assert "must not come back" not in said


def test_feedback_for_a_step_omits_failures_of_others():
    history = [
        *PLANNED, judged("build", 1, "pass"), judged("validate", 1, "check", F401), judged("build", 2, "pass"),
        judged("validate", 2, "pass"), judged("tests", 1, "pass"),
        judged("test", 1, "weak", "tests/test_a.py:3:mutation:a mutant survives"),
    ]  # fmt: skip

    assert "a mutant survives" in write_feedback(history, "tests", PLANS)
    assert "F401" not in write_feedback(history, "tests", PLANS)


def test_feedback_names_malformed_answer_only_once():
    text = "The answer has no block."
    said = write_feedback(
        [*PLANNED, judged("build", 1, "malformed", f":0:form:{text}", says=text)], "build", PLANS
    )

    assert said.count(text) == 1


def test_feedback_after_new_plan_drops_older_failures():
    history = [
        *PLANNED, judged("build", 1, "pass"), judged("validate", 1, "check", F401),
        judged("build", 2, "ambiguous", ":0:ambiguous:which one?"),
    ]  # fmt: skip

    assert "which one?" in write_feedback(history, "plan", PLANS)
    assert (
        write_feedback(
            [*history, judged("plan", 2, "pass"), judged("scout", 2, "pass")], "build", PLANS
        )
        == ""
    )


def test_long_feedback_is_cut():
    many = [f"app/x.py:{n}:F401:unused {n}" for n in range(1, 200)]
    long = [f"app/x.py:{n}:E:{'word ' * 900}{n}" for n in range(1, 30)]

    assert f"… and {199 - FINDINGS_MAX} more" in write_feedback(
        [judged("build", 1, "check", *many)], "build", PLANS
    )
    assert len(write_feedback([judged("build", 1, "check", *long)], "build", PLANS)) <= CHARS_MAX


@pytest.mark.parametrize(
    "one, other",
    [
        ("x is <A object at 0x7f1234567890>", "x is <A object at 0x7f9999999999>"),
        ("defined on line 3", "defined on line 4"),
        ("ended in 0.53 s", "ended in 1.2 s"),
        ("/tmp/box-a1/x.py:3: no", "/tmp/box-b2/x.py:9: no"),
    ],
)
def test_same_failure_has_same_fingerprint(one, other):
    first, second = (
        Verdict("check", "", [Finding("R", text, "a.py", n)]) for n, text in enumerate((one, other))
    )

    assert fingerprint_verdict(first) == fingerprint_verdict(second) != ""


def test_different_failures_have_different_fingerprints():
    prints = [
        fingerprint_verdict(verdict)
        for verdict in (
            Verdict("check", "", [Finding("R", "expected 3, got 4", "a.py")]),
            Verdict("check", "", [Finding("R", "expected 3, got 5", "a.py")]),
            Verdict("regression", "", [Finding("R", "expected 3, got 4", "a.py")]),
            Verdict("check", "", [Finding("R", "expected 3, got 4", "b.py")]),
            Verdict("check", "one thing"),
            Verdict("check", "another thing"),
        )
    ]

    assert len(set(prints)) == len(prints)
    assert fingerprint_verdict(Verdict("pass", "fine")) == ""
