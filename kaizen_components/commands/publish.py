"""Before a repository is published: D2."""

from ..errors import Refused

HISTORY = "The history of git was not looked at: what an old commit holds is published with it."


def check(store, *, limit=200):
    """Look for secrets, personal paths, machine names and inner addresses in what could be published; exit 1 if any.

    Example: kaizen D2
    """
    from ..integrations import publish_allow, publish_files

    root = store.place.root
    listed, allowed = publish_files.files(root), publish_allow.read(root)
    rows, remarks, used = _looked(root, listed, allowed)
    if rows:
        raise _refused(rows, limit)
    entries = [*allowed.globs.items(), *allowed.lines.items()]
    return {
        "clean": True,
        **_counts(listed),
        "allowed": len(used),
        "unused_allowances": [entry for entry, number in entries if number not in used],
        "remarks": remarks,
        "hint": HISTORY if listed.is_git else "This is no git repository, so every file was looked at.",
    }


def _looked(root, listed, allowed):
    """(what is found, what could not be looked at, the entries that allowed something)"""
    from ..integrations import publish_scan, publish_words

    rows, remarks, used = [], [], set()
    finders = publish_words.finders()
    for path, state in listed.states.items():
        looked = publish_scan.look(root, path, finders)
        remarks += [{"file": path, "says": looked.remark}] if looked.remark else []
        for one in looked.found:
            number = _allowed_by(allowed, one)
            if number:
                used.add(number)
            else:
                rows.append(_row(one, state))
    return rows, remarks, used


def _allowed_by(allowed, one):
    from ..integrations.publish_allow import FILE

    if one.path == FILE and not one.kind.startswith("secret") and one.text.startswith("="):
        return allowed.lines.get(one.text[1:].rpartition(" # ")[0].strip())  # it has to name what it allows
    return allowed.allows(one.path, one.text)


def _row(one, state):
    where = f"{one.path}:{one.line}" if one.line else one.path
    return {"where": where, "kind": one.kind, "found": one.found, "state": state}


def _counts(listed):
    states = list(listed.states.values())
    counts = {state: states.count(state) for state in dict.fromkeys(states)}
    return {"files": len(states), **counts, "left_out": listed.skipped}


ORDER = ("tracked", "untracked", "file", "ignored")


def _refused(rows, limit):
    rows.sort(key=lambda row: (ORDER.index(row["state"]), not row["kind"].startswith("secret")))
    first, count = rows[0], len(rows)
    error = Refused(
        "not_publishable",
        f"{count:,} {'place' if count == 1 else 'places'} should not be published.",
        f"The first: {first['where']}, {first['kind']}." + (f" {limit} are shown." if count > limit else ""),
        "Take them out, or allow them in .kaizen/publish-allow.txt, each with a reason (`GLOB # reason`). " + HISTORY,
    )
    error.findings = rows[:limit]
    return error
