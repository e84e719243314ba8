"""The numbers and drawings of a trace, computed from database rows."""

import random
import re
import xml.etree.ElementTree as ET

import pytest

from kaizen_components.faces import text as face
from kaizen_components.index import Command
from kaizen_components.records import ids
from kaizen_components.records.ledger.canonical import measure_width
from kaizen_components.reports.charts import waterfall
from kaizen_components.reports.engine import drawing
from kaizen_components.reports.runs import trace

BEGAN_MS = 1_794_000_000_000


def span(id, start=0, ms=0, parent=None, **more):
    return {
        "id": id, "at": "", "actor": "agent", "test": 0, "parent_id": parent, "task_id": None,
        "name": id,
        "kind": "other", "status": "ok", "started_at": ids.format_time(BEGAN_MS + start),
        "duration_ms": ms, "model": None,
        "tokens_in": 0, "tokens_out": 0, "cost_usd": 0.0, "summary": None, **more,
    }  # fmt: skip


def analyze(*spans):
    return trace.analyze_trace("t", list(spans))


def report(*spans):
    result = analyze(*spans)
    total = {
        "traces": 1,
        **{
            name: result[name]
            for name in ("count", "self_ms", "tokens_in", "tokens_out", "cost_usd")
        },
    }
    return {
        "trace_ids": ["t"], "total": {**total, "wall_ms": result["wall_ms"]},
        "kinds": trace.sum_by_kind(result["spans"]),
        "traces": [result],
    }  # fmt: skip


def path(*spans):
    return {step["name"]: step["ms"] for step in analyze(*spans)["critical_path"]}


def tree(*spans):
    return [(span_row["name"], span_row["depth"]) for span_row in analyze(*spans)["spans"]]


# The tree


def test_spans_are_ordered_below_parents_by_time():
    assert tree(
        span("b", 50, 1, "run"), span("b1", 50, 1, "b"), span("a", 10, 1, "run"), span("run", 0, 99)
    ) == [
        ("run", 0),
        ("a", 1),
        ("b", 1),
        ("b1", 2),
    ]


def test_span_with_missing_parent_is_root():
    assert tree(span("run", 0, 10), span("lost", 5, 1, "gone"), span("child", 5, 1, "lost")) == [
        ("run", 0),
        ("lost", 0),
        ("child", 1),
    ]


def test_spans_in_cycle_appear_once():
    spans = [span("a", 0, 5, "b"), span("b", 1, 5, "a"), span("self", 2, 1, "self")]

    assert sorted(name for name, _ in tree(*spans)) == ["a", "b", "self"]
    assert path(*spans)


def test_chain_of_ten_thousand_spans_is_analyzed():
    chain = [
        span("0", 0, 10_000),
        *(span(str(n), n, 10_000 - n, str(n - 1)) for n in range(1, 10_000)),
    ]
    result = report(*chain)

    assert result["traces"][0]["spans"][-1]["depth"] == 9_999
    assert result["total"]["self_ms"] == 10_000
    assert "more spans are not drawn" in waterfall.draw_text(result)


# Self time


def test_self_time_excludes_children_and_overlaps():
    spans = analyze(
        span("run", 0, 100),
        span("a", 10, 30, "run"),
        span("b", 20, 30, "run"),
        span("out", 90, 50, "run"),
    )["spans"]

    assert {span_row["name"]: span_row["self_ms"] for span_row in spans} == {
        "run": 50,
        "a": 30,
        "b": 30,
        "out": 50,
    }


@pytest.mark.parametrize("seed", range(20))
def test_self_time_equals_brute_force_count(seed):
    dice = random.Random(seed)
    spans = [span("0", 0, 60)]
    for n in range(1, 12):
        spans.append(span(str(n), dice.randrange(70), dice.randrange(40), str(dice.randrange(n))))
    for span_row in analyze(*spans)["spans"]:
        inside = set(range(span_row["offset_ms"], span_row["end_ms"]))
        for child in analyze(*spans)["spans"]:
            if child.get("parent_id") == span_row["id"]:
                inside -= set(range(child["offset_ms"], child["end_ms"]))
        assert span_row["self_ms"] == len(inside)


# The critical path


def test_critical_path_follows_child_that_ended_last():
    assert path(
        span("run", 0, 100), span("a", 0, 40, "run"), span("beside", 5, 20, "run"),
        span("b", 45, 50, "run"),
        span("b1", 50, 10, "b"), span("b2", 60, 35, "b"),
    ) == {"run": 10, "a": 40, "b": 5, "b1": 10, "b2": 35}  # fmt: skip


def test_overlapping_span_is_not_on_critical_path():
    assert path(span("run", 0, 100), span("long", 0, 90, "run"), span("last", 80, 20, "run")) == {
        "run": 80,
        "last": 20,
    }


def test_parent_without_duration_lasts_as_long_as_children():
    """From the command line a parent is recorded first, without a duration."""
    assert path(span("run", 0, 0), span("a", 0, 30, "run"), span("b", 40, 60, "run")) == {
        "run": 10,
        "a": 30,
        "b": 60,
    }


def test_critical_path_includes_earlier_roots():
    result = analyze(span("one", 0, 30), span("beside", 5, 10), span("two", 40, 60))

    assert [(step["name"], step["ms"], step["share"]) for step in result["critical_path"]] == [
        ("one", 30, 0.3),
        ("two", 60, 0.6),
    ]


def test_critical_path_skips_spans_without_duration():
    assert path(span("run", 0, 10), span("mark", 10, 0, "run")) == {"run": 10}
    assert path(span("first", 0), span("last", 0)) == {"first": 0}
    assert analyze(span("only"))["critical_path"][0]["share"] is None


@pytest.mark.parametrize("seed", range(30))
def test_critical_path_times_sum_to_wall_time(seed):
    dice = random.Random(seed)
    spans = [span("0", dice.randrange(50), dice.randrange(1, 90))]
    for n in range(1, 25):
        spans.append(span(str(n), dice.randrange(100), dice.randrange(60), str(dice.randrange(n))))
    dice.shuffle(spans)
    result = analyze(*spans)

    assert sum(step["ms"] for step in result["critical_path"]) == result["wall_ms"]
    assert all(step["ms"] >= 0 for step in result["critical_path"])


# Text


def rows_of(block):
    return [line for line in block.splitlines() if line.count("|") == 2]


@pytest.mark.parametrize("width", [80, 90, 100])
def test_text_drawing_fits_width_and_aligns_bars(width):
    names = [
        "run",
        "漢字かな" * 20,
        "x" * 200,
        "e\u0301" * 60,
        "a\x1b[31mred",
        "\u202etxet",
        "tab\there",
    ]
    spans = [span("run", 0, 10**9, tokens_in=10**12, tokens_out=999, cost_usd=10**9)]
    spans += [
        span(
            f"s{n}",
            n * 7,
            3**n,
            "run",
            name=name,
            kind="human",
            status="unset",
            cost_usd=1 / 10**n,
            tokens_in=10**n,
        )
        for n, name in enumerate(names)
    ]
    block = waterfall.draw_text(report(*spans), width)
    rows = rows_of(block)

    assert len(rows) == len(spans) + 1
    assert all(measure_width(line) <= width for line in block.splitlines())
    assert len({tuple(measure_width(part) for part in line.split("|")[:2]) for line in rows}) == 1
    assert "\x1b" not in block and "\u202e" not in block and "\t" not in block


def test_bars_show_position_and_critical_path():
    block = waterfall.draw_text(report(
        span("run", 0, 100), span("first", 0, 50, "run"), span("beside", 10, 10, "run"),
        span("mark", 99, 0, "run"),
        span("second", 50, 50, "run"),
    ), 100)  # fmt: skip
    bars = {line.split()[0]: line.split("|")[1] for line in rows_of(block)[1:]}
    room = len(bars["run"])

    assert bars["run"] == "█" * room
    assert bars["first"].rstrip() == "█" * ((room + 1) // 2)
    assert bars["second"].lstrip() == "█" * (room - room // 2)
    assert set(bars["beside"].strip()) == {"▒"}
    assert bars["mark"].strip() == "◆" and bars["mark"].index("◆") == 99 * room // 100


def test_spans_without_duration_are_drawn_as_marks():
    block = waterfall.draw_text(report(span("a"), span("b", parent="a")), 80)

    assert [line.split("|")[1].strip() for line in rows_of(block)[1:]] == ["◆", "◆"]


def test_bars_are_wider_without_empty_columns():
    plain = rows_of(waterfall.draw_text(report(span("a", 0, 5)), 100))[0]
    full = rows_of(waterfall.draw_text(report(span("a", 0, 5, tokens_in=1, cost_usd=1)), 100))[0]

    assert "tokens" not in plain and "cost" not in plain
    assert "tokens" in full and "cost" in full
    assert len(plain.split("|")[1]) > len(full.split("|")[1])


def test_long_critical_path_is_cut_with_note():
    spans = [span("run", 0, 500), *(span(f"s{n}", n * 10, 10, "run") for n in range(50))]

    assert "21 more spans are on the critical path" in waterfall.draw_text(report(*spans))


@pytest.mark.parametrize(
    "ms, text",
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1.00 s"), (9_994, "9.99 s"), (12_345, "12.3 s"),
    (3_600_000, "3,600 s"),
     (99_999_000, "99,999 s"), (100_000_000, "27 h"), (10**12, "11,574 d")],
)  # fmt: skip
def test_durations_fit_their_column(ms, text):
    assert drawing.format_ms(ms) == text
    assert len(text) <= waterfall.TIME


@pytest.mark.parametrize(
    "usd, text",
    [
        (0, ""),
        (0.00001, "<$0.0001"),
        (0.0123, "$0.0123"),
        (12.5, "$12.50"),
        (12_345.6, "$12,346"),
        (10**9, "$1,000M"),
    ],
)
def test_small_amounts_are_never_shown_as_zero(usd, text):
    assert drawing.format_money(usd) == text
    assert len(text) <= waterfall.COST


def test_preformatted_text_escapes_terminal_codes():
    assert (
        face.render_result({"status": "OK", "text": "a  b\n  c\x1b[0m", "other": 1}, Command("T3"))
        == "a  b\n  c\\x1b[0m\n"
    )


# HTML


class Database:
    """The parts of a database reader that a page uses."""

    at = "2026-11-16T00:00:00.000Z"


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(
        waterfall.health, "summarize_log", lambda _: {"entries": 4, "root": "ab" * 32}
    )
    Database.connection = None
    return lambda *spans: waterfall.render_page(Database, report(*spans), "html")


HOSTILE = "<script>alert(1)</script> \"quoted\" 'single' & {{ 7 * 7 }} </svg></title>"


def test_hostile_span_names_are_escaped(page):
    html = page(
        span("run", 0, 10, name=HOSTILE, model=HOSTILE),
        span("a", 0, 5, "run", name=HOSTILE, status="error"),
    )

    assert "<script" not in html and "{{ 7" in html and "49" not in html.split("<style>")[0]
    assert html.count("</svg>") == 1
    assert "&lt;script&gt;alert(1)" in html


def test_svg_has_title_description_axis_and_table(page):
    html = page(
        span("run", 0, 5_000), span("part", 1_000, 2_000, "run"), span("mark", 4_000, 0, "run")
    )
    svg = ET.fromstring(re.search(r"<svg.*</svg>", html, re.S).group())
    named = svg.attrib["aria-labelledby"].split()
    labels = [element.text for element in svg.iter("text") if element.attrib.get("class") == "tick"]

    assert svg.attrib["role"] == "img"
    assert [element.attrib["id"] for element in svg if element.tag in ("title", "desc")] == named
    assert labels == ["0 ms", "1.00 s", "2.00 s", "3.00 s", "4.00 s", "5.00 s"]
    assert len(list(svg.iter("rect"))) == 2 and len(list(svg.iter("path"))) == 1
    assert "critical" in next(group for group in svg.iter("g")).attrib["class"]
    table = html[html.index("Every span") :]
    assert all(f">{name}</td>" in table for name in ("run", "part", "mark"))


def test_trace_page_loads_nothing_external(page):
    html = page(span("run", 0, 10))

    assert not re.search(r"""(src|href)=|@import|url\(|https?://""", html)


def test_huge_trace_is_partly_drawn_and_fully_listed(page):
    html = page(span("run", 0, 2_000), *(span(f"s{n}", n, 1, "run") for n in range(1_500)))

    assert html.count("<rect") == drawing.ROWS_MAX
    assert "501 more spans are not drawn" in html
    assert ">s1499</td>" in html


@pytest.mark.parametrize("wall_ms", [0, 1, 7, 8, 99, 1_000, 59_999, 10**12])
def test_axis_ticks_are_round_and_start_at_zero(wall_ms):
    result = drawing.choose_ticks(wall_ms)

    assert result[0] == 0 and result[-1] <= wall_ms
    assert len(result) <= drawing.TICKS_MAX
    assert len(result) >= 3 or wall_ms < 2
