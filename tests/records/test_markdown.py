"""Markdown becomes entries: which lines begin one, and that no text is lost whatever the Markdown looks like."""

import re
from hashlib import sha256

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kaizen_components.records.lessons.entry import read_page
from kaizen_components.records.lessons.stub import render_stub
from kaizen_components.records.markdown import read_blocks

STUB_WORDS = "b8ffedd8dac4c2edad63ae7fd9e5a7137c88c0a189fc30ea6ba2fbfddaf626af"
STUB = render_stub("gotcha", 12, "2026-11-16", "AI/db/backups/lessons/GOTCHA.md-0123456789ab.md")


def titles(text):
    return [entry.title for entry in read_page(text).entries]


def texts(text):
    return [entry.text for entry in read_page(text).entries]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("\n \n\t\n", []), ("# GOTCHA\n", []), ("# GOTCHA\n\n* One\n1. Two\n2) Three", ["One", "Two", "Three"]),
        ("# G\n\nAn intro. More.\n\n- One\n\nAn outro.", ["An intro.", "One", "An outro."]),
        ("# G\n\nOne.\n\n---\n\nTwo.\n", ["One.", "Two."]),
        ("# G\n## First\nText.\n### Deeper ###\nText.", ["First", "Deeper"]),
        ("# One\nText.\n# Two\nText.", ["One", "Two"]),
        ("## Topic\n\n- One\n\n***\n\n- Two\n<!-- x -->", ["One", "Two"]),
        ("## Topic\n\nA word first.\n\n- One\n", ["Topic"]), ("## Topic\n\n- One\n\nA word after.\n", ["Topic"]),
        ("# Only this\n\nText is all there is.\n\nIn two paragraphs.", ["Only this"]),
        ("First\n=====\n\nText.\n\nSecond\n---\nText.", ["Text.", "Second"]), ("- \n-\n- One\n*   \n", ["One"]),
        ("#hashtag is text", ["#hashtag is text"]),
    ],
)  # fmt: skip
def test_sections_and_outermost_items_are_entries(text, expected):
    assert titles(text) == expected


@pytest.mark.parametrize(
    "text, expected",
    [
        ("- One\nlazy\n  - nested\n    1. deeper\n- Two", ["One\nlazy\n- nested\n  1. deeper", "Two"]),
        ("10. One\n\n    More\n\n        # code\n11. Two", ["One\n\nMore\n\n    # code", "Two"]),
        ("-\tOne\n\t- nested\n\t\t- deeper", ["One\n- nested\n\t- deeper"]), ("-\n  One\n  on", ["One\non"]),
        ("```\n- never closed\n# code", ["```\n- never closed\n# code"]),
        ("> # a\n> - b\n>\n\n- One", ["> # a\n> - b", "One"]),
    ],
)  # fmt: skip
def test_nested_text_stays_with_its_entry(text, expected):
    assert texts(text) == expected


def test_lesson_entry_has_its_line_and_headings():
    entries = read_page(
        "# Gotchas\n\n## SQLite\n\n### WAL\n\n- Grows\n\n## Deploy\n\n### Friday\nNever.\n"
    ).entries

    assert [(entry.line, entry.title, entry.context) for entry in entries] == [
        (7, "Grows", ("SQLite", "WAL")),
        (11, "Friday", ("Deploy",)),
    ]
    assert [entry.summary for entry in entries] == ["SQLite › WAL: Grows", "Deploy: Never."]


def test_heading_without_text_is_reported_as_bare():
    page = read_page("# G\n\n## Empty\n\n## Around\n\n### Full\nText.\n\n## Last\n")

    assert [entry.title for entry in page.entries] == ["Full"]
    assert page.bare == [(3, "Empty"), (10, "Last")]


def test_underlined_text_without_content_below_is_paragraph():
    assert texts("## A\n\nOne.\n\nTwo\nlines.\n---\n\n## B\nText.") == [
        "One.\n\nTwo\nlines.\n---",
        "Text.",
    ]
    assert texts("Alone.\n---\n") == ["Alone.\n---"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_line_ends_and_bom_do_not_change_entries(newline, start):
    text = "---\ntitle: x\n---\n# G\n\n- One\n  more\n\n## B\n\nText\n"

    assert read_page(start + text.replace("\n", newline)) == read_page(text)


def test_front_matter_gives_only_keys():
    page = read_page('---\ntitle: "x"\n"tags":\n  - a\n\n- b\nlist: [\n]\n...\n- One')
    assert page.front_matter == ["title", "tags", "list"]
    assert [(entry.line, entry.title) for entry in page.entries] == [(10, "One")]


@pytest.mark.parametrize(
    "text", ["---\nNot metadata\n---\n", "---\ntitle: x\nNever closed.\n", "---"]
)
def test_horizontal_rule_at_top_is_not_front_matter(text):
    assert re.findall(r"\w+", " ".join(texts(text))) == re.findall(r"\w+", text)


def test_markdown_comments_are_not_entries():
    assert texts("<!-- a -->\n\n- One\n<!--\n- no item\n\n# no heading\n-->\n- Two") == [
        "One",
        "Two",
    ]
    assert texts("## A\n\nOne\n<!-- hidden -->\n\nTwo") == ["One\n\nTwo"]
    assert texts("One\n<!-- a -->\nTwo") == ["One\nTwo"]
    assert texts("<!-- a\nb --> word") == ["<!-- a\nb --> word"]


def test_unclosed_comment_hides_no_text():
    assert texts("- One\n\n<!-- oops\n\n- Two\n") == ["One", "<!-- oops", "Two"]


def test_stub_has_no_entries():
    for text in (STUB, STUB.replace("\n", "\r\n"), "\n\n" + STUB + "\n<!-- x -->\n"):
        page = read_page(text)
        assert page.entries == [] and page.bare == [] and page.is_stub
    assert not read_page("- One").is_stub


def test_text_added_between_stub_lines_is_entry():
    lines = STUB.split("\n")
    for at in range(len(lines)):
        page = read_page("\n".join([*lines[:at], "- A new one", *lines[at:]]))
        assert [entry.text for entry in page.entries] == ["A new one"] and page.is_stub
        assert page.entries[0].line == at + 1
        page = read_page("\n".join([*lines[:at], "A new one.", *lines[at:]]))
        assert [entry.text for entry in page.entries] == ["A new one."]


def test_stub_mark_of_another_format_hides_no_text():
    assert texts("<!-- kaizen:stub v1 gotcha 1 2026-11-16 x.md -->\n# Gotchas\n\n- A lesson") == [
        "A lesson"
    ]
    assert texts("<!-- kaizen:stub v9 what -->\nText.\n") == ["Text."]


def test_stub_text_has_hash_of_its_version():
    """Files out there have them: with other words, the lines of an old stub would be taken for lessons. Make a v2."""
    made = [
        render_stub(kind, count, "2026-11-16", "b.md")
        for kind in ("gotcha", "learning", "learned")
        for count in (1, 2)
    ]

    assert sha256("".join(made).encode()).hexdigest() == STUB_WORDS


@pytest.mark.parametrize(
    "text, expected",
    [
        ("- One sentence. Another.", "One sentence."),
        ("- Use e.g. this. Then that.", "Use e.g. this."),
        ("- **Never!** Not once.", "**Never!**"),
        ("- 一つ目。二つ目。", "一つ目。"),
        ("- [x] done", "done"),
        ("```python\nimport this\n```", "import this"),
        ("- 🎉", "🎉"),
        ("- a\u2028b\u0085c\x0bd", "a b c d"),
    ],
)
def test_title_is_first_sentence(text, expected):
    assert titles(text) == [expected]


def test_long_heading_is_shortened_in_title_only():
    words = " ".join(f"word{number}" for number in range(100))
    heading, item = read_page(f"## {words}\nText.\n\n## Topic\n- {words}").entries

    assert len(heading.title) <= 200 and heading.title.endswith("…") and len(item.title) <= 200
    assert heading.body == f"{words}\n\nText." and item.body == words


def test_very_long_line_is_one_entry():
    [entry] = read_page("- " + "x" * 900_000).entries

    assert len(entry.title) == 200 and len(entry.summary) == 2_000 and len(entry.body) == 900_000


@given(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=300),
    st.sampled_from(["", "## H\n", "- ", "> "]),
)
def test_any_text_makes_valid_entries(text, before):
    for entry in read_page(before + text).entries:
        assert (
            1 <= len(entry.title) <= 200
            and len(entry.title.splitlines()) == 1
            and entry.title.strip()
        )
        assert 1 <= len(entry.summary) <= 2_000 and entry.summary.strip() and entry.body.strip()


def hashes(text):
    return [entry.source_hash("gotcha", "GOTCHA.md") for entry in read_page(text).entries]


def test_hashes_of_equal_entries_differ_by_number():
    assert len(set(hashes("- One\n- One\n- One\n"))) == 3
    assert hashes("- One\n") == hashes("- One\n- One\n")[:1]


def test_entry_hash_ignores_position():
    [plain] = hashes("- One\n")
    assert hashes("\n\n*   One  \r\n\r\n") == [plain], (
        "neither its line, its marker nor blanks at its end count"
    )
    assert plain not in hashes("## A\n- One\n") + hashes("- one\n") + hashes("## One\nOne\n")
    [entry] = read_page("- One").entries
    assert (
        len(
            {
                plain,
                entry.source_hash("learned", "GOTCHA.md"),
                entry.source_hash("gotcha", "a/GOTCHA.md"),
            }
        )
        == 3
    )


# No text is lost. Each @ becomes a word of its own that must be in exactly one entry; each % may be left out.

TEXTS = [
    "@ @.\n@", "- @\n  - @\n    - @", "* @\n\n  @\n\n      # @", "1. @\n2. @\n   - @", "-\t@\n\t@", "+ @\n@",
    "```\n# @\n- @\n```", "    # @\n    - @", "> @\n> - @\n@", "- [ ] @", "| @ | @ |\n|---|---|\n| @ | @ |",
    "<div>\n- @\n</div>", "[@]: https://host.example/@", "-\n  @", "é @ 日本語 🎉 @", "@ <!-- % -->", "<!--\n%\n--> @",
    "- > @\n  > @\n\n  1) @",
]  # fmt: skip
HEADINGS = ["# %", "## %", "### % ###", "###### %", "## %\n\n### %"]
NOTHING = ["<!-- % -->", "<!--\n- %\n\n# %\n-->", "***", "___", "-", "##", ""]
AMBIGUOUS = ["---", "===", "@\n---", "- - -", "```", "<!--", "-->", "<div>", "  @", "\t- @", ">"]


def numbered(text):
    count = iter(range(10**6))
    return re.sub(
        "[@%]", lambda mark: f"{'Kept' if mark[0] == '@' else 'Left'}{next(count)}x", text
    )


def documents(*parts, between):
    pieces = st.lists(
        st.tuples(
            st.sampled_from([one for part in parts for one in part]), st.sampled_from(between)
        )
    )
    return pieces.map(lambda found: numbered("".join(piece + gap for piece, gap in found)))


def words(text):
    return re.findall(r"Kept\d+x", text)


@given(documents(TEXTS, HEADINGS, NOTHING, between=["\n\n", "\n\n\n", "\n\n \t\n"]))
def test_every_line_is_in_one_entry(text):
    found = [word for entry in read_page(text).entries for word in words(entry.body)]

    assert sorted(found) == sorted(words(text))
    assert found == sorted(found, key=text.index), "and in its order"


@given(documents(TEXTS, HEADINGS, NOTHING, AMBIGUOUS, between=["\n", "\n\n"]))
@example(numbered("@\n@\n---\n## %\n@"))
@example(numbered("## %\n@\n---\n@\n"))
@example(numbered("<!--\n@\n"))
def test_no_word_is_lost_or_doubled(text):
    """What a line below made a heading may be a title or stand around others; what two marks made a comment is one."""
    visible = re.sub(
        "<!--.*?-->", lambda hidden: "\n" * hidden[0].count("\n"), text, flags=re.DOTALL
    )
    page = read_page(text)
    found = [word for entry in page.entries for word in words(entry.heading + " " + entry.text)]
    around = [word for entry in page.entries for word in words(" ".join(entry.context))]
    bare = [word for _, heading in page.bare for word in words(heading)]

    assert len(found) == len(set(found)), "nothing twice"
    missing = set(words(visible)) - {*found, *around, *bare, *words(title(text))}
    assert missing == set()


def title(text):
    """The heading that a file begins with, which is no entry."""
    lines = text.split("\n")
    said = [
        block
        for block in read_blocks(lines)
        if words("\n".join(lines[block.start : block.last + 1]))
    ]
    first = next((block for block in said if block.kind != "comment"), None)
    return (
        " ".join(lines[first.start : first.last + 1]) if first and first.kind == "heading" else ""
    )
