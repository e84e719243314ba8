"""Q2 and Q9: verdicts, what they refer to, and which later ones supersede them."""

import pytest

from kaizen_components.errors import NotFound, Refused, Usage
from kaizen_components.limits import CONCLUSION

BLOCKING = ("NEEDS_HUMAN_DECISION", "STRUCTURAL_REWORK_RECOMMENDED", "VERIFICATION_FAILED")
ACCEPTABLE = ("VERIFIED_ACCEPTABLE", "ACCEPTABLE_WITH_CONCERNS")


@pytest.fixture
def task(kaizen):
    def start(title="A task", **more):
        return kaizen("W1", title=title, summary="About it.", **more)["id"]

    return start


@pytest.fixture
def verdict(kaizen):
    """`verdict("VERIFICATION_FAILED", task_id=…)`: what Q2 answers."""

    def add(conclusion="VERIFICATION_FAILED", summary="Looked at it.", **more):
        return kaizen("Q2", conclusion=conclusion, summary=summary, **more)

    return add


def superseded_by(kaizen, id):
    return kaizen("Q7", id=id)["record"].get("superseded_by")


def rows(kaizen, **filters):
    return kaizen("Q9", **filters)["records"]


def ids(kaizen, **filters):
    return [row["id"] for row in rows(kaizen, **filters)]


# Q2


@pytest.mark.parametrize("conclusion", CONCLUSION)
def test_verdict_with_only_conclusion_and_summary_is_recorded(kaizen, verdict, conclusion):
    added = verdict(conclusion.lower())

    assert (added["conclusion"], added["blocking"]) == (conclusion, conclusion in BLOCKING)
    assert added["supersedes"] == []
    assert kaizen("Q7", id=added["id"])["record"]["conclusion"] == conclusion


@pytest.mark.parametrize("given", [{"conclusion": "VERIFIED_ACCEPTABLE"}, {"summary": "S"}, {}])
def test_verdict_without_conclusion_or_summary_is_usage_error(kaizen, given):
    with pytest.raises(Usage, match="needs"):
        kaizen("Q2", **given)


def test_verdict_stores_every_option(kaizen, task, verdict):
    id = task()
    case = kaizen("Q3", title="C", summary="S", category="proof")["id"]
    added = verdict(
        task_id=id[:-1], about=case, scope="docs", severity="high", body="Long.", evidence=["seen", id[:-2]],
        findings='["one", "two, \\"quoted\\" 100%"]', remedies=["Do\nthis"],
    )  # fmt: skip
    kept = kaizen("Q7", id="@last")

    assert kept["id"] == added["id"] and kept["log"]["content_hash"] == added["hash"]
    assert kept["record"]["evidence"] == ["seen", id], "a prefix of an id becomes the id"
    assert kept["record"]["findings"] == ["one", 'two, "quoted" 100%']
    assert kept["record"]["remedies"] == ["Do\nthis"]
    assert (kept["record"]["task_id"], kept["record"]["about_id"], kept["record"]["severity"]) == (
        id,
        case,
        "high",
    )
    assert (added["task_id"], added["about_id"], added["scope"]) == (id, case, "docs")


@pytest.mark.parametrize(
    "given",
    [
        {"task_id": "task_nope"},
        {"proof_id": "proof_nope"},
        {"proof_id": "@last"},
        {"artifact_id": ["art_nope"]},
        {"about": "gotcha_nope"},
        {"about": "nonsense"},
        {"about": "lease_20261116T031555123Z_0f1e2d3c4b"},
        {"evidence": ["fine", "task_20261116T031555123Z_0f1e2d3c4b"]},
        {"evidence": ["erun_20261116T"]},
    ],
)
def test_verdict_with_unknown_record_writes_nothing(kaizen, task, verdict, given):
    task()
    with pytest.raises(NotFound) as caught:
        verdict(**given)

    assert caught.value.exit_code == 3
    assert rows(kaizen) == []


@pytest.mark.parametrize(
    "text",
    [
        "task_one is done",
        "word_20261116T0315",
        "task_2026",
        "case_12345678",
        "20261116T",
        "_",
        "task_٢٠٢٦١١١٦T",
        "a b",
    ],
)
def test_verdict_evidence_without_id_is_stored_as_text(kaizen, verdict, text):
    verdict(evidence=[text])

    assert kaizen("Q7", id="@last")["record"]["evidence"] == [text]


def test_verdict_about_task_belongs_to_it(kaizen, task, verdict):
    id = task()

    assert verdict(about=id)["task_id"] == id
    assert ids(kaizen, task_id=id) != []


@pytest.mark.parametrize("conclusion", CONCLUSION)
def test_blocking_verdict_without_findings_gets_hint(verdict, conclusion):
    assert ("hint" in verdict(conclusion)) is (conclusion in BLOCKING)
    assert "hint" not in verdict(conclusion, findings=["It leaks."])


@pytest.mark.parametrize("bad", [" ", "x" * 2_001, "a\0b", "\ud800"])
def test_verdict_with_blank_summary_is_refused(verdict, bad):
    with pytest.raises(Usage):
        verdict(summary=bad)


def test_verdict_with_secret_in_finding_is_refused(kaizen, verdict):
    with pytest.raises(Refused, match="--findings"):
        verdict(findings=["the token is ghp_" + "a1B2c3D4" * 5])
    with pytest.raises(NotFound):
        kaizen("Q9")  # not even the database was made


def test_verdict_body_of_million_characters_is_stored(kaizen, verdict):
    verdict(body="ü" * 1_000_000)

    assert len(kaizen("Q7", id="@last")["record"]["body"]) == 1_000_000


def test_verdict_with_same_op_id_is_recorded_once(kaizen, task, verdict):
    id = task()
    first = verdict(task_id=id, op_id="verdict-1")
    again = verdict(task_id=id, op_id="verdict-1")

    assert again["id"] == first["id"] and again["replayed"]
    assert len(rows(kaizen)) == 1


def test_purge_removes_verdicts_on_test_records(kaizen, task, verdict):
    trial = task(test=True)
    on_task, cites = verdict(task_id=trial)["id"], verdict(evidence=[trial])["id"]
    kept = verdict(summary="Real.")["id"]
    kaizen("K7")

    assert ids(kaizen) == [kept]
    assert ids(kaizen, query="Looked") == []
    for gone in (on_task, cites):
        with pytest.raises(NotFound):
            kaizen("Q7", id=gone)
    assert kaizen("K8")["verified"]


# What supersedes what


@pytest.mark.parametrize("accepted", ACCEPTABLE)
@pytest.mark.parametrize("blocked", BLOCKING)
def test_later_acceptable_verdict_supersedes_blocking_one(kaizen, task, verdict, blocked, accepted):
    id = task()
    old = verdict(blocked, task_id=id)["id"]
    new = verdict(accepted, task_id=id)

    assert new["supersedes"] == [old]
    assert superseded_by(kaizen, old) == new["id"]
    assert kaizen("Q7", id=new["id"])["supersedes"] == [old]
    assert kaizen("Q7", id=old)["record"]["conclusion"] == blocked, "history stays"


def test_only_first_acceptable_verdict_supersedes(kaizen, task, verdict):
    id = task()
    olds = [verdict(blocked, task_id=id)["id"] for blocked in BLOCKING]
    first, second = (
        verdict("VERIFIED_ACCEPTABLE", task_id=id),
        verdict("VERIFIED_ACCEPTABLE", task_id=id),
    )

    assert (first["supersedes"], second["supersedes"]) == (olds, [])


def test_blocking_verdict_after_acceptable_one_is_not_superseded(kaizen, task, verdict):
    id = task()
    verdict("VERIFIED_ACCEPTABLE", task_id=id)
    later = verdict(task_id=id)["id"]

    assert superseded_by(kaizen, later) is None


@pytest.mark.parametrize("conclusion", ["PROOF_RECORDED", *BLOCKING])
def test_unacceptable_verdict_supersedes_nothing(kaizen, task, verdict, conclusion):
    id = task()
    old = verdict(task_id=id)["id"]

    assert verdict(conclusion, task_id=id)["supersedes"] == []
    assert superseded_by(kaizen, old) is None


def test_verdict_of_other_scope_or_task_supersedes_nothing(kaizen, task, verdict):
    id, other = task(), task("Another")
    old = verdict(task_id=id)["id"]
    loose = verdict()["id"]
    for given in ({"task_id": id, "scope": "docs"}, {"task_id": other}, {"about": other}, {}):
        assert verdict("VERIFIED_ACCEPTABLE", **given)["supersedes"] == []

    assert superseded_by(kaizen, old) is None
    assert superseded_by(kaizen, loose) is None


def test_verdict_about_same_record_supersedes_in_its_scope(kaizen, task, verdict):
    case = kaizen("Q3", title="C", summary="S", category="proof")["id"]
    other = kaizen("Q3", title="D", summary="S", category="proof")["id"]
    old = verdict(about=case)["id"]

    assert verdict("VERIFIED_ACCEPTABLE", about=other)["supersedes"] == []
    assert verdict("VERIFIED_ACCEPTABLE", about=case, scope="docs")["supersedes"] == []
    assert verdict("VERIFIED_ACCEPTABLE", about=case, task_id=task())["supersedes"] == [old]


def test_verdict_for_another_task_supersedes_nothing(kaizen, task, verdict):
    case = kaizen("Q3", title="C", summary="S", category="proof")["id"]
    old = verdict(about=case, task_id=task())["id"]

    assert verdict("VERIFIED_ACCEPTABLE", about=case, task_id=task("Another"))["supersedes"] == []
    assert verdict("VERIFIED_ACCEPTABLE", about=case)["supersedes"] == [old]


def test_test_verdict_supersedes_no_real_one(kaizen, task, verdict):
    id = task()
    real, trial = verdict(task_id=id)["id"], verdict(task_id=id, test=True)["id"]

    assert verdict("VERIFIED_ACCEPTABLE", task_id=id, test=True)["supersedes"] == [trial]
    assert superseded_by(kaizen, real) is None
    assert verdict("VERIFIED_ACCEPTABLE", task_id=id)["supersedes"] == [real]


# Q9


def test_verdict_query_filters_by_every_option(kaizen, task, verdict):
    id = task()
    first = verdict(task_id=id, severity="high")["id"]
    second = verdict("VERIFIED_ACCEPTABLE", task_id=id)["id"]
    third = verdict("NEEDS_HUMAN_DECISION", scope="docs", severity="low", summary="Which licence?")[
        "id"
    ]

    assert ids(kaizen) == [third, second, first]
    assert ids(kaizen, task_id=id[:-1]) == [second, first]
    assert ids(kaizen, conclusion="needs_human_decision") == ids(kaizen, severity="low") == [third]
    assert ids(kaizen, scope="docs") == ids(kaizen, query="licence") == [third]
    assert ids(kaizen, query="looked licence", task_id=id) == [second, first]
    assert ids(kaizen, since="1h") == [third, second, first] and ids(kaizen, until="1h") == []
    assert ids(kaizen, severity="critical") == []
    assert kaizen("Q9", limit=2)["more"] and not kaizen("Q9", limit=3)["more"]


def test_verdict_query_names_superseding_verdict(kaizen, task, verdict):
    id = task()
    old, new = verdict(task_id=id), verdict("VERIFIED_ACCEPTABLE", task_id=id)
    second, first = rows(kaizen)

    assert first == {
        "id": old["id"], "conclusion": "VERIFICATION_FAILED", "severity": None, "scope": "project", "task_id": id,
        "about_id": None, "at": old["at"], "blocking": True, "superseded_by": new["id"], "test": False,
        "summary": "Looked at it.",
    }  # fmt: skip
    assert (second["blocking"], second["superseded_by"]) == (False, None)


@pytest.mark.parametrize(
    "words", ["100%", "'; DROP TABLE gotcha; --", '"', "NEAR(a b)", "*", "a" * 1_000]
)
def test_verdict_query_with_any_characters_succeeds(kaizen, verdict, words):
    added = verdict(findings=["It reached 100% of its disk."])["id"]

    assert ids(kaizen, query=words) == ([added] if words == "100%" else [])


def test_verdicts_are_found_by_their_findings_remedies_and_evidence(kaizen, verdict):
    added = verdict(findings=["leaks memory"], remedies=["close readers"], evidence=["heapdump"])[
        "id"
    ]

    assert (
        ids(kaizen, query="leak")
        == ids(kaizen, query="readers")
        == ids(kaizen, query="heapdump")
        == [added]
    )


def test_query_reports_unknown_task_and_missing_database(kaizen, task):
    with pytest.raises(NotFound):
        kaizen("Q9")
    task()
    with pytest.raises(NotFound):
        kaizen("Q9", task_id="task_nope")
    with pytest.raises(Usage):
        kaizen("Q9", conclusion="FINE")


def test_command_line_records_and_shows_verdicts(cli):
    cli("W1", "--title", "T", "--summary", "S")
    failed = cli(
        "Q2",
        "--task-id",
        "@last",
        "--conclusion",
        "VERIFICATION_FAILED",
        "--summary",
        "No.",
        "--json",
    ).json
    said = cli(
        "Q2", "--task-id", "@last", "--conclusion", "VERIFIED_ACCEPTABLE", "--summary", "Yes.", "--findings", "one",
        "--findings", '["two", "three"]',
    )  # fmt: skip

    assert said.exit_code == 0 and f"supersedes  {failed['id']}" in said.out
    assert cli("Q7", "--id", "@last", "--json").json["record"]["findings"] == [
        "one",
        "two",
        "three",
    ]
    assert failed["id"] in cli("Q9").out and "superseded by" in cli("Q9").out
    assert cli("Q2", "--conclusion", "FINE", "--summary", "S").exit_code == 2
    assert (
        cli("Q2", "--conclusion", "VERIFIED_ACCEPTABLE", "--summary", "S", "--about", "x").exit_code
        == 3
    )
    assert cli("K8").exit_code == 0
