"""The improvement lab: O1 to O3, as their users meet them."""

import hashlib
import json
import os

import pytest

from kaizen_components.errors import NotFound, Refused, Unavailable, Usage
from kaizen_components.index import find_command
from kaizen_components.records.ledger.canonical import encode_canonical


@pytest.fixture
def put(kaizen):
    """`put("gotcha", title=…)`: a record of any kind, by the engine's own write."""

    def add(kind, test=False, **values):
        def record(tx):
            return tx.add(kind, values)

        return kaizen._write(find_command("T2"), {}, "agent", None, test, record)

    return add


@pytest.fixture
def case(put):
    def add(title="Refuses a key", summary="W1 exits 1.", **more):
        return put(
            "eval_case",
            **{
                "title": title,
                "summary": summary,
                "scope": "project",
                "category": "security",
                **more,
            },
        )

    return add


@pytest.fixture
def gotcha(put):
    def add(title="WAL grows", summary="A reader pins it.", **more):
        return put("gotcha", **{"title": title, "summary": summary, "scope": "project", **more})

    return add


@pytest.fixture
def verdict(put):
    def add(summary="It failed.", conclusion="VERIFICATION_FAILED", **more):
        return put(
            "verification",
            **{"summary": summary, "conclusion": conclusion, "scope": "project", **more},
        )

    return add


@pytest.fixture
def correction(put):
    def add(summary="The wrong file.", scope="project", **more):
        review = put("irl", title="R", summary="S", scope=scope, **more)
        return put("irl_correction", irl_id=review["id"], summary=summary)

    return add


def ids(answer):
    return [row["id"] for row in answer["cases"]]


def refused(kaizen, **filters):
    with pytest.raises(Refused, match="No case fits") as error:
        kaizen("O1", contract="c", **filters)
    return error.value


# O1


def test_case_set_collects_records_of_four_kinds(kaizen, case, verdict, gotcha, correction):
    records = [case(), verdict(), gotcha(), correction()]
    answer = kaizen("O1", contract="review-prompt")

    assert ids(answer) == [record["id"] for record in records]
    assert [row["hash"] for row in answer["cases"]] == [record["hash"] for record in records]
    assert [row["title"] for row in answer["cases"]] == [
        "Refuses a key",
        "It failed.",
        "WAL grows",
        "The wrong file.",
    ]
    assert answer["kinds"] == {"eval_case": 1, "verification": 1, "gotcha": 1, "irl_correction": 1}
    assert kaizen("K8")["verified"] is True


def test_case_set_is_stored_with_hash_and_filters(kaizen, case):
    case()
    answer = kaizen("O1", contract="c", query="key", scope="project", since="7d")
    row = kaizen.store.reader().one("SELECT * FROM lab")

    assert json.loads(row["cases"]) == answer["cases"]
    assert set(answer["cases"][0]) == {"kind", "id", "hash", "title"}
    assert (
        row["manifest_hash"]
        == answer["manifest_hash"]
        == hashlib.sha256(row["cases"].encode()).hexdigest()
    )
    assert row["cases"] == encode_canonical(answer["cases"])
    assert {**json.loads(row["filters"]), "since": "…"} == {
        "query": "key",
        "scope": "project",
        "since": "…",
    }
    assert (row["title"], row["contract"]) == ("Cases of c", "c")


def test_same_records_and_filters_give_same_manifest(kaizen, case, gotcha):
    case()
    first = kaizen("O1", contract="one")["manifest_hash"]

    assert kaizen("O1", contract="two", actor="bob", title="Other")["manifest_hash"] == first
    gotcha()
    assert kaizen("O1", contract="one")["manifest_hash"] != first
    assert kaizen("O1", contract="one", category="security")["manifest_hash"] == first


def test_revised_gotcha_changes_manifest_of_case_set(kaizen, gotcha, put):
    record = gotcha()
    first = kaizen("O1", contract="c")["manifest_hash"]
    put("gotcha_revision", gotcha_id=record["id"], rev=2, body="More about it.")

    assert kaizen("O1", contract="c")["manifest_hash"] != first


def test_case_set_omits_resolved_or_acceptable_records(kaizen, case, verdict, gotcha, put):
    kept = case()
    task = kaizen("W1", title="T", summary="S")["id"]
    verdict(task_id=task)
    verdict("Fine now.", "VERIFIED_ACCEPTABLE", task_id=task)
    verdict("Fine from the start.", "ACCEPTABLE_WITH_CONCERNS")
    resolved = gotcha()
    put("gotcha_revision", gotcha_id=resolved["id"], rev=2, status="resolved")
    other = verdict("Still open.", "NEEDS_HUMAN_DECISION", task_id=task, scope="docs")

    assert ids(kaizen("O1", contract="c")) == [kept["id"], other["id"]]


def test_case_set_query_requires_only_words_after_plus(kaizen, case, verdict, gotcha, correction):
    about_keys = case("Key", "It leaks a token.")
    about_tokens = verdict("The token count is off.")
    about_both = gotcha("Key and count", "Both.")
    correction("Nothing of that.")

    assert ids(kaizen("O1", contract="c", query="key token")) == [
        r["id"] for r in (about_keys, about_tokens, about_both)
    ]
    assert ids(kaizen("O1", contract="c", query="+count key")) == [
        about_tokens["id"],
        about_both["id"],
    ]
    assert ids(kaizen("O1", contract="c", query='"key and count"')) == [about_both["id"]]
    assert "Q3" in refused(kaizen, query="zebra").next
    assert refused(kaizen, query="...").exit_code == 1
    assert refused(kaizen, query='" OR 1 --').exit_code == 1


def test_scope_task_and_age_filter_every_case_kind(kaizen, case, verdict, gotcha, correction):
    task = kaizen("W1", title="T", summary="S")["id"]
    for add in (case, verdict, gotcha, correction):
        add()
    docs = [add(scope="docs") for add in (case, verdict, gotcha, correction)]
    of_task = [add(task_id=task, scope="x") for add in (case, verdict, gotcha, correction)]

    assert ids(kaizen("O1", contract="c", scope="docs")) == [record["id"] for record in docs]
    assert ids(kaizen("O1", contract="c", task_id="@last")) == [record["id"] for record in of_task]
    assert len(ids(kaizen("O1", contract="c", since="1h"))) == 4
    assert refused(kaizen, since="2999-01-01")
    assert kaizen.store.reader().value("SELECT scope FROM lab WHERE scope <> 'project'") == "docs"
    with pytest.raises(NotFound):
        kaizen("O1", contract="c", task_id="task_2020")


def test_category_filter_excludes_other_kinds(kaizen, case, gotcha, verdict):
    security, routing = case(), case("Other", category="routing")
    gotcha()
    verdict()

    assert ids(kaizen("O1", contract="c", category="routing")) == [routing["id"]]
    assert ids(kaizen("O1", contract="c", category="security")) == [security["id"]]
    assert refused(kaizen, category="grounding")


def test_duplicate_cases_count_once_and_are_listed(kaizen, case, gotcha):
    first = case("Refuses a key", "W1 exits 1.")
    double = case("  refuses a KEY!", "w1  exits 1")
    other = case("Refuses a key", "W2 exits 1.")
    as_gotcha = gotcha("Refuses a key", "W1 exits 1.")
    answer = kaizen("O1", contract="c")

    assert ids(answer) == [first["id"], other["id"], as_gotcha["id"]]
    assert [(row["id"], row["same_as"]) for row in answer["dropped"]] == [
        (double["id"], first["id"])
    ]


def test_case_set_never_includes_test_records(kaizen, case, gotcha, verdict, put):
    for add in (case, gotcha, verdict):
        add(test=True)
    review = put("irl", title="R", summary="S", scope="project")
    put("irl_correction", test=True, irl_id=review["id"], summary="Only a test.")

    assert "--test" in refused(kaizen).why
    assert refused(kaizen, test=True).exit_code == 1


def test_empty_case_set_exits_1_and_writes_nothing(cli, kaizen):
    kaizen("K1")
    done = cli("O1", "--contract", "c", "--json")

    assert (done.exit_code, done.error["code"]) == (1, "no_cases")
    assert kaizen("K8")["entries"] == 0


def test_purge_removes_test_case_set_with_proposals(kaizen, case):
    case()
    lab = kaizen("O1", contract="c", test=True)["id"]
    kaizen("O2", **PROPOSAL, lab_id=lab)

    assert kaizen("K7")["removed"] == 3
    assert kaizen("K8")["verified"] is True


# O2

PROPOSAL = {
    "title": "One finding", "hypothesis": "Fewer, better.", "metric": "precision", "baseline": 0.6, "candidate": 0.7,
    "body": "Name the one thing.\n",
}  # fmt: skip
WITHOUT_CHANGE = {name: value for name, value in PROPOSAL.items() if name != "body"}


@pytest.fixture
def lab(kaizen, case):
    case()
    return kaizen("O1", contract="review-prompt")["id"]


@pytest.fixture
def propose(kaizen, lab):
    def add(**more):
        return kaizen("O2", **{"lab_id": lab, **PROPOSAL, **more})

    return add


def test_proposal_body_is_stored_as_file_and_artifact(kaizen, lab, propose, root):
    answer = propose()
    sha256 = hashlib.sha256(PROPOSAL["body"].encode()).hexdigest()
    artifact = kaizen.store.reader().one(
        "SELECT * FROM artifact WHERE id = ?", (answer["artifact_id"],)
    )

    assert answer["path"] == artifact["path"] == f"AI/work/lab/{sha256}.txt"
    assert (root / answer["path"]).read_bytes() == PROPOSAL["body"].encode()
    assert (artifact["sha256"], artifact["bytes"], artifact["kind"]) == (
        sha256,
        len(PROPOSAL["body"]),
        "file",
    )
    assert artifact["about_id"] == answer["lab_id"] == lab
    assert kaizen("K8")["verified"] is True


def test_proposal_patch_is_recorded_by_hash_and_path(kaizen, lab, root):
    (root / "changes").mkdir()
    (root / "changes" / "one.patch").write_bytes(b"--- a\r\n\xff")
    answers = [
        kaizen("O2", lab_id=lab, patch=patch, **WITHOUT_CHANGE)
        for patch in (
            "changes/one.patch",
            str(root / "changes" / "one.patch"),
            "changes/../changes/one.patch",
        )
    ]

    assert {(answer["path"], answer["sha256"]) for answer in answers} == {
        ("changes/one.patch", hashlib.sha256(b"--- a\r\n\xff").hexdigest())
    }


def test_proposal_without_exactly_one_change_is_refused(kaizen, lab, root):
    (root / "one.patch").write_text("x")
    for given in ({}, {"patch": "one.patch", "body": "x"}):
        with pytest.raises(Usage, match="exactly one of --patch and --body"):
            kaizen("O2", lab_id=lab, **WITHOUT_CHANGE, **given)


def test_proposal_patch_that_is_no_project_file_is_refused(kaizen, lab, root, tmp_path):
    (tmp_path / "outside.patch").write_text("x")
    os.symlink(tmp_path / "outside.patch", root / "link.patch")
    os.symlink(root / "nowhere", root / "broken.patch")
    before = kaizen("K8")["entries"]

    for patch in ("../outside.patch", str(tmp_path / "outside.patch"), "link.patch", "/"):
        with pytest.raises(Refused, match="outside the project"):
            kaizen("O2", lab_id=lab, patch=patch, **WITHOUT_CHANGE)
    with pytest.raises(NotFound):
        kaizen("O2", lab_id=lab, patch="missing.patch", **WITHOUT_CHANGE)
    for patch in (".", "broken.patch"):
        with pytest.raises(Usage, match="is not a file"):
            kaizen("O2", lab_id=lab, patch=patch, **WITHOUT_CHANGE)
    assert kaizen("K8")["entries"] == before


def test_proposal_for_unknown_lab_writes_nothing(kaizen, lab, root):
    with pytest.raises(NotFound):
        kaizen("O2", **PROPOSAL, lab_id="lab_2020")

    assert not (root / "AI" / "work").exists()


def test_proposing_same_body_restores_changed_file(propose, root):
    path = root / propose()["path"]
    path.write_text("something else")
    propose()

    assert path.read_text() == PROPOSAL["body"]


def test_read_only_work_folder_records_nothing(kaizen, lab, propose, root):
    (root / "AI" / "work").write_text("a file where the folder should be")
    before = kaizen("K8")["entries"]

    with pytest.raises(Unavailable, match="AI/work/lab"):
        propose()
    assert kaizen("K8")["entries"] == before


def test_work_folder_outside_project_is_refused(kaizen, lab, propose, root, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", root / "AI" / "work")

    with pytest.raises(Refused, match="outside the project"):
        propose()
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [{"baseline": "nan"}, {"candidate": "inf"}, {"candidate": None}, {"better": "faster"}, {"metric": " "},
     {"title": "x" * 201}, {"hypothesis": "x" * 2_001}, {"body": " "}, {"body": "x" * 1_000_001}, {"body": "a\0b"}],
    ids=lambda wrong: next(iter(wrong)),
)  # fmt: skip
def test_proposal_with_bad_value_is_usage_error(propose, wrong):
    with pytest.raises(Usage):
        propose(**wrong)


def test_proposal_evidence_is_text_or_existing_record(kaizen, propose, put):
    score = kaizen("T2", name="precision", value=0.7)["id"]
    proof = put("proof", title="P", tier="reported", outcome="passed")["id"]
    answer = propose(
        evidence=[
            score,
            proof[:-1],
            "score_of_old was lower",
            "I looked at it: 100 % 'better'",
            score,
        ]
    )

    assert answer["evidence"] == [
        score,
        proof,
        "score_of_old was lower",
        "I looked at it: 100 % 'better'",
    ]
    for wrong in (
        "score_2020",
        "proof_20261116T031555123Z_0f1e2d3c4b",
        "verif_2",
        "erun_1",
        "task_2020",
    ):
        with pytest.raises(NotFound):
            propose(evidence=[wrong])


def test_test_evidence_makes_test_proposal(kaizen, propose):
    score = kaizen("T2", name="precision", value=0.7, test=True)["id"]
    propose(evidence=[score])

    assert kaizen("O3")["records"] == []
    assert kaizen("O3", test=True)["count"] == 1


def test_same_op_id_records_proposal_once(kaizen, propose):
    first = propose(op_id="once")

    assert propose(op_id="once") == {**first, "replayed": True}
    assert kaizen("O3")["count"] == 1


def test_proposal_works_inside_batch(kaizen, lab, root):
    (root / "batch.jsonl").write_text(
        json.dumps({"command": "O2", "args": {**PROPOSAL, "lab_id": lab}})
    )

    assert kaizen("K5", file=str(root / "batch.jsonl"))["records"][0]["lab_id"] == lab


# O3


def witnessed(put, outcome="passed", **more):
    hash = "0" * 64
    return put(
        "proof", title="P", tier="witnessed", outcome=outcome, argv="[]", exit_code=0, tree_hash=hash,
        stdout_hash=hash, stderr_hash=hash, duration_ms=1, platform="linux", **more,
    )["id"]  # fmt: skip


def tiers(kaizen, **filters):
    return {row["title"]: row["tier"] for row in kaizen("O3", **filters)["records"]}


def test_proposals_with_evidence_rank_above_claims(kaizen, propose, put):
    propose(title="Claims most", candidate=0.99)
    propose(title="Measured", candidate=0.61, evidence=[witnessed(put)])
    propose(title="Measured more", candidate=0.65, evidence=[witnessed(put)])
    propose(title="Reported", candidate=0.8, evidence=["I saw it."])
    rows = kaizen("O3")["records"]

    assert [(row["rank"], row["title"], row["tier"]) for row in rows] == [
        (1, "Measured more", "measured"),
        (2, "Measured", "measured"),
        (3, "Reported", "reported"),
        (4, "Claims most", "claimed"),
    ]
    assert [row.get("gain") for row in rows] == [0.05, 0.01, 0.2, None]
    assert (rows[3]["claimed_gain"], rows[3]["claimed_relative_gain"]) == (0.39, 0.65)
    assert "gain" not in rows[3] and "relative_gain" not in rows[3]
    assert not any("claimed_gain" in row for row in rows[:3])
    assert kaizen("O3")["tiers"] == {"measured": 2, "reported": 1, "claimed": 1}


def test_proposal_with_failed_or_reported_proof_is_not_measured(kaizen, propose, put, case):
    def score(name="precision", **more):
        return kaizen("T2", name=name, value=0.7, **more)["id"]

    def run(outcome, proof):
        return put("eval_run", case_id=case("A case")["id"], outcome=outcome, proof_id=proof)["id"]

    reported = put("proof", title="P", tier="reported", outcome="passed")["id"]
    evidence = {
        "witnessed proof": (witnessed(put), "measured"),
        "witnessed, but failed": (witnessed(put, "failed"), "reported"),
        "reported proof": (reported, "reported"),
        "score by a tool": (score(), "measured"),
        "score of the metric in capitals": (score("Precision"), "measured"),
        "score of something else": (score("coverage"), "reported"),
        "score by a model": (score(source="model"), "reported"),
        "score by a person": (score(source="human"), "reported"),
        "run with a witnessed proof": (run("failed", witnessed(put)), "measured"),
        "run that was skipped": (run("skipped", witnessed(put)), "reported"),
        "run with a reported proof": (run("passed", reported), "reported"),
        "run that somebody typed": (run("passed", None), "reported"),
        "a text": ("It is better, measured!", "reported"),
    }
    for title, (item, _) in evidence.items():
        propose(title=title, evidence=[item])
    propose(title="nothing")

    assert tiers(kaizen) == {
        **{title: tier for title, (_, tier) in evidence.items()},
        "nothing": "claimed",
    }


def test_records_about_proposal_count_as_its_evidence(kaizen, propose, put):
    by_score, by_proof, by_verdict = (
        propose(title=title)["id"] for title in ("score", "proof", "verdict")
    )
    kaizen("T2", name="precision", value=0.7, about=by_score)
    witnessed(put, about_id=by_proof)
    put(
        "verification",
        scope="project",
        conclusion="VERIFIED_ACCEPTABLE",
        summary="Good.",
        about_id=by_verdict,
    )
    kaizen("T2", name="precision", value=0.7, about=propose(title="test only")["id"], test=True)

    assert tiers(kaizen) == {
        "score": "measured", "proof": "measured", "verdict": "reported", "test only": "claimed",
    }  # fmt: skip


@pytest.mark.parametrize(
    "better, baseline, candidate, gain, relative",
    [
        ("higher", 0.6, 0.7, 0.1, 0.166666666667),
        ("lower", 900, 700, 200, 0.222222222222),
        ("lower", 700, 900, -200, -0.285714285714),
        ("higher", -4, -3, 1, 0.25),
        ("higher", 0, 5, 5, None),
        ("higher", -1e300, 1e300, 2e300, 2),
        ("higher", 1e-300, 1e300, 1e300, None),
        ("higher", 1, 1, 0, 0),
    ],
)
def test_gain_is_positive_in_better_direction(
    kaizen, propose, better, baseline, candidate, gain, relative
):
    propose(better=better, baseline=baseline, candidate=candidate, evidence=["seen"])
    [row] = kaizen("O3")["records"]

    assert (row["gain"], row["relative_gain"]) == (gain, relative)


def test_lab_report_filters_by_lab_and_contract(kaizen, lab, propose):
    other = kaizen("O1", contract="plan-prompt")["id"]
    propose(title="a")
    propose(title="b")
    propose(title="c", metric="recall")
    propose(title="d", lab_id=other)

    assert set(tiers(kaizen)) == {"a", "b", "c", "d"}
    assert set(tiers(kaizen, id=lab)) == {"a", "b", "c"}
    assert set(tiers(kaizen, contract="plan-prompt")) == {"d"}
    assert tiers(kaizen, contract="unknown") == {}
    assert {row["title"]: row["proposals"] for row in kaizen("O3")["records"]} == {
        "a": 2,
        "b": 2,
        "c": 1,
        "d": 1,
    }
    assert {row["proposals"] for row in kaizen("O3", limit=1)["records"]} == {2}
    with pytest.raises(NotFound):
        kaizen("O3", id="lab_2020")


def test_limit_keeps_highest_ranked_proposals(kaizen, propose):
    for candidate in (0.61, 0.9, 0.7):
        propose(candidate=candidate)
    answer = kaizen("O3", limit=2)

    assert [row["candidate"] for row in answer["records"]] == [0.9, 0.7]
    assert (answer["count"], answer["more"], answer["tiers"]["claimed"]) == (2, True, 3)


def test_text_report_labels_gain_without_evidence_as_claimed(cli, kaizen, propose):
    propose(candidate=0.9)
    shown = cli("O3").out

    assert "claimed gain" in shown and "0.3" in shown
    assert "gain" not in shown.replace("claimed gain", "").replace("claimed relative gain", "")


def test_lab_report_without_database_is_not_found(cli):
    assert cli("O3").exit_code == 3
    assert cli("O2", "--lab-id", "@last", "--title", "t", "--hypothesis", "h", "--metric", "m", "--baseline", "1",
               "--candidate", "2", "--body", "b").exit_code == 3  # fmt: skip
