"""R0: the digest for a new session, within its token budget."""

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
    """`digest(budget=…)`: the answer of R0, in a new database."""
    kaizen("K1")
    return lambda **options: kaizen("R0", **options)


@pytest.fixture
def on_day(monkeypatch):
    """`on_day(8)`: set the clock eight days ahead."""
    real = ids.now_ms

    def move(days):
        monkeypatch.setattr(ids, "now_ms", lambda: real() + int(days * DAY_MS))

    return move


def start_task(kaizen, title="A task", **more):
    return kaizen("W1", title=title, summary="S", **more)["id"]


def list_items(answer, name):
    """Return the items of a part."""
    return next((part["items"] for part in answer["parts"] if part["name"] == name), [])


def list_ids(answer, name):
    return [item["id"] for item in list_items(answer, name)]


def assert_lists(answer, name, id, command):
    """Assert that the part lists the record, and that the text has the command to see it."""
    assert id in list_ids(answer, name)
    assert f"`kaizen {command} {id}`" in answer["text"]


# Parts


def test_critical_rules_come_first_in_full(kaizen, digest):
    start_task(kaizen)
    kaizen("X1", title="Style", summary="No tabs.")
    rule = "Never push to main. " * 90
    id = kaizen("X1", title="Main", summary=rule, trigger="releasing", priority="critical")["id"]
    answer = digest()

    assert_lists(answer, "rules", id, "X4 --id")
    assert f"- Main: {rule.strip()} When: releasing" in answer["text"]
    assert "No tabs" not in answer["text"] and "- 1 more: `kaizen X5`" in answer["text"]
    assert answer["text"].index("## Critical rules") < answer["text"].index("## Ready")


def test_digest_warning_names_budget_that_fits_all_rules(kaizen, digest):
    for number in range(3):
        kaizen("X1", title=f"Rule {number}", summary="Never. " * 100, priority="critical")
    answer = digest(budget=250)

    assert "**CRITICAL RULES DO NOT FIT. First run `kaizen X5 --budget " in answer["text"]
    assert answer["critical_rules_fit"] is False
    assert len(list_items(answer, "rules")) == 1 and "Rule 0" in answer["text"]
    needed = int(answer["text"].partition("--budget ")[2].partition("`")[0])
    assert kaizen("X5", budget=needed)["complete"]


def test_critical_rules_that_exactly_fit_cause_no_warning(kaizen, digest):
    kaizen("X1", title="Rule", summary="Never. " * 30, priority="critical")
    needed = len(digest(actor="new")["text"].partition("\n\n## What")[0]) + 1
    exact = digest(budget=-(-needed // 4), actor="new")

    assert (
        exact["critical_rules_fit"]
        and list_items(exact, "rules")
        and "DO NOT FIT" not in exact["text"]
    )
    assert not digest(budget=needed // 4 - 5, actor="new")["critical_rules_fit"]


def test_digest_lists_short_rule_when_long_does_not_fit(kaizen, digest):
    kaizen("X1", title="Long", summary="Never. " * 200, priority="critical")
    small = kaizen("X1", title="Short", summary="Never.", priority="critical")["id"]

    assert list_ids(digest(budget=150), "rules") == [small]


def test_digest_shows_own_tasks_with_lease_and_proofs(kaizen, digest, on_day):
    held = start_task(kaizen, "Held", done_when=["git --version", "pytest -q"])
    kaizen("W13", id=held)
    kaizen("Q1", run=["git", "--version"])
    active = start_task(kaizen, "Active")
    kaizen("W2", id=active, status="active")
    other = start_task(kaizen, "Theirs")
    kaizen("W13", id=other, actor="codex")
    answer = digest()

    assert list_ids(answer, "my tasks") == [held, active]
    assert_lists(answer, "my tasks", held, "W10 --id")
    assert "git --version: last passed; pytest -q: never witnessed" in answer["text"]
    assert "mine until" in answer["text"] and "not claimed" in answer["text"]
    on_day(1)
    assert "lease ended" in digest()["text"]


def test_ready_work_has_same_order_as_w12(kaizen, digest):
    low, high = start_task(kaizen, priority="low"), start_task(kaizen, priority="high")
    start_task(kaizen, depends_on=[high])
    answer = digest()

    assert (
        list_ids(answer, "ready work")
        == [row["id"] for row in kaizen("W12")["records"]]
        == [high, low]
    )
    assert_lists(answer, "ready work", high, "W10 --id")


def test_blocking_verdict_is_listed_until_superseded(kaizen, digest):
    first, second = start_task(kaizen), start_task(kaizen)
    failed = [
        kaizen(
            "Q2", task_id=id, conclusion="VERIFICATION_FAILED", summary="No.", severity=severity
        )["id"]
        for id, severity in ((first, "low"), (second, "high"))
    ]
    assert list_ids(digest(), "verdicts that block") == failed[::-1], "the severe first"
    kaizen("Q2", task_id=first, conclusion="VERIFIED_ACCEPTABLE", summary="Yes.", scope="elsewhere")
    assert_lists(digest(), "verdicts that block", failed[0], "Q7 --id")
    kaizen("Q2", task_id=first, conclusion="VERIFIED_ACCEPTABLE", summary="Yes.")
    assert list_ids(digest(), "verdicts that block") == failed[1:]
    kaizen("W2", id=second, status="canceled")
    assert list_ids(digest(), "verdicts that block") == []


def test_blockers_show_waiting_tasks_and_reason(kaizen, digest):
    blocker = start_task(kaizen, "Base")
    for _ in range(2):
        start_task(kaizen, depends_on=[blocker])
    stuck = start_task(kaizen, "Stuck")
    kaizen("W2", id=stuck, status="blocked", note="The key is missing")
    answer = digest()

    assert list_ids(answer, "blockers") == [blocker, stuck]
    assert_lists(answer, "blockers", blocker, "W10 --id")
    assert "2 tasks wait for it" in answer["text"] and "The key is missing" in answer["text"]
    kaizen("W2", id=blocker, status="done")
    assert list_ids(digest(), "blockers") == [stuck]


def test_failed_proof_is_listed_until_command_passes(kaizen, digest, on_day):
    failed = kaizen("Q1", title="Tests", command="pytest -q", exit_code=1)["id"]
    passed = kaizen("Q1", run=["git", "--version"])["id"]
    answer = digest()

    assert list_ids(answer, "proofs") == [failed, passed]
    assert_lists(answer, "proofs", failed, "Q7 --id")
    on_day(8)
    assert list_ids(digest(), "proofs") == [failed]
    again = kaizen("Q1", title="Tests", command="pytest -q", exit_code=0)["id"]
    assert list_ids(digest(), "proofs") == [again]


def test_open_predictions_are_ordered_by_deadline(kaizen, digest, on_day):
    kaizen("I1", **TEXT)
    later, sooner, closed = (
        kaizen("I2", irl_id="@last", summary="It ships.", probability=0.8, deadline=when)["id"]
        for when in ("+9d", "+2d", "+1d")
    )
    kaizen("I4", prediction_id=closed, outcome="happened", summary="S")
    answer = digest()

    assert list_ids(answer, "predictions") == [sooner, later]
    assert_lists(answer, "predictions", sooner, "I4 --prediction-id")
    assert "80 % by agent, due" in answer["text"] and "was due" not in answer["text"]
    on_day(3)
    assert "was due" in digest()["text"]


# Lessons


def test_digest_lists_lessons_for_recently_changed_files(kaizen, digest, root):
    git(root, "init", "-q", ".")
    for name in ("old.py", "new.py", "untouched.md"):
        (root / name).write_text("x")
    git(root, "add", "old.py")
    git(root, "commit", "-q", "-m", "one")
    for_old = kaizen("G1", title="About old", summary="S", body="B", paths=["old.py"])["id"]
    for_new = kaizen("L1", title="About new", summary="S", evidence=["e"], paths=["n*.py"])["id"]
    kaizen("G1", title="Elsewhere", summary="S", body="B", paths=["src/**"])
    answer = digest()

    assert list_ids(answer, "lessons") == [for_new, for_old]
    assert "learning (new.py): About new. S" in answer["text"]
    assert_lists(answer, "lessons", for_old, "G4 --id")


def test_digest_query_selects_lessons_instead_of_files(kaizen, digest):
    gotcha = kaizen("G1", title="WAL grows", summary="S", body="A checkpoint waits")["id"]
    kaizen("G1", title="Unrelated", summary="S", body="B")

    assert list_ids(digest(query="checkpoint"), "lessons") == [gotcha]
    assert digest(query="nowhere")["text"].count("## Lessons") == 0


def test_digest_without_git_lists_newest_proven_lessons(kaizen, digest):
    kaizen("L1", title="Not proven", summary="S", evidence=["e"])
    kaizen("L1", title="Proven", summary="S", evidence=["e"])
    proven = kaizen("L3", id="@last", waive="Seen often.")["id"]

    assert list_ids(digest(), "lessons") == [proven]


# Changes


def test_first_digest_covers_last_week(kaizen, digest, on_day):
    start_task(kaizen, "Old")
    on_day(8)
    fresh = start_task(kaizen, "Fresh")
    answer = digest()

    assert "This is your first digest. In the last 7 days: by you: 1; 1 task." in answer["text"]
    assert list_ids(answer, "changes") == [fresh]


def test_later_digest_shows_changes_since_last_one(kaizen, digest):
    known = start_task(kaizen)
    digest()
    new = start_task(kaizen, "New", actor="codex")
    digest(actor="codex")
    kaizen("W2", id=known, status="done")
    answer = digest()

    assert "Since your last digest" in answer["text"]
    assert [
        (item["id"], item["text"].partition(" (")[0]) for item in list_items(answer, "changes")
    ] == [
        (known, "done: A task"),
        (new, "opened: New"),
    ]
    assert "by codex: 1, by you: 1; 1 task, 1 task revision." in answer["text"]
    assert "nothing." in digest()["text"]


def test_digest_lists_notable_changes_newest_first(kaizen, digest):
    first = start_task(kaizen)
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

    assert [
        item["text"].partition(":")[0] for item in list_items(digest(budget=5000), "changes")
    ] == [
        "rule retired",
        "new rule",
        "promoted to learned",
        "promoted to learning",
        "acceptable with concerns",
        "reopened",
        "done",
    ]


def test_since_option_overrides_time_of_last_digest(kaizen, digest, on_day):
    start_task(kaizen, "Old")
    on_day(3)
    new = start_task(kaizen, "New")
    digest()

    assert list_ids(digest(since="2d"), "changes") == [new]
    assert len(list_items(digest(since="9d"), "changes")) == 2


def test_digest_reads_long_log_up_to_limit(kaizen, digest, monkeypatch):
    monkeypatch.setattr(digest_news, "READ_MAX", 3)
    digest()
    task_ids = [start_task(kaizen) for _ in range(5)]
    answer = digest()

    assert "more than 3 entries, only the newest are counted; by you: 3" in answer["text"]
    assert list_ids(answer, "changes") == task_ids[:1:-1]
    assert "more than 3 entries" in digest(since="7d")["text"]


# Budget


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
def test_digest_of_hostile_records_stays_within_budget(full, budget, actor):
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
def test_digest_text_never_exceeds_budget(budget, rules, parts):
    rules_part = rules[0] if rules else None
    fitted = FittedText("# Head", rules_part, "**NO**", parts, budget, "kaizen R0")

    assert len(fitted.text) < budget * 4


def test_shortened_digest_part_names_command_for_rest(full):
    answer = full("R0", budget=1_500, since="7d")

    assert all(part["items"] for part in answer["parts"])
    assert answer["text"].count("\n## ") == len(answer["parts"]) == 9
    for part in answer["parts"]:
        if part["left_out"]:
            assert f" more: `{part['rest']}`" in answer["text"]


def test_digest_names_omitted_parts_and_larger_budget(kaizen, digest):
    for _ in range(3):
        start_task(kaizen, "A task of which much is said " * 4)
    kaizen("Q1", title="Tests", command="pytest -q", exit_code=1)
    answer = digest(budget=115)

    assert "No room for proofs, changes: `kaizen R0 --budget 460 --since 20" in answer["text"]
    assert "- 2 more: `kaizen W12`" in answer["text"]


# Formats


def test_markdown_and_json_contain_same_digest(cli, kaizen):
    start_task(kaizen)
    kaizen.close()
    markdown, data = cli("R0"), cli("R0", "--format", "json")

    assert markdown.out.startswith("# Kaizen digest for agent, 20")
    assert "at most 1,500 tokens, 4 characters each" in markdown.out
    assert data.json["counted"] and "text" not in data.json
    assert list_items(data.json, "ready work")[0]["text"] == "A task (normal)"


def test_hook_format_prints_one_json_object(cli, kaizen):
    start_task(kaizen, HOSTILE.replace("\n", " ")[:150])
    kaizen.close()
    answer = cli("R0", "--format", "hook")
    hooked = json.loads(answer.out)

    assert (
        list(hooked) == ["hookSpecificOutput"] and answer.out.count("\n") == 1 and answer.err == ""
    )
    assert hooked["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    assert hooked["hookSpecificOutput"]["additionalContext"].startswith("# Kaizen digest for agent")


def test_digest_without_database_fails_except_for_hook(cli, root, tmp_path):
    hook, plain = cli("R0", "--format", "hook"), cli("R0")
    nowhere = cli("R0", "--format", "hook", env={"KAIZEN_REPO_ROOT": str(tmp_path / "nothing")})

    assert [(answer.exit_code, answer.out, answer.err) for answer in (hook, nowhere)] == [
        (0, "", "")
    ] * 2
    assert plain.exit_code == 3 and "K1" in plain.err
    assert os.listdir(root) == []


def test_hook_reports_unreadable_database_and_exits_0(cli, kaizen, root):
    kaizen("K1")
    kaizen.close()
    (root / "AI" / "db" / "kaizen.db").write_bytes(b"not a database" * 1_000)
    hook, plain = cli("R0", "--format", "hook"), cli("R0")

    assert hook.exit_code == 0 and plain.exit_code != 0
    assert "cannot read its records" in hook.json["hookSpecificOutput"]["additionalContext"]


def test_hook_with_invalid_budget_exits_2(cli):
    assert cli("R0", "--format", "hook", "--budget", "49").exit_code == 2


def test_digest_of_empty_database_suggests_three_commands(digest):
    for _ in range(2):
        text = digest()["text"]
        assert [code in text for code in ("kaizen W1", "kaizen Q1", "kaizen X1")] == [True] * 3


# The record of a digest


def test_digest_is_recorded_in_verified_log(kaizen, digest):
    from hashlib import sha256

    start_task(kaizen)
    answer = digest(budget=700, scope="docs", query="x")
    row = kaizen.store.reader().one("SELECT * FROM digest")

    assert (row["id"], row["actor"], row["upto"], row["budget"]) == (answer["id"], "agent", 1, 700)
    assert (row["tokens"], row["scope"], row["query"]) == (answer["tokens"], "docs", "x")
    assert row["sha256"] == sha256(answer["text"].encode()).hexdigest()
    assert kaizen("K8")["verified"]


def test_test_digest_is_not_last_digest_and_is_purged(kaizen, digest):
    start_task(kaizen)
    digest(test=True)

    assert "This is your first digest" in digest()["text"]
    assert kaizen("K7")["removed"] == 1 and kaizen("K8")["verified"]


def test_digest_omits_test_records(kaizen, digest):
    kaizen("W1", **TEXT, test=True)
    kaizen("X1", **TEXT, priority="critical", test=True)
    kaizen("Q1", title="T", command="c", exit_code=1, test=True)
    kaizen("G1", **TEXT, body="needle", test=True)
    start_task(kaizen)
    answer = digest(query="needle")

    assert [part["name"] for part in answer["parts"]] == ["ready work", "changes"]
    assert "by you: 1; 1 task." in answer["text"]


def test_digest_of_busy_database_is_not_recorded(kaizen, digest, monkeypatch):
    monkeypatch.setenv("KAIZEN_BUSY_TIMEOUT_S", "0.05")
    start_task(kaizen)
    with Gate(kaizen.store.place.lock):
        answer = digest()

    assert list_items(answer, "ready work") and "id" not in answer
    assert any("not recorded" in note for note in kaizen.store.notes)
    assert digest()["id"]


def test_digest_waits_less_than_other_writes(kaizen, digest, monkeypatch):
    from kaizen_components.reports.digest import digest as module

    monkeypatch.setattr(module, "WRITE_WAIT_S", 0.05)  # other writes wait 30 seconds
    with Gate(kaizen.store.place.lock):
        assert "id" not in digest()
    assert kaizen.store.gate.wait_s() == 30


def test_digest_works_in_batch_and_with_op_id(kaizen, digest, root):
    (root / "lines").write_text(
        '{"command": "W1", "args": {"title": "t", "summary": "s"}}\n{"command": "R0", "args": {}}'
    )
    results = kaizen("K5", file=str(root / "lines"))["records"]
    first, second = (digest(op_id="once") for _ in range(2))

    assert results[1]["id"].startswith("dig_")
    assert second == {**first, "replayed": True}


# Reproducibility and speed


def test_digest_scope_filters_tasks_but_keeps_project_rules(kaizen, digest):
    rule = kaizen("X1", **TEXT, priority="critical")["id"]
    kaizen("X1", **TEXT, priority="critical", scope="engine")
    start_task(kaizen, scope="engine")
    docs = start_task(kaizen, scope="docs")
    answer = digest(scope="docs")

    assert list_ids(answer, "ready work") == [docs] and list_ids(answer, "rules") == [rule]


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from kaizen_components.records import ids
ids.now_ms = lambda: 1_800_000_000_000
from kaizen_components.call import Door
sys.stdout.write(Door(sys.argv[2])("R0")["text"])
"""


def test_digest_depends_only_on_database_and_clock(full, tmp_path):
    texts = set()
    for seed, zone in (("0", "UTC"), ("1", "Asia/Tokyo"), ("2", "America/New_York")):
        env = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone}
        copy = tmp_path / seed / "project"
        shutil.copytree(full.store.place.root, copy)  # each digest changes the next one
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
        ("LAST_DIGEST", "digest_actor"),
    ],
)
def test_digest_query_uses_its_index(kaizen, sql, index):
    from kaizen_components.reports.digest import parts as digest_part

    kaizen("K1")
    steps = plan(
        kaizen.store.reader(), getattr(digest_part, sql, None) or getattr(digest_news, sql)
    )

    assert any(index in step for step in steps), steps


def test_digest_change_queries_never_scan_whole_table(kaizen):
    kaizen("K1")
    for sql in (digest_news.NOTABLE, digest_news.COUNTS, digest_news.NEWEST_SEQ_BEFORE):
        steps = plan(kaizen.store.reader(), sql)
        assert not [
            step for step in steps if step.startswith("SCAN") and "subquery" not in step.lower()
        ], steps


def test_digest_does_not_create_database(kaizen):
    with pytest.raises(NotFound):
        kaizen("R0")
