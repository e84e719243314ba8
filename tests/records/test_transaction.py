"""A process that stays remembers the end of the log, and notices when another one moved it."""

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import KaizenError

TASK = {"title": "A task", "summary": "That somebody wrote."}


def test_two_that_keep_their_connections_write_one_log(kaizen, root):
    other = Door(str(root), keep_open=True)
    written = [door("W1", **TASK)["log_index"] for _ in range(5) for door in (kaizen, other, kaizen)]
    other.close()

    assert written == list(range(15))
    assert kaizen("K8")["entries"] == 15


def test_a_refused_write_leaves_the_remembered_end_as_it_was(kaizen):
    kaizen("W1", **TASK)
    with pytest.raises(KaizenError):
        kaizen("K5", file=str(_batch(kaizen)))

    assert kaizen("W1", **TASK)["log_index"] == 1
    assert kaizen("K8")["entries"] == 2


def _batch(kaizen):
    path = f"{kaizen.store.place.root}/batch.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            '{"command": "W1", "args": {"title": "x", "summary": "y"}}\n{"command": "W2", "args": {"id": "$9.id"}}\n'
        )
    return path
