"""A promotion is all or nothing, also under kill -9 and when many try at once; nothing is overwritten."""

import contextlib
import json
import random
import subprocess
import sys
import time

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Conflict
from kaizen_components.records.kinds import KINDS
from kaizen_components.records.ledger import reference
from kaizen_components.records.lessons import lesson
from kaizen_components.records.lessons.promotion import PROOFS, VERDICTS

from ..conftest import ROOT
from ..test_faults import killed, together, verified

TEXT = {
    "title": "WAL grows",
    "summary": "A reader pins the checkpoint.",
    "body": "Close readers first.",
}
APART = """
import json, sys
from tests.records import test_lesson
json.dump(getattr(test_lesson, sys.argv[1])(*json.loads(sys.argv[2])), sys.stdout)
"""


def apart(function, *args):
    """The result of a function of this module that forks, from an interpreter that has no threads."""
    command = [sys.executable, "-c", APART, function.__name__, json.dumps(args, default=str)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def call(root, code, **given):
    with contextlib.closing(Door(root)) as door:
        return door(code, **given)["id"]


def promote_for_ever(say, root):
    while True:
        gotcha = call(root, "G1", **TEXT, evidence=["e"])
        learning = call(root, "L2", id=gotcha)
        say(learning)
        say(call(root, "L3", id=learning, waive="w"))


def kill_promoters(root, seed, rounds):
    rng = random.Random(seed)
    together((first_gotcha, root))
    return [killed(rng.uniform(0.0, 0.3), promote_for_ever, root) for _ in range(rounds)]


def first_gotcha(root):
    return call(root, "G1", **TEXT)


def assert_whole(root, acknowledged):
    """Every step is promoted exactly if there is a next one; a waiver is there exactly for its lesson."""
    with contextlib.closing(Door(str(root))) as door:
        for kind, code, following in (("gotcha", "G2", "learning"), ("learning", "L4", "learned")):
            status = {row["id"]: row["status"] for row in door(code, limit=10_000)["records"]}
            next_of = door.store.reader().tuples(
                f"SELECT {kind}_id FROM {following} WHERE {kind}_id NOT NULL"
            )
            assert sorted(id for (id,) in next_of) == sorted(
                id for id in status if status[id] == "promoted"
            )
            assert set(status.values()) <= {"active", "promoted"}
        reader = door.store.reader()
        assert reader.tuples("SELECT waiver_id FROM learned ORDER BY 1") == reader.tuples(
            "SELECT id FROM waiver ORDER BY 1"
        )
        found = {
            id
            for kind in ("learning", "learned")
            for (id,) in reader.tuples(f"SELECT id FROM {kind}")
        }
    assert set(acknowledged) <= found
    verified(root)
    return len(found)


def test_20_kills_leave_promotions_whole(root):
    acknowledged = [id for said in apart(kill_promoters, root, 11, 20) for id in said]

    assert assert_whole(root, acknowledged) >= len(acknowledged) > 0


def promote_and_stop(say, root, code, id):
    """Stop in the midst of the transaction: what is new is there, the old one is not yet `promoted`."""

    def stopped(*_):
        say("inside")
        time.sleep(60)

    lesson.revision.add_revision = stopped
    with contextlib.closing(Door(root)) as door:
        door(code, id=id, **({"waive": "w"} if code == "L3" else {}))


def kill_in_the_midst(root, code):
    [id] = together((first_learning if code == "L3" else first_with_evidence, root))
    said = killed("inside", promote_and_stop, root, code, id)
    return said, id, together((promote_again, root, code, id))[0]


def first_with_evidence(root):
    return call(root, "G1", **TEXT, evidence=["e"])


def first_learning(root):
    return call(root, "L1", **TEXT)


def promote_again(root, code, id):
    return call(root, code, id=id, **({"waive": "w"} if code == "L3" else {}))


@pytest.mark.parametrize("code", ["L2", "L3"])
def test_kill_during_promotion_leaves_no_row(root, code):
    said, _, promoted = apart(kill_in_the_midst, root, code)

    assert said == ["inside"]
    assert assert_whole(root, [promoted]) == {"L2": 1, "L3": 2}[code]


def try_to_promote(root, id):
    try:
        return call(root, "L2", id=id)
    except Conflict as refused:
        return refused.what


def promote_at_once(root, processes):
    [id] = together((first_with_evidence, root))
    return together(*[(try_to_promote, root, id)] * processes)


def test_only_one_of_16_concurrent_promotions_succeeds(root):
    answers = apart(promote_at_once, root, 16)

    [winner] = [answer for answer in answers if answer.startswith("learning_")]
    assert len(answers) == 16 and all(winner in answer for answer in answers)
    assert_whole(root, [winner])


@pytest.mark.parametrize("change", ["UPDATE {kind} SET actor = 'x'", "DELETE FROM {kind}"])
@pytest.mark.parametrize(
    "kind", ["gotcha", "gotcha_revision", "learning", "learning_revision", "learned"]
)
def test_lesson_rows_are_append_only(kaizen, kind, change):
    kaizen("G1", **TEXT, evidence=["e"])
    kaizen("L3", id=kaizen("L2", id="@last")["id"], waive="w")
    with (
        pytest.raises(Conflict, match="refused") as refused,
        kaizen.store.begin_write_transaction() as connection,
    ):
        connection.execute(change.format(kind=kind))

    assert "append-only" in refused.value.why
    assert kaizen("K8")["verified"]


@pytest.mark.parametrize("kind", KINDS)
def test_kind_is_recognized_from_id_prefix(kind):
    assert reference.parse_kind(f"{KINDS[kind].prefix}_20261116T031555123Z_0f1e2d3c4b") == kind


@pytest.mark.parametrize(
    "text", ["task", "task_", "task_force", "task_2026111", "task_20261116", "other_20261116T", "_"]
)
def test_text_without_id_format_is_no_id(text):
    assert reference.parse_kind(text) is None


@pytest.mark.parametrize("sql", [PROOFS, VERDICTS], ids=["proofs", "verdicts"])
def test_lookup_of_linked_records_uses_indexes(kaizen, sql):
    kaizen("K1")
    steps = [
        row[3]
        for row in kaizen.store.reader().tuples("EXPLAIN QUERY PLAN " + sql, ("a", "b", "[]"))
    ]

    assert not [
        step
        for step in steps
        if step.startswith("SCAN") and "json_each" not in step and "VIRTUAL" not in step
    ]
