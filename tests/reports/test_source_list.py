"""R6: tiers, version chains, and records that cite a superseded source."""

import pytest


@pytest.fixture
def source(kaizen):
    def add(title="A page", tier="primary", **more):
        return kaizen("S1", title=title, tier=tier, url="https://example.org/", **more)["id"]

    return add


def get_data(kaizen, **more):
    return kaizen("R6", out="-", format="md", **more)["data"]


def test_version_chain_runs_from_oldest_to_current(kaizen, source):
    first = source(version="1")
    second = source(version="2", supersedes=first)
    source("Alone")
    third = source(version="3", supersedes=second)

    assert [[row["id"] for row in chain] for chain in get_data(kaizen)["chains"]] == [
        [first, second, third]
    ]


def test_query_for_old_version_finds_whole_chain(kaizen, source):
    first = source("Handbook")
    second = source("Manual", supersedes=first)

    assert [
        [row["id"] for row in chain] for chain in get_data(kaizen, query="handbook")["chains"]
    ] == [[first, second]]


def test_test_source_is_left_out_of_chains(kaizen, source):
    first = source()
    source(supersedes=first, test=True)

    assert get_data(kaizen)["chains"] == [] and get_data(kaizen)["tiers"][0]["superseded"] == 0


def test_same_and_changed_content_are_distinguished(kaizen, source):
    first = source(content_hash="a" * 64)
    second = source(content_hash="a" * 64, supersedes=first)
    source(content_hash="b" * 64, supersedes=second)
    text = kaizen("R6", out="-", format="md")["document"]

    assert [word for word in ("the first", "the same", "changed") if f"| {word} |" in text] == [
        "the first", "the same", "changed",
    ]  # fmt: skip


def test_records_citing_superseded_source_are_listed(kaizen, source):
    old, fine = source(), source()
    gotcha = kaizen("G1", title="T", summary="S", body="B", evidence=["seen", old])["id"]
    kaizen("G1", title="T", summary="S", body=f"Mentions {old}", evidence=[fine])
    verdict = kaizen("Q2", conclusion="PROOF_RECORDED", summary="S", evidence=[old])["id"]
    about = kaizen("Q2", conclusion="VERIFIED_ACCEPTABLE", summary="S", about=old)["id"]

    assert get_data(kaizen)["standing"] == []
    new = source(supersedes=old)
    citations = get_data(kaizen)["standing"]
    assert {row["id"] for row in citations} == {gotcha, verdict, about}
    assert {(row["source_id"], row["newer_id"]) for row in citations} == {(old, new)}


def test_promoted_or_retired_lesson_is_not_listed(kaizen, source):
    old = source()
    gotcha = kaizen("G1", title="T", summary="S", body="B", evidence=[old])["id"]
    retired = kaizen("G1", title="T", summary="S", body="B", evidence=[old])["id"]
    learning = kaizen("L2", id=gotcha)["id"]
    kaizen("L11", id=retired, reason="Gone.")
    source(supersedes=old)

    assert [row["id"] for row in get_data(kaizen)["standing"]] == [learning]


def test_missing_fields_are_counted_by_tier(kaizen, source):
    source(license="MIT", version="1", content_hash="a" * 64)
    source(commit_hash="abcdef0")
    source(tier="canonical")
    canonical, primary = get_data(kaizen)["tiers"]

    assert (canonical["tier"], canonical["without_license"], canonical["without_version"]) == (
        "canonical",
        1,
        1,
    )
    assert (primary["sources"], primary["without_license"], primary["without_hash"]) == (2, 1, 1)
    assert primary["without_version"] == 0, "a commit is a version"
    assert len(get_data(kaizen, tier="canonical")["sources"]) == 1


def test_source_age_starts_at_retrieval(kaizen, source):
    source(retrieved_at="2020-01-01")
    (tier,) = get_data(kaizen)["tiers"]

    assert tier["mean_age_days"] > 2_000 and tier["oldest"].startswith("2020-01-01")
