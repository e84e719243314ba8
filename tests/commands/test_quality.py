"""Q7 shows records about quality by id, prefix or @last."""

import pytest

from kaizen_components.errors import NotFound, Usage
from kaizen_components.index import find_command


@pytest.fixture
def recorded(kaizen):
    """`recorded("proof", …)`: a record as its own command writes it."""

    def add(kind, values, test=False):
        writer = find_command("Q5")
        return kaizen._write(writer, {}, "agent", None, test, lambda tx: tx.add(kind, values))["id"]

    return add


def proof(recorded, test=False, **more):
    return recorded(
        "proof", {"title": "The tests pass", "tier": "reported", "outcome": "passed", **more}, test
    )


def artifact(recorded, name="a.txt", test=False):
    return recorded(
        "artifact",
        {"name": name, "path": name, "kind": "file", "sha256": "0" * 64, "bytes": 1},
        test,
    )


def test_q7_shows_proof_with_its_log_entry(kaizen, recorded):
    id = proof(recorded, argv='["pytest","-q"]', exit_code=0)
    shown = kaizen("Q7", id=id[:-1])

    assert (shown["id"], shown["kind"], shown["record"]["argv"]) == (id, "proof", ["pytest", "-q"])
    assert shown["log"]["content_hash"]


def test_verdict_and_eval_run_store_proof_and_artifacts(kaizen, recorded):
    id, files = proof(recorded), [artifact(recorded, "a.txt"), artifact(recorded, "b.txt")]
    case = kaizen("Q3", title="C", summary="S", category="proof")["id"]
    given = {
        "proof_id": "@last",
        "artifact_id": [*files, files[0][:-1]],
        "about": files[0],
        "evidence": [id[:-1]],
    }
    kaizen("Q2", conclusion="PROOF_RECORDED", summary="S", **given)
    kept = kaizen("Q7", id="@last")["record"]
    run = kaizen("Q4", case_id=case, outcome="passed", proof_id=id[:-1])

    assert (kept["proof_id"], kept["artifact_ids"], kept["evidence"]) == (id, files, [id]), (
        "each once, and in full"
    )
    assert kept["about_id"] == files[0]
    assert run["proof_id"] == kaizen("Q7", id=run["id"])["record"]["proof_id"] == id
    assert kaizen("K8")["verified"]


def test_purge_removes_records_about_test_proofs(kaizen, recorded):
    case = kaizen("Q3", title="C", summary="S", category="proof")["id"]
    trial = {"proof_id": proof(recorded, test=True), "artifact_id": [artifact(recorded, test=True)]}
    for name, value in trial.items():
        kaizen("Q2", conclusion="PROOF_RECORDED", summary="S", **{name: value})
    kaizen("Q4", case_id=case, outcome="passed", proof_id=trial["proof_id"])
    kaizen("K7")

    assert kaizen("Q9")["records"] == kaizen("Q7", id=case)["runs"] == []
    assert kaizen("K8")["verified"]


def test_last_alias_names_actors_newest_quality_record(kaizen):
    case = kaizen("Q3", title="C", summary="S", category="proof")["id"]
    assert kaizen("Q7", id="@last")["id"] == case
    run = kaizen("Q4", case_id=case, outcome="passed")["id"]
    assert kaizen("Q7", id="@last")["id"] == run
    pattern = kaizen("Q5", title="P", symptom="s", correction="c")["id"]
    kaizen("Q2", conclusion="PROOF_RECORDED", summary="S", actor="bob")
    kaizen("W1", title="T", summary="S")

    assert kaizen("Q7", id="@last")["id"] == pattern
    assert kaizen("Q7", id="@last", actor="bob")["kind"] == "verification"
    assert [kaizen("Q7", id=prefix)["id"] for prefix in ("case_", "erun_", "anti_2")] == [
        case,
        run,
        pattern,
    ]


@pytest.mark.parametrize("id", ["task_", "case_nope", "nonsense", "@last", "%", "'"])
def test_q7_does_not_find_ids_of_other_kinds(kaizen, id):
    kaizen("W1", title="T", summary="S")

    with pytest.raises(NotFound):
        kaizen("Q7", id=id)


def test_prefix_of_two_records_is_usage_error(kaizen):
    for _ in range(2):
        kaizen("Q3", title="C", summary="S", category="proof")

    with pytest.raises(Usage, match="more than one"):
        kaizen("Q7", id="case_")


def test_reading_quality_records_never_creates_database(kaizen, root):
    with pytest.raises(NotFound):
        kaizen("Q7", id="@last")

    assert not (root / "AI").exists()
