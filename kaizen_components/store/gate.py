"""The write gate: one OS file lock around open, write, checkpoint and close.

SQLite 3.45.1 inside libsql has the WAL-reset race; without this lock two writers beside a checkpoint corrupted
the file within minutes (DESIGN, section 4). The lock also makes the queue of writers fair.
"""

import os
import time

from ..errors import Busy, Unavailable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

EXCLUSIVE = fcntl.LOCK_EX if fcntl else 0
POLL_S = 0.005
FOLDER_TRIES = 100


def read_timeout_s() -> float:
    """How long a writer waits for its turn: KAIZEN_BUSY_TIMEOUT_S, 30 seconds unless told."""
    try:
        seconds = float(os.environ.get("KAIZEN_BUSY_TIMEOUT_S", "30"))
    except ValueError:
        return 30.0
    return min(max(seconds, 0.0), 3600.0) if seconds == seconds else 30.0  # NaN is not itself


class Gate:
    """Held by `with`; entering waits for its turn, or raises Busy. If it `stays`, its file is open between turns.
    `make_folder` is called when there is none for the file."""

    def __init__(self, path: str, stays: bool = False, make_folder=None):
        self.path = path
        self.keeps_file = stays
        self._make_folder = make_folder
        self.wait_max_s: float | None = None  # less than the usual wait, for what is not worth it
        self._fd = -1
        self._pid = 0
        self._file: tuple[int, int] | None = None

    def __enter__(self):
        if (
            self._pid != os.getpid()
        ):  # a fork shares the lock of its parent with the file; it needs one of its own
            self.close()
        while True:
            if self._fd < 0:
                self._fd, self._pid = self._opened(), os.getpid()
                found = os.fstat(self._fd)
                self._file = (found.st_dev, found.st_ino)
            try:
                if not try_lock(self._fd):
                    _wait_for_lock(self._fd, self.wait_s())
                if self._is_current():
                    return self
            except BaseException:
                self.close()
                raise
            self.close()  # the lock file was removed or replaced: what we hold locks nobody out

    def __exit__(self, *exc):
        if self.keeps_file:
            _unlock(self._fd)
        else:
            self.close()  # which releases the lock

    def wait_s(self) -> float:
        return (
            read_timeout_s() if self.wait_max_s is None else min(read_timeout_s(), self.wait_max_s)
        )

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _opened(self):
        """The file, open. Whoever is refused a first write takes the folder back, at any moment."""
        tries = FOLDER_TRIES if self._make_folder else 0
        while True:
            try:
                return os.open(
                    self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644
                )
            except OSError as error:
                if not tries or not isinstance(error, (FileNotFoundError, NotADirectoryError)):
                    raise Unavailable(
                        "folder_not_writable",
                        "The database folder cannot be written.",
                        f"{os.path.basename(self.path)}: {error.strerror}",
                        "Make AI/db writable, or point KAIZEN_REPO_ROOT at a project that is. `K11` shows more.",
                    ) from None
            tries -= 1
            self._make_folder()

    def _is_current(self):
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return False
        return self._file == (found.st_dev, found.st_ino)


def is_held(path: str) -> bool:
    """Is somebody inside the gate right now? Creates nothing and waits for nothing."""
    try:
        fd = os.open(
            path, os.O_RDONLY if fcntl else os.O_RDWR
        )  # whoever may only read may ask, too
    except OSError:
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def _busy(seconds: float) -> Busy:
    return Busy(
        "busy",
        "Another process is writing to this database.",
        f"The write lock was not free within {seconds:g} s.",
        "Try again, or raise KAIZEN_BUSY_TIMEOUT_S.",
    )


if fcntl:

    def try_lock(fd: int, kind: int = EXCLUSIVE) -> bool:
        try:
            fcntl.flock(fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise Unavailable(
                "no_locks",
                "This file system cannot lock files.",
                str(error.strerror),
                "Keep AI/db on a local disk.",
            ) from None
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)

    def share(path: str, seconds: float) -> int:
        """Keep writers out while a reader that cannot see them reads; -1 if there is no lock file."""
        try:
            fd = os.open(path, os.O_RDONLY)
        except OSError:
            return -1
        try:
            if not try_lock(fd, fcntl.LOCK_SH):
                _wait_for_lock(fd, seconds, fcntl.LOCK_SH)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _wait_for_lock(fd: int, seconds: float, kind: int = EXCLUSIVE) -> None:
        """Queue in the kernel, which is fair, with an alarm as the time limit; threads have to poll."""
        import _signal  # `signal` itself would load enum and re

        def on_alarm(signum, frame):
            raise _busy(seconds)

        try:
            before = _signal.signal(_signal.SIGALRM, on_alarm)
        except ValueError:  # not the main thread
            return _poll_for_lock(fd, seconds, kind)
        start, (left, again) = time.monotonic(), _signal.getitimer(_signal.ITIMER_REAL)
        try:
            _signal.setitimer(
                _signal.ITIMER_REAL, seconds or 0.001, 0.1
            )  # again, if the first comes before flock
            fcntl.flock(fd, kind)
        finally:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            _signal.signal(_signal.SIGALRM, before)
            if left:  # the caller's own alarm goes on
                _signal.setitimer(
                    _signal.ITIMER_REAL, max(left - (time.monotonic() - start), 0.001), again
                )
        return None

else:
    import msvcrt

    def try_lock(fd: int, kind: int = EXCLUSIVE) -> bool:
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined]

    def _wait_for_lock(fd: int, seconds: float, kind: int = EXCLUSIVE) -> None:
        _poll_for_lock(fd, seconds)

    def share(path: str, seconds: float) -> int:
        return -1  # Windows has no folders of that kind


def _poll_for_lock(fd: int, seconds: float, kind: int = EXCLUSIVE) -> None:
    deadline = time.monotonic() + seconds
    while not try_lock(fd, kind):
        if time.monotonic() > deadline:
            raise _busy(seconds)
        time.sleep(POLL_S)
