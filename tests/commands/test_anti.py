"""Q5, Q6 and Q7: patterns that harm."""

import pytest

from kaizen_components.errors import NotFound, Usage

WHOLE = {
    "title": "Sleep in tests", "summary": "Waiting by the clock.", "body": "Long.",
    "symptom": "Tests wait for seconds.", "harm": "Slow and flaky.", "trigger": "An event without a handle.",
    "correction": "Wait for the event.", "exceptions": "A lease that must run out.",
    "verification": "grep finds no sleep.", "scope": "docs",
}  # fmt: skip


def test_anti_pattern_stores_every_option(kaizen):
    task = kaizen("W1", title="T", summary="S")["id"]
    added = kaizen("Q5", **WHOLE, task_id=task[:-1])
    shown = kaizen("Q7", id=added["id"])

    assert {name: shown["record"][name] for name in WHOLE} == WHOLE
    assert (added["task_id"], shown["record"]["task_id"], shown["kind"]) == (
        task,
        task,
        "anti_pattern",
    )


@pytest.mark.parametrize("missing", ["title", "symptom", "correction"])
def test_anti_pattern_without_title_symptom_or_correction_is_refused(kaizen, missing):
    with pytest.raises(Usage, match=f"--{missing}"):
        kaizen("Q5", **{name: value for name, value in WHOLE.items() if name != missing})


@pytest.mark.parametrize(
    "word", ["sleep", "clock", "seconds", "flaky", "handle", "event", "lease", "grep"]
)
def test_query_finds_anti_pattern_by_each_text_field(kaizen, word):
    added = kaizen("Q5", **WHOLE)["id"]
    kaizen("Q5", title="Other", symptom="Nothing alike.", correction="None.")

    assert [row["id"] for row in kaizen("Q6", query=word)["records"]] == [added]


def test_anti_patterns_are_listed_newest_first_and_filtered(kaizen):
    task = kaizen("W1", title="T", summary="S")["id"]
    first = kaizen("Q5", title="One", symptom="s", correction="c")["id"]
    second = kaizen("Q5", title="Two", symptom="s", correction="c", scope="docs", task_id=task)[
        "id"
    ]

    def ids(**filters):
        return [row["id"] for row in kaizen("Q6", **filters)["records"]]

    assert ids() == [second, first]
    assert (
        ids(scope="docs")
        == ids(task_id=task)
        == ids(query="two")
        == ids(query="one two", scope="docs")
        == [second]
    )
    assert ids(scope="none") == ids(query="absent") == []
    assert kaizen("Q6", limit=1)["more"]
    with pytest.raises(NotFound):
        ids(task_id="task_nope")
    with pytest.raises(NotFound):
        kaizen("Q5", title="T", symptom="s", correction="c", task_id="task_nope")


def test_purge_removes_test_anti_patterns(kaizen):
    kaizen("Q5", **WHOLE, test=True)
    assert kaizen("Q6")["records"][0]["test"] is True
    kaizen("K7")

    assert kaizen("Q6", query="sleep")["records"] == kaizen("Q6")["records"] == []
    assert kaizen("K8")["verified"]


def test_anti_pattern_list_shows_symptom_and_correction(cli):
    added = cli("Q5", "--title", "T", "--symptom", "It smells.", "--correction", "Air it.")

    assert added.exit_code == 0
    assert "It smells." in cli("Q6").out and "Air it." in cli("Q6", "--query", "smells").out
