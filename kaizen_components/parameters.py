"""Types of what the engine passes to a command. Only type checkers import this module."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from .reports.engine.publish import Output
    from .store.database import Store
    from .store.place import Place

    __all__ = ["Output", "Place", "Store"]

Row = dict[str, Any]
Result = TypeVar("Result")


class Reader(Protocol):
    """`db`: reads records in one snapshot."""

    actor: str
    at: str
    at_ms: int
    connection: Any

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[Row]: ...
    def one(self, sql: str, values: Sequence[Any] = ()) -> Row | None: ...
    def value(self, sql: str, values: Sequence[Any] = ()) -> Any: ...
    def tuples(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]: ...
    def find(self, kind: str, ref: str) -> Row: ...
    def resolve(self, kind: str, ref: str) -> str: ...
    def find_any(self, kinds: Iterable[str], ref: str) -> tuple[str, Row]: ...
    def log_position(self, record: Row) -> Row: ...
    def settle(self) -> None: ...
    def hold_snapshot(self) -> None: ...
    def release_snapshot(self) -> None: ...


class Writer(Reader, Protocol):
    """`tx`: reads and adds records in one transaction."""

    test: bool
    command: str

    def add(self, kind: str, values: Row, of: Iterable[Row] = ()) -> Row: ...
    def next_id(self, kind: str) -> str: ...
    def index(self, kind: str, seq: int, row: Row | None, before: Row | None = None) -> None: ...
    def has_changes(self) -> bool: ...


class WriteLater(Protocol):
    """`write`: runs a function in its own transaction, after slow work."""

    def __call__(self, record: Callable[[Writer], Result]) -> Result: ...


class ReadNow(Protocol):
    """`look`: opens a reader between slow steps."""

    def __call__(self) -> Reader: ...
