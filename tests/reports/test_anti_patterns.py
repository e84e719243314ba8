"""R7: anti-patterns as prose, and the records that refer to each."""


def add_pattern(kaizen, title="Sleep in tests", **more):
    return kaizen(
        "Q5", title=title, symptom="Tests wait.", correction="Wait for the event.", **more
    )["id"]


def report(kaizen, **more):
    return kaizen("R7", out="-", format="md", **more)


def test_anti_pattern_report_has_heading_for_every_text(kaizen):
    add_pattern(
        kaizen,
        harm="Slow.",
        trigger="A race.",
        exceptions="None.",
        verification="Search for it.",
        body="More.",
    )
    text = report(kaizen)["document"]

    for label, sentence in {
        "How it shows": "Tests wait.", "What it costs": "Slow.", "What brings it about": "A race.",
        "What to do instead": "Wait for the event.", "When it is all right": "None.",
        "How to check that it is gone": "Search for it.",
    }.items():  # fmt: skip
        assert f"**{label}**\n\n> {sentence}" in text


def test_anti_pattern_lists_records_that_refer_to_it(kaizen):
    pattern, other = add_pattern(kaizen), add_pattern(kaizen, "Other")
    referring = {
        kaizen("Q2", about=pattern, conclusion="VERIFICATION_FAILED", summary="Met again.")["id"],
        kaizen("G1", title="T", summary="S", body="B", evidence=[pattern])["id"],
        kaizen("T2", name="n", value=1, about=pattern)["id"],
        kaizen("Q1", title="Seen", about=pattern)["id"],
    }
    kaizen("Q2", about=pattern, conclusion="VERIFICATION_FAILED", summary="A trial.", test=True)
    references = {
        row["id"]: {reference["id"] for reference in row["references"]}
        for row in report(kaizen)["data"]["patterns"]
    }

    assert references == {pattern: referring, other: set()}


def test_report_query_selects_anti_patterns_newest_first(kaizen):
    first, second = add_pattern(kaizen, "The first"), add_pattern(kaizen, "The second")
    add_pattern(kaizen, "Unlike")

    assert [row["id"] for row in report(kaizen, query="first second")["data"]["patterns"]] == [
        second,
        first,
    ]
    assert "2 more are not shown" in report(kaizen, limit=1)["document"]
