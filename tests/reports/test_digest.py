"""R0: what a new session must know, within its budget."""

import json
import os
import shutil
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaizen_components.errors import NotFound
from kaizen_components.records import ids
from kaizen_components.reports.digest import news as digest_news
from kaizen_components.reports.digest.budget import FittedText, make_item, make_part
from kaizen_components.store.gate import Gate

from ..conftest import ROOT, git
from ..records.test_statements import plan

TEXT = {"title": "A title", "summary": "In short."}
HOSTILE = (
    "</h1><script>alert(1)</script> [a](javascript:x) `b` **c** \x1b[31mred\x1b[0m \u202egnp.exe "
    "\n\n# Heading\n- item"
)
DAY_MS = 86_400_000


@pytest.fixture
def digest(kaizen):
    """`digest(budget=…)`: the answer of R0 in a new database."""
    kaizen("K1")
    return lambda **options: kaizen("R0", **options)


@pytest.fixture
def on_day(monkeypatch):
    """`on_day(8)`: set the clock eight days ahead."""
    real = ids.now_ms

    def move(days):
        monkeypatch.setattr(ids, "now_ms", lambda: real() + int(days * DAY_MS))

    return move


def task(kaizen, title="A task", **more):
    return kaizen("W1", title=title, summary="S", **more)["id"]


def of(answer, name):
    """Return the items of a part."""
    return next((one["items"] for one in answer["parts"] if one["name"] == name), [])


def ids_of(answer, name):
    return [one["id"] for one in of(answer, name)]


def assert_lists(answer, name, id, command):
    """Assert that the part has the record, and the text the command that shows it."""
    assert id in ids_of(answer, name)
    assert f"`kaizen {command} {id}`" in answer["text"]


# The parts


def test_critical_rules_come_first_and_whole(kaizen, digest):
    task(kaizen)
    kaizen("X1", title="Style", summary="No tabs.")
    rule = "Never push to main. " * 90
    id = kaizen("X1", title="Main", summary=rule, trigger="releasing", priority="critical")["id"]
    answer = digest()

    assert_lists(answer, "rules", id, "X4 --id")
    assert f"- Main: {rule.strip()} When: releasing" in answer["text"]
    assert "No tabs" not in answer["text"] and "- 1 more: `kaizen X5`" in answer["text"]
    assert answer["text"].index("## Critical rules") < answer["text"].index("## Ready")


def test_warning_names_x5_budget_for_all_critical_rules(kaizen, digest):
    for number in range(3):
        kaizen("X1", title=f"Rule {number}", summary="Never. " * 100, priority="critical")
    answer = digest(budget=250)

    assert "**CRITICAL RULES DO NOT FIT. First run `kaizen X5 --budget " in answer["text"]
    assert answer["critical_rules_fit"] is False
    assert len(of(answer, "rules")) == 1 and "Rule 0" in answer["text"]
    needed = int(answer["text"].partition("--budget ")[2].partition("`")[0])
    assert kaizen("X5", budget=needed)["complete"]


def test_critical_rules_that_just_fit_cause_no_warning(kaizen, digest):
    kaizen("X1", title="Rule", summary="Never. " * 30, priority="critical")
    needed = len(digest(actor="new")["text"].partition("\n\n## What")[0]) + 1
    exact = digest(budget=-(-needed // 4), actor="new")

    assert exact["critical_rules_fit"] and of(exact, "rules") and "DO NOT FIT" not in exact["text"]
    assert not digest(budget=needed // 4 - 5, actor="new")["critical_rules_fit"]


def test_smaller_critical_rule_fills_the_room_left(kaizen, digest):
    kaizen("X1", title="Long", summary="Never. " * 200, priority="critical")
    small = kaizen("X1", title="Short", summary="Never.", priority="critical")["id"]

    assert ids_of(digest(budget=150), "rules") == [small]


def test_my_tasks_show_lease_and_proof_state(kaizen, digest, on_day):
    held = task(kaizen, "Held", done_when=["git --version", "pytest -q"])
    kaizen("W13", id=held)
    kaizen("Q1", run=["git", "--version"])
    begun = task(kaizen, "Begun")
    kaizen("W2", id=begun, status="active")
    other = task(kaizen, "Theirs")
    kaizen("W13", id=other, actor="codex")
    answer = digest()

    assert ids_of(answer, "my tasks") == [held, begun]
    assert_lists(answer, "my tasks", held, "W10 --id")
    assert "git --version: last passed; pytest -q: never witnessed" in answer["text"]
    assert "mine until" in answer["text"] and "not claimed" in answer["text"]
    on_day(1)
    assert "lease ended" in digest()["text"]


def test_ready_work_matches_w12_order(kaizen, digest):
    low, high = task(kaizen, priority="low"), task(kaizen, priority="high")
    task(kaizen, depends_on=[high])
    answer = digest()

    assert (
        ids_of(answer, "ready work")
        == [row["id"] for row in kaizen("W12")["records"]]
        == [high, low]
    )
    assert_lists(answer, "ready work", high, "W10 --id")


def test_blocking_verdict_stays_until_later_verdict_clears_it(kaizen, digest):
    first, second = task(kaizen), task(kaizen)
    failed = [
        kaizen(
            "Q2", task_id=id, conclusion="VERIFICATION_FAILED", summary="No.", severity=severity
        )["id"]
        for id, severity in ((first, "low"), (second, "high"))
    ]
    assert ids_of(digest(), "verdicts that block") == failed[::-1], "the severe first"
    kaizen("Q2", task_id=first, conclusion="VERIFIED_ACCEPTABLE", summary="Yes.", scope="elsewhere")
    assert_lists(digest(), "verdicts that block", failed[0], "Q7 --id")
    kaizen("Q2", task_id=first, conclusion="VERIFIED_ACCEPTABLE", summary="Yes.")
    assert ids_of(digest(), "verdicts that block") == failed[1:]
    kaizen("W2", id=second, status="canceled")
    assert ids_of(digest(), "verdicts that block") == []


def test_blockers_show_waiting_tasks_and_blocked_reason(kaizen, digest):
    blocker = task(kaizen, "Base")
    for _ in range(2):
        task(kaizen, depends_on=[blocker])
    stuck = task(kaizen, "Stuck")
    kaizen("W2", id=stuck, status="blocked", note="The key is missing")
    answer = digest()

    assert ids_of(answer, "blockers") == [blocker, stuck]
    assert_lists(answer, "blockers", blocker, "W10 --id")
    assert "2 tasks wait for it" in answer["text"] and "The key is missing" in answer["text"]
    kaizen("W2", id=blocker, status="done")
    assert ids_of(digest(), "blockers") == [stuck]


def test_failure_stays_until_pass_and_pass_for_a_week(kaizen, digest, on_day):
    failed = kaizen("Q1", title="Tests", command="pytest -q", exit_code=1)["id"]
    passed = kaizen("Q1", run=["git", "--version"])["id"]
    answer = digest()

    assert ids_of(answer, "proofs") == [failed, passed]
    assert_lists(answer, "proofs", failed, "Q7 --id")
    on_day(8)
    assert ids_of(digest(), "proofs") == [failed]
    again = kaizen("Q1", title="Tests", command="pytest -q", exit_code=0)["id"]
    assert ids_of(digest(), "proofs") == [again]


def test_open_predictions_are_ordered_by_deadline(kaizen, digest, on_day):
    kaizen("I1", **TEXT)
    later, sooner, closed = (
        kaizen("I2", irl_id="@last", summary="It ships.", probability=0.8, deadline=when)["id"]
        for when in ("+9d", "+2d", "+1d")
    )
    kaizen("I4", prediction_id=closed, outcome="happened", summary="S")
    answer = digest()

    assert ids_of(answer, "predictions") == [sooner, later]
    assert_lists(answer, "predictions", sooner, "I4 --prediction-id")
    assert "80 % by agent, due" in answer["text"] and "was due" not in answer["text"]
    on_day(3)
    assert "was due" in digest()["text"]


# Lessons


def test_lessons_match_recently_changed_files(kaizen, digest, root):
    git(root, "init", "-q", ".")
    for name in ("old.py", "new.py", "untouched.md"):
        (root / name).write_text("x")
    git(root, "add", "old.py")
    git(root, "commit", "-q", "-m", "one")
    for_old = kaizen("G1", title="About old", summary="S", body="B", paths=["old.py"])["id"]
    for_new = kaizen("L1", title="About new", summary="S", evidence=["e"], paths=["n*.py"])["id"]
    kaizen("G1", title="Elsewhere", summary="S", body="B", paths=["src/**"])
    answer = digest()

    assert ids_of(answer, "lessons") == [for_new, for_old]
    assert "learning (new.py): About new. S" in answer["text"]
    assert_lists(answer, "lessons", for_old, "G4 --id")


def test_query_selects_lessons_instead_of_files(kaizen, digest):
    found = kaizen("G1", title="WAL grows", summary="S", body="A checkpoint waits")["id"]
    kaizen("G1", title="Unrelated", summary="S", body="B")

    assert ids_of(digest(query="checkpoint"), "lessons") == [found]
    assert digest(query="nowhere")["text"].count("## Lessons") == 0


def test_newest_proven_lessons_without_git_and_query(kaizen, digest):
    kaizen("L1", title="Not proven", summary="S", evidence=["e"])
    kaizen("L1", title="Proven", summary="S", evidence=["e"])
    proven = kaizen("L3", id="@last", waive="Seen often.")["id"]

    assert ids_of(digest(), "lessons") == [proven]


# What changed


def test_first_digest_looks_back_a_week(kaizen, digest, on_day):
    task(kaizen, "Old")
    on_day(8)
    fresh = task(kaizen, "Fresh")
    answer = digest()

    assert "This is your first digest. In the last 7 days: by you: 1; 1 task." in answer["text"]
    assert ids_of(answer, "changes") == [fresh]


def test_next_digest_shows_changes_since_last_one(kaizen, digest):
    known = task(kaizen)
    digest()
    new = task(kaizen, "New", actor="codex")
    digest(actor="codex")
    kaizen("W2", id=known, status="done")
    answer = digest()

    assert "Since your last digest" in answer["text"]
    assert [(one["id"], one["text"].partition(" (")[0]) for one in of(answer, "changes")] == [
        (known, "done: A task"),
        (new, "opened: New"),
    ]
    assert "by codex: 1, by you: 1; 1 task, 1 task revision." in answer["text"]
    assert "nothing." in digest()["text"]


def test_notable_changes_are_listed_newest_first(kaizen, digest):
    first = task(kaizen)
    digest()
    kaizen("W2", id=first, status="done")
    kaizen("W2", id=first, status="open")
    kaizen("W2", id=first, status="active", note="Going on.")
    kaizen("W2", id=first, note="Only a note.")
    kaizen("Q2", task_id=first, conclusion="ACCEPTABLE_WITH_CONCERNS", summary="Mostly.")
    kaizen("G1", **TEXT, body="B", evidence=["seen"])
    kaizen("L2", id="@last")
    kaizen("L3", id="@last", waive="Seen.")
    kaizen("X1", **TEXT)
    kaizen("X6", id="@last", reason="Old.")

    assert [one["text"].partition(":")[0] for one in of(digest(budget=5000), "changes")] == [
        "rule retired",
        "new rule",
        "promoted to learned",
        "promoted to learning",
        "acceptable with concerns",
        "reopened",
        "done",
    ]


def test_since_overrides_last_digest(kaizen, digest, on_day):
    task(kaizen, "Old")
    on_day(3)
    new = task(kaizen, "New")
    digest()

    assert ids_of(digest(since="2d"), "changes") == [new]
    assert len(of(digest(since="9d"), "changes")) == 2


def test_long_log_is_read_only_from_its_end(kaizen, digest, monkeypatch):
    monkeypatch.setattr(digest_news, "READ_MAX", 3)
    digest()
    made = [task(kaizen) for _ in range(5)]
    answer = digest()

    assert "more than 3 entries, only the newest are counted; by you: 3" in answer["text"]
    assert ids_of(answer, "changes") == made[:1:-1]
    assert "more than 3 entries" in digest(since="7d")["text"]


# The budget


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A project with hostile and huge texts in every part of a digest."""
    from kaizen_components.call import Door

    root = tmp_path_factory.mktemp("full")
    door = Door(str(root), keep_open=True)
    title = HOSTILE[:40].replace("\n", " ")
    for number in range(4):
        texts = {"title": title, "summary": (HOSTILE * 20)[:2000]}
        door("X1", **texts, priority="critical" if number == 0 else "low")
        held = door("W1", **texts, body="x" * 1_000_000, done_when=["pytest '`*'"])["id"]
        door("W13", id=held)
        blocker = door("W1", **texts, scope="*" * 200)["id"]
        door("W1", **texts, depends_on=[blocker])
        door("Q1", title=title, command="*" * 2_000, exit_code=1)
        door(
            "Q2",
            task_id=blocker,
            conclusion="VERIFICATION_FAILED",
            summary=texts["summary"],
            body="y" * 1_000_000,
        )
        door("L1", **texts, body="x" + "\u202e" * 999_999, evidence=["e"])
        door("L3", id="@last", waive="Seen.")
        door("I1", **texts)
        door("I2", irl_id="@last", summary=texts["summary"], probability=0.5, deadline="+7d")
    yield door
    door.close()


@settings(max_examples=60, deadline=None)
@given(st.integers(50, 5_000), st.sampled_from(["agent", "*" * 100, "a" + "\u202e" * 50, "a b"]))
def test_text_stays_within_budget_for_any_records(full, budget, actor):
    answer = full("R0", budget=budget, actor=actor)

    assert len(answer["text"] + "\n") <= budget * 4
    assert answer["tokens"] == -(-len(answer["text"] + "\n") // 4) <= budget
    assert all(line.isprintable() for line in answer["text"].split("\n"))
    assert "<script>" not in answer["text"] and "\n# Heading" not in answer["text"]


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
items = st.lists(st.builds(make_item, st.just("id"), words, words), max_size=6)
made_parts = st.lists(
    st.builds(
        make_part,
        words,
        st.just("Heading"),
        items,
        words,
        st.booleans(),
        st.integers(0, 9**9),
        words,
    ),
    max_size=5,
)


@settings(max_examples=300, deadline=None)
@given(st.integers(50, 5_000), st.one_of(st.none(), made_parts), made_parts)
def test_any_parts_stay_within_any_budget(budget, rules, parts):
    whole = rules[0] if rules else None
    fitted = FittedText("# Head", whole, "**NO**", parts, budget, "kaizen R0")

    assert len(fitted.text) < budget * 4


def test_each_part_keeps_best_item_and_names_rest_command(full):
    answer = full("R0", budget=1_500, since="7d")

    assert all(one["items"] for one in answer["parts"])
    assert answer["text"].count("\n## ") == len(answer["parts"]) == 9
    for one in answer["parts"]:
        if one["left_out"]:
            assert f" more: `{one['rest']}`" in answer["text"]


def test_parts_without_room_are_named_with_larger_budget(kaizen, digest):
    for _ in range(3):
        task(kaizen, "A task of which much is said " * 4)
    kaizen("Q1", title="Tests", command="pytest -q", exit_code=1)
    answer = digest(budget=115)

    assert "No room for proofs, changes: `kaizen R0 --budget 460 --since 20" in answer["text"]
    assert "- 2 more: `kaizen W12`" in answer["text"]


# How it is printed


def test_markdown_and_json_carry_the_same_digest(cli, kaizen):
    task(kaizen)
    kaizen.close()
    shown, data = cli("R0"), cli("R0", "--format", "json")

    assert shown.out.startswith("# Kaizen digest for agent, 20")
    assert "at most 1,500 tokens, 4 characters each" in shown.out
    assert data.json["counted"] and "text" not in data.json
    assert of(data.json, "ready work")[0]["text"] == "A task (normal)"


def test_hook_format_prints_one_json_object(cli, kaizen):
    task(kaizen, HOSTILE.replace("\n", " ")[:150])
    kaizen.close()
    shown = cli("R0", "--format", "hook")
    hooked = json.loads(shown.out)

    assert list(hooked) == ["hookSpecificOutput"] and shown.out.count("\n") == 1 and shown.err == ""
    assert hooked["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert hooked["hookSpecificOutput"]["additionalContext"].startswith("# Kaizen digest for agent")


def test_missing_database_is_silent_only_for_hook(cli, root, tmp_path):
    silent, told = cli("R0", "--format", "hook"), cli("R0")
    nowhere = cli("R0", "--format", "hook", env={"KAIZEN_REPO_ROOT": str(tmp_path / "nothing")})

    assert [(one.exit_code, one.out, one.err) for one in (silent, nowhere)] == [(0, "", "")] * 2
    assert told.exit_code == 3 and "K1" in told.err
    assert os.listdir(root) == []


def test_unreadable_database_does_not_fail_the_host(cli, kaizen, root):
    kaizen("K1")
    kaizen.close()
    (root / "AI" / "db" / "kaizen.db").write_bytes(b"not a database" * 1_000)
    hooked, told = cli("R0", "--format", "hook"), cli("R0")

    assert hooked.exit_code == 0 and told.exit_code != 0
    assert "cannot read its records" in hooked.json["hookSpecificOutput"]["additionalContext"]


def test_wrong_option_is_usage_error_for_hook(cli):
    assert cli("R0", "--format", "hook", "--budget", "49").exit_code == 2


def test_empty_database_always_shows_first_three_commands(digest):
    for _ in range(2):
        text = digest()["text"]
        assert [code in text for code in ("kaizen W1", "kaizen Q1", "kaizen X1")] == [True] * 3


# The record of it


def test_a_digest_is_recorded_and_verified(kaizen, digest):
    from hashlib import sha256

    task(kaizen)
    answer = digest(budget=700, scope="docs", query="x")
    row = kaizen.store.reader().one("SELECT * FROM digest")

    assert (row["id"], row["actor"], row["upto"], row["budget"]) == (answer["id"], "agent", 1, 700)
    assert (row["tokens"], row["scope"], row["query"]) == (answer["tokens"], "docs", "x")
    assert row["sha256"] == sha256(answer["text"].encode()).hexdigest()
    assert kaizen("K8")["verified"]


def test_test_digest_never_counts_as_last_and_is_purged(kaizen, digest):
    task(kaizen)
    digest(test=True)

    assert "This is your first digest" in digest()["text"]
    assert kaizen("K7")["removed"] == 1 and kaizen("K8")["verified"]


def test_test_records_are_left_out(kaizen, digest):
    kaizen("W1", **TEXT, test=True)
    kaizen("X1", **TEXT, priority="critical", test=True)
    kaizen("Q1", title="T", command="c", exit_code=1, test=True)
    kaizen("G1", **TEXT, body="needle", test=True)
    task(kaizen)
    answer = digest(query="needle")

    assert [one["name"] for one in answer["parts"]] == ["ready work", "changes"]
    assert "by you: 1; 1 task." in answer["text"]


def test_busy_database_yields_digest_with_note(kaizen, digest, monkeypatch):
    monkeypatch.setenv("KAIZEN_BUSY_TIMEOUT_S", "0.05")
    task(kaizen)
    with Gate(kaizen.store.place.lock):
        answer = digest()

    assert of(answer, "ready work") and "id" not in answer
    assert any("not recorded" in note for note in kaizen.store.notes)
    assert digest()["id"]


def test_digest_waits_briefly_for_write_gate(kaizen, digest, monkeypatch):
    from kaizen_components.reports.digest import digest as module

    monkeypatch.setattr(
        module, "WRITE_WAIT_S", 0.05
    )  # while a write of somebody's work would wait 30 seconds
    with Gate(kaizen.store.place.lock):
        assert "id" not in digest()
    assert kaizen.store.gate.wait_s() == 30


def test_batch_and_op_id_work_for_digest(kaizen, digest, root):
    (root / "lines").write_text(
        '{"command": "W1", "args": {"title": "t", "summary": "s"}}\n{"command": "R0", "args": {}}'
    )
    results = kaizen("K5", file=str(root / "lines"))["records"]
    first, second = (digest(op_id="once") for _ in range(2))

    assert results[1]["id"].startswith("dig_")
    assert second == {**first, "replayed": True}


# Always the same


def test_scope_narrows_work_but_keeps_project_rules(kaizen, digest):
    rule = kaizen("X1", **TEXT, priority="critical")["id"]
    kaizen("X1", **TEXT, priority="critical", scope="engine")
    task(kaizen, scope="engine")
    docs = task(kaizen, scope="docs")
    answer = digest(scope="docs")

    assert ids_of(answer, "ready work") == [docs] and ids_of(answer, "rules") == [rule]


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from kaizen_components.records import ids
ids.now_ms = lambda: 1_800_000_000_000
from kaizen_components.call import Door
sys.stdout.write(Door(sys.argv[2])("R0")["text"])
"""


def test_same_database_and_clock_give_same_text(full, tmp_path):
    texts = set()
    for seed, zone in (("0", "UTC"), ("1", "Asia/Tokyo"), ("2", "America/New_York")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone}
        copy = tmp_path / seed / "project"
        shutil.copytree(
            full.store.place.root, copy
        )  # a digest is recorded, and changes the next one
        argv = [sys.executable, "-c", textwrap.dedent(SCRIPT), str(ROOT), str(copy)]
        texts.add(subprocess.run(argv, env=env, capture_output=True, text=True, check=True).stdout)

    assert len(texts) == 1 and "2027-01-15 08:00Z" in texts.pop()


@pytest.mark.parametrize(
    "sql, index",
    [
        ("HELD", "task_state_holder"),
        ("UNCLAIMED", "task_state_status"),
        ("OBJECTIONS", "verification_conclusion"),
        ("BLOCKERS", "task_state_status"),
        ("STUCK", "task_state_status"),
        ("LAST", "digest_actor"),
    ],
)
def test_digest_query_uses_its_index(kaizen, sql, index):
    from kaizen_components.reports.digest import parts as digest_part

    kaizen("K1")
    steps = plan(
        kaizen.store.reader(), getattr(digest_part, sql, None) or getattr(digest_news, sql)
    )

    assert any(index in step for step in steps), steps


def test_change_queries_never_scan_a_whole_table(kaizen):
    kaizen("K1")
    for sql in (digest_news.NOTABLE, digest_news.COUNTS, digest_news.OLDER):
        steps = plan(kaizen.store.reader(), sql)
        assert not [
            step for step in steps if step.startswith("SCAN") and "subquery" not in step.lower()
        ], steps


def test_digest_does_not_create_a_database(kaizen):
    with pytest.raises(NotFound):
        kaizen("R0")
