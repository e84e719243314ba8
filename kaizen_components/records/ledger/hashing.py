"""SHA-256 and the Merkle tree of RFC 6962, without hashlib (importing it costs 0.3x an empty Python process)."""

from ...errors import Integrity

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
    """The peaks of a Merkle tree: enough to append a leaf and to know the root, in O(log n)."""

    def __init__(self, size: int = 0, peaks: list[str] | None = None):
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
        for peak in self.peaks[
            -2::-1
        ]:  # node_hash without the way through text: every write comes here
            root = _sha256(b"\1" + bytes.fromhex(peak) + root).digest()
        return root.hex()

    def copy(self) -> "Frontier":
        return Frontier(self.size, list(self.peaks))


LOCAL = "SELECT origin, size, peaks, (SELECT max(seq) FROM log) FROM frontier WHERE local = 1"


class LogEnd:
    """Where a database's own log ends: never changed once made, so that it can be kept."""

    def __init__(self, origin, frontier, schema, seq):
        self.origin = origin
        self.frontier = frontier
        self.schema = schema
        self.seq = seq


def read_log_end(connection) -> LogEnd:
    """The end as stored; an Integrity error if that row cannot be right."""
    rows = connection.tuples(LOCAL)
    peaks = rows[0][2].split() if len(rows) == 1 else []
    if len(rows) != 1 or len(peaks) != bin(rows[0][1]).count("1") or not all(map(_is_hash, peaks)):
        raise Integrity(
            "frontier_damaged",
            "The end of the log is not what the log says.",
            "The frontier row is missing, doubled or changed.",
            "Run `K8` to see what is wrong; backups are under AI/db/backups.",
        )
    origin, size, _, seq = rows[0]
    return LogEnd(origin, Frontier(size, peaks), connection.value("PRAGMA user_version"), seq or 0)


class LogEndCache:
    """The end of the log as a process that stays remembers it: good until another connection commits, which SQLite
    tells by its data_version."""

    def __init__(self):
        self._connection = None
        self._version = None
        self._end: LogEnd | None = None

    def read(self, connection) -> LogEnd:
        version = connection.read_data_version()
        if self._end is None or connection is not self._connection or version != self._version:
            self._connection, self._version, self._end = (
                connection,
                version,
                read_log_end(connection),
            )
        return self._end

    def forget(self) -> None:
        self._end = None

    def keep(self, end: LogEnd) -> None:
        """What our own commit made of it."""
        self._end = end


def _is_hash(text):
    return len(text) == 64 and not text.strip("0123456789abcdef")
