"""The schema: K2."""

from __future__ import annotations

from .. import __version__
from ..store import database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Row, Store


def status(store: Store) -> Row:
    """Show the schema version, the migrations that made it, and the engine's version.

    Example: kaizen K2
    """
    connection = store.open_read_only()
    try:
        version = connection.value("PRAGMA user_version")
        migrations = (
            connection.rows("SELECT version, name, at, engine FROM migration ORDER BY version")
            if version
            else []
        )
    finally:
        connection.close()
    return {
        "engine": __version__,
        "schema": version,
        "engine_schema": database.SCHEMA_VERSION,
        "state": "current"
        if version == database.SCHEMA_VERSION
        else "older"
        if version < database.SCHEMA_VERSION
        else "newer",
        "migrations": migrations,
    }
