"""R7: each pattern as prose, and who refers to it."""


def add(kaizen, title="Sleep in tests", **more):
    return kaizen(
        "Q5", title=title, symptom="Tests wait.", correction="Wait for the event.", **more
    )["id"]


def report(kaizen, **more):
    return kaizen("R7", out="-", format="md", **more)


def test_pattern_texts_stand_under_their_names(kaizen):
    add(
        kaizen,
        harm="Slow.",
        trigger="A race.",
        exceptions="None.",
        verification="Search for it.",
        body="More.",
    )
    text = report(kaizen)["document"]

    for label, said in {
        "How it shows": "Tests wait.", "What it costs": "Slow.", "What brings it about": "A race.",
        "What to do instead": "Wait for the event.", "When it is all right": "None.",
        "How to check that it is gone": "Search for it.",
    }.items():  # fmt: skip
        assert f"**{label}**\n\n> {said}" in text


def test_records_that_refer_to_a_pattern_are_counted(kaizen):
    pattern, other = add(kaizen), add(kaizen, "Other")
    named = {
        kaizen("Q2", about=pattern, conclusion="VERIFICATION_FAILED", summary="Met again.")["id"],
        kaizen("G1", title="T", summary="S", body="B", evidence=[pattern])["id"],
        kaizen("T2", name="n", value=1, about=pattern)["id"],
        kaizen("Q1", title="Seen", about=pattern)["id"],
    }
    kaizen("Q2", about=pattern, conclusion="VERIFICATION_FAILED", summary="A trial.", test=True)
    found = {
        row["id"]: {one["id"] for one in row["references"]}
        for row in report(kaizen)["data"]["patterns"]
    }

    assert found == {pattern: named, other: set()}


def test_newest_pattern_comes_first_and_query_selects(kaizen):
    first, second = add(kaizen, "The first"), add(kaizen, "The second")
    add(kaizen, "Unlike")

    assert [row["id"] for row in report(kaizen, query="first second")["data"]["patterns"]] == [
        second,
        first,
    ]
    assert "2 more are not shown" in report(kaizen, limit=1)["document"]
