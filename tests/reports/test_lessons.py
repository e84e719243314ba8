"""R3: the promotion of lessons, the evidence behind them, and which are stale."""

import pytest

PLAIN = {"title": "WAL grows", "summary": "A reader pins it.", "body": "Close readers."}


@pytest.fixture
def gotcha(kaizen):
    return lambda **more: kaizen("G1", **{**PLAIN, "evidence": ["seen"], **more})["id"]


def report(kaizen, **more):
    return kaizen("R3", out="-", format="md", **more)


def lessons(kaizen, kind):
    return report(kaizen)["data"]["lessons"][kind]


def test_lesson_is_shown_at_last_stage_with_lineage(kaizen, gotcha):
    first, unpromoted = gotcha(), gotcha()
    learning = kaizen("L2", id=first)["id"]
    learned = kaizen("L3", id=learning, waive="Seen for a month.")["id"]
    direct = kaizen("L1", **PLAIN)["id"]

    assert [row["id"] for row in lessons(kaizen, "gotcha")] == [unpromoted]
    assert [row["id"] for row in lessons(kaizen, "learning")] == [direct]
    (lesson,) = lessons(kaizen, "learned")
    assert [step["id"] for step in lesson["lineage"]] == [first, learning, learned]


def test_proven_lesson_shows_its_verdict_or_waiver(kaizen, gotcha):
    kaizen("L3", id=kaizen("L2", id=gotcha())["id"], waive="Seen for a month.")
    learning = kaizen("L2", id=gotcha())["id"]
    verdict = kaizen("Q2", about=learning, conclusion="VERIFIED_ACCEPTABLE", summary="Read twice.")[
        "id"
    ]
    kaizen("L3", id=learning)
    answer = report(kaizen)

    assert answer["data"]["backed_by"] == {"verification": 1, "waiver": 1}
    assert "(waived): Seen for a month." in answer["document"]
    assert f"Backed by verdict {verdict}".replace("_", "\\_") in answer["document"]


def test_lesson_is_stale_after_its_file_changes(kaizen, root, gotcha):
    (root / "a.py").write_text("1")
    (root / "b.py").write_text("1")
    changed, same = gotcha(paths=["a.py"]), gotcha(paths=["b.py"])
    gotcha()
    (root / "a.py").write_text("2")
    answer = report(kaizen)
    stale = answer["data"]["stale"]

    assert (stale["looked_at"], stale["number"], [row["id"] for row in stale["lessons"]]) == (
        2,
        1,
        [changed],
    )
    assert "against the working tree as it is now" in answer["document"]
    assert {row["id"]: row["stale"] for row in answer["data"]["lessons"]["gotcha"]}[same] is False
    assert "Fresh: b.py unchanged since then." in answer["document"]


def test_funnel_counts_promotions_by_stage(kaizen, gotcha):
    learning = kaizen("L2", id=gotcha())["id"]
    gotcha()
    kaizen("L3", id=learning, waive="W.")
    kaizen("L3", id=kaizen("L1", **PLAIN)["id"], waive="W.")
    kaizen("L1", **PLAIN)
    funnel = report(kaizen)["data"]["funnel"]

    assert (funnel["to_learning"]["lessons"], funnel["to_learning"]["became"]) == (2, 1)
    assert (funnel["to_learned"]["lessons"], funnel["to_learned"]["became"]) == (3, 2)
    assert funnel["whole_way"] == 1 and funnel["to_learned"]["median_days"] >= 0


def test_closed_lessons_are_shown_with_reason(kaizen, gotcha):
    old, new, retired = gotcha(), gotcha(), gotcha()
    kaizen("L11", id=old, reason="Said better.", superseded_by=new)
    kaizen("L11", id=retired, reason="The engine does it.")
    closed = report(kaizen)["data"]["closed"]

    assert [(row["id"], row["status"], row["reason"], row["superseded_by"]) for row in closed] == [
        (retired, "retired", "The engine does it.", None), (old, "superseded", "Said better.", new),
    ]  # fmt: skip


def test_weekly_promotions_exclude_learnings_added_directly(kaizen, gotcha):
    kaizen("L1", **PLAIN)
    kaizen("L3", id=kaizen("L2", id=gotcha())["id"], waive="W.")
    (week,) = report(kaizen)["data"]["promoted"]["periods"]

    assert (week["became_learning"], week["became_learned"]) == (1, 1)


def test_lessons_beyond_limit_are_counted(kaizen, gotcha):
    for _ in range(3):
        gotcha()
    answer = report(kaizen, limit=1)

    assert (
        len(answer["data"]["lessons"]["gotcha"]) == 1
        and "2 older ones are not shown." in answer["document"]
    )
