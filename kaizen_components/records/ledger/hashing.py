"""SHA-256 and the Merkle tree of RFC 6962, without hashlib, whose import takes too long."""

from ...errors import Integrity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...store.connection import Connection

try:
    from _sha2 import sha256 as _sha256  # Python 3.12 and later
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # Python 3.11
    except ImportError:
        from hashlib import sha256 as _sha256


def sha256(data: bytes) -> str:
    return _sha256(data).hexdigest()


def hash_text(text: str) -> str:
    return _sha256(text.encode()).hexdigest()


def hash_leaf(entry: str) -> str:
    return _sha256(b"\0" + entry.encode()).hexdigest()


def hash_node(left: str, right: str) -> str:
    return _sha256(b"\1" + bytes.fromhex(left) + bytes.fromhex(right)).hexdigest()


EMPTY_ROOT = sha256(b"")


class Frontier:
    """The peaks of a Merkle tree. They suffice to append a leaf or compute the root in O(log n)."""

    def __init__(self, size: int = 0, peaks: list[str] | None = None) -> None:
        self.size = size
        self.peaks = peaks or []

    def append(self, leaf: str) -> None:
        below = self.size
        while below & 1:  # two trees of the same height become one
            leaf = hash_node(self.peaks.pop(), leaf)
            below >>= 1
        self.peaks.append(leaf)
        self.size += 1

    def root(self) -> str:
        if not self.peaks:
            return EMPTY_ROOT
        root = bytes.fromhex(self.peaks[-1])
        # Same result as hash_node, but on bytes: every write runs this, so skip the hex conversion.
        for peak in self.peaks[-2::-1]:
            root = _sha256(b"\1" + bytes.fromhex(peak) + root).digest()
        return root.hex()

    def copy(self) -> "Frontier":
        return Frontier(self.size, list(self.peaks))


LOCAL_FRONTIER = """
SELECT origin, size, peaks, (SELECT max(seq) FROM log) FROM frontier WHERE local = 1"""


class LogEnd:
    """The end of a database's own log. Never change it: a cache may share it."""

    def __init__(self, origin: str, frontier: Frontier, schema: int, seq: int) -> None:
        self.origin = origin
        self.frontier = frontier
        self.schema = schema
        self.seq = seq


def read_log_end(connection: "Connection") -> LogEnd:
    """Return the stored end of the log; raise Integrity if its row is damaged."""
    rows = connection.tuples(LOCAL_FRONTIER)
    peaks = rows[0][2].split() if len(rows) == 1 else []
    are_hashes = all(len(peak) == 64 and not peak.strip("0123456789abcdef") for peak in peaks)
    if len(rows) != 1 or len(peaks) != bin(rows[0][1]).count("1") or not are_hashes:
        raise Integrity(
            "frontier_damaged",
            "The stored end of the log is damaged.",
            "The frontier row is missing, duplicated or changed.",
            "Run `K8` to see what is wrong; backups are under AI/db/backups.",
        )
    origin, size, _, seq = rows[0]
    return LogEnd(origin, Frontier(size, peaks), connection.value("PRAGMA user_version"), seq or 0)


class LogEndCache:
    """The end of the log for a long-lived process, valid until another connection commits.

    SQLite's data_version changes with such a commit.
    """

    def __init__(self) -> None:
        self._connection: Connection | None = None
        self._version = -1
        self._end: LogEnd | None = None

    def read(self, connection: "Connection") -> LogEnd:
        """Return the end of the log, from the cache if no other connection has committed."""
        version = connection.read_data_version()
        if self._end is None or connection is not self._connection or version != self._version:
            self._connection, self._version = connection, version
            self._end = read_log_end(connection)
        return self._end

    def forget(self) -> None:
        self._end = None

    def keep(self, end: LogEnd) -> None:
        """Cache the end of the log after our own commit."""
        self._end = end
