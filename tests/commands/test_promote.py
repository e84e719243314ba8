"""L2 and L3: what a promotion needs, that it happens once, and what it keeps."""

import contextlib
import pathlib

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Conflict, NotFound, Refused
from kaizen_components.records.ledger.hashing import read_log_end
from kaizen_components.records.ledger.transaction import RecordWriter
from kaizen_components.store.gate import lock_out_writers

TEXT = {
    "title": "WAL grows",
    "summary": "A reader pins the checkpoint.",
    "body": "Close readers first.",
}
WITNESSED = {
    "title": "Ran it", "tier": "witnessed", "outcome": "passed", "command": "pytest -q", "argv": '["pytest","-q"]',
    "exit_code": 0, "duration_ms": 5, "tree_hash": "0" * 64, "stdout_hash": "1" * 64, "stderr_hash": "2" * 64,
    "platform": "linux",
}  # fmt: skip
REPORTED = {
    "title": "Somebody said so",
    "tier": "reported",
    "outcome": "passed",
    "command": "pytest -q",
}
VERDICT = {"scope": "project", "conclusion": "VERIFIED_ACCEPTABLE", "summary": "All checks passed."}


@pytest.fixture
def recorded(root):
    """`recorded("proof", **values)`: the id of a record as Q1 or Q2 would write it."""

    def add(kind, test=False, **values):
        door = Door(str(root))
        with contextlib.closing(door), door.store.begin_write_transaction() as connection:
            tx = RecordWriter(connection, "agent", "Q1", test, read_log_end(connection))
            row = tx.add(kind, values)
            tx.finish()
        return row["id"]

    return add


@pytest.fixture
def gotcha(kaizen):
    return lambda **more: kaizen("G1", **{**TEXT, "evidence": ["e"], **more})["id"]


@pytest.fixture
def learning(kaizen, gotcha):
    """(learning, the gotcha it came from)"""

    def make(**more):
        first = gotcha(**more)
        return kaizen("L2", id=first)["id"], first

    return make


def record(kaizen, code, id):
    return kaizen(code, id=id)["record"]


# L2


def test_learning_copies_gotcha_and_rehashes_files(kaizen, gotcha, root):
    (root / "x.py").write_text("1")
    task = kaizen("W1", title="T", summary="S")["id"]
    id = gotcha(scope="store", task_id=task, evidence=["e", task], paths=["x.py"])
    (root / "x.py").write_text("2")
    before = record(kaizen, "G4", id)
    promoted = kaizen("L2", id=id)
    after, kept = record(kaizen, "G4", id), record(kaizen, "L6", promoted["id"])

    same = ("title", "summary", "body", "scope", "task_id", "evidence", "paths")
    assert {name: kept[name] for name in same} == {name: before[name] for name in same}
    assert (kept["gotcha_id"], kept["status"], after["status"], after["rev"]) == (
        id,
        "active",
        "promoted",
        2,
    )
    assert before["stale"] and not kept["stale"] and kept["paths_hash"] != before["paths_hash"]
    assert (
        kaizen("G4", id=id)["log"]["command"] == "G1"
        and kaizen("L6", id="@last")["log"]["command"] == "L2"
    )


def test_promotion_overrides_texts_and_adds_evidence(kaizen, gotcha):
    id = gotcha(paths=["x.py"])
    given = {"title": "Taught", "summary": "In short.", "body": "At length."}
    kept = record(
        kaizen, "L6", kaizen("L2", id=id, **given, evidence=["more", "e"], paths=["y.py"])["id"]
    )

    assert {name: kept[name] for name in given} == given
    assert (kept["evidence"], kept["paths"]) == (["e", "more"], ["y.py"])
    assert record(kaizen, "G4", id)["title"] == TEXT["title"]


def test_learning_without_evidence_is_labeled_unproven_everywhere(kaizen, gotcha):
    unproven = kaizen("L2", id=gotcha(evidence=[], paths=["a.py"], title="No evidence"))
    proven = kaizen("L2", id=gotcha(evidence=[]), evidence=["Seen."])

    assert unproven["unproven"] is True and "unproven" not in proven
    assert record(kaizen, "L6", unproven["id"])["unproven"] is True
    assert "unproven" not in record(kaizen, "L6", proven["id"])
    for answer in (kaizen("L4"), kaizen("L5", query=TEXT["title"])):
        assert {row["id"]: row["unproven"] for row in answer["records"]}[proven["id"]] is False
    assert kaizen("L4")["records"][-1]["unproven"] is True
    assert kaizen("L10", path=["a.py"])["records"][0]["unproven"] is True
    assert "learning, unproven" in kaizen("R0", query="No evidence")["text"]
    report = pathlib.Path(kaizen.store.place.root, kaizen("R3", format="md")["path"]).read_text()
    assert report.count("Unproven: no evidence is recorded for it.") == 1
    with pytest.raises(Refused):
        kaizen("L3", id=unproven["id"])


@pytest.mark.parametrize("status", ["resolved", "retired"])
def test_promoting_inactive_gotcha_is_refused(kaizen, gotcha, status):
    id = gotcha()
    kaizen("G5", id=id, status=status, note="n")
    with pytest.raises(Refused, match=f"is {status}") as refused:
        kaizen("L2", id=id)

    assert f"G5 --id {id} --status active --note" in refused.value.next
    kaizen("G5", id=id, status="active", note="It is back.")
    assert kaizen("L2", id=id)["gotcha_id"] == id


def test_second_promotion_conflicts_with_first(kaizen, learning):
    second, first = learning()
    third = kaizen("L3", id=second, waive="w")["id"]
    for code, id, became, more in (
        ("L2", first, second, {}),
        ("L3", second, third, {"waive": "w"}),
    ):
        with pytest.raises(Conflict, match="already promoted") as refused:
            kaizen(code, id=id, **more)
        assert became in refused.value.what

    assert kaizen("L4")["count"] == kaizen("L7")["count"] == 1


def test_schema_refuses_second_learning_of_gotcha(kaizen, learning, recorded):
    _, first = learning()
    with pytest.raises(Conflict, match="refused the record"):
        recorded("learning", title="t", summary="s", scope="project", gotcha_id=first)


def test_promotion_with_same_op_id_returns_first_answer(kaizen, gotcha):
    id = gotcha()
    first, again = (kaizen("L2", id=id, op_id="once") for _ in range(2))

    assert again == {**first, "replayed": True}


@pytest.mark.parametrize("code, noun", [("L2", "gotcha"), ("L3", "learning")])
def test_promoting_unknown_id_is_not_found(kaizen, gotcha, code, noun):
    gotcha()
    with pytest.raises(NotFound):
        kaizen(code, id=f"{noun}_nope")


def test_lock_of_own_reader_does_not_block_promotion(kaizen, gotcha, monkeypatch):
    """As on a disk where a reader cannot make its -shm file."""
    monkeypatch.setenv("KAIZEN_BUSY_TIMEOUT_S", "0")
    id = gotcha()
    kaizen.store.reader()._lock = lock_out_writers(kaizen.store.place.lock, 1)

    assert kaizen("L2", id=id)["gotcha_id"] == id


def test_evidence_like_unknown_id_is_refused(kaizen, gotcha):
    id = gotcha()
    with pytest.raises(NotFound):
        kaizen("L2", id=id, evidence=["proof_20261116T031555123Z_0f1e2d3c4b"])

    assert record(kaizen, "G4", id)["status"] == "active"


# L3: without anything


def test_promoting_unproven_learning_is_refused_with_next_steps(kaizen, learning):
    id, _ = learning()
    with pytest.raises(Refused, match="not proven") as refused:
        kaizen("L3", id=id)

    assert "witnessed proof" in refused.value.why and "passing verification" in refused.value.why
    for command in (f"Q1 --about {id} --run -- ", f"Q2 --about {id} ", f"L3 --id {id} --waive"):
        assert command in refused.value.next
    assert record(kaizen, "L6", id)["status"] == "active" and kaizen("L7")["count"] == 0


def test_lesson_links_to_its_waiver(kaizen, learning):
    task = kaizen("W1", title="T", summary="S")["id"]
    id, _ = learning(task_id=task)
    promoted = kaizen("L3", id=id, waive="Seen for a month.")
    kept = record(kaizen, "L9", promoted["id"])
    waiver = kaizen.store.reader().one("SELECT * FROM waiver")

    assert promoted["waiver_id"] == kept["waiver_id"] == waiver["id"]
    assert (waiver["gate"], waiver["subject_id"], waiver["task_id"]) == ("learned", id, task)
    assert waiver["reason"] == "Seen for a month."
    assert waiver["missing"] == '["a witnessed proof that passed","a passing verification"]'
    assert record(kaizen, "L6", id)["status"] == "promoted"


def test_learned_lesson_copies_texts_and_rehashes_files(kaizen, learning, root):
    (root / "x.py").write_text("1")
    id, _ = learning(scope="store", evidence=["e"], paths=["x.py"])
    (root / "x.py").write_text("2")
    kept = record(kaizen, "L9", kaizen("L3", id=id, waive="w", title="Known")["id"])

    assert (kept["title"], kept["summary"], kept["scope"]) == ("Known", TEXT["summary"], "store")
    assert (kept["evidence"], kept["paths"], kept["stale"], kept["learning_id"]) == (
        ["e"],
        ["x.py"],
        False,
        id,
    )


@pytest.mark.parametrize("superseded", [True, False])
def test_promoting_closed_learning_is_refused(kaizen, learning, superseded):
    id, _ = learning()
    kaizen("L11", id=id, reason="r", **({"superseded_by": learning()[0]} if superseded else {}))
    with pytest.raises(Refused, match="is superseded" if superseded else "is retired"):
        kaizen("L3", id=id, waive="w")


# L3: with a proof or a verdict

BACKINGS = [("proof", WITNESSED), ("verification", VERDICT)]


@pytest.mark.parametrize("kind, values", BACKINGS)
@pytest.mark.parametrize("about", ["learning", "gotcha"])
def test_promotion_accepts_proof_about_learning_or_gotcha(
    kaizen, learning, recorded, kind, values, about
):
    second, first = learning()
    backing = recorded(kind, **values, about_id={"learning": second, "gotcha": first}[about])
    promoted = kaizen("L3", id=second)

    assert promoted[f"{kind}_id"] == backing and "waiver_id" not in promoted
    assert [row["id"] for row in kaizen("L9", id=promoted["id"])["backing"]] == [backing]


@pytest.mark.parametrize("kind, values", BACKINGS)
@pytest.mark.parametrize("cited_by", ["gotcha", "learning"])
def test_promotion_accepts_record_in_evidence_as_proof(
    kaizen, gotcha, recorded, kind, values, cited_by
):
    kaizen("K1")
    backing = recorded(kind, **values)
    id = kaizen("L2", id=gotcha(evidence=[backing]))["id"] if cited_by == "gotcha" else None
    id = id or kaizen("L1", **TEXT, evidence=["e", backing])["id"]

    assert kaizen("L3", id=id)[f"{kind}_id"] == backing


@pytest.mark.parametrize("kind, values", BACKINGS)
def test_promotion_accepts_proof_given_by_id(kaizen, learning, recorded, kind, values):
    id, _ = learning()
    recorded(kind, **values)
    backing = recorded(kind, **values)

    assert kaizen("L3", id=id, **{f"{kind}_id": "@last"})[f"{kind}_id"] == backing


def test_promotion_refuses_proof_about_another_record(kaizen, learning, recorded):
    id, other = learning()[0], learning()[0]
    recorded("proof", **WITNESSED, about_id=other)
    recorded("verification", **VERDICT)
    with pytest.raises(Refused, match="not proven"):
        kaizen("L3", id=id)


UNFIT = [
    ("proof", REPORTED, "only reported"),
    ("proof", {**WITNESSED, "outcome": "failed", "exit_code": 1}, "did not pass (failed)"),
    ("proof", {**WITNESSED, "outcome": "timeout", "exit_code": -9}, "did not pass (timeout)"),
    ("verification", {**VERDICT, "conclusion": "VERIFICATION_FAILED"}, "says VERIFICATION_FAILED"),
    (
        "verification",
        {**VERDICT, "conclusion": "NEEDS_HUMAN_DECISION"},
        "says NEEDS_HUMAN_DECISION",
    ),
    ("verification", {**VERDICT, "conclusion": "PROOF_RECORDED"}, "says PROOF_RECORDED"),
]


@pytest.mark.parametrize("kind, values, says", UNFIT)
def test_promotion_refuses_failing_proof_with_reason(
    kaizen, learning, recorded, kind, values, says
):
    id, _ = learning()
    backing = recorded(kind, **values)
    for more in ({}, {"waive": "w"}):
        with pytest.raises(Refused, match="does not prove") as refused:
            kaizen("L3", id=id, **{f"{kind}_id": backing}, **more)
        assert backing in refused.value.why and says in refused.value.why
    backing = recorded(kind, **values, about_id=id)
    with pytest.raises(Refused, match="not proven") as refused:
        kaizen("L3", id=id)
    assert backing in refused.value.why and says in refused.value.why

    waiver = kaizen("L3", id=id, waive="w")["waiver_id"]
    missing = kaizen.store.reader().value("SELECT missing FROM waiver WHERE id = ?", (waiver,))
    assert says in missing and kaizen("K8")["verified"]


def test_promotion_cites_newest_passing_verdict(kaizen, learning, recorded):
    id, _ = learning()
    recorded("verification", **VERDICT, about_id=id)
    newest = recorded(
        "verification", **{**VERDICT, "conclusion": "ACCEPTABLE_WITH_CONCERNS"}, about_id=id
    )
    proof = recorded("proof", **WITNESSED, about_id=id)
    promoted = kaizen("L3", id=id)

    assert (promoted["verification_id"], promoted["proof_id"]) == (newest, proof)


def test_later_blocking_verdict_overrides_earlier_proof(kaizen, learning, recorded):
    id, _ = learning()
    proof = recorded("proof", **WITNESSED, about_id=id)
    objection = recorded(
        "verification", **{**VERDICT, "conclusion": "VERIFICATION_FAILED"}, about_id=id
    )
    for more in ({}, {"proof_id": proof}):
        with pytest.raises(Refused) as refused:
            kaizen("L3", id=id, **more)
        assert f"{objection} came after {proof}" in refused.value.why
    cleared = recorded("verification", **VERDICT, about_id=id)

    assert kaizen("L3", id=id)["verification_id"] == cleared


def test_later_failed_run_overrides_proof_of_promotion(kaizen, learning, recorded):
    id, _ = learning()
    passed = recorded("proof", **WITNESSED, about_id=id)
    recorded("proof", **{**WITNESSED, "outcome": "failed", "exit_code": 1}, about_id=id)
    with pytest.raises(Refused, match="not proven") as refused:
        kaizen("L3", id=id)

    assert f"{passed} passed, but a later run failed" in refused.value.why
    again = recorded("proof", **WITNESSED, about_id=id)
    assert kaizen("L3", id=id)["proof_id"] == again


def test_waiver_for_proven_learning_is_not_recorded(kaizen, learning, recorded):
    id, _ = learning()
    proof = recorded("proof", **WITNESSED, about_id=id)
    promoted = kaizen("L3", id=id, waive="Just in case.")

    assert promoted["proof_id"] == proof and promoted["waiver_not_needed"] is True
    assert kaizen.store.reader().value("SELECT count(*) FROM waiver") == 0


@pytest.mark.parametrize("kind", ["proof", "verification"])
def test_unknown_proof_or_verdict_is_not_found(kaizen, learning, kind):
    id, _ = learning()
    with pytest.raises(NotFound):
        kaizen("L3", id=id, **{f"{kind}_id": "nope"})


def test_lesson_proven_by_test_record_is_test_record(kaizen, learning, recorded):
    id, _ = learning()
    recorded("proof", test=True, **WITNESSED, about_id=id)
    kaizen("L3", id=id)
    kaizen("K7")

    assert kaizen("L7")["count"] == 0 and record(kaizen, "L6", id)["status"] == "active"
    assert kaizen("K8")["verified"] and set(kaizen("K1", integrity=True)["integrity"].values()) == {
        "ok"
    }
