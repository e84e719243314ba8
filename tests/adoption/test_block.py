"""Our lines in a file of theirs: whatever the bytes, they come back."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kaizen_components.projects.adopt import block
from kaizen_components.projects.adopt.finding import hash_of

LINES = b"First.\n\nSecond.\n"
theirs = st.one_of(
    st.binary(max_size=60),
    st.lists(
        st.sampled_from([b"a", b"\n", b"\r\n", b"<!-- ", b"# ", b" -->", b"kaizen:end", b"\xef\xbb\xbf", b" "])
    ).map(b"".join),
)
comments = st.sampled_from(sorted(block.COMMENTS))


def without_markers(content):
    return b"kaizen:end" not in content


@settings(max_examples=500)
@given(theirs.filter(without_markers), comments)
@example(b"\r", "md")
def test_any_file_comes_back_to_the_byte(content, comment):
    written, glue = block.put(content, comment, LINES, "x")

    assert written.startswith(content)
    assert block.put(written, comment, LINES, "x") == (written, b"")
    assert block.taken_out(written, comment, "x", glue, hash_of(content)) == content


@given(theirs.filter(without_markers), theirs.filter(without_markers), theirs.filter(without_markers), comments)
def test_what_is_written_before_and_after_stays_to_the_byte(content, above, below, comment):
    written, glue = block.put(content, comment, LINES, "x")
    head, tail = (b"" if not above else above + b"\n"), below
    changed = head + written + tail
    left = block.taken_out(changed, comment, "x", glue, hash_of(content))

    assert left.startswith(head + content) and left.endswith(tail)
    assert left in (head + content + tail, head + content + glue + tail)


@given(theirs.filter(without_markers), comments)
def test_a_new_version_takes_the_place_of_the_old_one(content, comment):
    written, glue = block.put(content, comment, b"Old.\n", "x")
    anew, _ = block.put(written + b"Below.\n", comment, LINES, "x")

    assert anew.startswith(content + glue) and anew.endswith(b"Below.\n") and b"Old." not in anew[len(content) :]
    found = block.find(anew, comment, "x")
    assert found is not None and found.lines == LINES and found.version == block.version_of(LINES)
