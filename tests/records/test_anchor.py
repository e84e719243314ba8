"""Anchors: one for every commit, appended after it, and a torn one harms nothing."""

import os

from kaizen_components.records.ledger import anchor
from kaizen_components.records.ledger.hashing import Frontier, hash_leaf


def grown(size):
    frontier = Frontier()
    for index in range(size):
        frontier.append(hash_leaf(str(index)))
    return frontier


def test_every_commit_anchors_its_size_and_root(kaizen, root):
    for _ in range(3):
        kaizen("W1", title="t", summary="s")
    facts = kaizen("K1")
    anchors, damaged = anchor.read_anchors(str(root / "AI" / "db" / "manifests" / "checkpoints"))

    assert [size for _, size, _ in anchors] == [1, 2, 3] and damaged == 0
    assert anchors[-1] == (facts["origin"], 3, facts["root"])


def test_half_written_anchor_is_counted_and_next_is_readable(tmp_path):
    path = str(tmp_path / "checkpoints")
    anchor.AnchorFile(path).append("o", grown(0), grown(1))
    with open(path, "ab") as file:
        file.write(b"o\n2\nAAA")
    anchor.AnchorFile(path).append("o", grown(2), grown(3))
    anchors, damaged = anchor.read_anchors(path)

    assert [size for _, size, _ in anchors] == [1, 3]
    assert damaged == 1


def test_missing_anchor_file_has_no_anchors(tmp_path):
    assert anchor.read_anchors(str(tmp_path / "none")) == ([], 0)


def test_write_warns_when_anchors_have_more_entries(
    tmp_path,
):
    path = str(tmp_path / "checkpoints")
    anchor.AnchorFile(path).append("o", grown(0), grown(5))
    warning = anchor.AnchorFile(path).append("o", grown(4), grown(6))
    anchors, _ = anchor.read_anchors(path)

    assert "5 entries" in warning and "had 4" in warning
    assert [size for _, size, _ in anchors] == [5, 4, 6]
    assert anchor.AnchorFile(path).append("o", grown(6), grown(7)) is None


def test_next_anchor_after_lost_one_gives_no_warning(tmp_path):
    path = str(tmp_path / "checkpoints")
    anchor.AnchorFile(path).append("o", grown(0), grown(1))

    assert anchor.AnchorFile(path).append("o", grown(2), grown(3)) is None


def test_open_anchor_file_notices_anchors_of_other_process(tmp_path):
    path = str(tmp_path / "checkpoints")
    mine = anchor.AnchorFile(path)
    mine.append("o", grown(0), grown(1))
    assert mine.append("o", grown(1), grown(2)) is None
    anchor.AnchorFile(path).append("o", grown(2), grown(9))

    assert "9 entries" in mine.append("o", grown(2), grown(3))


def test_anchor_without_its_line_break_stays_readable(tmp_path):
    path = str(tmp_path / "checkpoints")
    anchor.AnchorFile(path).append("o", grown(0), grown(1))
    anchor.AnchorFile(path).append("o", grown(1), grown(2))
    os.truncate(path, os.path.getsize(path) - 1)

    assert anchor.AnchorFile(path).append("o", grown(2), grown(3)) is None
    assert [size for _, size, _ in anchor.read_anchors(path)[0]] == [1, 2, 3]
