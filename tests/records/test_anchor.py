"""Anchors: one for every commit, appended after it, and a torn one harms nothing."""

from kaizen_components.records import anchor
from kaizen_components.records.hashing import Frontier, leaf_hash


def grown(size):
    frontier = Frontier()
    for index in range(size):
        frontier.append(leaf_hash(str(index)))
    return frontier


def test_every_commit_leaves_an_anchor_with_the_size_and_root_of_that_moment(kaizen, root):
    for _ in range(3):
        kaizen("W1", title="t", summary="s")
    facts = kaizen("K1")
    anchors, damaged = anchor.read(str(root / "AI" / "db" / "manifests" / "checkpoints"))

    assert [size for _, size, _ in anchors] == [1, 2, 3] and damaged == 0
    assert anchors[-1] == (facts["origin"], 3, facts["root"])


def test_a_torn_anchor_is_counted_and_the_next_one_is_readable(tmp_path):
    path = str(tmp_path / "checkpoints")
    anchor.append(path, "o", grown(1))
    with open(path, "ab") as file:
        file.write(b"o\n2\nAAA")
    anchor.append(path, "o", grown(3))
    anchors, damaged = anchor.read(path)

    assert [size for _, size, _ in anchors] == [1, 3]
    assert damaged == 1


def test_no_file_means_no_anchors(tmp_path):
    assert anchor.read(str(tmp_path / "none")) == ([], 0)
