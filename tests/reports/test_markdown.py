"""Markdown reports escape stored text: unescaping restores it, and it never acts as markup."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kaizen_components.records.ledger.canonical import escape_invisible
from kaizen_components.reports.engine import markdown
from kaizen_components.reports.engine.document import (
    Code,
    LinkTarget,
    Ref,
    document,
    paragraph,
    points,
    prose,
    section,
    story,
    table,
)

from . import world

PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
NASTY = st.text(st.sampled_from("ab1 .)-+=#>|`*_~<&!$[]\\\n\r\t\u202e\x1b\u2028é"), max_size=40)
BLOCK_STARTS = re.compile(r"\s*(#|>|[-+*=] |[-+*=]$|\d+[.)]( |$)|```|~~~|\||<|---|===|\[)")


def unescape(text):
    """Return the text that a Markdown renderer shows."""
    return re.sub(rf"\\([{re.escape(PUNCTUATION)}])", r"\1", text)


def remove_escapes(text):
    """Remove the escaped characters, so that only possible markup remains."""
    return re.sub(rf"\\[{re.escape(PUNCTUATION)}]", "", text)


def join_lines(text):
    return " ".join(escape_invisible(text).split())


@settings(max_examples=500, deadline=None)
@given(NASTY)
def test_unescaping_restores_escaped_text(text):
    escaped = markdown.escape_text(text)

    assert unescape(escaped) == join_lines(text)
    assert not set(remove_escapes(escaped)) & set("`*_[]<>#|~&$!\\") and not BLOCK_STARTS.match(
        escaped
    )


@settings(max_examples=500, deadline=None)
@given(NASTY.filter(lambda text: join_lines(text)))
def test_quoted_code_keeps_its_text(text):
    span = re.fullmatch(
        r"(`+)(.*?[^`])\1(?!`)", markdown.quote_code(text)
    )  # ends at the first fence of the same length

    assert span and (
        span[2][1:-1] if span[2][:1] == span[2][-1:] == " " else span[2]
    ) == join_lines(text)


def test_blank_code_gives_empty_string():
    assert markdown.quote_code(" \n") == ""


@settings(max_examples=300, deadline=None)
@given(st.lists(NASTY, min_size=3, max_size=3), st.sampled_from([str, Code, Ref, LinkTarget]))
def test_row_has_one_cell_per_column(row, kind):
    block = table("Caption", {"a": "", "b": "number", "c": "whole"}, [[kind(text) for text in row]])
    lines = markdown.render_markdown(document("T", [], [section("S", block)]), []).split("\n")
    line = lines[lines.index("|---|--:|---|") + 1]

    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 4


@settings(max_examples=300, deadline=None)
@given(NASTY)
def test_text_never_starts_markdown_block(text):
    doc = document(text, [text], [
        section(text or "x", paragraph(text), points([text]), prose("Body", text),
                story([{"at": "now", "what": text, "by": text, "text": text}])),
    ])  # fmt: skip
    our_prefix = re.compile(r"# |## |- |> ?|  > ?|\*\*Body\*\*$|---$|- now |$")
    for line in markdown.render_markdown(doc, []).split("\n"):
        prefix = our_prefix.match(line)
        rest = line[prefix.end() :] if prefix else line
        assert not BLOCK_STARTS.match(rest), line


def test_every_prose_line_is_quoted():
    assert markdown.quote_text("a\r\n# b\r\n\r\n> c\u2028d") == [
        "> a  ",
        "> \\# b  ",
        ">",
        "> \\> c\\\\u2028d  ",
    ]


@pytest.mark.parametrize(
    "code", [code for code in world.list_codes("md") if code.startswith("R") and code != "R0"]
)
def test_hostile_report_has_no_tag_or_escape(code, hostile_project, tmp_path):
    for format in ("md", "json", "html"):
        text = world.write_report(
            code, hostile_project, tmp_path / f"report.{format}", format
        ).read_text(encoding="utf-8")
        if format != "json":  # JSON strings escape them their own way
            assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066-\u2069]", text)
        assert (
            not re.search(r"(?<!\\)<(script>hacked|img src|/title></style|b>s)", text)
            or format == "json"
        )
        assert len(text) < 3_000_000
