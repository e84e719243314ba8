from kaizen_components.pipeline.gates.tests.prove import prove_test_gate
from kaizen_components.pipeline.job import Tools


def test_gate_tells_its_good_candidate_from_its_bad_one(python):
    seen = prove_test_gate(Tools([str(python)], (str(python.parent.parent),)))

    assert [(one["case"], one["got"], one["ok"]) for one in seen] == [
        ("good", "pass", True),
        ("bad", "check", True),
    ]


def test_proof_without_an_interpreter_fails_and_says_so():
    seen = prove_test_gate(Tools(["no-such-python"]))

    assert [(one["got"], one["ok"]) for one in seen] == [("missing", False)] * 2
