"""Q7: whatever was recorded about quality, by id, prefix or @last. Its parts are tested with those who record them."""

import pytest

from kaizen_components.errors import NotFound, Usage


def test_at_last_is_the_newest_of_all_the_kinds_by_the_same_actor(kaizen):
    case = kaizen("Q3", title="C", summary="S", category="proof")["id"]
    assert kaizen("Q7", id="@last")["id"] == case
    run = kaizen("Q4", case_id=case, outcome="passed")["id"]
    assert kaizen("Q7", id="@last")["id"] == run
    pattern = kaizen("Q5", title="P", symptom="s", correction="c")["id"]
    kaizen("Q2", conclusion="PROOF_RECORDED", summary="S", actor="bob")
    kaizen("W1", title="T", summary="S")

    assert kaizen("Q7", id="@last")["id"] == pattern
    assert kaizen("Q7", id="@last", actor="bob")["kind"] == "verification"
    assert [kaizen("Q7", id=prefix)["id"] for prefix in ("case_", "erun_", "anti_2")] == [case, run, pattern]


@pytest.mark.parametrize("id", ["task_", "case_nope", "nonsense", "@last", "%", "'"])
def test_an_id_that_is_not_of_these_kinds_is_not_found(kaizen, id):
    kaizen("W1", title="T", summary="S")

    with pytest.raises(NotFound):
        kaizen("Q7", id=id)


def test_a_prefix_of_two_records_is_a_usage_error(kaizen):
    for _ in range(2):
        kaizen("Q3", title="C", summary="S", category="proof")

    with pytest.raises(Usage, match="more than one"):
        kaizen("Q7", id="case_")


def test_without_a_database_nothing_is_found_and_none_is_made(kaizen, root):
    with pytest.raises(NotFound):
        kaizen("Q7", id="@last")

    assert not (root / "AI").exists()
