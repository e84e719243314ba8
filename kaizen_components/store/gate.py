"""The write gate: one OS file lock around open, write, checkpoint and close.

SQLite 3.45.1 inside libsql has the WAL-reset race; without this lock two writers beside a checkpoint
corrupted the file within minutes (DESIGN, section 4). The lock also makes the queue of writers fair.
"""

import os
import time

from ..errors import Busy, Unavailable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

EXCLUSIVE = fcntl.LOCK_EX if fcntl else 0
POLL_S = 0.005
FOLDER_TRIES = 100


def read_timeout_s() -> float:
    """Return how long a writer waits for the lock: KAIZEN_BUSY_TIMEOUT_S, or 30 seconds."""
    try:
        seconds = float(os.environ.get("KAIZEN_BUSY_TIMEOUT_S", "30"))
    except ValueError:
        return 30.0
    return min(max(seconds, 0.0), 3600.0) if seconds == seconds else 30.0  # NaN != NaN


class Gate:
    """A lock for `with`. Entering waits for the lock, and raises Busy if that takes too long.

    With `keep_open` the lock file stays open after `with`. `make_folder` makes a missing folder.
    """

    def __init__(
        self,
        path: str,
        keep_open: bool = False,
        make_folder: "Callable[[], None] | None" = None,
    ) -> None:
        self.path = path
        self.keep_open = keep_open
        self._make_folder = make_folder
        self.wait_max_s: float | None = None  # a shorter limit than the usual wait
        self._fd = -1
        self._pid = 0
        self._file: tuple[int, int] | None = None

    def __enter__(self) -> "Gate":
        if self._pid != os.getpid():  # a forked child shares the file and the lock of its parent
            self.close()
        while True:
            if self._fd < 0:
                self._open()
            try:
                if not try_lock(self._fd):
                    _wait_for_lock(self._fd, self.wait_s())
                try:
                    stat = os.stat(self.path)
                    if self._file == (stat.st_dev, stat.st_ino):
                        return self
                except FileNotFoundError:
                    pass
            except BaseException:
                self.close()
                raise
            self.close()  # the lock file was removed or replaced: a lock on the old one is useless

    def __exit__(self, *exc: object) -> None:
        if self.keep_open:
            _unlock(self._fd)
        else:
            self.close()  # closing the file releases the lock

    def wait_s(self) -> float:
        """Return how long to wait for the lock."""
        usual_s = read_timeout_s()
        return usual_s if self.wait_max_s is None else min(usual_s, self.wait_max_s)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _open(self) -> None:
        """Open the file. Retry: a failed first write of another process may remove the folder."""
        tries = FOLDER_TRIES if self._make_folder else 0
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        while True:
            try:
                self._fd, self._pid = os.open(self.path, flags, 0o644), os.getpid()
                break
            except OSError as error:
                is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
                if not is_missing or not tries or not self._make_folder:
                    raise Unavailable(
                        "folder_not_writable",
                        "The database folder cannot be written.",
                        f"{os.path.basename(self.path)}: {error.strerror}",
                        "Make AI/db writable, or set KAIZEN_REPO_ROOT to a project that is. "
                        "`K11` shows more.",
                    ) from None
            tries -= 1
            self._make_folder()
        stat = os.fstat(self._fd)
        self._file = (stat.st_dev, stat.st_ino)


def is_held(path: str) -> bool:
    """Return whether a process holds the lock right now. Create no file and do not wait."""
    try:
        fd = os.open(path, os.O_RDONLY if fcntl else os.O_RDWR)
    except OSError:
        return False
    try:
        return not try_lock(fd)
    finally:
        os.close(fd)


def _busy_error(seconds: float) -> Busy:
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

    def lock_out_writers(path: str, seconds: float) -> int:
        """Take a shared lock that keeps writers out. Return its descriptor, or -1 on failure."""
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
        """Wait in the kernel's fair queue until an alarm. Outside the main thread, poll instead."""
        import _signal  # `signal` itself would load enum and re

        def on_alarm(signum: int, frame: object) -> None:
            raise _busy_error(seconds)

        try:
            handler = _signal.signal(_signal.SIGALRM, on_alarm)
        except ValueError:  # not the main thread
            return _poll_for_lock(fd, seconds, kind)
        start = time.monotonic()
        left, interval = _signal.getitimer(_signal.ITIMER_REAL)
        try:
            # The alarm repeats, because the first one may come before flock.
            _signal.setitimer(_signal.ITIMER_REAL, seconds or 0.001, 0.1)
            fcntl.flock(fd, kind)
        finally:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            _signal.signal(_signal.SIGALRM, handler)
            if left:  # restore the caller's alarm
                left = max(left - (time.monotonic() - start), 0.001)
                _signal.setitimer(_signal.ITIMER_REAL, left, interval)
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

    def lock_out_writers(path: str, seconds: float) -> int:
        return -1  # on Windows a reader can always make its -shm file


def _poll_for_lock(fd: int, seconds: float, kind: int = EXCLUSIVE) -> None:
    deadline = time.monotonic() + seconds
    while not try_lock(fd, kind):
        if time.monotonic() > deadline:
            raise _busy_error(seconds)
        time.sleep(POLL_S)
