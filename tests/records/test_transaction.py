"""A process that stays remembers the end of the log, and notices when another one moved it."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

from kaizen_components.call import Door
from kaizen_components.errors import Busy, KaizenError
from kaizen_components.store.gate import is_held

TASK = {"title": "A task", "summary": "That somebody wrote."}


def test_two_open_doors_append_to_same_log(kaizen, root):
    other = Door(str(root), keep_open=True)
    written = [
        door("W1", **TASK)["log_index"] for _ in range(5) for door in (kaizen, other, kaizen)
    ]
    other.close()

    assert written == list(range(15))
    assert kaizen("K8")["entries"] == 15


def test_write_after_refused_batch_continues_log(kaizen):
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


class Interrupted(Exception):
    pass


def test_door_works_after_interrupts_at_random_moments(kaizen):
    """The time limit of a host may raise between any two lines."""

    def strike(number, frame):
        raise Interrupted

    before = signal.signal(signal.SIGALRM, strike)
    chance = random.Random(3)
    try:
        for _ in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.0002, 0.004))
                for _ in range(3):
                    kaizen("W1", **TASK)
                    kaizen("W9")
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupted:
                pass
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            kaizen("W1", **TASK)
    finally:
        signal.signal(signal.SIGALRM, before)
    other = Door(kaizen.store.place.root)
    other("W1", **TASK)

    assert kaizen("K8")["verified"]


def test_door_recreates_removed_data_folder(kaizen, root):
    kaizen("W1", **TASK)
    shutil.rmtree(root / "AI")

    assert kaizen("W1", **TASK)["log_index"] == 0
    shutil.rmtree(root / "AI")
    kaizen.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_forked_child_waits_for_lock_of_its_parent(kaizen, root):
    kaizen("W1", **TASK)
    lock = kaizen.store.place.lock
    with kaizen.store.gate:
        child = os.fork()
        if child == 0:
            try:
                os.environ["KAIZEN_BUSY_TIMEOUT_S"] = "0.2"
                with kaizen.store.gate:
                    os._exit(1)
            except Busy:
                os._exit(0)
            os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert is_held(lock)


def test_waiting_for_lock_keeps_alarm_of_caller(kaizen):
    kaizen("W1", **TASK)
    rung = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rung.append(number))
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys, time; f = open(sys.argv[1], 'r+'); fcntl.flock(f, fcntl.LOCK_EX);"
         "print('held', flush=True); time.sleep(0.5)", kaizen.store.place.lock], stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        holder.stdout.readline()
        signal.setitimer(signal.ITIMER_REAL, 1.0)
        kaizen("W1", **TASK)
        time.sleep(1.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        holder.communicate()

    assert rung == [signal.SIGALRM]
