"""Ranked search: what is found, in which order, and that no query is ever a mistake."""

import contextlib
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kaizen_components.call import Door
from kaizen_components.errors import Integrity, KaizenError
from kaizen_components.records.ledger.transaction import RecordReader
from kaizen_components.records.search import full_text
from kaizen_components.records.search.ranking import rank_all_kinds


def add(kaizen, title, summary="Nothing of note.", **more):
    return kaizen("W1", title=title, summary=summary, **more)["id"]


def found(kaizen, query, **more):
    return [row["title"] for row in kaizen("W9", query=query, **more)["records"]]


def test_any_word_matches_and_more_words_rank_higher(kaizen):
    add(kaizen, "The parser")
    add(kaizen, "The cache and the parser")
    add(kaizen, "Something else")

    assert found(kaizen, "cache parser") == ["The cache and the parser", "The parser"]


def test_title_word_ranks_above_body_word(kaizen):
    add(kaizen, "Words", body="the gate is here")
    add(kaizen, "The gate", body="words")

    assert found(kaizen, "gate") == ["The gate", "Words"]


def test_word_forms_and_accents_match(kaizen):
    add(kaizen, "Retrying the résumé")

    assert found(kaizen, "retries") == found(kaizen, "RESUME") == ["Retrying the résumé"]


def test_phrase_matches_adjacent_words_only(kaizen):
    add(kaizen, "write the gate")
    add(kaizen, "the write gate")

    assert found(kaizen, '"write gate"') == ["the write gate"]


def test_plus_term_is_required_and_other_terms_rank(kaizen):
    add(kaizen, "alpha")
    add(kaizen, "alpha beta")
    add(kaizen, "beta gamma")

    assert found(kaizen, "+alpha beta") == ["alpha beta", "alpha"]
    assert found(kaizen, '+"beta gamma" alpha') == ["beta gamma"]


@pytest.mark.parametrize(
    "query",
    ['"', "'", "AND", "OR NOT", "*", ":", "title:", "a*", "(", "🙂", "+", "-", "^x", "NEAR(a b)", '+"', '""', "%", "_",
     "\\", "a AND", '"unfinished phrase', "x" * 1000, "{}", "col : x", "\u202ex", "\u202e x", "\U00018cd6", "\ue000"],
)  # fmt: skip
def test_search_accepts_any_query_characters(kaizen, query):
    add(kaizen, "and or not near title")
    kaizen("W9", query=query)


def test_fts5_operators_in_query_are_searched_as_words(kaizen):
    add(kaizen, "NEAR the end AND beyond")
    add(kaizen, "nothing")

    assert found(kaizen, "AND") == found(kaizen, "near") == ["NEAR the end AND beyond"]


def test_percent_and_underscore_are_not_wildcards(kaizen):
    add(kaizen, "the task_id column")
    add(kaizen, "the taskXid column")

    assert found(kaizen, "task_id") == ["the task_id column"]
    assert found(kaizen, "task%") == ["the task_id column"]


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.text(min_size=1, max_size=60).filter(lambda text: text.strip() and "\0" not in text))
def test_parsed_query_is_always_valid_fts5(shared, query):
    must, may = full_text.parse_query(query)
    if must or may:
        shared.store.reader().tuples(
            full_text.SCORE, (full_text._format_match(must, may), 0, 2**62, 5)
        )


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    door = Door(str(tmp_path_factory.mktemp("search")), keep_open=True)
    add(door, "something to find")
    yield door
    door.close()


def test_changed_text_is_found_by_new_words_only(kaizen):
    id = add(kaizen, "Old words", "First summary.")
    kaizen("W2", id=id, title="New words", note="renamed")
    kaizen("W2", id=id, summary="Second summary.")

    assert found(kaizen, "old") == found(kaizen, "first") == []
    assert found(kaizen, "new") == found(kaizen, "second") == ["New words"]
    assert kaizen("K8")["verified"] and kaizen("K1", integrity=True)["integrity"]["derived"] == "ok"


def test_batch_indexes_only_final_text_of_record(kaizen, root):
    (root / "b.jsonl").write_text(
        '{"command": "W1", "args": {"title": "Before", "summary": "x"}}\n'
        '{"command": "W2", "args": {"id": "$1.id", "title": "Between"}}\n'
        '{"command": "W9", "args": {"query": "between"}}\n'
        '{"command": "W2", "args": {"id": "$1.id", "title": "After"}}\n'
    )
    ran = kaizen("K5", file=str(root / "b.jsonl"))

    assert [row["title"] for row in ran["records"][2]["records"]] == ["Between"]
    assert (found(kaizen, "before"), found(kaizen, "between"), found(kaizen, "after")) == (
        [],
        [],
        ["After"],
    )


def test_purge_removes_test_texts_and_restores_indexed_originals(kaizen):
    add(kaizen, "A trial", test=True)
    id = add(kaizen, "Original")
    kaizen("W2", id=id, title="Renamed", test=True)
    assert found(kaizen, "trial") == ["A trial"] and found(kaizen, "original") == []
    kaizen("K7")

    assert found(kaizen, "trial") == found(kaizen, "renamed") == []
    assert found(kaizen, "original") == ["Original"]


def test_refused_write_leaves_nothing_in_index(kaizen, root):
    kaizen("K1")
    (root / "b.jsonl").write_text(
        '{"command": "W1", "args": {"title": "Ghost", "summary": "x"}}\n{"command": "W1"}\n'
    )
    with pytest.raises(KaizenError):
        kaizen("K5", file=str(root / "b.jsonl"))

    assert found(kaizen, "ghost") == []


def test_filters_limit_search_results(kaizen):
    for number in range(30):
        add(kaizen, f"needle {number}", scope="engine" if number % 10 == 0 else "docs")

    assert len(found(kaizen, "needle", scope="engine")) == 3
    assert kaizen("W9", query="needle", limit=5)["more"] is True


def test_incomplete_search_index_is_reported_and_rebuilt(kaizen):
    add(kaizen, "Lost and found")
    with kaizen.store.begin_write_transaction() as connection:
        connection.execute("DELETE FROM search_docsize")
    with pytest.raises(Integrity) as caught:
        kaizen("K1", integrity=True)
    assert "K1 --reindex" in caught.value.why
    assert kaizen("K1", reindex=True, integrity=True)["indexed"] == 1

    assert found(kaizen, "lost") == ["Lost and found"]


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A database beyond the size at which plain BM25 is used, with the sizes of that rule made small."""
    root = tmp_path_factory.mktemp("large")
    door = Door(str(root), keep_open=True)
    chance = random.Random(5)
    lines = []
    for number in range(3_000):
        words = [f"common{chance.randrange(3)}" for _ in range(6)] + [
            f"seldom{chance.randrange(40)}"
        ]
        words += [f"rare{number}"] if number % 100 == 0 else []
        title = " ".join(chance.sample(words, len(words)))
        lines.append(f'{{"command": "W1", "args": {{"title": "{title}", "summary": "x"}}}}')
    (root / "b.jsonl").write_text("\n".join(lines))
    door("K5", file=str(root / "b.jsonl"))
    yield door
    door.close()


@pytest.fixture
def pruned(large, monkeypatch):
    for name, value in {"LARGE": 100, "SCORED_MAX": 400, "WINDOW": 200, "PROBED": 30}.items():
        monkeypatch.setattr(full_text, name, value)
    return large


def test_large_search_ranks_rare_word_first(pruned):
    assert "rare500" in found(pruned, "common1 common2 rare500")[0].split()


def test_large_search_breaks_ties_by_common_words(pruned):
    titles = found(pruned, "seldom7 common2", limit=10)
    first, last = titles[0].split(), found(pruned, "seldom7", limit=1000)

    assert "seldom7" in first and "common2" in first
    assert all("seldom7" in title.split() for title in titles) and len(last) > 50


def test_large_search_finds_newest_records_with_all_words(pruned):
    titles = found(pruned, "common0 common1 common2", limit=20)

    assert len(titles) == 20
    assert all({"common0", "common1", "common2"} <= set(title.split()) for title in titles)


def test_rarer_of_two_common_words_ranks_higher(tmp_path, monkeypatch):
    for name, value in {"LARGE": 100, "SCORED_MAX": 80, "WINDOW": 300, "PROBED": 20}.items():
        monkeypatch.setattr(full_text, name, value)
    titles = ["seldom half x", "seldom often x"]
    titles += ["often half x", "often x y"] * 140
    lines = [f'{{"command": "W1", "args": {{"title": "{t}", "summary": "s"}}}}' for t in titles]
    (tmp_path / "b.jsonl").write_text("\n".join(lines))
    with contextlib.closing(Door(str(tmp_path), keep_open=True)) as door:
        door("K5", file=str(tmp_path / "b.jsonl"))

        assert found(door, "seldom half often", limit=2) == ["seldom half x", "seldom often x"]


def test_rarer_word_ranks_higher_across_kinds(kaizen):
    for title in ("rare", "common", "common", "common"):
        add(kaizen, title)
    reader = RecordReader(kaizen.store.reader(), "agent")

    assert rank_all_kinds(reader, "rare common").best[0] == ("task", 1)


def test_large_search_requires_plus_terms(pruned):
    assert all("common0" in title.split() for title in found(pruned, "+common0 seldom3", limit=30))
    assert found(pruned, "+rare100 +rare200") == []
    assert found(pruned, "nowhere") == []


def test_large_search_equals_bm25_without_common_words(large, monkeypatch):
    plain = found(large, "seldom3 rare700 seldom9", limit=10)
    monkeypatch.setattr(full_text, "LARGE", 100)

    assert found(large, "seldom3 rare700 seldom9", limit=10) == plain


def test_large_search_with_filter_or_limit_is_complete(tmp_path, monkeypatch):
    for name, value in {"LARGE": 100, "SCORED_MAX": 50, "WINDOW": 40, "PROBED": 20}.items():
        monkeypatch.setattr(full_text, name, value)
    door = Door(str(tmp_path), keep_open=True)
    lines = [
        '{"command": "W1", "args": {"title": "common old", "summary": "x", "scope": "special"}}'
    ] * 5
    lines += ['{"command": "W1", "args": {"title": "common", "summary": "x"}}'] * 300
    (tmp_path / "b.jsonl").write_text("\n".join(lines))
    door("K5", file=str(tmp_path / "b.jsonl"))

    assert door("W9", query="common", scope="special")["count"] == 5
    assert door("W9", query="common", limit=1000)["count"] == 305
    assert door("W9", query="common", limit=100)["more"] is True
    door.close()
