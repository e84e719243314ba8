"""Sources: documents that were read, with their version and hash."""

from __future__ import annotations

from ...errors import Conflict, Refused, Usage
from .. import ids
from ..ledger.transaction import make_receipt
from . import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...parameters import Place, Reader, Row, Writer

COLUMNS = "id, at, tier, title, version, url, path, scope, retrieved_at, superseded_by, test"
# CROSS JOIN reads the chain first. Without it the planner reads every source.
OLDER = """
WITH RECURSIVE chain (id, depth) AS (
    SELECT supersedes_id, 1 FROM source WHERE id = ?
    UNION ALL
    SELECT s.supersedes_id, depth + 1 FROM chain JOIN source s ON s.id = chain.id
)
SELECT s.id, s.version, s.retrieved_at, s.content_hash, s.title
FROM chain CROSS JOIN source s ON s.id = chain.id
ORDER BY depth"""
NEWER = """
WITH RECURSIVE chain (id, depth, test) AS (
    SELECT id, 0, test FROM source WHERE id = ?
    UNION ALL
    SELECT s.id, depth + 1, s.test
    FROM chain JOIN source s ON s.supersedes_id = chain.id AND s.test <= chain.test
)
SELECT s.id, s.version, s.retrieved_at, s.content_hash, s.title
FROM chain CROSS JOIN source s ON s.id = chain.id
WHERE depth > 0 ORDER BY depth, s.seq"""

WEB = ("http", "https", "git+https")
SCHEMES = (*WEB, "doi", "urn")
HEX = "0123456789abcdef"


def check_source(place: Place, values: Row) -> Row:
    """Return the values of a new source as they are stored; raise if one of them is invalid."""
    if values["url"] is None and values["path"] is None:
        raise Usage(
            "missing_option",
            "S1 source-add needs --url or --path.",
            "A source that cannot be found again proves nothing.",
            "Say where it was read with --url, or name a copy below the project with --path.",
        )
    if values["url"] is not None:
        _require_url(values["url"])
    if (values["retrieved_at"] or "") > ids.format_time(ids.now_ms()):
        what = "--retrieved-at is in the future."
        raise Usage(
            "bad_value",
            what,
            "A source must have been read before it is recorded.",
            "Give an earlier time, or omit the option if you read the source just now.",
        )
    expected = _check_hex("content-hash", values["content_hash"], 64)
    values = {
        **values,
        "commit_hash": _check_hex("commit-hash", values["commit_hash"], 7),
        "content_hash": expected,
    }
    if values["path"]:
        relative = files.require_project_path(place.root, values["path"])
        actual, _, _ = files.measure_path(place, relative)
        if expected not in (None, actual):
            raise Conflict(
                "other_content",
                f"{relative} does not have the hash of --content-hash.",
                f"Expected {expected[:12]}…, found {actual[:12]}….",
                (
                    "Check the file and the hash. Without --content-hash, Kaizen records "
                    "the hash of the file."
                ),
            )
        values |= {"path": relative, "content_hash": actual}
    return values


def _check_hex(option: str, text: str | None, digits_min: int) -> Any:
    if text is None:
        return None
    lowered = text.lower()
    if lowered.strip(HEX) or not digits_min <= len(lowered) <= 64:
        digits = "64" if digits_min == 64 else f"{digits_min} to 64"
        what = f"--{option} must be {digits} hexadecimal digits."
        raise Usage("bad_value", what, f"It has {len(text)} characters.", "Copy the whole hash.")
    return lowered


def _require_url(url: str) -> None:
    scheme, _, rest = url.partition(":")
    if scheme.lower() not in SCHEMES:
        schemes = ", ".join(f"{name}:" for name in SCHEMES)
        raise _url_error(f"must start with {schemes}.", "For a file use --path.")
    if not url.isprintable() or any(character in ' <>"\\' for character in url):
        raise _url_error(
            "has a character that a URL cannot have.", "Percent-encode it: a space is %20."
        )
    if scheme.lower() not in WEB:
        if not all(rest.partition("/" if scheme.lower() == "doi" else ":")):
            examples = "They look like doi:10.17487/RFC8785 and urn:isbn:9780131103627."
            raise _url_error("is not complete.", examples)
        return
    authority = ""
    if rest[:2] == "//":
        authority = rest[2:].partition("/")[0].partition("?")[0].partition("#")[0]
    if "@" in authority:
        raise Refused(
            "secret_refused",
            "--url holds a user name or a password.",
            "Everyone who reads the records would have it; nothing was written.",
            "Leave out everything between :// and @.",
        )
    host, _, port = authority.rpartition("]") if authority[:1] == "[" else authority.partition(":")
    if not host.strip("[.") or port.lstrip(":").strip("0123456789"):
        raise _url_error("has no host.", "It looks like https://example.org/page.")


def _url_error(problem: str, next_step: str) -> Usage:
    return Usage(
        "bad_value",
        f"--url {problem}",
        "A source must name a place where readers can find it again.",
        next_step,
    )


def add_source(tx: Writer, values: Row, supersedes: str | None, task_id: str | None) -> Row:
    """Record a source; `supersedes` is the older version that it replaces."""
    task = tx.find("task", task_id) if task_id else None
    older = tx.find("source", supersedes) if supersedes else None
    if older and older["superseded_by"]:
        raise Conflict(
            "superseded_already",
            f"{older['id']} is already superseded.",
            f"{older['superseded_by']} supersedes it.",
            f"Supersede {older['superseded_by']} instead: a source has one successor.",
        )
    values = {
        **values, "retrieved_at": values["retrieved_at"] or tx.at, "task_id": task and task["id"],
        "supersedes_id": older and older["id"],
    }  # fmt: skip
    row = tx.add("source", values, of=[record for record in (older, task) if record])
    shown_names = ("url", "path", "content_hash", "supersedes_id")
    facts = {name: row[name] for name in shown_names if name in row}
    return make_receipt("source", row, title=row["title"], tier=row["tier"], **facts)


def list_versions(db: Reader, record: Row) -> Row:
    """Return the older and the newer versions of a source, the nearest first."""
    return {"older": db.rows(OLDER, (record["id"],)), "newer": db.rows(NEWER, (record["id"],))}
