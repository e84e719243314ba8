"""Check that edits in plain text are applied exactly, or refused with a reason."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kaizen_components.pipeline.edits import apply as edits
from kaizen_components.pipeline.edits.apply import Edit, EditRefused
from kaizen_components.pipeline.edits.format import CLOSING, CUT, OPENING

APP = """\
from fastapi import FastAPI

app = FastAPI()


@app.get("/")
def root() -> dict[str, str]:
    return {"hello": "world"}
"""
BASE = {"app/main.py": APP.encode(), "README.md": b"# App\n", "win.txt": b"one\r\ntwo\r\nthree\r\n"}
HEALTH = (
    APP + '\n\n@app.get("/health")\ndef health() -> dict[str, str]:\n    return {"status": "ok"}\n'
)


def apply_text(text, base=BASE, **more):
    return edits.apply_edits(edits.parse_edits(text), base.get, **more)


def block(path, search, text):
    return f"FILE: {path}\n<<<<<<< SEARCH\n{search}\n=======\n{text}\n>>>>>>> REPLACE\n"


def refusal(text, base=BASE, **more):
    with pytest.raises(EditRefused) as caught:
        apply_text(text, base, **more)
    return str(caught.value)


def test_edit_block_replaces_matched_lines():
    changes = apply_text(
        block("app/main.py", '    return {"hello": "world"}', '    return {"hello": "you"}')
    )

    assert changes == {"app/main.py": APP.replace("world", "you").encode()}


def test_one_answer_writes_and_deletes_whole_files():
    changes = apply_text("FILE: new/x.py\n<<<<<<< WHOLE\nx = 1\n>>>>>>> END\n\nDELETE: README.md\n")

    assert changes == {"new/x.py": b"x = 1\n", "README.md": None}


def test_edit_example_in_prompt_can_be_parsed():
    assert [edit.kind for edit in edits.parse_edits(edits.FORMAT)] == ["whole", "replace"]


BODY = HEALTH.rstrip("\n")
MAIN = "FILE: app/main.py\n"
WHOLE = f"<<<<<<< WHOLE\n{BODY}\n>>>>>>> END"
LENIENT = {
    "a fence round the block": f"```\n{MAIN}{WHOLE}\n```\n",
    "a fence between path and block": f"{MAIN}```python\n{WHOLE}\n```\nDone.",
    "a fence inside the block": f"{MAIN}<<<<<<< WHOLE\n```python\n{BODY}\n```\n>>>>>>> END",
    "a fence instead of markers": f"{MAIN}```python\n{BODY}\n```\nThat is all.\n```sh\npytest\n```",
    "the path inside the fence": f"Here it is:\n```python\n# {MAIN}{BODY}\n```\n",
    "a decorated path": f"### **File: `app/main.py`**\n\n```python\n{BODY}\n```\n",
    "a bare path": f"Sure!\n\napp/main.py\n```python\n{BODY}\n```\n",
    "a path as the prompt quotes it": f"=== app/main.py\n{WHOLE}",
    "the path on the marker": f"<<<<<<< WHOLE app/main.py\n{BODY}\n>>>>>>> END",
    "no closing marker": f"{MAIN}<<<<<<< WHOLE\n{BODY}\n\n",
    "no closing marker in a fence": f"```\n{MAIN}<<<<<<< WHOLE\n{BODY}\n```\nI added the route.",
    "no closing marker, fence inside": f"{MAIN}<<<<<<< WHOLE\n```python\n{BODY}\n```\nI added it.",
    "no closing fence": f"{MAIN}```python\n{BODY}\n",
    "CRLF": f"{MAIN}{WHOLE}\n".replace("\n", "\r\n"),
    "longer markers": f"{MAIN}<<<<<<<<<< WHOLE\n{BODY}\n>>>>>>>>>> END\n",
    "markers of two lengths": f"{MAIN}<<<<<< WHOLE\n{BODY}\n>>>>>>>> END\n",
    "closed twice": f"{MAIN}<<<<<<< WHOLE\n{BODY}\n>>>>>>> REPLACE\n>>>>>>> END\n",
    "thoughts before it": f"<think>\nFILE: a.py\n<<<<<<< WHOLE\n</think>\n{MAIN}```\n{BODY}\n```",
    "prose between": f"{MAIN}Here is the file:\n{WHOLE}\nfile: done",
    "a remark": f"FILE: app/main.py (modified)\n{WHOLE}\n",
}


@pytest.mark.parametrize("text", LENIENT.values(), ids=LENIENT)
def test_answer_with_sloppy_format_is_accepted(text):
    assert apply_text(text) == {"app/main.py": HEALTH.encode()}


RETURN, NEW = '    return {"hello": "world"}', '    return {"hello": "you"}'
SEARCH, REPLACE = "<<<<<<< SEARCH\n", "\n>>>>>>> REPLACE"
LENIENT_BLOCKS = {
    "fences inside and no closing marker": (
        f"app/main.py\n{SEARCH}```python\n{RETURN}\n```\n=======\n```python\n{NEW}\n```\n"
    ),
    "prose after it": (
        f"app/main.py\n{SEARCH}```python\n{RETURN}\n```\n=======\n```python\n{NEW}\n```\nDone."
    ),
    "a fence round it": f"app/main.py\n```\n{SEARCH}{RETURN}\n=======\n{NEW}\n```",
    "another divider": f"{MAIN}{SEARCH}{RETURN}\n==========\n{NEW}\n>>>>>>>\n",
    "blanks at the ends": f"{MAIN}{SEARCH}{RETURN}   \n=======\n{NEW}{REPLACE}\n",
    "further out": f"{MAIN}{SEARCH}{RETURN.strip()}\n=======\n{NEW.strip()}{REPLACE}\n",
    "further in": f"{MAIN}{SEARCH}\t{RETURN}\n=======\n\t{NEW}{REPLACE}\n",
}


@pytest.mark.parametrize("text", LENIENT_BLOCKS.values(), ids=LENIENT_BLOCKS)
def test_edit_block_with_sloppy_format_is_accepted(text):
    assert apply_text(text) == {"app/main.py": APP.replace("world", "you").encode()}


def test_edit_block_without_path_uses_previous_path():
    second = block("", "app = FastAPI()", "app = FastAPI(title='x')").partition("\n")[2]
    changes = apply_text(block("app/main.py", RETURN, NEW) + "\nand\n" + second)

    assert (
        changes["app/main.py"]
        == APP.replace("world", "you").replace("FastAPI()", "FastAPI(title='x')").encode()
    )


MALFORMED = {
    "": "has no edits",
    "I cannot do that.": "has no edits",
    "<<<<<<< WHOLE\nx\n>>>>>>> END": "does not name its file",
    "FILE: a.py\nx = 1\n": "FILE: a.py has no block below it",
    "FILE: a.py\n\nFILE: b.py\n```\nx\n```": "FILE: a.py has no block below it",
    "FILE: a.py\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE": "Block 1 (a.py) does not have exactly one line of 7 equals signs",
    "FILE: a.py\n<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE": "exactly one line of 7 equals signs",
    "FILE: a.py\n<<<<<<< WHOLE\nx\nFILE: b.py\n<<<<<<< WHOLE\ny\n>>>>>>> END": "opens another block",
    "FILE: a.py\n<<<<<<< WHOLE\nx\n>>>>>>> END\ny\n>>>>>>> END": "Line 6 of the answer closes a block that is not open",
    "FILE: a.py\n<<<<<<< WHOLE\nx\0\n>>>>>>> END": "NUL",
    f"FILE: a.py\n<<<<<<< WHOLE\nx = 1\n\n{CUT}\n": "cut off",
}


@pytest.mark.parametrize("text, said", MALFORMED.items())
def test_ambiguous_edit_answer_is_refused(text, said):
    assert said in refusal(text)


def test_refusal_names_nearest_match_and_differing_line():
    said = refusal(block("app/main.py", '@app.get("/")\ndef root() -> dict[str, int]:', "pass"))

    assert said.startswith("Block 1 (app/main.py) matches nothing in the file.")
    assert "The nearest place is lines 6-7; they differ at line 7" in said
    assert "'def root() -> dict[str, str]:'" in said and "'def root() -> dict[str, int]:'" in said


def test_refusal_names_most_similar_line():
    assert "lines 3-3" in refusal(block("app/main.py", "app = FastApi()", "app = None"))
    assert "No line of the file resembles" in refusal(block("app/main.py", "zzzzzzzz", "y"))
    assert "the file ends before" in refusal(block("app/main.py", RETURN + "\nmore", "y"))


def test_edit_block_that_matches_twice_is_refused():
    assert "fits in 2 places, at lines 1, 3" in refusal(
        block("a.py", "x", "y"), {"a.py": b"x\nz\nx\n"}
    )
    assert "fits in 2 places" in refusal(block("a.py", "x", "y"), {"a.py": b"x \nz\nx\t\n"})
    assert "fits in 2 places" in refusal(block("a.py", "x", "y"), {"a.py": b" x\nz\n\tx\n"})


def test_exact_match_is_preferred_to_loose_matches():
    assert apply_text(block("a.py", "x", "y"), {"a.py": b" x\nx\nx \n"}) == {"a.py": b" x\ny\nx \n"}


def test_one_invalid_edit_refuses_all_edits():
    good, bad = block("app/main.py", RETURN, NEW), block("README.md", "# Ap", "# B")

    assert "Block 2 (README.md)" in refusal(good + bad)


REFUSED = {
    block("app/main.py", RETURN, RETURN): "change nothing",
    block("app/main.py", "", "x"): "searches for nothing",
    block("no.py", "x", "y"): "does not exist",
    "DELETE: no.py": "does not exist",
    block("README.md", "# App", "<<<<<<< HEAD"): "looks like a marker",
    block("README.md", "# App", "FILE: b.py"): "looks like a marker",
    "FILE: README.md\n<<<<<<< WHOLE\nx\n>>>>>>>>>\n>>>>>>> END": "looks like a marker",
    "FILE: README.md\n<<<<<<< WHOLE\nx\ufffd\n>>>>>>> END": "not text",
    "FILE: README.md\n<<<<<<< WHOLE\ny\ud800\n>>>>>>> END": "UTF-8",
    "FILE: README.md\n<<<<<<< WHOLE\n" + "x" * 1_000_001 + "\n>>>>>>> END": "1,000,002 bytes",
    block("README.md", "# App", "# B")
    + "DELETE: README.md": "Blocks 1 and 2 are both for README.md",
    block("new.py", "", "x") + block("new.py", "", "y"): "Blocks 1 and 2 are both for new.py",
    block("app/main.py", RETURN, NEW) * 2: "Blocks 1 and 2 overlap in app/main.py, at line 8",
    block("app/main.py", "def root() -> dict[str, str]:\n" + RETURN, "x")
    + block("app/main.py", RETURN, NEW): "overlap",
}


@pytest.mark.parametrize("text, said", REFUSED.items(), ids=range(len(REFUSED)))
def test_edits_that_cannot_apply_are_refused(text, said):
    assert said in refusal(text)


@pytest.mark.parametrize(
    "data, said",
    [(b"a\0b", "not a text file"), (b"\xff\xfe", "not a text"), (b"x" * 1_000_001, "bytes")],
)
def test_edit_of_binary_or_huge_file_is_refused(data, said):
    assert said in refusal("FILE: b\n<<<<<<< WHOLE\nx\n>>>>>>> END", {"b": data})
    assert said in refusal(block("b", "x", "y"), {"b": data})


def test_edit_with_empty_search_creates_file():
    assert apply_text(block("new.py", "", "x = 1")) == {"new.py": b"x = 1\n"}


def test_conflict_marker_already_in_file_is_allowed():
    base = {"a.md": b"<<<<<<< HEAD\nx\n"}

    assert apply_text(block("a.md", "x", "y"), base) == {"a.md": b"<<<<<<< HEAD\ny\n"}


PATHS = [
    "/etc/passwd", "~/x", "C:/x", "C:x", "../x", "a/../../x", "../target-evil/x", "a\\..\\b",
    ".git/hooks/pre-commit", ".GIT/config", "a/.git/x", ".git", ".git./x", "git~1/x",
    ".g\u200cit/x", "\uff0egit/x", "con", "a/NUL.txt", "x/aux.py", "COM1", "lpt9.log", "a/", ".",
    "", "a:b", "a/b.", "a /b", "a\nb", "a\x7fb", "x" * 256, "a/" * 500 + "x", "\ud800", "a*b",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_edit_of_path_outside_root_is_refused(path):
    with pytest.raises(EditRefused, match="refused"):
        edits.apply_edits([Edit("whole", path, text=("x",), number=1)], BASE.get)


@pytest.mark.parametrize(
    "path", ["app/main.py", "./app//main.py", "a b/ü.py", ".github/x.yml", ".gitignore", "con_x.py"]
)
def test_edits_of_unusual_but_safe_paths_are_allowed(path):
    assert len(edits.apply_edits([Edit("whole", path, text=("x",))], BASE.get)) == 1


@pytest.mark.parametrize("path", ["App/main.py", "app/MAIN.py", "readme.md", "app", "README.md/x"])
def test_edit_of_path_that_clashes_is_refused(path):
    text = f"FILE: {path}\n<<<<<<< WHOLE\nx\n>>>>>>> END"

    assert refusal(text, existing_paths=BASE)


def test_new_files_differing_only_in_case_are_refused():
    assert "treat the two paths as one" in refusal(
        "FILE: A.py\n```\nx\n```\nFILE: a.py\n```\nx\n```\n"
    )


def test_edit_of_symbolic_link_is_refused():
    text = "FILE: app/sub/x.py\n<<<<<<< WHOLE\nx\n>>>>>>> END"

    for link in ("app", "app/sub", "app/sub/x.py"):
        assert "symbolic link" in refusal(text, is_link=link.__eq__)


@pytest.mark.parametrize(
    "base, text, new",
    [
        (b"a\r\nb\r\n", ("c", "d"), b"a\r\nc\r\nd\r\n"),
        (b"a\r\nb", ("b", "c"), b"a\r\nb\r\nc"),
        (b"a\r\nb", (), b"a"),
        (b"a\nb", ("c",), b"a\nc"),
        (b"\xef\xbb\xbfb\n", ("c",), b"\xef\xbb\xbfc\n"),
        (b"b\r\nx\ny\r\nz\r\n", ("c", "d"), b"c\r\nd\r\nx\ny\r\nz\r\n"),
        (b"b", ("c", "b"), b"c\nb"),
    ],
)
def test_replacing_lines_keeps_line_ends_and_bom(base, text, new):
    assert edits.apply_edits([Edit("replace", "x", ("b",), text)], {"x": base}.get) == {"x": new}


def test_whole_file_edit_keeps_line_ends():
    whole = [Edit("whole", "x", text=("1", "2"))]

    assert edits.apply_edits(whole, {"x": b"a\r\nb\r\n"}.get) == {"x": b"1\r\n2\r\n"}
    assert edits.apply_edits(whole, {"x": b"a\nb"}.get) == {"x": b"1\n2"}
    assert edits.apply_edits([Edit("whole", "x")], {"x": b"a\n"}.get) == {"x": b""}


def test_edit_keeps_trailing_blanks_of_unchanged_lines():
    edit = Edit("replace", "x", ("a", "b", "c"), ("a", "B", "c"))

    assert edits.apply_edits([edit], {"x": b"a  \nb\t\nc \n"}.get) == {"x": b"a  \nB\nc \n"}


def test_edit_can_remove_trailing_blanks():
    assert edits.apply_edits([Edit("replace", "x", ("a  ",), ("a",))], {"x": b"a  \n"}.get) == {
        "x": b"a\n"
    }


@pytest.mark.parametrize(
    "base, search, text, new",
    [
        (
            b"if x:\n\tif y:\n\t\tz\n",
            ("if x:", "    if y:", "        z"),
            ("if x:", "    w"),
            b"if x:\n\tw\n",
        ),
        (
            b"if x:\n  if y:\n    z\n",
            ("if x:", "\tif y:", "\t\tz"),
            ("if x:", "\tw"),
            b"if x:\n  w\n",
        ),
        (
            b"    if x:\n\n        y\n",
            ("if x:", "", "    y"),
            ("if x:", "", "    z"),
            b"    if x:\n\n        z\n",
        ),
    ],
)
def test_replacement_keeps_indentation_of_base_file(base, search, text, new):
    assert edits.apply_edits([Edit("replace", "x", search, text)], {"x": base}.get) == {"x": new}


def test_whole_files_are_advised_after_two_refusals():
    assert ["<<<<<<< WHOLE" in edits.advise_whole_files(refused) for refused in range(5)] == [
        False,
        False,
        True,
        False,
        False,
    ]


# Lines of models and files, including some that resemble our markers.
LINES = st.one_of(
    st.sampled_from([
        "", " ", "x", "    x", "\tx", "=======", "=====", " ======== ", "```", "```python",
        "```markdown", "~~~", ">>>>>>>", ">>>>>", ">>> f()", "a.py", "file: a.py", "# FILE: b.py",
        "DELETE: x.py", "<<< x", "-- ", "x  ",
    ]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=12),
)  # fmt: skip
PATH_NAMES = st.sampled_from(["a.py", "src/b.py", "c.md", "d e.txt", "Makefile", "deep/er/f.js"])
TEXTS = st.lists(LINES, max_size=8).map(tuple)


def is_marker(line):
    return OPENING.match(line) or CLOSING.match(line) or line.startswith(edits.LEAKS)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.builds(Edit, st.just("whole"), PATH_NAMES, st.just(()), TEXTS),
            st.builds(Edit, st.just("replace"), PATH_NAMES, TEXTS, TEXTS),
            st.builds(Edit, st.just("delete"), PATH_NAMES),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_rendered_edits_parse_to_the_same_edits(written):
    assume(
        not any(
            OPENING.match(line) or CLOSING.match(line)
            for edit in written
            for line in (*edit.search, *edit.text)
        )
    )

    assert edits.parse_edits(edits.render_edits(written)) == written


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_valid_edits_give_intended_files(data):
    crlf, last = data.draw(st.sampled_from(["\n", "\r\n"])), data.draw(st.booleans())
    kept = data.draw(st.lists(LINES, min_size=2, max_size=12, unique=True))
    cut = data.draw(st.integers(0, len(kept) - 1))
    size = data.draw(st.integers(1, min(4, len(kept) - cut)))
    new = list(data.draw(TEXTS))
    search = tuple(kept[cut : cut + size])
    wanted = [*kept[:cut], *new, *kept[cut + size :]]
    assume(any(line.strip() for line in search) and kept[-1] and wanted and wanted[-1])
    assume(not any(is_marker(line) for line in (*kept, *new)) and wanted != kept)
    base = (crlf.join(kept) + crlf * last).encode()
    assume(b"\xef\xbb\xbf" not in base[:3] and crlf.encode() in base)

    text = edits.render_edits([Edit("replace", "a.py", search, tuple(new))])

    assert edits.apply_edits(edits.parse_edits(text), {"a.py": base}.get) == {
        "a.py": (crlf.join(wanted) + crlf * last).encode()
    }


GARBAGE = st.lists(
    st.one_of(
        st.sampled_from([
            "FILE: app/main.py", "FILE: ../x", "DELETE: README.md", "<<<<<<< SEARCH",
            "<<<<<<< WHOLE", "=======", ">>>>>>> REPLACE", ">>>>>>> END", "```python", "```",
            "app = FastAPI()", "# App", "README.md", "\0", "\ud800",
        ]),
        st.text(max_size=20),
    ),
    max_size=25,
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(GARBAGE)
def test_fuzzed_edit_text_is_parsed_or_refused(lines):
    try:
        changes = apply_text("\n".join(lines), existing_paths=BASE)
    except EditRefused as error:
        assert str(error) and error.reason == "malformed"
    else:
        assert changes and ".." not in "".join(changes)


LONG = 200_000
HOSTILE = {
    "marks": "#" * LONG, "ticks": "`" * LONG, "stars": "*" * LONG + "FILE", "dots": "." * LONG,
    "a path": "a/" * LONG, "a blank path": "FILE: a" + " " * LONG + "b",
    "remarks": "FILE: a" + " (new" * LONG, "a fence": "```x" + " " * LONG + "y",
    "an opening": "<<< SEARCH x" + " " * LONG + "y",
    "a divider": "FILE: a\n<<<<<<< SEARCH\n" + "=======\n" * 20_000,
    "blank lines": "FILE: a\n<<<<<<< WHOLE" + "\n" * LONG + ">>>>>>> x",
    "thoughts": "<think>" * 20_000, "headers": "FILE: a\n" * 20_000,
    "closings": "\n>>>>>>> END" * 20_000, "too much": "x" * 4_000_001,
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_answer_is_read_in_linear_time(text):
    """Read texts for which quadratic time would take minutes."""
    try:
        edits.parse_edits(text)
    except EditRefused:
        pass


def test_hostile_block_is_matched_in_bounded_time():
    base = {"a": b"x" * 900_000, "b": b"same\n" * 90_000}

    assert "matches nothing" in refusal(block("a", "y" * 900_000, "z"), base)
    assert "matches nothing" in refusal(block("b", "same\n" * 2_000 + "other", "z"), base)
    assert "fits in 100 or more places" in refusal(block("b", "same\n" * 2_000 + "same", "z"), base)
