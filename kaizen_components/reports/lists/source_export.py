"""All sources in one file that is the same, byte for byte, as long as they are: nothing of the moment is in it."""

import json
import os

from ...records.ledger.hashing import sha256
from ..engine import page
from ..engine.markdown import escape_text

ALL = """
SELECT * FROM source_current WHERE test = 0 AND (? IS NULL OR scope = ?) ORDER BY id"""
LINES = {
    "id": "id", "tier": "tier", "scope": "scope", "url": "URL", "path": "path", "version": "version",
    "commit_hash": "commit", "content_hash": "SHA-256", "retrieved_at": "retrieved", "license": "license",
    "actor": "recorded by", "at": "recorded", "task_id": "task", "supersedes_id": "supersedes",
    "superseded_by": "superseded by",
}  # fmt: skip

OURS = (
    "id",
    "commit_hash",
    "content_hash",
    "task_id",
    "supersedes_id",
    "superseded_by",
)  # no character to escape


def export_sources(db, store, format, scope, out):
    """Write them to --out or to a dated file; a file that is the same already is left as it is."""
    rows = db.rows(ALL, (scope, scope))
    sources = [
        {name: value for name, value in row.items() if value is not None and name not in ("seq", "test")}
        for row in rows
    ]  # fmt: skip
    text = _markdown(sources) if format == "md" else _json(sources)
    unchanged = out is not None and _is_in(out, text.encode())
    path = (
        store.place.relative(os.path.abspath(out))
        if unchanged
        else page.save_report(store, "sources", format, text, out)
    )
    return {
        "path": path,
        "count": len(sources),
        "unchanged": unchanged,
        "sha256": sha256(text.encode()),
    }


def _is_in(path, data):
    """Does the file hold exactly this? It is opened only if it could."""
    try:
        if not os.path.isfile(path) or os.path.getsize(path) != len(data):
            return False
        with open(path, "rb") as file:
            return file.read() == data
    except OSError:
        return False


def _json(sources):
    return json.dumps({"sources": sources}, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _markdown(sources):
    return "# Sources\n" + "".join(map(_section, sources))


def _section(source):
    lines = [
        f"- {label}: {_value(name, source[name])}"
        for name, label in LINES.items()
        if name in source
    ]
    quotes = [_quoted(source[name]) for name in ("summary", "body") if name in source]
    return "\n".join(["", f"## {escape_text(source['title'])}", "", *lines, *quotes, ""])


def _value(name, text):
    if name == "url":
        return f"<{text}>"
    return f"`{text}`" if name in OURS else escape_text(text)


def _quoted(text):
    lines = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n").split("\n")
    return "\n" + "\n".join(f"> {line}".rstrip() for line in lines)
