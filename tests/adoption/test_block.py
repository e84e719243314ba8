"""Check that the lines that we add to a user's file leave all other bytes unchanged."""

from hypothesis import given
from hypothesis import strategies as st

from kaizen_components.projects.adopt import block

LINES = b"First.\n\nSecond.\n"
pieces = st.sampled_from(
    [b"a", b"\n", b"\r\n", b"<!-- ", b"# ", b" -->", b"\xef\xbb\xbf", b"\xff", b" "]
)
theirs = st.lists(pieces).map(b"".join)
paths = st.sampled_from(["AGENTS.md", ".gitignore"])


@given(theirs, theirs, theirs, paths)
def test_removing_agents_block_leaves_other_bytes_unchanged(content, above, below, path):
    written = block.put_block(content, LINES, path)
    assert written.startswith(content) and block.put_block(written, LINES, path) == written
    assert block.cut_block(written, path).rstrip(b"\r\n") == content.rstrip(b"\r\n")

    head = above + b"\n" if above else b""
    left = block.cut_block(head + written + below, path)
    assert left.startswith((head + content).rstrip(b"\r\n")) and left.endswith(below)


@given(theirs, paths)
def test_new_agents_block_replaces_old_one(content, path):
    old = block.put_block(content, b"Old.\n", path) + b"Below.\n"
    new = block.put_block(old, LINES, path)

    assert (
        new.startswith(content) and new.endswith(b"Below.\n") and b"Old." not in new[len(content) :]
    )
    assert b"Second." in new and block.cut_block(new, path) == block.cut_block(old, path)
