"""Before a repository is published: D2."""

from ..errors import Refused

HISTORY = "The history of git was not looked at: what an old commit holds is published with it."
SUBMODULE = "A submodule: what is in it was not looked at. Run D2 in there."
OWN_DATABASE = "AI/db/kaizen.db"  # and what stands beside it: -wal, -shm


def check(store, *, limit=200):
    """Look for secrets, personal paths, machine names and inner addresses in what could be published; exit 1 if any.

    Example: kaizen D2
    """
    from ..projects.publish import allowances as publish_allow
    from ..projects.publish import candidates as publish_files

    root = store.place.root
    listed, allowed = publish_files.list_candidates(root), publish_allow.read_allowances(root)
    rows, remarks, used = _sorted_out(_looked(root, listed), allowed)
    if rows:
        raise _refused(rows, limit)
    entries = [*allowed.globs.items(), *allowed.lines.items()]
    return {
        "clean": True,
        **_counts(listed),
        "allowed": len(used),
        "unused_allowances": [entry for entry, number in entries if number not in used],
        "remarks": remarks + [{"file": path, "says": SUBMODULE} for path in listed.submodules],
        "hint": HISTORY
        if listed.is_git
        else "This is no git repository, so every file was looked at.",
    }


def _looked(root, listed):
    """(what is found, the state of its file): in the work tree, then what only git has."""
    from contextlib import closing

    from ..git.client import ObjectReader
    from ..projects.publish import finders as publish_words
    from ..projects.publish import scan as publish_scan

    finders = publish_words.build_finders()
    seen = set()
    for path, state in listed.states.items():
        for one in publish_scan.scan_file(root, path, finders):
            seen.add(_unnumbered(one))
            yield one, state
    with closing(ObjectReader(root)) as contents:
        for kept in listed.kept:
            fresh = [
                one
                for one in publish_scan.scan_blob(kept, contents, finders)
                if _unnumbered(one) not in seen
            ]
            seen.update(map(_unnumbered, fresh))
            yield from ((one, kept.state) for one in fresh)


def _unnumbered(one):
    """What is found, wherever it stands: a line that only moved is no other one."""
    return one.path, one.kind, one.text


def _sorted_out(looked, allowed):
    """(what is not allowed, what was not looked at and may be, the entries that allowed something)"""
    from ..projects.publish.scan import UNSEEN

    rows, remarks, used = [], [], set()
    for one, state in looked:
        number = _allowed_by(allowed, one)
        if number:
            used.add(number)
        elif one.kind != UNSEEN or not _is_own_database(one, state):
            rows.append(_row(one, state))
            continue
        if one.kind == UNSEEN:
            remarks.append({"file": one.path, "says": f"not looked at: {one.found}"})
    return rows, remarks, used


def _is_own_database(one, state):
    """It grows with its use, and nobody could mend that: no finding while git leaves it out."""
    return one.path.startswith(OWN_DATABASE) and state in ("ignored", "file")


def _allowed_by(allowed, one):
    from ..projects.publish.allowances import FILE

    if one.path == FILE and not one.kind.startswith("secret") and one.text.startswith("="):
        return allowed.lines.get(
            one.text[1:].rpartition(" # ")[0].strip()
        )  # it has to name what it allows
    return allowed.allows(one.path, one.text)


def _row(one, state):
    where = f"{one.path}:{one.line}" if one.line else one.path
    return {"where": where, "kind": one.kind, "found": one.found, "state": state}


def _counts(listed):
    states = list(listed.states.values())
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    return {"files": len(states), **counts, "left_out": listed.skipped}


ORDER = ("tracked", "index", "HEAD", "untracked", "file", "ignored")


def _refused(rows, limit):
    rows.sort(key=lambda row: (ORDER.index(row["state"]), not row["kind"].startswith("secret")))
    first, count = rows[0], len(rows)
    error = Refused(
        "not_publishable",
        f"{count:,} {'place' if count == 1 else 'places'} should not be published.",
        f"The first: {first['where']}, {first['kind']}."
        + (f" {limit} are shown." if count > limit else ""),
        "Take them out, or allow them in .kaizen/publish-allow.txt, each with a reason (`GLOB # reason`). "
        + HISTORY,
    )
    error.findings = rows[:limit]
    return error
