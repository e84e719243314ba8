"""Sources: what was read, in which version, and what it said."""

from ...errors import Conflict, Refused, Usage
from .. import ids
from ..ledger.transaction import make_receipt
from . import files

COLUMNS = "id, at, tier, title, version, url, path, scope, retrieved_at, superseded_by, test"
# CROSS JOIN: the chain first, or the planner reads every source there is.
OLDER = """
WITH RECURSIVE chain (id, depth) AS (
    SELECT supersedes_id, 1 FROM source WHERE id = ?
    UNION ALL
    SELECT s.supersedes_id, depth + 1 FROM chain JOIN source s ON s.id = chain.id
)
SELECT s.id, s.version, s.retrieved_at, s.content_hash, s.title FROM chain CROSS JOIN source s ON s.id = chain.id
ORDER BY depth"""
NEWER = """
WITH RECURSIVE chain (id, depth, test) AS (
    SELECT id, 0, test FROM source WHERE id = ?
    UNION ALL
    SELECT s.id, depth + 1, s.test FROM chain JOIN source s ON s.supersedes_id = chain.id AND s.test <= chain.test
)
SELECT s.id, s.version, s.retrieved_at, s.content_hash, s.title FROM chain CROSS JOIN source s ON s.id = chain.id
WHERE depth > 0 ORDER BY depth, s.seq"""

WEB = ("http", "https", "git+https")
SCHEMES = (*WEB, "doi", "urn")
HEX = "0123456789abcdef"


def check_source(place, values):
    """The values of a new source as they are stored, or the error that says which cannot be."""
    if values["url"] is None and values["path"] is None:
        raise Usage(
            "missing_option",
            "S1 source-add needs --url or --path.",
            "A source that nobody can find again proves nothing.",
            "Say where it was read with --url, or name a copy below the project with --path.",
        )
    if values["url"] is not None:
        _require_url(values["url"])
    if (values["retrieved_at"] or "") > ids.format_time(ids.now_ms()):
        raise Usage(
            "bad_value",
            "--retrieved-at lies in the future.",
            "",
            "Leave it out if it was read just now.",
        )
    values["commit_hash"] = _check_hex("commit-hash", values["commit_hash"], 7)
    values["content_hash"] = _check_hex("content-hash", values["content_hash"], 64)
    return {
        **values,
        **(
            _hash_local_copy(place, values["path"], values["content_hash"])
            if values["path"]
            else {}
        ),
    }


def _check_hex(name, text, least):
    if text is None:
        return None
    lowered = text.lower()
    if lowered.strip(HEX) or not least <= len(lowered) <= 64:
        digits = "64" if least == 64 else f"{least} to 64"
        raise Usage(
            "bad_value",
            f"--{name} must be {digits} hexadecimal digits.",
            f"It has {len(text)} characters.",
        )
    return lowered


def _hash_local_copy(place, path, expected):
    """A local copy: its path below the project and its hash, which must be the one that was given."""
    relative = files.require_project_path(place.root, path)
    found, _, _ = files.measure_path(place, relative)
    if expected not in (None, found):
        raise Conflict(
            "other_content",
            f"{relative} is not what --content-hash says.",
            f"Given {expected[:12]}…, found {found[:12]}….",
            "Check which of the two was meant; without --content-hash the file's own hash is kept.",
        )
    return {"path": relative, "content_hash": found}


def _require_url(url):
    scheme, _, rest = url.partition(":")
    if scheme.lower() not in SCHEMES:
        raise _url_error(
            "must start with " + ", ".join(f"{one}:" for one in SCHEMES) + ".",
            "A file goes into --path.",
        )
    if not url.isprintable() or any(c in ' <>"\\' for c in url):
        raise _url_error("has a character that no URL has.", "Write it as %20 and the like.")
    if scheme.lower() in WEB:
        _require_host(rest)
    elif not all(rest.partition("/" if scheme.lower() == "doi" else ":")):
        raise _url_error(
            "is not complete.", "They look like doi:10.17487/RFC8785 and urn:isbn:9780131103627."
        )


def _require_host(rest):
    authority = (
        rest[2:].partition("/")[0].partition("?")[0].partition("#")[0] if rest[:2] == "//" else ""
    )
    if "@" in authority:
        raise Refused(
            "secret_refused",
            "--url holds a user name or a password.",
            "Whoever reads the records would have it; nothing was written.",
            "Leave out everything between :// and @.",
        )
    host, _, port = authority.rpartition("]") if authority[:1] == "[" else authority.partition(":")
    if not host.strip("[.") or port.lstrip(":").strip("0123456789"):
        raise _url_error("names no host.", "It looks like https://example.org/page.")


def _url_error(problem, next_step):
    return Usage("bad_value", f"--url {problem}", "", next_step)


def add_source(tx, values, supersedes, task_id):
    task = tx.find("task", task_id) if task_id else None
    older = tx.find("source", supersedes) if supersedes else None
    if older and older["superseded_by"]:
        raise Conflict(
            "superseded_already",
            f"{older['id']} is superseded already.",
            f"{older['superseded_by']} took its place.",
            "Supersede that one, so that the versions stay one line.",
        )
    values = {
        **values, "retrieved_at": values["retrieved_at"] or tx.at, "task_id": task and task["id"],
        "supersedes_id": older and older["id"],
    }  # fmt: skip
    row = tx.add("source", values, of=[record for record in (older, task) if record])
    more = {
        name: row[name] for name in ("url", "path", "content_hash", "supersedes_id") if name in row
    }
    return make_receipt("source", row, title=row["title"], tier=row["tier"], **more)


def list_versions(db, record):
    """Every source in the line of this one: the older, the nearest first, and the newer, the nearest first."""
    return {"older": db.rows(OLDER, (record["id"],)), "newer": db.rows(NEWER, (record["id"],))}
