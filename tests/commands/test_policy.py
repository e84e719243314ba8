"""Family X: rules, as the sessions that must follow them meet them."""

import pytest

from kaizen_components import limits
from kaizen_components.errors import Conflict, NotFound, Refused, Usage
from kaizen_components.records.work.policy import estimate_tokens, render_rule


@pytest.fixture
def rule(kaizen):
    """`rule("title", …)`: the id of a new rule."""

    def add(title="A rule", summary="Do it so.", **more):
        return kaizen("X1", title=title, summary=summary, **more)["id"]

    return add


def ids(answer, name="records"):
    return [row["id"] for row in answer[name]]


# X1, X4


def test_rule_stores_every_option(kaizen):
    given = {
        "title": "No secrets", "summary": "Write 100 % fake values;\n\"quoted\" and 'so'.", "body": "Why: …",
        "priority": "critical", "trigger": "When a record is written", "scope": "docs",
    }  # fmt: skip
    added = kaizen("X1", **given)
    inspected = kaizen("X4", id="@last")

    assert {name: inspected["record"][name] for name in given} == given
    assert (inspected["id"], inspected["record"]["status"], inspected["record"]["rev"]) == (
        added["id"],
        "active",
        1,
    )
    assert inspected["revisions"] == []
    assert inspected["log"]["content_hash"] == added["hash"]
    assert inspected["log"]["command"] == "X1"


def test_rule_defaults_to_normal_and_project_scope(kaizen, rule):
    record = kaizen("X4", id=rule())["record"]

    assert (record["priority"], record["scope"]) == ("normal", "project")
    assert "trigger" not in record and "body" not in record


@pytest.mark.parametrize(
    "given",
    [
        {"title": " "},
        {"title": "a\nb"},
        {"title": "x" * 201},
        {"summary": "\0"},
        {"summary": "x" * 2_001},
        {"summary": "\udcff"},
        {"body": "x" * 1_000_001},
        {"trigger": ""},
        {"trigger": "x" * 2_001},
        {"priority": "urgent"},
        {"scope": " "},
    ],
)
def test_invalid_rule_is_refused(kaizen, rule, given):
    with pytest.raises(Usage):
        rule(**given)
    kaizen("K1")

    assert kaizen("X2")["records"] == []


def test_secret_in_trigger_is_refused(rule):
    with pytest.raises(Refused, match="--trigger seems to hold a secret"):
        rule(trigger="When the key is " + "AKIA" + "Z7QX3LMNP2RSTU4V")


def test_same_op_id_records_rule_once(kaizen, rule):
    assert rule(op_id="once") == rule(op_id="once")
    assert kaizen("X2")["count"] == 1


# X2, X3


def test_rule_list_sorts_by_priority_then_newest(kaizen, rule):
    low, normal, older, newer, high = (
        rule(priority=priority) for priority in ("low", "normal", "critical", "critical", "high")
    )

    assert ids(kaizen("X2")) == [newer, older, high, normal, low]


def test_rule_list_shows_active_rules_and_filters(kaizen, rule):
    plain = rule()
    other = rule(scope="docs", priority="high")
    gone = rule()
    kaizen("X6", id=gone, reason="Outdated.")

    assert ids(kaizen("X2")) == [other, plain]
    assert ids(kaizen("X2", status="retired")) == [gone]
    assert ids(kaizen("X2", scope="docs")) == ids(kaizen("X2", priority="high")) == [other]
    assert ids(kaizen("X2", scope="docs", priority="low")) == []


def test_rule_list_says_when_it_is_cut(kaizen, rule):
    for _ in range(3):
        rule()

    assert [kaizen("X2", limit=limit)["more"] for limit in (2, 3)] == [True, False]
    assert kaizen("X2", limit=2)["count"] == 2


def test_rule_query_searches_every_text_best_first(kaizen, rule):
    by_body = rule(
        "One", body="Something about checkpoints, among many other words that stand here."
    )
    by_trigger = rule("Two", trigger="Before a checkpoint")
    by_title = rule("Checkpoint")
    by_rule = rule("Three", "Make a checkpoint.")
    rule("Unrelated")

    found = kaizen("X3", query="checkpoint")
    assert ids(found)[0] == by_title
    assert set(ids(found)) == {by_body, by_trigger, by_title, by_rule}
    assert found["records"][0]["summary"] == "Do it so."


def test_query_includes_retired_rules_and_filters_scope(kaizen, rule):
    gone = rule("Checkpoint")
    there = rule("Checkpoint", scope="docs")
    kaizen("X6", id=gone, reason="Outdated.")

    assert set(ids(kaizen("X3", query="checkpoint"))) == {gone, there}
    assert ids(kaizen("X3", query="checkpoint", status="active")) == [there]
    assert ids(kaizen("X3", query="checkpoint", scope="project")) == [gone]
    assert kaizen("X3", query="checkpoint", limit=1)["more"] is True


@pytest.mark.parametrize(
    "query", ["%", '"', "nothing-like-it", "' OR 1=1 --", "+", "*", "NEAR(", "a:b"]
)
def test_query_with_search_syntax_is_plain_words(kaizen, rule, query):
    rule("Checkpoint")

    assert kaizen("X3", query=query)["records"] == []


# X6


def test_retired_rule_is_kept_with_its_reason(kaizen, rule):
    id = rule()
    retired = kaizen("X6", id="@last", reason="The linter checks it now.")
    inspected = kaizen("X4", id=id)

    assert (retired["policy_id"], retired["rev"], retired["policy_status"]) == (id, 2, "retired")
    assert inspected["record"]["status"] == "retired"
    assert [(row["rev"], row["status"], row["note"]) for row in inspected["revisions"]] == [
        (2, "retired", "The linter checks it now.")
    ]


def test_rule_is_retired_once(kaizen, rule):
    id = rule()
    kaizen("X6", id=id, reason="The linter checks it now.", actor="carol")
    with pytest.raises(Conflict, match="already retired") as refused:
        kaizen("X6", id=id, reason="Again.")

    assert "carol" in refused.value.why and "The linter checks it now." in refused.value.why
    assert len(kaizen("X4", id=id)["revisions"]) == 1


def test_retiring_unknown_rule_is_refused(kaizen, rule):
    rule()
    for ref in ("policy_1999", "task_1", "%", "@last"):
        with pytest.raises(NotFound):
            kaizen("X6", id=ref, reason="Why not.", actor="somebody else")


def test_purge_restores_rule_retired_by_test(kaizen, rule):
    id = rule()
    kaizen("X6", id=id, reason="To see what happens.", test=True)
    assert ids(kaizen("X5"), "rules") == []
    kaizen("K7")

    assert ids(kaizen("X5"), "rules") == [id]
    assert kaizen("X6", id=id, reason="Now really.")["rev"] == 2
    assert kaizen("K8")["status"] == "OK"


# X5


def test_context_sorts_by_priority_then_oldest(kaizen, rule):
    low, normal, older, newer, high = (
        rule(priority=priority) for priority in ("low", "normal", "critical", "critical", "high")
    )
    context = kaizen("X5")

    assert ids(context, "rules") == [older, newer, high, normal, low]
    assert (context["complete"], context["left_out"], context["left_out_tokens"]) == (True, [], 0)
    assert context["tokens"] == sum(map(estimate_tokens, context["rules"]))


def test_context_shows_rule_trigger_and_id(kaizen, rule):
    id = rule(
        "Ask first",
        "A release needs a person's word.",
        priority="high",
        trigger="Before a release",
        body="B",
    )

    assert kaizen("X5")["rules"] == [
        {
            "priority": "high", "title": "Ask first", "rule": "A release needs a person's word.",
            "when": "Before a release", "scope": "project", "id": id,
        }
    ]  # fmt: skip


def test_context_budget_counts_four_characters_per_token(kaizen, rule, cli):
    rule("Ask first", "One line.\nAnother — longer — line.", trigger="Before a release")
    rule("No trigger", "Ünïcode: 漢字.", priority="critical")
    context = kaizen("X5")
    shown = cli("X5", env={"COLUMNS": "500"}).out

    assert all(render_rule(one) in shown for one in context["rules"])
    assert context["tokens"] == sum(-(-len(render_rule(one)) // 4) for one in context["rules"])
    assert "four characters" in context["counted"] and "rounded up" in context["counted"]


def test_context_budget_omits_whole_rules_and_names_them(kaizen, rule):
    first = rule("First", priority="high")
    big = rule("Big", "Long. " * 100, priority="normal")
    small = rule("Small", priority="low")
    everything = kaizen("X5")
    cost = {one["id"]: estimate_tokens(one) for one in everything["rules"]}
    context = kaizen("X5", budget=cost[first] + cost[small])

    assert ids(context, "rules") == [first, small], (
        "a smaller rule may use the room that a bigger one could not"
    )
    assert context["rules"] == [one for one in everything["rules"] if one["id"] != big]
    assert context["left_out"] == [
        {"priority": "normal", "title": "Big", "id": big, "tokens": cost[big]}
    ]
    assert (context["complete"], context["tokens"], context["left_out_tokens"]) == (
        False,
        cost[first] + cost[small],
        cost[big],
    )
    assert str(sum(cost.values())) in context["hint"]


def test_budget_equal_to_needed_tokens_includes_rule(kaizen, rule):
    rule("A" * 100)
    needed = kaizen("X5")["tokens"]

    assert kaizen("X5", budget=needed)["complete"] is True
    assert kaizen("X5", budget=needed - 1)["rules"] == []


def test_context_names_omitted_critical_rule_first(kaizen, rule, cli):
    rule("Normal and long", "Long. " * 50)
    critical = rule("Critical and long", "Long. " * 50, priority="critical")
    small = rule("Small", priority="low")
    context = kaizen("X5", budget=60)

    assert list(context)[:2] == ["status", "warning"] and critical in context["warning"]
    assert context["left_out"][0]["id"] == critical
    assert context["complete"] is False
    assert ids(context, "rules") == [small]
    assert cli("X5", "--budget", "60").out.startswith("warning")


@pytest.mark.parametrize("budget", [0, 49, -1, 1_000_001, "many", 99.5])
def test_context_with_invalid_budget_is_refused(kaizen, rule, budget):
    rule()
    with pytest.raises(Usage):
        kaizen("X5", budget=budget)


def test_context_with_scope_has_its_and_project_rules(kaizen, rule):
    everywhere, docs, api = rule(), rule(scope="docs"), rule(scope="api")

    assert ids(kaizen("X5"), "rules") == [everywhere, docs, api]
    assert ids(kaizen("X5", scope="docs"), "rules") == [everywhere, docs]
    assert ids(kaizen("X5", scope="project"), "rules") == [everywhere]


def test_query_ranks_within_priority_by_trigger(kaizen, rule):
    critical = rule("Unrelated", priority="critical")
    plain = rule("Plain")
    by_title = rule("Release notes for a release", "Release notes are for the release.")
    by_trigger = rule("Another", trigger="Before releasing anything")

    assert ids(kaizen("X5"), "rules") == [critical, plain, by_title, by_trigger]
    assert ids(kaizen("X5", query="release"), "rules") == [critical, by_trigger, by_title, plain]
    assert ids(kaizen("X5", query='% "'), "rules") == [critical, plain, by_title, by_trigger]


def test_tight_budget_prefers_rules_that_match_query(kaizen, rule):
    rule("Older")
    wanted = rule("Newer", trigger="When a database is migrated")

    assert ids(kaizen("X5", query="migrating the database", budget=60), "rules") == [wanted]


def test_context_omits_retired_and_test_rules(kaizen, rule):
    gone = rule()
    kaizen("X6", id=gone, reason="Outdated.")
    rule(test=True)

    assert kaizen("X5")["rules"] == kaizen("X5")["left_out"] == []


def test_context_without_rules_explains_adding_one(kaizen, cli):
    kaizen("K1")
    context = kaizen("X5", scope="docs")

    assert (context["rules"], context["complete"], context["tokens"]) == ([], True, 0)
    assert "X1" in context["hint"] and "docs" in context["hint"]
    assert "No rule is active." in cli("X5").out


def test_context_without_database_is_not_found(cli):
    for code, *more in (["X2"], ["X3", "--query", "x"], ["X4", "--id", "@last"], ["X5"]):
        assert cli(code, *more).exit_code == 3


def test_rule_context_wraps_at_width_of_terminal(rule, cli):
    rule(
        "Ask before a release",
        "A release needs the word of a person. " * 5,
        trigger="Before a release " * 8,
    )
    rule("Left out", "Long. " * 300, priority="critical")
    out = cli("X5", "--budget", "300", env={"COLUMNS": "80"}).out

    assert all(len(line) <= 80 for line in out.splitlines())
    for part in (
        "Ask before a release",
        "Before a release",
        "\nleft out\n",
        "  rule      A release needs",
    ):
        assert part in out


def test_rule_context_prints_rules_below_each_other(rule, cli):
    rule("One")
    rule("Two")
    lines = cli("X5", env={"COLUMNS": "300"}).out.splitlines()

    assert lines.count("  rule      Do it so.") == 2


def test_rules_are_added_found_and_retired_in_one_batch(kaizen, root):
    (root / "batch.jsonl").write_text(
        '{"command": "X1", "args": {"title": "A", "summary": "B", "trigger": "Checkpoint"}}\n'
        '{"command": "X3", "args": {"query": "checkpoint"}}\n'
        '{"command": "X5", "args": {"query": "checkpoint"}}\n'
        '{"command": "X6", "args": {"id": "$1.id", "reason": "Enough."}}\n'
    )
    added, found, context, retired = kaizen("K5", file=str(root / "batch.jsonl"))["records"]

    assert ids(found) == ids(context, "rules") == [added["id"]] == [retired["policy_id"]]
    assert kaizen("X2")["records"] == []
    assert kaizen("K8")["status"] == "OK"


@pytest.mark.parametrize("priority", limits.PRIORITY)
def test_context_shows_rules_of_every_priority(kaizen, rule, priority):
    rule(priority=priority)

    assert (
        kaizen("X5")["rules"][0]["priority"] == kaizen("X2")["records"][0]["priority"] == priority
    )
