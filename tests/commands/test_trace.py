"""Spans and their reports: T1 and T3, as their users meet them."""

import json

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Conflict, KaizenError, NotFound, Refused, Usage

from ..test_args import ALLOWED, modules_after


@pytest.fixture
def lines(kaizen, root):
    """`lines({...}, {...})`: T1 with these spans as JSONL."""

    def add(*spans, **more):
        path = root / "spans.jsonl"
        path.write_text(
            "\n".join(one if isinstance(one, str) else json.dumps(one) for one in spans)
        )
        return kaizen("T1", jsonl=str(path), **more)

    return add


def spans(kaizen, trace_id="@last"):
    return kaizen("T3", trace_id=trace_id, format="json")["traces"][0]["spans"]


def entries(kaizen):
    return kaizen("K8")["entries"]


# T1


def test_span_without_parent_begins_its_own_trace(kaizen):
    added = kaizen("T1", name="run", kind="run")

    assert added["trace_id"] == added["id"]
    assert kaizen("K8")["verified"] is True


def test_span_stores_every_option(kaizen):
    task = kaizen("W1", title="T", summary="S")["id"]
    kaizen(
        "T1", name="ask", kind="model", status="error", trace_id="nightly", task_id=task, duration_ms=1500,
        started_at="2026-11-16T03:00:00Z", model="small", tokens_in=12, tokens_out=3, cost_usd=0.25, summary="Why.",
        payload_json={"b": [1], "a": "ü"},
    )  # fmt: skip
    [kept] = spans(kaizen, "nightly")

    wanted = {
        "name": "ask", "kind": "model", "status": "error", "task_id": task, "duration_ms": 1500, "model": "small",
        "started_at": "2026-11-16T03:00:00.000Z", "tokens_in": 12, "tokens_out": 3, "cost_usd": 0.25, "summary": "Why.",
    }  # fmt: skip
    assert {name: kept[name] for name in wanted} == wanted
    assert kaizen.store.reader().value("SELECT payload FROM span") == '{"a":"ü","b":[1]}'


def test_span_without_start_ended_now(kaizen):
    added = kaizen("T1", name="x", duration_ms=60_000)
    ended = kaizen.store.reader().value(
        "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', started_at, '+60 seconds') FROM span WHERE id = ?",
        (added["id"],),
    )

    assert ended == added["at"]


@pytest.mark.parametrize("reference", ["full", "prefix", "@last"])
def test_child_span_joins_trace_of_its_parent(kaizen, reference):
    parent = kaizen("T1", name="run", trace_id="mine")["id"]
    child = kaizen(
        "T1", name="part", parent={"full": parent, "prefix": parent[:-3]}.get(reference, reference)
    )

    assert (child["trace_id"], child["parent_id"]) == ("mine", parent)


def test_child_span_naming_another_trace_is_refused(kaizen):
    parent = kaizen("T1", name="run")
    other = kaizen("T1", name="other")

    assert (
        kaizen("T1", name="a", parent=parent["id"], trace_id=parent["id"])["trace_id"]
        == parent["trace_id"]
    )
    for wrong in (other["id"], "mine"):
        with pytest.raises(Conflict, match="belongs to another trace") as refused:
            kaizen("T1", name="b", parent=parent["id"], trace_id=wrong)
        assert refused.value.exit_code == 4
    assert entries(kaizen) == 3


def test_span_joins_trace_by_name_or_id(kaizen):
    first = kaizen("T1", name="run")
    child = kaizen("T1", name="part", parent=first["id"])
    joined = [
        kaizen("T1", name="x", trace_id=ref)["trace_id"]
        for ref in (first["id"], child["id"], "@last")
    ]

    assert joined == [first["id"]] * 3
    assert (
        kaizen("T1", name="y", trace_id="mine")["trace_id"]
        == kaizen("T1", name="z", trace_id="mine")["trace_id"]
    )


def test_mistyped_span_id_is_refused(kaizen):
    kaizen("T1", name="run")
    with pytest.raises(NotFound):
        kaizen("T1", name="x", trace_id="span_2020")
    with pytest.raises(NotFound):
        kaizen("T1", name="x", parent="span_2020")
    with pytest.raises(NotFound):
        kaizen("T1", name="x", task_id="task_2020")
    assert entries(kaizen) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": " "}, {"name": "x" * 201}, {"name": "a\nb"}, {"name": "a\0b"}, {"name": "\ud800"}, {"kind": "dance"},
        {"status": "done"}, {"duration_ms": -1}, {"duration_ms": 1.5}, {"duration_ms": True}, {"tokens_in": -1},
        {"tokens_out": 10**13}, {"cost_usd": float("nan")}, {"cost_usd": -0.1}, {"cost_usd": "inf"},
        {"started_at": "yesterday"}, {"payload_json": "{"}, {"trace_id": ""}, {"model": "x" * 201},
    ],
    ids=str,
)  # fmt: skip
def test_bad_span_value_is_refused_in_jsonl_too(kaizen, lines, wrong):
    with pytest.raises(Usage):
        kaizen("T1", **{"name": "x", **wrong})
    with pytest.raises(Usage) as refused:
        lines({"name": "fine"}, {"name": "x", **wrong})

    assert refused.value.what.startswith("Line 2: ")
    assert "Nothing of the batch was written" in refused.value.next
    assert not kaizen.store.exists()


@pytest.mark.parametrize(
    "name", ["100 % 'quoted' \"twice\"; DROP TABLE span;--", "漢字", "-", "{{ 7 * 7 }}", "$1.id"]
)
def test_span_name_with_special_characters_is_stored_unchanged(kaizen, lines, name):
    kaizen("T1", name=name)
    lines({"name": name})

    assert [row["name"] for row in kaizen.store.reader().rows("SELECT name FROM span")] == [
        name,
        name,
    ]


def test_secret_is_refused_in_jsonl_too(kaizen, lines):
    secret = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2dF4hJ6"
    with pytest.raises(Refused, match="secret"):
        kaizen("T1", name="x", summary=f"token {secret}")
    with pytest.raises(Refused, match="secret") as refused:
        lines({"name": "x"}, {"name": "y", "payload_json": {"deep": [secret]}})

    assert refused.value.what.startswith("Line 2: ")
    assert not kaizen.store.exists()


def test_span_without_name_or_jsonl_is_refused(cli):
    done = cli("T1", "--kind", "run", "--json")

    assert (done.exit_code, done.error["code"]) == (2, "missing_option")
    assert "--name" in done.error["what"]


def test_span_linked_to_test_record_is_test_record(kaizen):
    kaizen("W1", title="Real", summary="S")
    task = kaizen("W1", title="T", summary="S", test=True)["id"]
    parent = kaizen("T1", name="run", test=True)
    kaizen("T1", name="a", parent=parent["id"])
    kaizen("T1", name="b", trace_id=parent["id"])
    kaizen("T1", name="c", task_id=task)
    kaizen("T1", name="real")

    assert kaizen("K7")["removed"] == 5
    assert [row["name"] for row in kaizen.store.reader().rows("SELECT name FROM span")] == ["real"]
    assert kaizen("K8")["verified"] is True


def test_same_op_id_records_span_once(kaizen, lines):
    first = kaizen("T1", name="x", op_id="once")
    again = kaizen("T1", name="x", op_id="once")
    many = lines({"name": "a"}, {"name": "b"}, op_id="many")
    repeated = lines({"name": "a"}, {"name": "b"}, op_id="many")

    assert again == {**first, "replayed": True}
    assert repeated == {**many, "replayed": True}
    assert kaizen.store.reader().value("SELECT count(*) FROM span") == 3


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("code", ["T1", "T2"])
def test_trace_imports_only_allowed_modules(root, cli, code, as_json):
    first = cli("T1", "--name", "run", "--json").json["id"]
    argv = {
        "T1": [
            "T1",
            "--name",
            "x",
            "--parent",
            "@last",
            "--duration-ms",
            "12",
            "--cost-usd",
            "0.1",
        ],
        "T2": ["T2", "--name", "x", "--value", "0.5", "--about", first, "--trace-id", "@last"],
    }[code]

    loaded = modules_after(root, [*argv, "--json"] if as_json else argv)

    assert [
        name for name in loaded if name not in ALLOWED and not name.startswith("kaizen_components.")
    ] == []


# T1 --jsonl


def test_jsonl_spans_refer_to_earlier_lines(kaizen, lines):
    done = lines(
        {"name": "run", "kind": "run", "duration_ms": 100},
        "",
        {"name": "a", "parent": "$1", "task-id": None},
        {"name": "b", "parent": "$3.id"},
        {"name": "c", "trace_id": "$4"},
        {"name": "d", "trace-id": "$1.trace_id"},
        {"name": "other"},
    )
    rows = kaizen.store.reader().rows("SELECT id, name, parent_id, trace_id FROM span ORDER BY seq")
    parents = {row["name"]: row["parent_id"] for row in rows}
    ids = {row["name"]: row["id"] for row in rows}

    assert (done["count"], done["traces"], done["trace_ids"]) == (6, 2, [ids["run"], ids["other"]])
    assert (done["first_id"], done["last_id"]) == (ids["run"], ids["other"])
    assert parents == {
        "run": None,
        "a": ids["run"],
        "b": ids["a"],
        "c": None,
        "d": None,
        "other": None,
    }
    assert [row["trace_id"] for row in rows] == [ids["run"]] * 5 + [ids["other"]]
    assert kaizen("K8")["verified"] is True


def test_jsonl_line_may_name_recorded_span_as_parent(kaizen, lines):
    parent = kaizen("T1", name="run")["id"]
    done = lines({"name": "a", "parent": parent}, {"name": "b", "parent": parent[:-2]})

    assert done["trace_ids"] == [parent]


@pytest.mark.parametrize(
    "line, what",
    [
        ("{", "is not valid JSON"),
        ("[1]", "is not a JSON object"),
        ('"name"', "is not a JSON object"),
        ("[" * 100_000, "is not valid JSON"),
        ({"kind": "run"}, "needs --name"),
        ({"name": "x", "nmae": "y"}, "has no option --nmae"),
        ({"name": "x", "parent": "$2"}, "refers to no earlier result"),
        ({"name": "x", "parent": "$9.id"}, "refers to no earlier result"),
        ({"name": "x", "trace_id": "$7"}, "refers to no earlier result"),
        ({"name": "x", "parent": "$x"}, "There is no span"),
        ({"name": "x", "parent": 7}, "must be text"),
        ({"name": "x", "jsonl": "spans.jsonl"}, "sets --jsonl"),
        ({"name": "x", "test": True}, "cannot be set in a line of a batch"),
        ({"name": "x", "parent": "$1", "trace_id": "other"}, "another trace"),
    ],
    ids=str,
)
def test_bad_jsonl_line_is_named_and_nothing_is_written(kaizen, lines, line, what):
    kaizen("K1")
    with pytest.raises(KaizenError, match=what) as refused:
        lines({"name": "fine"}, line)

    assert refused.value.what.startswith("Line 2: ")
    assert refused.value.exit_code in (2, 3, 4)
    assert entries(kaizen) == 0


def test_jsonl_is_read_from_stdin(cli):
    done = cli(
        "T1",
        "--jsonl",
        "-",
        "--json",
        stdin='{"name": "a"}\r\n{"name": "ü", "parent": "$1"}\r\n'.encode(),
    )

    assert done.json["count"] == 2
    assert (
        cli("T3", "--trace-id", "@last", "--format", "json").json["traces"][0]["spans"][1]["name"]
        == "ü"
    )


@pytest.mark.parametrize(
    "stdin, exit_code, code",
    [(b"", 2, "empty_stdin"), (b"\n \n", 2, "bad_value"), (b'{"name": "\xff"}', 2, "not_utf8")],
)
def test_invalid_jsonl_is_usage_error(cli, stdin, exit_code, code):
    done = cli("T1", "--jsonl", "-", "--json", stdin=stdin)

    assert (done.exit_code, done.error["code"]) == (exit_code, code)


def test_missing_jsonl_file_is_not_found(cli):
    assert cli("T1", "--jsonl", "nowhere.jsonl").exit_code == 3


def test_span_options_beside_jsonl_are_refused(kaizen, lines):
    for more in ({"name": "x"}, {"kind": "run"}, {"task_id": "@last"}, {"payload_json": {}}):
        with pytest.raises(Usage, match="combined with --jsonl"):
            lines({"name": "a"}, **more)


def test_test_spans_from_jsonl_are_purged(kaizen, lines):
    lines({"name": "a"}, {"name": "b", "parent": "$1"}, test=True)

    assert kaizen("K7")["removed"] == 2


def test_spans_from_jsonl_can_be_recorded_in_batch(kaizen, root):
    (root / "spans.jsonl").write_text('{"name": "a"}\n{"name": "b", "parent": "$1"}')
    (root / "batch.jsonl").write_text(
        json.dumps({"command": "T1", "args": {"name": "run"}}) + "\n"
        + json.dumps({"command": "T1", "args": {"jsonl": str(root / "spans.jsonl")}}) + "\n"
        + json.dumps({"command": "T1", "args": {"name": "c", "trace_id": "$1.trace_id"}})
    )  # fmt: skip
    first, many, last = kaizen("K5", file=str(root / "batch.jsonl"))["records"]

    assert many["count"] == 2
    assert last["trace_id"] == first["id"]


def test_thousands_of_spans_are_one_transaction(kaizen, lines):
    done = lines(
        {"name": "run"},
        *({"name": f"s{n}", "parent": "$1", "duration_ms": n} for n in range(2_000)),
    )

    assert (done["count"], done["traces"]) == (2_001, 1)
    assert kaizen("K8")["entries"] == 2_001


# T3


@pytest.fixture
def trace(lines):
    """A run with two parts one after the other, and one beside them."""

    def at(second):
        return f"2026-11-16T03:00:{second:02d}Z"

    return lines(
        {"name": "run", "kind": "run", "started_at": at(0), "duration_ms": 10_000},
        {
            "name": "first",
            "kind": "model",
            "parent": "$1",
            "started_at": at(0),
            "duration_ms": 4_000,
            "tokens_in": 7,
        },
        {
            "name": "beside",
            "kind": "tool",
            "parent": "$1",
            "started_at": at(1),
            "duration_ms": 2_000,
        },
        {
            "name": "second",
            "kind": "model",
            "parent": "$1",
            "started_at": at(4),
            "duration_ms": 5_000,
            "cost_usd": 0.5,
        },
    )["trace_ids"][0]


def test_report_has_totals_self_time_and_critical_path(kaizen, trace):
    report = kaizen("T3", trace_id=trace)

    assert report["total"] == {
        "traces": 1, "count": 4, "self_ms": 12_000, "tokens_in": 7, "tokens_out": 0, "cost_usd": 0.5, "wall_ms": 10_000,
    }  # fmt: skip
    assert [(row["kind"], row["count"], row["self_ms"]) for row in report["kinds"]] == [
        ("model", 2, 9_000),
        ("tool", 1, 2_000),
        ("run", 1, 1_000),
    ]
    assert [
        (step["name"], step["ms"], step["share"]) for step in report["traces"][0]["critical_path"]
    ] == [("run", 1_000, 0.1), ("first", 4_000, 0.4), ("second", 5_000, 0.5)]
    assert "second" in report["text"]


@pytest.mark.parametrize("which", ["id", "prefix", "@last", "child"])
def test_trace_report_accepts_id_prefix_span_or_last(kaizen, trace, which):
    kaizen("T1", name="elsewhere", trace_id="other", actor="bob")
    ref = {"id": trace, "prefix": trace[:-2], "child": spans(kaizen, trace)[2]["id"]}.get(
        which, "@last"
    )

    assert kaizen("T3", trace_id=ref, format="json")["trace_ids"] == [trace]


def test_prefix_of_span_id_finds_its_named_trace(kaizen):
    span = kaizen("T1", name="a", trace_id="mine")["id"]

    assert kaizen("T3", trace_id=span[:-4], format="json")["trace_ids"] == ["mine"]


def test_last_alias_names_actors_newest_trace(kaizen, trace):
    kaizen("T1", name="bob's", actor="bob", trace_id="theirs")

    assert kaizen("T3", trace_id="@last", format="json")["trace_ids"] == [trace]
    assert kaizen("T3", trace_id="@last", format="json", actor="bob")["trace_ids"] == ["theirs"]


def test_ambiguous_and_unknown_traces_fail_differently(kaizen):
    kaizen("T1", name="a", trace_id="night-1")
    kaizen("T1", name="b", trace_id="night-2")

    with pytest.raises(Usage, match="more than one trace"):
        kaizen("T3", trace_id="night")
    for unknown in ("day", "span_2020", "%", "night-1\U0010ffff"):
        with pytest.raises(NotFound):
            kaizen("T3", trace_id=unknown)


def test_task_report_shows_all_its_traces(kaizen):
    task = kaizen("W1", title="T", summary="S")["id"]
    with pytest.raises(NotFound, match="has no trace"):
        kaizen("T3", task_id=task)
    first = kaizen(
        "T1", name="first", task_id=task, duration_ms=5, started_at="2026-11-16T03:00:00Z"
    )["id"]
    kaizen("T1", name="inside", parent=first, started_at="2026-11-16T03:00:00Z")
    kaizen(
        "T1",
        name="second",
        task_id=task,
        trace_id="mine",
        duration_ms=7,
        started_at="2026-11-17T03:00:00Z",
    )
    kaizen("T1", name="of no task")
    report = kaizen("T3", task_id=task)

    assert report["trace_ids"] == [first, "mine"]
    assert [span["name"] for span in report["traces"][0]["spans"]] == ["first", "inside"]
    assert (report["total"]["count"], report["total"]["wall_ms"]) == (3, 12)
    assert "2 traces with 3 spans" in report["text"]


def test_trace_report_without_exactly_one_target_is_refused(kaizen, trace):
    for given in ({}, {"trace_id": trace, "task_id": "@last"}):
        with pytest.raises(Usage, match="either --trace-id or --task-id"):
            kaizen("T3", **given)


def test_report_prints_waterfall_or_json(cli):
    cli("T1", "--name", "review", "--duration-ms", "50")
    shown = cli("T3", "--trace-id", "@last").out
    as_json = cli("T3", "--trace-id", "@last", "--json").json

    assert shown == as_json["text"] + "\n"
    assert "|" + "█" * 40 in shown
    assert as_json["traces"][0]["spans"][0]["name"] == "review"
    assert cli("T3", "--trace-id", "@last", "--format", "json").json["total"]["wall_ms"] == 50


def test_html_report_never_overwrites_file(kaizen, trace, root):
    made = kaizen("T3", trace_id=trace, format="html")
    kaizen("T3", trace_id=trace, format="html", out=str(root / "reports" / "t.html"))

    assert made["path"].startswith("AI/db/exports/trace-") and made["path"].endswith(".html")
    assert (root / made["path"]).read_text().startswith("<!doctype html>")
    with pytest.raises(Conflict):
        kaizen("T3", trace_id=trace, format="html", out=str(root / "reports" / "t.html"))


def test_trace_report_writes_text_and_json_files(kaizen, trace, root):
    kaizen("T3", trace_id=trace, out=str(root / "t.txt"))
    kaizen("T3", trace_id=trace, format="json", out=str(root / "t.json"))

    assert "Critical path" in (root / "t.txt").read_text()
    assert json.loads((root / "t.json").read_text())["trace_ids"] == [trace]


def test_trace_report_without_database_is_not_found(cli):
    assert cli("T3", "--trace-id", "@last").exit_code == 3


def test_trace_report_is_same_from_another_process(kaizen, trace, root):
    other = Door(str(root))
    try:
        assert other("T3", trace_id=trace, format="json") == kaizen(
            "T3", trace_id=trace, format="json"
        )
    finally:
        other.close()
