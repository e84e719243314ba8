"""HTML reports in a real browser: light and dark, on a phone, and printed."""

import json
import re

import pytest

from kaizen_components.reports.charts import calibration, chart
from kaizen_components.reports.engine import page
from kaizen_components.reports.engine.document import (
    LinkTarget,
    Ref,
    add_tone,
    document,
    fact,
    facts,
    format_dollars,
    format_percent,
    listing,
    points,
    prose,
    section,
    story,
    table,
)

from ..chromium import Chromium
from ..conftest import find_tool
from . import world

A4 = {"width": 718, "media": "print"}  # in pixels at 96 per inch, without margins of 1 cm
VIEWS = [{"width": 1100}, {"width": 1100, "dark": True}, {"width": 375}, A4]
DAYS = [f"2026-11-{day:02}" for day in range(1, 31)]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Chromium(find_tool("chromium"), tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def gallery(tmp_path_factory):
    """A page with every kind of block."""
    path = tmp_path_factory.mktemp("gallery") / "gallery.html"
    path.write_text(render(build_gallery()), encoding="utf-8")
    return path


def render(report):
    ledger = {
        "origin": "kaizen.local/1",
        "entries": 1,
        "root": "ab" * 32,
        "checkpoint": "kaizen.local/1\n1\nqqo=",
    }
    return page.render_template(
        "report.html",
        report=report,
        made_from="A log.",
        ledger=ledger,
        again="kaizen R4",
        anchors={"proof_1"},
    )


def build_gallery():
    counts = [day * 7 % 5 for day in range(30)]
    flow = {"done": list(range(30)), "active": [3] * 30, "open": counts, "blocked": [1] * 30}
    closed = [(0.9, True), (0.8, False), (0.3, False), (0.1, False)]
    drawings = [
        chart.draw_bars("Throughput", "day", "tasks", DAYS, {"tasks": counts}, "About two a day."),
        chart.draw_bars(
            "Outcomes",
            "tier",
            "runs",
            ["seen", "told"],
            {"passed": [9, 0], "failed": [5, 1]},
            "Most passed.",
        ),
        chart.draw_bars(
            "Cost", "day", "cost", DAYS, {"a": [1.5] * 30, "b": [0.1] * 30}, "$48.", format_dollars
        ),
        chart.draw_bars(
            "Names",
            "n",
            "tasks",
            [f"a long name {n} of a thing" for n in range(9)],
            {"t": [1] * 9},
            "One.",
        ),
        chart.draw_areas("Flow", "day", "tasks", DAYS, flow, "It flows."),
        chart.draw_lines(
            "Rate",
            "day",
            "rate",
            DAYS,
            {"x": [0.5, None] * 15, "y": [0.2] * 30},
            "Even.",
            format_percent,
        ),
        calibration.build_block(calibration.group_predictions(closed), "Rather good."),
    ]
    rows = [
        [LinkTarget(f"proof_{n}"), Ref("proof_1"), add_tone("failed" if n % 2 else "passed"), n]
        for n in range(12)
    ]
    entries = [
        {
            "at": "2026-11-16 10:00",
            "what": add_tone("failed"),
            "by": "agent",
            "refs": [Ref("proof_1")],
            "text": "a\nb",
        }
    ]
    return document("Gallery", ["Every kind of block."], [
        section("Numbers", facts(fact("Done", 12, 9, "higher"), fact("Failed", 3, 1, "lower"))),
        section("Charts", *drawings),
        section("Records", table("Proofs", {"Proof": "", "Of": "", "Outcome": "", "N": "number"}, rows)),
        section("Words", story(entries), points(["a", ["b", Ref("proof_1")]]), prose("Body", "text\nשלום"),
                listing("Change", "--- a\n+++ b\n-<b>old</b>\n+\tשלום" + "x" * 300)),
    ])  # fmt: skip


def list_faults(browser):
    """Return {check: its findings} for the checks that the page in the browser fails."""
    return {name: findings for name, findings in browser.checked().items() if findings}


# Every report


@pytest.mark.parametrize("code", world.list_codes())
def test_hostile_report_passes_checks_in_every_view(browser, hostile_project, tmp_path, code):
    path = world.write_report(code, hostile_project, tmp_path / "report.html")
    browser.open(path)
    faults = {}
    for view in VIEWS:
        browser.look(**view)
        faults[json.dumps(view)] = list_faults(browser)

    assert faults == {json.dumps(view): {} for view in VIEWS}
    assert (browser.complaints(), browser.requests()) == ([], [path.as_uri()])
    assert browser.evaluate("typeof hacked") == "undefined"


@pytest.mark.parametrize("code", [code for code in world.list_codes() if code.startswith("R")])
def test_empty_report_passes_checks_or_is_refused(browser, cli, tmp_path, code):
    cli("K1")
    answer = cli(code, *world.build_arguments(code, format="html", out=tmp_path / "report.html"))

    assert answer.exit_code in (0, 3), answer.err
    if answer.exit_code == 0:
        browser.open(tmp_path / "report.html", 375)
        assert (list_faults(browser), browser.complaints()) == ({}, [])


def test_every_block_passes_checks_in_every_view(browser, gallery):
    browser.open(gallery)
    for view in VIEWS:
        browser.look(**view)
        assert list_faults(browser) == {}, view

    assert browser.complaints() == []
    assert browser.evaluate("document.querySelectorAll('svg[role=img]').length") == 7


def test_dark_mode_is_dark_but_print_is_light(browser, gallery):
    browser.open(gallery, dark=True)
    background = "getComputedStyle(document.body).backgroundColor"
    dark = browser.evaluate(background)
    browser.look(dark=True, media="print")
    on_paper = browser.evaluate(background)
    browser.look()

    assert (dark, on_paper, browser.evaluate(background)) == (
        "rgb(13, 17, 23)", "rgb(255, 255, 255)", "rgb(255, 255, 255)",
    )  # fmt: skip


def test_print_shows_data_and_hides_inputs(browser, gallery):
    browser.open(gallery)
    browser.look(media="print")
    count_visible = (
        "[...document.querySelectorAll('{}')].filter((one) => one.checkVisibility()).length"
    )
    tables = browser.evaluate("document.querySelectorAll('table').length")
    visible_tables = browser.evaluate(count_visible.format("table"))
    visible_inputs = browser.evaluate(count_visible.format("input, nav, summary"))
    printed = browser.printed()

    assert (visible_tables, visible_inputs) == (tables, 0)
    assert (
        browser.evaluate("document.querySelectorAll('details[open]').length") == 0
    )  # closed again after printing
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) >= 3


def test_filter_shows_rows_with_every_word(browser, gallery):
    browser.open(gallery)
    rows = "[...document.querySelectorAll('#b3-1 tbody tr')].filter((one) => one.checkVisibility()).length"
    typed = """(() => {{ const input = document.getElementById("b3-1-input"); input.value = {};
      input.dispatchEvent(new Event("input")); return document.getElementById("b3-1-count").textContent; }})()"""
    counts = []
    for words in ("FAILED", "failed proof_11", "nowhere", ""):
        message = browser.evaluate(typed.format(json.dumps(words)))
        counts.append((browser.evaluate(rows), message))
        browser.look(width=375)
        assert browser.evaluate(rows) == counts[-1][0]
        browser.look()

    assert counts == [(6, "6 of 12 rows"), (1, "1 of 12 rows"), (0, "0 of 12 rows"), (12, "")]


def test_link_to_record_targets_its_table_row(browser, gallery):
    browser.open(gallery)
    browser.evaluate("""document.querySelector('a[href="#proof_1"]').click()""")

    assert browser.evaluate("document.querySelector(':target').tagName") == "TR"


# The checks of tests/chromium.py

BREAKING_SCRIPTS = {
    "text has a contrast of 4.5": "document.querySelector('figcaption').style.color = '#888'",
    "marks have a contrast of 3": "document.querySelector('svg.chart rect').style.cssText = 'fill: #ddd; stroke: none'",
    "the language is said": "document.documentElement.lang = ''",
    "the page has a title": "document.title = ''",
    "drawings have a title and a description": "document.querySelector('svg.chart desc').textContent = ''",
    "charts have both axes labelled": "document.querySelector('svg.plot .axis-y').remove()",
    "charts have their data as a table": "document.querySelector('figure details').remove()",
    "inputs have a label": "document.querySelector('label').remove()",
    "tables have a caption": "document.querySelector('caption').remove()",
    "tables have headings with a scope": "document.querySelector('th').removeAttribute('scope')",
    "links lead somewhere": "document.querySelector('main a').href = '#nowhere'",
    "ids are unique": "document.querySelector('p').id = document.querySelector('h2').id",
    "headings are in order": "document.querySelector('h2').outerHTML = '<h4>x</h4>'",
    "headings are not empty": "document.querySelector('h2').textContent = ' '",
    "there is one main": "document.body.append(document.createElement('main'))",
    "what takes the focus has a name": "document.querySelector('.scroll').removeAttribute('aria-label')",
    "the page is no broader than the window": "document.querySelector('h1').style.width = '2000px'",
    "what scrolls can be reached by keys": "document.querySelector('h1').style.cssText = "
    "'width: 9px; overflow-x: auto; white-space: nowrap; overflow-wrap: normal'",
    "labels do not run into each other": "document.querySelectorAll('svg.chart .tick')[1].setAttribute('y', 208)",
    "labels stay inside of their drawing": "document.querySelector('svg.chart .head').setAttribute('x', 500)",
    "long tables can be filtered": "document.querySelector('input').remove()",
    "no stored text became an element": "document.querySelector('p').innerHTML = '<img alt=x>'",
}


@pytest.mark.parametrize("name", BREAKING_SCRIPTS)
def test_page_check_finds_fault_of_its_breaking_script(browser, gallery, name):
    browser.open(gallery)
    browser.evaluate(BREAKING_SCRIPTS[name] + "; 0")

    assert name in list_faults(browser)


def test_every_page_check_has_script_that_breaks_it(browser, gallery):
    browser.open(gallery)

    assert set(browser.checked()) == set(BREAKING_SCRIPTS)


def test_low_contrast_in_dark_mode_only_is_found(browser, gallery):
    browser.open(gallery)
    browser.evaluate("document.querySelector('figcaption').style.color = '#444'; 0")
    faults = list_faults(browser)
    browser.look(dark=True)

    assert faults == {} and "text has a contrast of 4.5" in list_faults(browser)


@pytest.mark.parametrize(
    "script", ["console.error('x')", "throw new Error('x')", "document.write('<img src=x.png>')"]
)
def test_foreign_script_is_blocked_and_reported(browser, gallery, tmp_path, script):
    path = tmp_path / "hacked.html"
    path.write_text(
        gallery.read_text().replace("<main>", f"<script>hacked = 1; {script}</script><main>")
    )
    browser.open(path)

    assert browser.evaluate("typeof hacked") == "undefined"
    assert any("Content Security Policy" in message for message in browser.complaints())


def test_browser_lists_requests_and_console_messages(browser, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(
        "<img src=elsewhere.png><script>console.error('said'); throw new Error('thrown')</script>"
    )
    browser.open(path)

    assert [url.rsplit("/", 1)[1] for url in browser.requests()] == ["page.html", "elsewhere.png"]
    assert len(browser.complaints()) == 3
