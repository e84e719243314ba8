"""The HTML page of a report: one file with one script; all stored data is escaped text."""

import base64
import hashlib
import re

import pytest

from kaizen_components.errors import Conflict, Unavailable
from kaizen_components.reports.engine import page
from kaizen_components.reports.engine.document import (
    Code,
    LinkTarget,
    Ref,
    add_tone,
    document,
    paragraph,
    section,
    story,
    table,
)

from . import world


def render(*blocks, anchors=(), **ledger):
    ledger = {
        "origin": "kaizen.local/1",
        "entries": 2,
        "root": "ab" * 32,
        "checkpoint": "kaizen.local/1\n2\nqqo=",
        **ledger,
    }
    doc = document("Title", ["Lead."], [section("Section", *blocks)])
    return page.render_template(
        "report.html",
        report=doc,
        made_from="A log.",
        ledger=ledger,
        again="kaizen R4",
        anchors=set(anchors),
    )


def test_page_policy_allows_only_our_script():
    html = render(paragraph("x"))
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in html


def test_page_has_no_external_references():
    html = render(
        paragraph("x"), table("T", {"a": ""}, [[LinkTarget("x_1")], [Ref("x_1")]]), anchors=["x_1"]
    )

    assert not re.search(r"https?://|@import|\bsrc=|<link", html)
    assert set(re.findall(r'href="([^"]*)"', html)) == {"#x_1"}


@pytest.mark.parametrize(
    "kind", [str, Code, Ref, LinkTarget, lambda text: add_tone("failed") + text]
)
def test_table_cell_escapes_hostile_text(kind):
    html = render(table("T", {"a": "", "b": ""}, [[kind(world.LINE), "x"]]))

    assert (
        "<script>hacked" not in html
        and "<img" not in html
        and "\x1b" not in html
        and "\u202e" not in html
    )
    assert "&lt;script&gt;hacked=1&lt;/script&gt;" in html


def test_page_links_only_records_it_shows():
    rows = [[LinkTarget("x_1"), Ref("x_2")], [LinkTarget("x_2"), Ref("x_3")]]
    html = render(table("T", {"a": "", "b": ""}, rows), anchors=["x_1", "x_2"])

    assert '<a href="#x_2"><code>x_2</code></a>' in html and 'id="x_2"' in html
    assert 'href="#x_3"' not in html and "<code>x_3</code>" in html


def test_story_entry_renders_without_optional_fields():
    assert "2026-11-16 10:00" in render(story([{"at": "2026-11-16 10:00", "what": "begun"}]))


@pytest.mark.parametrize("entries, text", [(1, "1 entry"), (2_000, "2,000 entries")])
def test_footer_names_log_and_root(entries, text):
    html = render(paragraph("x"), entries=entries)

    assert f"Log <code>kaizen.local/1</code>, {text}, root <code>{'ab' * 32}</code>" in html
    assert html.endswith("</html>\n")


def test_only_large_tables_have_filter_and_stacking():
    short = render(table("T", {"a": ""}, [["x"]] * 10))
    long = render(table("T", dict.fromkeys("abcd", ""), [["x"] * 4] * 11))

    assert ("data-filters=" in short.split("</style>")[1], 'class="stacks"' in short) == (
        False,
        False,
    )
    assert 'data-filters="b1-1"' in long and 'class="stacks"' in long and 'data-of="d"' in long


def test_page_without_charts_has_no_patterns():
    assert "<pattern" not in render(paragraph("x"))


def test_saved_report_is_never_overwritten(kaizen, root):
    kaizen("K1")
    path = root / "folder" / "report.html"
    page.save_report(kaizen.store, "x", "html", "first", str(path))
    with pytest.raises(Conflict):
        page.save_report(kaizen.store, "x", "html", "second", str(path))
    with pytest.raises(Unavailable):
        page.save_report(kaizen.store, "x", "html", "third", str(path / "below a file.html"))

    assert path.read_text() == "first"
