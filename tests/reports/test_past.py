"""A report with --as-of equals the report that was made at that time."""

import shutil
import subprocess
import sys

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import NotFound
from kaizen_components.index import find_command
from kaizen_components.records.ledger import anchor
from kaizen_components.records.ledger.hashing import Frontier
from kaizen_components.records.ledger.transaction import RecordReader
from kaizen_components.reports.engine.past import view_past
from kaizen_components.reports.engine.publish import Output
from support_scripts.every_kind import record_every_kind

from ..conftest import ROOT
from . import world

REPORTS = [
    code
    for code in world.list_codes("md")
    if code.startswith("R") and "as_of" in world.find_command(code).options
]
VIEWS = "SELECT count(*) FROM temp.sqlite_master"
KINDS_AND_VIEWS = """
SELECT DISTINCT name FROM (
    SELECT name FROM sqlite_master WHERE type = 'view' OR (type = 'table' AND name GLOB '*_state')
    UNION ALL SELECT kind FROM log UNION ALL SELECT 'log') ORDER BY name"""
TASKS = "SELECT count(*) FROM task_current"


def build_repeatable_arguments(code, **more):
    """Return the example's arguments with fixed dates instead of times relative to now."""
    words = world.build_arguments(code, out="-", **more)
    return [word if word[-1:] != "d" or not word[:-1].isdigit() else "2026-01-01" for word in words]


def print_report(code, root, *words):
    """Return the output of the report from a new process."""
    command = [sys.executable, str(ROOT / "kaizen.py"), code, *words]
    done = subprocess.run(
        command, cwd=root, env={"KAIZEN_REPO_ROOT": str(root)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def open_reader(door):
    return RecordReader(door.store.reader(), "agent")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return (project, earlier copy of it, size of the log at the time of the copy)."""
    root, copy = tmp_path_factory.mktemp("now"), tmp_path_factory.mktemp("then")
    door = Door(str(root), keep_open=True)
    world.record(door, root)
    backup = door("K3")
    (copy / "AI" / "db").mkdir(parents=True)
    shutil.copy(root / backup["backup"], copy / "AI" / "db" / "kaizen.db")
    size = anchor.read_last_anchor(door.store.place.anchors)[1]
    change_everything(door, root)
    door.close()
    return root, copy, size


def change_everything(door, root):
    """Close open tasks, reopen done ones, and add records of every kind."""
    for row in door("W9", limit=100)["records"]:
        changed = (
            {"status": "open"} if row["status"] == "done" else {"status": "done", "waive": "Later."}
        )
        door("W2", id=row["id"], note="Changed.", **changed)
    record_every_kind(lambda code, op_id=None, **options: door(code, **options), root)


@pytest.mark.parametrize(
    "code, format", [*((code, "html") for code in REPORTS), ("R4", "md"), ("R4", "json")]
)
def test_as_of_report_equals_report_on_old_copy(project, code, format):
    root, copy, size = project
    words = build_repeatable_arguments(code, format=format)
    then = print_report(code, copy, *words)
    now = print_report(code, root, *words)

    assert print_report(code, root, *words, "--as-of", str(size)) == then
    assert now != then


def test_every_table_and_view_shows_the_past(project):
    root, copy, size = project
    now, then = Door(str(root)), Door(str(copy))
    compared = 0
    with view_past(open_reader(now), size) as (db, _):
        for (name,) in open_reader(then).tuples(KINDS_AND_VIEWS):
            what = f"SELECT * FROM {name}"
            assert sorted(map(repr, db.tuples(what))) == sorted(
                map(repr, open_reader(then).tuples(what))
            ), name
            compared += 1

    assert compared > 40


def test_root_hash_of_past_view_equals_anchor(kaizen, root):
    for number in range(70):
        kaizen("W1", title=f"Task {number}", summary="s")
    anchored = {
        size: root_hash for _, size, root_hash in anchor.read_anchors(kaizen.store.place.anchors)[0]
    }
    anchored[0] = Frontier(0, []).root()
    roots = {}
    for size in range(71):
        with view_past(open_reader(kaizen), size) as (db, moment):
            roots[size] = moment.root
            assert (db.value(TASKS), db.value("SELECT count(*) FROM log")) == (size, size)

    assert roots == {size: anchored[size] for size in range(71)}


def test_past_view_uses_time_of_its_checkpoint(kaizen):
    kaizen("W1", title="a", summary="s")
    first = kaizen("W1", title="b", summary="s")
    kaizen("W1", title="c", summary="s")
    with view_past(open_reader(kaizen), 2) as (db, moment):
        assert db.at == moment.at == db.value("SELECT at FROM task WHERE id = ?", (first["id"],))


def test_repeated_report_has_same_bytes(kaizen, root):
    kaizen("Q1", title="Seen")
    made = [kaizen("R4", format=format) for format in ("html", "md", "json") for _ in range(2)]
    texts = [(root / report["path"]).read_bytes() for report in made]

    assert texts[0] == texts[1] and texts[2] == texts[3] and texts[4] == texts[5]
    assert len({report["artifact_id"] for report in made}) == 6


def test_connection_shows_current_records_after_past_report(kaizen):
    for title in "abc":
        kaizen("W1", title=title, summary="s")
        kaizen("Q1", title="Seen")
    kaizen("R4", as_of=1, out="-")
    db = open_reader(kaizen)

    assert (db.value(VIEWS), db.value(TASKS)) == (0, 3)


def test_connection_shows_current_records_after_failed_report(kaizen):
    kaizen("W1", title="a", summary="s")
    kaizen("W1", title="b", summary="s")
    db = open_reader(kaizen)
    with pytest.raises(ZeroDivisionError), view_past(db, 1) as (then, _):
        assert then.value(TASKS) == 1
        _ = 1 / 0

    assert (db.value(VIEWS), db.value(TASKS)) == (0, 2)


def test_report_omits_concurrent_writes(kaizen, root):
    kaizen("W1", title="a", summary="s")
    other = Door(str(root))
    seen = []

    def gather(db, zone, options):
        for title in "bcd":
            seen.append(db.value(TASKS))
            other("W1", title=title, summary="s")
        return {"tasks": db.value(TASKS)}

    def layout(found, zone):
        return {"title": "Tasks", "lead": [], "sections": []}

    look = lambda: open_reader(kaizen)  # noqa: E731
    output = Output(find_command("R4"), None, look, kaizen.store, format="json", out="-")
    made = output.publish(gather, layout)

    assert (seen, made["data"], made["ledger"]["entries"]) == ([1, 1, 1], {"tasks": 1}, 1)
    assert open_reader(kaizen).value(TASKS) == 4


def test_report_made_during_writes_is_reproducible(kaizen, root, cli):
    script = "from kaizen_components.call import Door\nd = Door()\nfor n in range(40): d('Q1', title=f'Seen {n}')"
    kaizen("Q1", title="Seen")
    writer = subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, env={"KAIZEN_REPO_ROOT": str(root)}
    )
    made = []
    while writer.poll() is None or not made:
        made.append(kaizen("R4", out="-", format="md"))

    assert writer.returncode == 0
    for report in {report["ledger"]["entries"]: report for report in made}.values():
        assert (
            kaizen("R4", out="-", format="md", as_of=report["ledger"]["entries"])["document"]
            == report["document"]
        )


def test_as_of_beyond_log_end_is_refused(kaizen):
    kaizen("W1", title="a", summary="s")
    with pytest.raises(NotFound) as refused:
        kaizen("R4", as_of=2)

    assert refused.value.code == "no_such_checkpoint"


@pytest.mark.parametrize("was_leased", [False, True])
def test_past_report_omits_later_lease(kaizen, was_leased):
    """Only the lease changes after the checkpoint."""
    task = kaizen("W1", title="a", summary="s")["id"]
    if was_leased:
        kaizen("W13", id=task, action="take", actor="before")
    size = anchor.read_last_anchor(kaizen.store.place.anchors)[1]
    if was_leased:
        kaizen("W13", id=task, action="break", note="Gone.", actor="after")
    kaizen("W13", id=task, action="take", actor="after")
    made = kaizen("R1", id=task, as_of=size, out="-", format="json")

    assert made["data"]["record"]["holder"] == ("before" if was_leased else None)
    assert "after" not in made["document"]


def test_as_of_zero_shows_no_records(kaizen):
    kaizen("Q1", title="Seen")
    made = kaizen("R4", as_of=0, out="-", format="md")

    assert "No proof is recorded yet" in made["document"] and made["ledger"]["entries"] == 0
