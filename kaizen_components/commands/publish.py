"""Before a repository is published: D2."""

from __future__ import annotations

from ..errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..parameters import Row, Store
    from ..projects.publish.candidates import Candidates
    from ..projects.publish.scan import Leak

HISTORY = "The history of git was not looked at: what an old commit holds is published with it."
NO_GIT = "There is no git repository here, so every file was looked at."
SUBMODULE = "A submodule: its content was not looked at. Run D2 in it."
OWN_DATABASE = "AI/db/kaizen.db"  # and the files beside it: -wal, -shm
ORDER = ("tracked", "index", "HEAD", "untracked", "file", "ignored")


def check(store: Store, *, limit: int = 200) -> Row:
    """Look for secrets, personal paths, machine names and inner addresses in what could be published; exit 1 if any.

    Example: kaizen D2
    """
    from ..projects.publish import allowances as publish_allow
    from ..projects.publish.candidates import list_candidates
    from ..projects.publish.scan import UNSEEN

    root = store.place.root
    candidates, allowed = list_candidates(root), publish_allow.read_allowances(root)
    rows: list[Row] = []
    remarks: list[Row] = []
    used: set[int] = set()
    for leak, state in _find_leaks(root, candidates):
        is_own_line = leak.path == publish_allow.FILE and leak.text.startswith("=")
        if is_own_line and not leak.kind.startswith("secret"):  # it has to name what it allows
            number = allowed.lines.get(leak.text[1:].rpartition(" # ")[0].strip())
        else:
            number = allowed.find_entry(leak.path, leak.text)
        # Our database grows with its use; it is no finding as long as git ignores it.
        is_own_database = leak.path.startswith(OWN_DATABASE) and state in ("ignored", "file")
        if number:
            used.add(number)
        elif leak.kind != UNSEEN or not is_own_database:
            where = f"{leak.path}:{leak.line}" if leak.line else leak.path
            row = {"where": where, "kind": leak.kind, "found": leak.found, "state": state}
            rows.append(row)
            continue
        if leak.kind == UNSEEN:
            remarks.append({"file": leak.path, "says": f"not looked at: {leak.found}"})
    if rows:
        raise _not_publishable_error(rows, limit)
    states = list(candidates.states.values())
    entries = [*allowed.globs.items(), *allowed.lines.items()]
    return {
        "clean": True,
        "files": len(states),
        **{state: states.count(state) for state in dict.fromkeys(states)},
        "left_out": candidates.skipped,
        "allowed": len(used),
        "unused_allowances": [entry for entry, number in entries if number not in used],
        "remarks": remarks + [{"file": path, "says": SUBMODULE} for path in candidates.submodules],
        "hint": HISTORY if candidates.is_git else NO_GIT,
    }


def _find_leaks(root: str, candidates: Candidates) -> Iterator[tuple[Leak, str]]:
    """Yield (leak, state of its file): in the working tree, then in what only git has.

    A line that only moved is not another leak.
    """
    from contextlib import closing

    from ..git.client import ObjectReader
    from ..projects.publish.finders import Finder
    from ..projects.publish.scan import scan_blob, scan_file

    finder = Finder()
    seen = set()
    for path, state in candidates.states.items():
        for leak in scan_file(root, path, finder):
            seen.add((leak.path, leak.kind, leak.text))
            yield leak, state
    with closing(ObjectReader(root)) as reader:
        for content in candidates.hidden:
            leaks = scan_blob(content, reader, finder)
            new = [leak for leak in leaks if (leak.path, leak.kind, leak.text) not in seen]
            seen.update((leak.path, leak.kind, leak.text) for leak in new)
            yield from ((leak, content.state) for leak in new)


def _not_publishable_error(rows: list[Row], limit: int) -> Refused:
    rows.sort(key=lambda row: (ORDER.index(row["state"]), not row["kind"].startswith("secret")))
    first, count = rows[0], len(rows)
    error = Refused(
        "not_publishable",
        f"{count:,} {'place' if count == 1 else 'places'} should not be published.",
        f"The first: {first['where']}, {first['kind']}."
        + (f" {limit} are shown." if count > limit else ""),
        "Remove them, or allow them in .kaizen/publish-allow.txt, each with a reason "
        f"(`GLOB # reason`). {HISTORY}",
    )
    error.findings = rows[:limit]
    return error
