"""Family W: tasks, plans, packets, links, leases, as their users meet them."""

import subprocess
import sys
from itertools import pairwise

import pytest

from kaizen_components import limits
from kaizen_components.call import Door
from kaizen_components.errors import Conflict, NotFound, Refused, Usage
from kaizen_components.records import ids
from kaizen_components.records.ledger.transaction import RecordReader
from kaizen_components.records.work import completion

from ..conftest import ROOT


@pytest.fixture
def task(kaizen):
    """`task("title", …)`: the id of a new task."""

    def start(title="A task", **more):
        return kaizen("W1", title=title, summary="About it.", **more)["id"]

    return start


@pytest.fixture
def pass_time(monkeypatch):
    """`pass_time(2.1)`: put the engine's clock forward by so many seconds."""

    def forward(seconds):
        now_ms = ids.now_ms
        monkeypatch.setattr(ids, "now_ms", lambda: now_ms() + int(seconds * 1000))

    return forward


def ready(kaizen, **more):
    return [row["id"] for row in kaizen("W12", **more)["records"]]


def record(kaizen, id):
    return kaizen("W10", id=id)["record"]


# References


def test_last_alias_tilde_n_names_nth_record_before(kaizen, task):
    ids = [task() for _ in range(3)]
    task("Somebody's", actor="other")

    assert [kaizen("W10", id=f"@last~{back}")["id"] for back in range(3)] == ids[::-1]
    with pytest.raises(NotFound, match="@last~3 finds no task"):
        kaizen("W10", id="@last~3")
    for odd in ("@last~", "@last~x", "@last~-1", "@last~²", "@last~99999"):
        with pytest.raises(NotFound) as unknown:
            kaizen("W10", id=odd)
        assert unknown.value.code == "unknown_id"


def test_last_alias_tilde_n_counts_records_of_all_kinds(kaizen, task):
    first = task()
    kaizen("G1", title="t", summary="s", body="b")
    scored = kaizen("T2", name="n", value=1, about="@last~1")["id"]

    assert [row["id"] for row in kaizen("T4", about=first)["records"]] == [scored]


def test_unknown_id_names_its_kind_and_list(kaizen, task):
    id = task()
    with pytest.raises(NotFound) as none:
        kaizen("W10", id="task_19990101")
    with pytest.raises(NotFound) as other:
        kaizen("W14", id=id)

    assert "`W9` lists" in none.value.next
    assert "id of a task" in other.value.why and "W10 --id TASK" in other.value.next


# W1, W2, W9, W10


def test_new_task_is_open_and_stores_done_when(kaizen):
    started = kaizen(
        "W1",
        title="T",
        summary="S",
        body="B",
        scope="docs",
        priority="high",
        done_when=["pytest -q", "ruff check ."],
    )
    inspected = kaizen("W10", id=started["id"])
    kept = inspected["record"]

    assert (kept["title"], kept["summary"], kept["body"], kept["scope"], kept["priority"]) == (
        "T",
        "S",
        "B",
        "docs",
        "high",
    )
    assert (kept["status"], kept["done_when"], kept["rev"]) == (
        "open",
        ["pytest -q", "ruff check ."],
        1,
    )
    assert inspected["log"]["content_hash"] == started["hash"]
    assert inspected["log"]["command"] == "W1"


@pytest.mark.parametrize(
    "change",
    [
        {"title": "New"},
        {"summary": "New"},
        {"body": "New"},
        {"scope": "new"},
        {"priority": "low"},
        {"status": "blocked"},
    ],
)
def test_task_update_adds_revision_of_changed_field_only(kaizen, task, change):
    id = task()
    before = record(kaizen, id)
    revised = kaizen("W2", id=id, **change)
    after = kaizen("W10", id=id)

    assert {name: after["record"][name] for name in change} == change
    unchanged = set(before) - set(change) - {"rev", "changed_at"}
    assert {name: after["record"][name] for name in unchanged} == {
        name: before[name] for name in unchanged
    }
    assert revised["rev"] == after["record"]["rev"] == 2
    assert {name: after["revisions"][0][name] for name in change} == change


def test_task_note_adds_revision_without_other_changes(kaizen, task):
    id = task()
    kaizen("W2", id=id, note="Half way.")

    assert record(kaizen, id)["status"] == "open"
    assert [row["note"] for row in kaizen("W10", id=id)["revisions"]] == ["Half way."]


def test_task_update_that_changes_nothing_is_refused(kaizen, task):
    with pytest.raises(Usage, match="changes nothing"):
        kaizen("W2", id=task())


def test_task_may_change_to_every_status(kaizen, task):
    id = task()
    for status in (*limits.TASK_STATUS, "open"):
        assert kaizen("W2", id=id, status=status)["task_status"] == status


def test_task_list_filters_by_every_column(kaizen, task):
    plain = task()
    done = task("Done")
    kaizen("W2", id=done, status="done")
    other = task("Other", actor="bob", scope="docs", priority="critical")
    kaizen("W13", id=other, actor="carol")

    def ids(**filters):
        return [row["id"] for row in kaizen("W9", **filters)["records"]]

    assert ids() == [other, done, plain]
    assert ids(status="done") == [done]
    assert (
        ids(actor="bob")
        == ids(scope="docs")
        == ids(priority="critical")
        == ids(holder="carol")
        == [other]
    )
    assert ids(since="1h") == [other, done, plain]
    assert ids(until="1h") == []
    assert ids(since="2020-01-01", until="2021-01-01T10:00") == []
    assert ids(status="open", scope="docs", actor="bob") == [other]


def test_task_list_says_when_it_is_cut(kaizen, task):
    for _ in range(3):
        task()

    assert kaizen("W9", limit=2)["more"] is True
    assert kaizen("W9", limit=3)["more"] is False


@pytest.mark.parametrize(
    "when", ["yesterday", "2026-13-01", "7x", "d", "99999999999999999999d", "0001-01-01"]
)
def test_invalid_time_is_refused(kaizen, task, when):
    task()
    with pytest.raises(Usage):
        kaizen("W9", since=when)


# Naming records


def test_task_is_found_by_id_prefix_or_at_last(kaizen, task):
    first, second = task(), task()

    assert record(kaizen, first)["title"]
    assert kaizen("W10", id=second[:-1])["id"] == second
    assert kaizen("W10", id="@last")["id"] == second


def test_last_alias_names_actors_newest_task(kaizen, task):
    mine = task()
    task(actor="bob")

    assert kaizen("W10", id="@last")["id"] == mine
    with pytest.raises(NotFound, match="@last"):
        kaizen("W10", id="@last", actor="nobody")


def test_ambiguous_prefix_differs_from_unknown_id(kaizen, task):
    task(), task()

    with pytest.raises(Usage, match="more than one"):
        kaizen("W10", id="task_")
    with pytest.raises(NotFound, match="no task"):
        kaizen("W10", id="task_1999")
    with pytest.raises(NotFound):
        kaizen("W10", id="plan_")


# W11, W12


def test_ready_tasks_are_sorted_by_urgency_then_oldest(kaizen, task):
    low, normal, critical, normal2 = (
        task(priority=p) for p in ("low", "normal", "critical", "normal")
    )

    assert ready(kaizen) == [critical, normal, normal2, low]
    assert ready(kaizen, limit=1) == [critical]


def test_ready_list_omits_tasks_with_open_blockers(kaizen, task):
    first, second = task(), task()
    blocked = task(depends_on=[first, second])
    assert ready(kaizen) == [first, second]

    kaizen("W2", id=first, status="done")
    assert blocked not in ready(kaizen)
    kaizen("W2", id=second, status="canceled")
    assert ready(kaizen) == [blocked]
    kaizen("W2", id=first, status="active")
    assert ready(kaizen) == [], "a reopened blocker blocks again"


def test_removing_blocking_link_makes_task_ready(kaizen, task):
    blocker = task()
    blocked = task(depends_on=[blocker])
    kaizen("W11", id=blocker, kind="blocks", target_id=blocked, remove=True)

    assert blocked in ready(kaizen)
    with pytest.raises(NotFound):
        kaizen("W11", id=blocker, kind="blocks", target_id=blocked, remove=True)
    kaizen("W11", id=blocker, kind="blocks", target_id=blocked)
    assert blocked not in ready(kaizen)


def test_ready_list_filters_scope_and_test_tasks(kaizen, task):
    docs, trial = task(scope="docs"), task(test=True)

    assert ready(kaizen, scope="docs") == [docs]
    assert trial not in ready(kaizen)
    assert trial in ready(kaizen, test=True)


@pytest.mark.parametrize("status", ["active", "blocked", "done", "canceled"])
def test_task_that_is_not_open_is_not_ready(kaizen, task, status):
    id = task()
    kaizen("W2", id=id, status=status)

    assert ready(kaizen) == []


@pytest.mark.parametrize("kind", ["blocks", "parent", "discovered-from"])
@pytest.mark.parametrize("length", [2, 3, 5])
def test_cycle_of_task_links_is_refused(kaizen, task, kind, length):
    ids = [task() for _ in range(length)]
    for here, there in pairwise(ids):
        kaizen("W11", id=here, kind=kind, target_id=there)

    with pytest.raises(Refused, match="cycle") as refused:
        kaizen("W11", id=ids[-1], kind=kind, target_id=ids[0])
    assert " -> ".join(ids) in refused.value.why


def test_cycle_error_shows_shortest_path(kaizen, task):
    start, left, right, far, end = [task() for _ in range(5)]
    for here, there in ((start, left), (left, far), (far, end), (start, right), (right, end)):
        kaizen("W11", id=here, kind="blocks", target_id=there)

    with pytest.raises(Refused) as refused:
        kaizen("W11", id=end, kind="blocks", target_id=start)
    assert f"already exist: {start} -> {right} -> {end}." in refused.value.why


def test_relates_to_link_is_the_same_from_both_ends(kaizen, task):
    one, two = task("One"), task("Two")
    kaizen("W11", id=one, kind="relates-to", target_id=two)

    assert kaizen("W11", id=two, kind="relates-to", target_id=one)["existed"]
    assert [row["link"] for row in kaizen("W10", id=one)["links"]] == ["relates to"]
    assert kaizen("W11", id=two, kind="relates-to", target_id=one, remove=True)["removed"]
    assert kaizen("W10", id=one)["links"] == []


def test_task_links_are_shown_from_both_ends(kaizen, task):
    one, two = task("One"), task("Two")
    kaizen("W11", id=one, kind="relates-to", target_id=two)
    kaizen("W11", id=one, kind="blocks", target_id=two)

    assert {row["link"] for row in kaizen("W10", id=one)["links"]} == {"blocks", "relates to"}
    assert {row["link"] for row in kaizen("W10", id=two)["links"]} == {
        "is blocked by",
        "relates to",
    }


def test_invalid_task_links_are_refused(kaizen, task):
    child, parent, other = task(), task(), task()
    kaizen("W11", id=child, kind="parent", target_id=parent)

    with pytest.raises(Refused, match="itself"):
        kaizen("W11", id=child, kind="blocks", target_id=child)
    with pytest.raises(Conflict, match="already part"):
        kaizen("W11", id=child, kind="parent", target_id=other)
    with pytest.raises(NotFound):
        kaizen("W11", id=child, kind="blocks", target_id="task_none")


def test_linking_tasks_twice_adds_nothing(kaizen, task):
    one, two = task(), task()
    first = kaizen("W11", id=one, kind="blocks", target_id=two)
    second = kaizen("W11", id=one, kind="blocks", target_id=two)

    assert second["existed"] and second["id"] == first["id"]


def test_task_started_with_parent_is_linked_to_it(kaizen, task):
    parent = task()
    child = task(parent=parent)

    assert [(row["link"], row["task_id"]) for row in kaizen("W10", id=child)["links"]] == [
        ("is part of", parent)
    ]


# W13


def test_claimed_task_is_ready_after_its_lease(kaizen, task, pass_time):
    id = task()
    kaizen("W13", id=id, ttl_s=2)
    assert ready(kaizen) == []
    assert record(kaizen, id)["holder"] == "agent"

    pass_time(2.1)
    assert ready(kaizen) == [id]
    assert record(kaizen, id)["holder"] is None


@pytest.mark.parametrize("status", ["open", "active"])
def test_lease_ends_at_its_exact_millisecond(kaizen, task, monkeypatch, status):
    id = task()
    kaizen("W2", id=id, status=status, note="n")
    start_ms = ids.now_ms()
    monkeypatch.setattr(ids, "now_ms", lambda: start_ms)
    token = kaizen("W13", id=id, ttl_s=60)["token"]

    def look(at_ms):
        monkeypatch.setattr(ids, "now_ms", lambda: at_ms)
        reader = RecordReader(kaizen.store.reader(), "agent")
        claimed = [row["id"] for row in completion.list_claimed_tasks(reader, "session")]
        held = [row["id"] for row in kaizen("W9", holder="agent")["records"]]
        holders = [record(kaizen, id)["holder"], kaizen("W9")["records"][0]["holder"]]
        return ready(kaizen), claimed, held, holders

    assert look(start_ms + 59_999) == ([], [id], [id], ["agent", "agent"])
    with pytest.raises(Conflict):
        kaizen("W13", id=id, actor="other")
    assert look(start_ms + 60_000) == ([id], [], [], [None, None])
    assert kaizen("W13", id=id, actor="other")["token"] == token + 1


def test_active_task_without_lease_is_ready(kaizen, task, pass_time):
    abandoned, returned, working = task("abandoned"), task("returned"), task("working")
    kaizen("W13", id=abandoned, ttl_s=2)
    token = kaizen("W13", id=returned)["token"]
    for id in (abandoned, returned, working):
        kaizen("W2", id=id, status="active")
    kaizen("W13", id=returned, action="release", token=token)
    pass_time(2.1)

    assert ready(kaizen) == [abandoned, returned], (
        "an active task that nobody ever claimed is somebody's work"
    )


def test_second_claim_is_refused_and_names_holder(kaizen, task):
    id = task()
    kaizen("W13", id=id, actor="alice")

    with pytest.raises(Conflict) as caught:
        kaizen("W13", id=id, actor="bob")
    assert "alice" in caught.value.why
    with pytest.raises(Conflict):
        kaizen("W13", id=id, actor="alice")


def test_lease_token_grows_with_every_claim(kaizen, task):
    id = task()
    for expected in (1, 2, 3):
        token = kaizen("W13", id=id)["token"]
        assert token == expected
        kaizen("W13", id=id, action="release", token=token)


def test_holder_can_renew_expired_lease(kaizen, task, pass_time):
    id = task()
    first = kaizen("W13", id=id, ttl_s=1)
    renewed = kaizen("W13", id=id, action="renew", token=first["token"], ttl_s=2)
    assert renewed["until"] > first["until"] and renewed["token"] == first["token"]
    pass_time(2.1)
    kaizen("W13", id=id, action="renew", token=first["token"], ttl_s=60)
    with pytest.raises(Conflict):
        kaizen("W13", id=id)


def test_stale_lease_token_is_refused_by_every_command(kaizen, task, pass_time):
    id = task()
    old = kaizen("W13", id=id, ttl_s=2)["token"]
    pass_time(2.1)
    new = kaizen("W13", id=id, actor="bob")["token"]

    for action in ("renew", "release"):
        with pytest.raises(Conflict):
            kaizen("W13", id=id, action=action, token=old)
    with pytest.raises(Conflict, match="does not hold"):
        kaizen("W2", id=id, status="done", token=old)
    kaizen("W2", id=id, status="done", token=new, actor="bob")


def test_only_holder_changes_status(kaizen, task):
    id = task()
    kaizen("W13", id=id, actor="alice")

    with pytest.raises(Conflict, match="held by another"):
        kaizen("W2", id=id, status="done", actor="bob")
    kaizen("W2", id=id, note="I would do it differently.", actor="bob")
    kaizen("W2", id=id, status="done", actor="alice")


def test_lease_is_broken_only_with_reason(kaizen, task):
    id = task()
    kaizen("W13", id=id, actor="alice")

    with pytest.raises(Usage, match="reason"):
        kaizen("W13", id=id, action="break", actor="bob")
    kaizen("W13", id=id, action="break", actor="bob", note="alice's machine is gone")
    assert ready(kaizen) == [id]
    with pytest.raises(Conflict, match="does not hold"):
        kaizen("W2", id=id, status="done", token=1, actor="alice")
    with pytest.raises(Conflict, match="no live lease"):
        kaizen("W13", id=id, action="break", actor="bob", note="again")


def test_lease_token_of_another_actor_is_refused(kaizen, task):
    id = task()
    token = kaizen("W13", id=id, actor="alice")["token"]

    with pytest.raises(Conflict) as caught:
        kaizen("W2", id=id, status="done", token=token, actor="bob")
    assert "token" not in caught.value.why


def test_closing_task_ends_its_lease(kaizen, task):
    id = task()
    token = kaizen("W13", id=id)["token"]
    kaizen("W2", id=id, status="done", token=token)
    with pytest.raises(Refused):
        kaizen("W13", id=id, action="renew", token=token)
    kaizen("W2", id=id, status="open")

    assert ready(kaizen) == [id]
    assert kaizen("W13", id=id)["token"] == token + 1


def test_test_claim_of_real_task_is_refused(kaizen, task):
    with pytest.raises(Refused, match="not a test task"):
        kaizen("W13", id=task(), test=True)


@pytest.mark.parametrize("status", ["done", "canceled"])
def test_closed_task_cannot_be_claimed(kaizen, task, status):
    id = task()
    kaizen("W2", id=id, status=status)

    with pytest.raises(Refused):
        kaizen("W13", id=id)


def test_renewing_or_releasing_without_token_is_refused(kaizen, task):
    id = task()
    kaizen("W13", id=id)
    for action in ("renew", "release"):
        with pytest.raises(Usage, match="--token"):
            kaizen("W13", id=id, action=action)


CLAIM = """
import sys
sys.path.insert(0, sys.argv[1])
from kaizen_components.call import Door
from kaizen_components.errors import Conflict
sys.stdin.readline()
try:
    print("won", Door(sys.argv[2])("W13", id=sys.argv[3])["token"])
except Conflict:
    print("lost")
"""


def test_only_one_of_16_concurrent_claims_succeeds(kaizen, task, root):
    id = task()
    kaizen.close()
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, str(ROOT), str(root), id],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(16)
    ]
    for racer in racers:
        racer.stdin.write("go\n")
        racer.stdin.flush()
    outcomes = sorted(racer.communicate()[0].strip() for racer in racers)

    assert outcomes == ["lost"] * 15 + ["won 1"]
    assert Door(str(root))("K8")["verified"]


# W3 to W8, W14, W15


def test_plan_belongs_to_task_and_keeps_its_versions(kaizen, task):
    id = task()
    plan = kaizen("W3", task_id=id, title="P", summary="S", body="1. do it")["id"]
    kaizen("W4", id=plan, status="active", body="1. do it\n2. check it", note="Second step.")
    inspected = kaizen("W14", id=plan)

    assert inspected["record"]["status"] == "active" and inspected["record"]["body"].endswith(
        "check it"
    )
    assert inspected["record"]["title"] == "P" and inspected["record"]["rev"] == 2
    assert inspected["revisions"][0]["note"] == "Second step."
    assert [row["id"] for row in kaizen("W10", id=id)["plans"]] == [plan]


@pytest.mark.parametrize("status", limits.PLAN_STATUS)
def test_plan_can_be_created_with_every_status(kaizen, task, status):
    task()
    plan = kaizen("W3", task_id="@last", title="P", summary="S", status=status)["id"]

    assert kaizen("W14", id=plan)["record"]["status"] == status


@pytest.mark.parametrize(
    "create, ingest, kind", [("W5", "W6", "subagent"), ("W7", "W8", "diagnostic")]
)
def test_packet_shows_its_result_and_vice_versa(kaizen, task, create, ingest, kind):
    id = task()
    packet = kaizen(
        create,
        task_id=id,
        title="Look",
        summary="S",
        recipient="scout",
        payload_json={"b": [1, None], "a": "ü"},
    )["id"]
    assert [row["id"] for row in kaizen("W15", task_id=id, open=True)["records"]] == [packet]
    result = kaizen(
        ingest, id=packet, summary="Found it.", outcome="partial", payload_json='{"n": 1}'
    )

    shown = kaizen("W10", id=id)
    assert shown["packets"][0]["payload"] == '{"a":"ü","b":[1,null]}', (
        "nothing of a payload is dropped"
    )
    assert (shown["packet_results"][0]["summary"], shown["packet_results"][0]["payload"]) == (
        "Found it.",
        '{"n":1}',
    )
    assert (result["packet_id"], result["task_id"]) == (packet, id)
    assert kaizen("W15", task_id=id, open=True)["records"] == []
    assert [(row["kind"], row["outcome"]) for row in kaizen("W15", task_id=id)["records"]] == [
        (kind, "partial")
    ]
    assert kaizen("W15", kind="subagent" if kind == "diagnostic" else "diagnostic")["records"] == []


def test_ingest_command_for_another_packet_kind_is_refused(kaizen, task):
    task()
    packet = kaizen("W5", task_id="@last", title="Look", summary="S")["id"]

    with pytest.raises(Conflict, match="subagent packet"):
        kaizen("W8", id=packet, summary="No.")


@pytest.mark.parametrize(
    "payload",
    [
        "{",
        "nan",
        '{"a": NaN}',
        "[" * 100_000,
        "1e400",
        "[" * 330 + "]" * 330,
        '"\\ud800"',
        '"\\u0000"',
    ],
)
def test_packet_payload_that_is_not_json_is_refused(kaizen, task, payload):
    task()
    with pytest.raises(Usage):
        kaizen("W5", task_id="@last", title="Look", summary="S", payload_json=payload)


def test_choice_values_ignore_case_and_errors_list_them(kaizen, task):
    id = task(priority="HIGH")
    assert record(kaizen, id)["priority"] == "high"

    with pytest.raises(Usage, match="critical, high, normal, low"):
        task(priority="urgent")


def test_query_finds_packets_by_their_words(kaizen):
    kaizen("W1", title="t", summary="s")
    for title in ("Find dead links", "Count the words"):
        kaizen("W5", task_id="@last", title=title, summary="s")

    assert [row["title"] for row in kaizen("W15", query="links")["records"]] == ["Find dead links"]
    assert kaizen("W15", query="links", kind="diagnostic")["count"] == 0
    assert kaizen("W15", query="words", open=True, task_id="@last")["count"] == 1


def test_claim_by_same_actor_suggests_renew_or_another_actor(kaizen, task):
    id = task()
    kaizen("W13", id=id)

    with pytest.raises(Conflict) as taken:
        kaizen("W13", id=id)
    assert "renew" in taken.value.next and "KAIZEN_ACTOR" in taken.value.next


@pytest.mark.parametrize("call", [("W13", {"action": "release"}), ("W2", {"note": "n"})])
def test_token_of_closed_task_is_refused(kaizen, task, call):
    id = task()
    token = kaizen("W13", id=id)["token"]
    kaizen("W2", id=id, status="done", token=token)

    with pytest.raises(Conflict, match="does not hold") as stale:
        kaizen(call[0], id=id, token=token, **call[1])
    assert (
        "is done, which ended its lease" in stale.value.why
        and "nothing to release" in stale.value.next
    )
