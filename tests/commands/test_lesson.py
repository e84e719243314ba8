"""Families G and L: gotchas, learnings and learned lessons. test_promote.py has the gates."""

import json
import os
import time

import pytest

from kaizen_components import limits
from kaizen_components.errors import Conflict, NotFound, Refused, Usage
from kaizen_components.records.files.files import hash_tree

from ..test_args import ALLOWED, modules_after

TEXT = {
    "title": "WAL grows",
    "summary": "A reader pins the checkpoint.",
    "body": "Close readers first.",
}
NOWHERE = "task_20261116T031555123Z_0f1e2d3c4b"


@pytest.fixture
def gotcha(kaizen):
    """`gotcha(title=…)`: the id of a new gotcha."""
    return lambda **more: kaizen("G1", **{**TEXT, **more})["id"]


@pytest.fixture
def learning(kaizen):
    return lambda **more: kaizen("L1", **{**TEXT, **more})["id"]


@pytest.fixture
def learned(kaizen, learning):
    def make(actor="agent", **more):
        return kaizen(
            "L3", id=learning(actor=actor, **more), waive="Seen for a month.", actor=actor
        )["id"]

    return make


@pytest.fixture
def src(root):
    (root / "src" / "deep").mkdir(parents=True)
    for name in ("src/x.py", "src/y.py", "src/deep/z.py"):
        (root / name).write_text(name)
    return root / "src"


def ids(answer):
    return [row["id"] for row in answer["records"]]


def record(kaizen, code, id):
    return kaizen(code, id=id)["record"]


def changed_later(path):
    """A second later: a file's clock may tick every 10 ms, a record's every millisecond."""
    path.write_text("changed")
    os.utime(path, (time.time() + 1, time.time() + 1))


# G1 and L1


@pytest.mark.parametrize("add, inspect", [("G1", "G4"), ("L1", "L6")])
def test_lesson_stores_text_task_evidence_and_files(kaizen, src, add, inspect):
    task = kaizen("W1", title="T", summary="S")["id"]
    added = kaizen(
        add,
        **TEXT,
        scope="store",
        task_id="@last",
        evidence=["3 GB on Monday", task],
        paths=["src/*.py", "./src/deep"],
    )
    kept = record(kaizen, inspect, added["id"])

    assert {name: kept[name] for name in TEXT} == TEXT
    assert (kept["scope"], kept["task_id"], kept["status"], kept["rev"]) == (
        "store",
        task,
        "active",
        1,
    )
    assert kept["evidence"] == ["3 GB on Monday", task]
    assert kept["paths"] == ["src/*.py", "src/deep/**"]
    assert (len(kept["paths_hash"]), kept["stale"], added["files"]) == (64, False, 3)


def test_added_lesson_reports_globs_without_matches(kaizen):
    added = kaizen("G1", **TEXT, paths=["lib/*.py"])

    assert added["files"] == 0
    assert record(kaizen, "G4", added["id"])["paths_hash"] == hash_tree([])


def test_evidence_accepts_json_list_prefix_and_text(kaizen, cli):
    kaizen("W1", title="T", summary="S")
    task = kaizen("W9")["records"][0]["id"]
    cli("G1", "--title", "t", "--summary", "s", "--body", "b", "--evidence", json.dumps(["100%", "it's"]), "--evidence",
        task[:-3], "--evidence", "task_force met", "--evidence", "100%")  # fmt: skip

    assert record(kaizen, "G4", "@last")["evidence"] == ["100%", "it's", task, "task_force met"]


@pytest.mark.parametrize("code", ["G1", "L1"])
@pytest.mark.parametrize(
    "item", [NOWHERE, "proof_20261116T", "learned_20261116T031555123Z_0f1e2d3c4bx"]
)
def test_evidence_with_unknown_record_id_is_refused(kaizen, code, item):
    kaizen("K1")
    with pytest.raises(NotFound):
        kaizen(code, **TEXT, evidence=["fine", item])

    assert kaizen("K8")["entries"] == 0


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.py", "src/../../x"])
def test_paths_from_outside_project_are_refused(kaizen, path):
    with pytest.raises(Refused) as refused:
        kaizen("G1", **TEXT, paths=["fine.py", path])

    assert refused.value.code == "outside_project" and "src/*.py" in refused.value.next
    assert "passwd/" not in refused.value.what


@pytest.mark.parametrize(
    "bad",
    [
        {"title": " "},
        {"title": "two\nlines"},
        {"body": "x" * 1_000_001},
        {"evidence": ["a\0b"]},
        {"evidence": [" "]},
        {"evidence": ['["open']},
        {"evidence": ["\ud800"]},
        {"paths": ["a\nb"]},
        {"paths": ["a\0b"]},
        {"paths": ["src/**.py"]},
        {"evidence": ["x"] * 201},
    ],
)
def test_lesson_with_bad_value_is_not_recorded(kaizen, bad):
    kaizen("K1")
    with pytest.raises(Usage):
        kaizen("G1", **{**TEXT, **bad})

    assert kaizen("K8")["entries"] == 0


def test_gotcha_with_special_characters_is_stored_unchanged(kaizen):
    odd = {
        "title": "'; DROP TABLE gotcha; -- %_\"",
        "summary": "a\nb\té\U0001f600",
        "body": "x" * 1_000_000,
    }
    added = kaizen(
        "G1", **odd, evidence=["(not [json", '"quoted"', "a\nb"], paths=["é *.py", "%_?.md"]
    )
    kept = record(kaizen, "G4", added["id"])

    assert {name: kept[name] for name in odd} == odd
    assert kept["evidence"] == ["(not [json", '"quoted"', "a\nb"] and kept["paths"] == [
        "é *.py",
        "%_?.md",
    ]
    assert kaizen("K8")["verified"]


def test_secret_in_evidence_is_refused(kaizen):
    with pytest.raises(Refused, match="secret"):
        kaizen("G1", **TEXT, evidence=["AKIA" + "Z7QX2MNB4KLP9RTW"])


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("code", ["G1", "L1", "G5", "L11"])
def test_lesson_without_paths_imports_only_allowed_modules(root, cli, code, as_json):
    cli("G1", "--title", "t", "--summary", "s", "--body", "b")
    task = cli("W1", "--title", "t", "--summary", "s", "--json").json["id"]
    text = [
        "--title",
        "t",
        "--summary",
        "s",
        "--body",
        "b",
        "--evidence",
        "e",
        "--evidence",
        task,
        "--task-id",
        task,
    ]
    argv = {
        "G1": text,
        "L1": text,
        "G5": ["--id", "@last", "--note", "n", "--evidence", "e"],
        "L11": ["--id", "@last", "--reason", "r"],
    }
    loaded = modules_after(root, [code, *argv[code], *(["--json"] if as_json else [])])

    assert [
        name for name in loaded if name not in ALLOWED and not name.startswith("kaizen_components.")
    ] == []


def test_first_lesson_creates_database_once(cli):
    text = (
        "G1",
        "--title",
        "t",
        "--summary",
        "s",
        "--body",
        "b",
        "--paths",
        "*.py",
        "--op-id",
        "once",
        "--json",
    )
    first, again = cli(*text).json, cli(*text).json

    assert again["replayed"] and again["id"] == first["id"]
    assert len(cli("G2", "--json").json["records"]) == 1


@pytest.mark.parametrize("code", ["G2", "G3", "G4", "G5", "L2", "L3", "L4", "L9", "L10", "L11"])
def test_missing_database_is_reported(cli, code):
    more = {
        "G3": ["--query", "x"],
        "L10": [],
        "G2": [],
        "L4": [],
        "L11": ["--id", "@last", "--reason", "r"],
    }
    answer = cli(code, *more.get(code, ["--id", "@last"]), "--json")

    assert (answer.exit_code, answer.error["code"]) == (3, "no_database")


def test_lessons_can_be_added_and_retired_in_batch(kaizen, root, src):
    lines = [
        {"command": "G1", "args": {**TEXT, "evidence": ["e"], "paths": ["src/*.py"]}},
        {"command": "L2", "args": {"id": "$1.id"}},
        {"command": "L3", "args": {"id": "$2.id", "waive": "w"}},
        {"command": "L11", "args": {"id": "$3.id", "reason": "r"}},
    ]
    (root / "batch.jsonl").write_text("\n".join(map(json.dumps, lines)))
    kaizen("K5", file=str(root / "batch.jsonl"))

    assert [row["status"] for row in kaizen("L9", id="@last")["lineage"]] == [
        "promoted",
        "promoted",
        "retired",
    ]
    assert kaizen("K8")["verified"]


# Lists and queries


@pytest.mark.parametrize(
    "add, list_, query", [("gotcha", "G2", "G3"), ("learning", "L4", "L5"), ("learned", "L7", "L8")]
)
def test_lesson_lists_sort_by_age_and_queries_by_match(kaizen, request, add, list_, query):
    add = request.getfixturevalue(add)
    task = kaizen("W1", title="T", summary="S")["id"]
    weak = add(title="Unrelated", summary="Says checkpoint once.", scope="docs")
    strong = add(title="Checkpoint", summary="The checkpoint of a checkpoint.", task_id=task)
    other = add(title="Nothing", summary="of it", body="at all", actor="bob")
    kaizen("L11", id=weak, reason="Over.")

    assert ids(kaizen(list_)) == [other, strong, weak]
    assert ids(kaizen(list_, status="retired")) == ids(kaizen(list_, scope="docs")) == [weak]
    assert ids(kaizen(list_, task_id=task)) == ids(kaizen(list_, task_id="@last")) == [strong]
    assert ids(kaizen(list_, task_id=task[:-4])) == [strong]
    assert ids(kaizen(list_, actor="bob")) == [other]
    assert (
        ids(kaizen(list_, since="1h")) == [other, strong, weak]
        and ids(kaizen(list_, until="1h")) == []
    )
    assert (
        ids(kaizen(list_, query="checkpoint"))
        == ids(kaizen(query, query="checkpoint"))
        == [strong, weak]
    )
    assert ids(kaizen(query, query="checkpoint", status="active")) == [strong]
    assert ids(kaizen(query, query="checkpoint", scope="docs")) == [weak]
    assert kaizen(list_, limit=2)["more"] is True and kaizen(list_, limit=3)["more"] is False
    with pytest.raises(NotFound):
        kaizen(list_, task_id="task_nope")


def test_lesson_query_adds_summary_to_list_columns(kaizen, gotcha):
    gotcha()

    assert set(kaizen("G2")["records"][0]) == {"id", "status", "scope", "at", "test", "title"}
    assert kaizen("G3", query="reader")["records"][0]["summary"] == TEXT["summary"]


def test_lessons_are_found_by_their_evidence_and_paths(kaizen, gotcha):
    wanted = gotcha(evidence=["zebra"], paths=["src/walrus.py"])

    assert ids(kaizen("G3", query="zebra")) == ids(kaizen("G3", query="walrus")) == [wanted]


# G5


@pytest.mark.parametrize("change", [{"title": "New"}, {"summary": "New"}, {"body": "New"}])
def test_gotcha_revision_changes_text_and_keeps_history(kaizen, gotcha, change):
    id = gotcha(evidence=["e"])
    before = record(kaizen, "G4", id)
    revised = kaizen("G5", id=id, **change)
    after = kaizen("G4", id=id)

    assert after["record"] == {**before, **change, "rev": 2, "changed_at": revised["at"]}
    assert {name: after["revisions"][0][name] for name in change} == change


def test_revised_gotcha_is_found_by_new_words_only(kaizen, gotcha):
    id = gotcha(title="Zebra", summary="walrus", body="ibex", evidence=["okapi"], paths=["lynx.py"])
    kaizen(
        "G5",
        id=id,
        title="Heron",
        summary="Egret",
        body="Stork",
        paths=["crane.py"],
        evidence=["ibis"],
    )

    for old in ("zebra", "walrus", "ibex", "lynx"):
        assert ids(kaizen("G3", query=old)) == ids(kaizen("L10", query=old)) == []
    for new in ("heron", "egret", "stork", "crane", "ibis", "okapi"):
        assert ids(kaizen("G3", query=new)) == ids(kaizen("L10", query=new)) == [id]


def test_gotcha_update_adds_evidence_and_replaces_paths(kaizen, gotcha, src):
    id = gotcha(evidence=["first"], paths=["src/x.py"])
    before = record(kaizen, "G4", id)
    kaizen("G5", id=id, evidence=["second", "first", id], paths=["src/y.py"])
    after = kaizen("G4", id=id)

    assert (
        after["record"]["evidence"] == ["first", "second", id] == after["revisions"][0]["evidence"]
    )
    assert after["record"]["paths"] == ["src/y.py"] == after["revisions"][0]["paths"]
    assert after["record"]["paths_hash"] != before["paths_hash"] and not after["record"]["stale"]


def test_gotcha_update_that_changes_nothing_is_refused(kaizen, gotcha):
    with pytest.raises(Usage, match="changes nothing") as refused:
        kaizen("G5", id=gotcha())

    assert "--paths," in refused.value.why and "hash" not in refused.value.why


def moved(kaizen, gotcha, status):
    """A gotcha in that state."""
    id = gotcha(evidence=["e"])
    if status == "promoted":
        kaizen("L2", id=id)
    elif status == "superseded":
        kaizen("L11", id=id, reason="r", superseded_by=gotcha())
    elif status != "active":
        kaizen("G5", id=id, status=status, note="n")
    assert record(kaizen, "G4", id)["status"] == status
    return id


ALLOWED_MOVES = {
    ("active", "resolved"), ("active", "retired"), ("resolved", "active"), ("resolved", "retired"),
    ("retired", "active"), ("superseded", "active"),
}  # fmt: skip


@pytest.mark.parametrize("after", limits.GOTCHA_STATUS)
@pytest.mark.parametrize("before", limits.GOTCHA_STATUS)
def test_gotcha_status_changes_only_as_allowed(kaizen, gotcha, before, after):
    id = moved(kaizen, gotcha, before)
    if (before, after) in ALLOWED_MOVES:
        assert kaizen("G5", id=id, status=after, note="n")["gotcha_status"] == after
        assert record(kaizen, "G4", id).get("superseded_by") is None
        return
    with pytest.raises(Conflict if before == after else Refused) as refused:
        kaizen("G5", id=id, status=after, note="n")

    assert refused.value.next and record(kaizen, "G4", id)["status"] == before


@pytest.mark.parametrize("status, command", [("promoted", "L2 --id"), ("superseded", "L11 --id")])
def test_refused_gotcha_status_names_command_that_sets_it(kaizen, gotcha, status, command):
    id = gotcha(evidence=["e"])
    with pytest.raises(Refused) as refused:
        kaizen("G5", id=id, status=status)

    assert f"`{command} {id}" in refused.value.next


@pytest.mark.parametrize(
    "before, after", [("active", "retired"), ("retired", "active"), ("superseded", "active")]
)
def test_retiring_and_reactivating_need_reason(kaizen, gotcha, before, after):
    id = moved(kaizen, gotcha, before)
    with pytest.raises(Refused, match="reason") as refused:
        kaizen("G5", id=id, status=after)

    assert "--note" in refused.value.next


@pytest.mark.parametrize("status", ["promoted", "retired", "superseded"])
@pytest.mark.parametrize("change", [{"title": "New"}, {"evidence": ["new"]}, {"paths": ["new"]}])
def test_closed_gotcha_refuses_changes_except_note(kaizen, gotcha, status, change):
    id = moved(kaizen, gotcha, status)
    with pytest.raises(Refused, match="stay as they are"):
        kaizen("G5", id=id, note="n", **change)

    assert kaizen("G5", id=id, note="Seen again.")["gotcha_status"] == status
    assert kaizen("G4", id=id)["revisions"][-1]["note"] == "Seen again."


def test_retired_gotcha_is_revised_when_reactivated(kaizen, gotcha):
    id = moved(kaizen, gotcha, "retired")
    kaizen("G5", id=id, status="active", note="It is back.", title="Back")

    assert (record(kaizen, "G4", id)["status"], record(kaizen, "G4", id)["title"]) == (
        "active",
        "Back",
    )


# Inspect


def test_lesson_shows_lineage_from_every_step(kaizen, gotcha):
    first = gotcha(evidence=["e"])
    second = kaizen("L2", id=first, title="Taught")["id"]
    third = kaizen("L3", id=second, title="Known", waive="Seen for a month.")["id"]
    shown = [
        kaizen(code, id=id)["lineage"]
        for code, id in (("G4", first), ("L6", second), ("L9", third))
    ]

    assert shown[0] == shown[1] == shown[2]
    assert [(row["kind"], row["id"], row["status"], row["title"]) for row in shown[0]] == [
        ("gotcha", first, "promoted", "WAL grows"),
        ("learning", second, "promoted", "Taught"),
        ("learned", third, "active", "Known"),
    ]
    assert all(row["at"] for row in shown[0])


def test_lesson_shows_revisions_log_entry_and_proof(kaizen, learned):
    id = learned()
    kaizen("L11", id=id, reason="Over.")
    shown = kaizen("L9", id=id)

    assert [(row["rev"], row["status"], row["note"]) for row in shown["revisions"]] == [
        (2, "retired", "Over.")
    ]
    assert shown["log"]["command"] == "L3"
    assert [(row["kind"], row["text"]) for row in shown["backing"]] == [
        ("waiver", "Seen for a month.")
    ]


def test_lesson_is_stale_until_its_files_match_again(kaizen, gotcha, src):
    id = gotcha(paths=["src/*.py"])
    changed_later(src / "x.py")
    stale = record(kaizen, "G4", id)
    (src / "x.py").write_text("src/x.py")

    assert (
        stale["stale"] is True
        and "src/*.py" in stale["stale_because"]
        and "src/x.py" in stale["stale_because"]
    )
    assert record(kaizen, "G4", id)["stale"] is False
    (src / "new.py").write_text("")
    assert record(kaizen, "G4", id)["stale"] is True
    kaizen("G5", id=id, paths=["src/*.py"])
    assert record(kaizen, "G4", id)["stale"] is False


def test_writing_records_does_not_make_lessons_stale(kaizen, gotcha, src):
    id = gotcha(paths=["**"])
    gotcha()

    assert record(kaizen, "G4", id)["stale"] is False


@pytest.mark.parametrize("code, noun", [("G4", "gotcha"), ("L6", "learning"), ("L9", "learned")])
def test_unknown_lesson_id_is_not_found(kaizen, gotcha, code, noun):
    gotcha()
    with pytest.raises(NotFound):
        kaizen(code, id=f"{noun}_nope")


# L11


@pytest.mark.parametrize("kind, inspect", [("gotcha", "G4"), ("learning", "L6"), ("learned", "L9")])
def test_lesson_is_retired_once_with_its_reason(kaizen, request, kind, inspect):
    id = request.getfixturevalue(kind)()
    assert kaizen("L11", id=id, reason="Over.")[f"{kind}_status"] == "retired"
    with pytest.raises(Conflict, match="already retired") as refused:
        kaizen("L11", id=id, reason="Once more.")

    assert "Over." in refused.value.why
    assert record(kaizen, inspect, id)["status"] == "retired"
    assert [row["note"] for row in kaizen(inspect, id=id)["revisions"]] == ["Over."]


@pytest.mark.parametrize("kind, inspect", [("gotcha", "G4"), ("learning", "L6"), ("learned", "L9")])
def test_superseded_lesson_and_successor_are_linked(kaizen, request, kind, inspect):
    make = request.getfixturevalue(kind)
    old, new = make(), make(title="Better")
    kaizen("L11", id=old, reason="Better said.", superseded_by=new)

    assert record(kaizen, inspect, old)["status"] == "superseded"
    assert record(kaizen, inspect, old)["superseded_by"] == new
    assert [row["id"] for row in kaizen(inspect, id=new)["supersedes"]] == [old]
    with pytest.raises(Conflict, match=f"already superseded by {new}"):
        kaizen("L11", id=old, reason="Again.")
    with pytest.raises(Refused, match=f"{old} is superseded"):
        kaizen("L11", id=new, reason="A circle.", superseded_by=old)


def test_successor_that_is_inactive_or_another_kind_is_refused(kaizen, gotcha, learning):
    id, retired = gotcha(), gotcha()
    kaizen("L11", id=retired, reason="r")
    for successor, says in (
        (id, "itself"),
        (retired, "is retired"),
        (learning(), "not by a learning"),
    ):
        with pytest.raises(Refused, match=says):
            kaizen("L11", id=id, reason="r", superseded_by=successor)
    with pytest.raises(NotFound):
        kaizen("L11", id=id, reason="r", superseded_by="gotcha_nope")

    assert record(kaizen, "G4", id)["status"] == "active"


def test_reactivated_gotcha_supersedes_its_successor(kaizen, gotcha):
    first, second = gotcha(), gotcha()
    kaizen("L11", id=first, reason="r", superseded_by=second)
    kaizen("G5", id=first, status="active", note="It was right.")
    kaizen("L11", id=second, reason="r", superseded_by=first)

    assert record(kaizen, "G4", second)["superseded_by"] == first
    assert "superseded_by" not in record(kaizen, "G4", first)
    assert kaizen("G4", id=second)["supersedes"] == []


def test_promoted_lesson_cannot_be_retired(kaizen, gotcha):
    id = gotcha(evidence=["e"])
    became = kaizen("L2", id=id)["id"]
    with pytest.raises(Refused, match="was promoted") as refused:
        kaizen("L11", id=id, reason="r")

    assert f"L11 --id {became}" in refused.value.next


def test_last_alias_names_actors_newest_lesson(kaizen, gotcha, learning):
    learning()
    newest = gotcha()
    learning(actor="bob")

    assert kaizen("L11", id="@last", reason="r")["gotcha_id"] == newest
    with pytest.raises(NotFound):
        kaizen("L11", id="@last", reason="r", actor="nobody")
    with pytest.raises(NotFound):
        kaizen("L11", id="task_2026", reason="r")


# L10


def test_context_by_path_lists_proven_matches_first(kaizen, gotcha, learning, learned, src):
    proven, pitfall = learned(paths=["src/**"]), gotcha(paths=["src/x.py"])
    taught = learning(paths=["src/*.py"])
    learned(paths=["docs/**"])
    learned()

    assert ids(kaizen("L10", path=["src/x.py"])) == [proven, taught, pitfall]
    assert ids(kaizen("L10", path=["src/deep/z.py"])) == [proven]
    assert ids(kaizen("L10", path=["./src//x.py"])) == ids(kaizen("L10", path=[str(src / "x.py")]))
    assert ids(kaizen("L10", path=["src/deep/z.py", "src/y.py"])) == [proven, taught]
    assert ids(kaizen("L10", path=["lib/x.py"])) == []


def test_context_by_query_lists_proven_matches_first(kaizen, gotcha, learning, learned):
    strong = gotcha(title="Zebra zebra", summary="zebra")
    proven = learned(title="Other", summary="One zebra.")
    weak = gotcha(title="Other", summary="Many other words beside one zebra in a long sentence.")
    taught = learning(title="Zebra", summary="s")
    gotcha()

    assert ids(kaizen("L10", query="zebra")) == [proven, taught, strong, weak]
    assert ids(kaizen("L10", query="zebra", limit=1)) == [proven]


def test_context_ranks_matches_of_query_and_path_first(kaizen, gotcha):
    by_both = gotcha(title="Zebra crossing on a long road", paths=["src/x.py"])
    by_query, by_path, neither = gotcha(title="Zebra"), gotcha(paths=["src/*.py"]), gotcha()
    found = kaizen("L10", query="zebra", path=["src/x.py"])

    assert ids(found) == [by_both, by_path, by_query] and neither not in ids(found)
    assert [row["because"] for row in found["records"]] == [
        ["src/x.py fits src/x.py", "fits the query"],
        ["src/x.py fits src/*.py"],
        ["fits the query"],
    ]


def test_limited_context_includes_lessons_of_every_kind(kaizen, gotcha, learned):
    pitfall = gotcha(title="Zebra")
    for _ in range(5):
        learned(title="Zebra")
    found = kaizen("L10", query="zebra", limit=3)

    assert ids(found)[-1] == pitfall and found["count"] == 3 and found["more"] is True
    assert kaizen("L10", query="zebra", limit=6)["more"] is False


def test_context_without_query_shows_newest_proven_lessons(kaizen, gotcha, learned):
    gotcha()
    proven = [learned(), learned(), learned(scope="docs")]
    kaizen("L11", id=learned(), reason="r")

    assert ids(kaizen("L10")) == proven[::-1]
    assert ids(kaizen("L10", scope="docs")) == [proven[2]]
    assert kaizen("L10", limit=2)["more"] is True


def test_context_shows_promoted_lessons_as_lineage(kaizen, gotcha, src):
    first = gotcha(evidence=["e"], paths=["src/*.py"])
    second = kaizen("L2", id=first)["id"]
    assert ids(kaizen("L10", query="reader")) == ids(kaizen("L10", path=["src/x.py"])) == [second]
    third = kaizen("L3", id=second, waive="Seen for a month.")["id"]
    [shown] = kaizen("L10", path=["src/x.py"])["records"]

    assert shown["id"] == third and [row["id"] for row in shown["lineage"]] == [
        first,
        second,
        third,
    ]
    assert (shown["evidence"], shown["paths"], shown["stale"]) == (["e"], ["src/*.py"], False)
    assert [row["text"] for row in shown["backing"]] == ["Seen for a month."]
    assert {name: shown[name] for name in TEXT} == TEXT


def test_context_marks_stale_lessons_with_reason(kaizen, gotcha, src):
    gotcha(paths=["src/x.py"], title="Stale")
    gotcha(paths=["src/*.py"], title="Stale too")
    gotcha(paths=["src/deep/**", "src/x.py/**"], title="Fresh")
    changed_later(src / "x.py")
    found = kaizen("L10", path=["src/x.py", "src/deep/z.py"])["records"]

    assert {row["title"]: row["stale"] for row in found} == {
        "Stale": True,
        "Stale too": True,
        "Fresh": False,
    }
    assert all("src/x.py" in row["stale_because"] for row in found if row["stale"])


def test_context_omits_closed_lessons_and_lists_resolved_last(kaizen, gotcha, learned):
    for make in (gotcha, learned):
        kaizen("L11", id=make(title="Zebra", paths=["x.py"]), reason="r")
        old = make(title="Zebra", paths=["x.py"])
        kaizen("L11", id=old, reason="r", superseded_by=make(title="Successor"))
    resolved, active = gotcha(title="Zebra", paths=["x.py"]), gotcha(title="Zebra", paths=["x.py"])
    other = gotcha(title="Zebra and more words", paths=["*.py"])
    kaizen("G5", id=resolved, status="resolved")

    assert ids(kaizen("L10", path=["x.py"])) == [other, active, resolved]
    assert (
        ids(kaizen("L10", query="zebra"))[-1] == resolved
        and len(ids(kaizen("L10", query="zebra"))) == 3
    )


def test_context_uses_paths_of_newest_revision(kaizen, gotcha):
    id = gotcha(paths=["old/*.py"])
    kaizen("G5", id=id, paths=["new/*.py"])

    assert ids(kaizen("L10", path=["old/x.py"])) == [] and ids(
        kaizen("L10", path=["new/x.py"])
    ) == [id]


def test_context_refuses_outside_path_and_allows_wordless_query(kaizen, gotcha):
    gotcha()
    with pytest.raises(Refused):
        kaizen("L10", path=["/etc/passwd"])

    assert ids(kaizen("L10", query='"* % ( -')) == []


def test_lesson_text_output_shows_lineage_evidence_and_staleness(cli, root):
    (root / "x.py").write_text("1")
    text = (
        "--title",
        "WAL grows",
        "--summary",
        "s",
        "--body",
        "b",
        "--evidence",
        "3 GB",
        "--paths",
        "x.py",
    )
    first = cli("G1", *text, "--json").json["id"]
    cli("L2", "--id", "@last")
    cli("L3", "--id", "@last", "--waive", "Seen for a month.")
    (root / "x.py").write_text("2")
    out = " ".join(cli("L10", "--path", "x.py").out.split())

    assert all(
        word in out for word in (first, "3 GB", "x.py fits x.py", "Seen for a month.", "promoted")
    )
    assert "stale because" in out


# --test and K7


def test_purge_removes_references_to_test_records(kaizen, gotcha):
    kept = gotcha(evidence=["e"])
    task = kaizen("W1", title="T", summary="S", test=True)["id"]
    gotcha(task_id=task)
    gotcha(evidence=[task])
    kaizen("G5", id=kept, evidence=[task], title="Zebra")
    kaizen("G5", id=kept, evidence=["more"])
    kaizen("L11", id=kept, reason="r", superseded_by=gotcha(test=True))
    kaizen("K7")

    assert ids(kaizen("G2")) == [kept]
    left = record(kaizen, "G4", kept)
    assert (left["status"], left["evidence"], left["title"]) == ("active", ["e"], "WAL grows")
    assert ids(kaizen("G3", query="zebra")) == [] and ids(kaizen("G3", query="WAL")) == [kept]
    assert kaizen("K8")["verified"]


def test_purge_removes_test_promotion_completely(kaizen, gotcha):
    id = gotcha(evidence=["e"])
    learning = kaizen("L2", id=id, test=True)["id"]
    kaizen("L3", id=learning, waive="w")
    assert kaizen("L10", query="reader")["records"][0]["test"] is True
    kaizen("K7")

    assert record(kaizen, "G4", id)["status"] == "active"
    assert ids(kaizen("L4")) == ids(kaizen("L7")) == []
    again = kaizen("L2", id=id)["id"]
    assert record(kaizen, "L6", again)["gotcha_id"] == id
    assert kaizen("K8")["verified"]


def test_purge_removes_promotion_of_test_record_completely(kaizen, gotcha):
    id = gotcha()
    kaizen("L2", id=id, evidence=[kaizen("W1", title="T", summary="S", test=True)["id"]])
    kaizen("K7")

    assert record(kaizen, "G4", id)["status"] == "active" and ids(kaizen("L4")) == []
    assert kaizen("K8")["verified"]
