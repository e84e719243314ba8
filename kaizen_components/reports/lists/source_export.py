"""Export the sources to one file (S4). The same sources always give the same bytes."""

from __future__ import annotations

import json
import os

from ...records.ledger.hashing import sha256
from ..engine import page
from ..engine.escape import escape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...parameters import Reader, Row, Store

SOURCES = """
SELECT * FROM source_current WHERE test = 0 AND (? IS NULL OR scope = ?) ORDER BY id"""
LABELS = {
    "id": "id",
    "tier": "tier",
    "scope": "scope",
    "url": "URL",
    "path": "path",
    "version": "version",
    "commit_hash": "commit",
    "content_hash": "SHA-256",
    "retrieved_at": "retrieved",
    "license": "license",
    "actor": "recorded by",
    "at": "recorded",
    "task_id": "task",
    "supersedes_id": "supersedes",
    "superseded_by": "superseded by",
}
# Written by the engine: no character in them needs escaping.
CODES = ("id", "commit_hash", "content_hash", "task_id", "supersedes_id", "superseded_by")


def export_sources(
    db: Reader, store: Store, format: str, scope: str | None, out: str | None
) -> Row:
    """Write the sources to --out or to a dated file; keep a file that already has this content."""
    sources = [
        {
            name: value
            for name, value in row.items()
            if value is not None and name not in ("seq", "test")
        }
        for row in db.rows(SOURCES, (scope, scope))
    ]
    if format == "md":
        lines = ["# Sources"]
        for source in sources:
            lines += ["", f"## {escape_text(source['title'])}", ""]
            for name, label in LABELS.items():
                if name in source:
                    value = source[name]
                    cell = f"`{value}`" if name in CODES else escape_text(value)
                    lines.append(f"- {label}: {f'<{value}>' if name == 'url' else cell}")
            for name in ("summary", "body"):
                if name in source:
                    quote = source[name].replace("\r\n", "\n").replace("\r", "\n").strip("\n")
                    lines += ["", *(f"> {line}".rstrip() for line in quote.split("\n"))]
        text = "\n".join([*lines, ""])
    else:
        document = json.dumps({"sources": sources}, indent=2, sort_keys=True, ensure_ascii=False)
        text = document + "\n"
    if out is not None and _has_content(out, text.encode()):
        is_unchanged = True
        path = store.place.relative(os.path.abspath(out))
    else:
        is_unchanged = False
        path = page.save_report(store, "sources", format, text, out)
    return {
        "path": path,
        "count": len(sources),
        "unchanged": is_unchanged,
        "sha256": sha256(text.encode()),
    }


def _has_content(path: str, data: bytes) -> bool:
    """Return whether the file exists and holds exactly these bytes."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) != len(data):
            return False
        with open(path, "rb") as file:
            return file.read() == data
    except OSError:
        return False
