"""Check a repository before it is published: D2."""

from __future__ import annotations

from ..errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..parameters import Row, Store
    from ..projects.publish.candidates import Candidates
    from ..projects.publish.scan import Leak


HISTORY = "The git history was not checked: everything in old commits is published with it."
SUBMODULE = "A submodule: its content was not checked. Run D2 in it."
OWN_DATABASE = "AI/db/kaizen.db"  # and the files beside it: -wal, -shm
STATES = ("tracked", "index", "HEAD", "untracked", "file", "ignored")  # the worst first


def check(store: Store, *, limit: int = 200) -> Row:
    """Look for secrets, personal paths, machine names and internal addresses in what could be
    published; exits 1 if it finds any.

    Example: kaizen D2
    """
    from ..projects.publish.allowances import FILE, read_allowances
    from ..projects.publish.candidates import list_candidates
    from ..projects.publish.scan import UNSEEN

    root = store.place.root
    candidates, allowances = list_candidates(root), read_allowances(root)
    leaks, remarks, used_entries = [], [], set()
    for leak, state in iterate_leaks(root, candidates):
        if leak.path == FILE and leak.text.startswith("=") and not leak.kind.startswith("secret"):
            # An entry of the allow file repeats the allowed text, so the entry looks like a leak.
            number = allowances.lines.get(leak.text[1:].rpartition(" # ")[0].strip())
        else:
            number = allowances.find_entry(leak.path, leak.text)
        # The project's own database may be too large to read; that is fine while git ignores it.
        is_own = leak.path.startswith(OWN_DATABASE) and state in ("ignored", "file")
        if number:
            used_entries.add(number)
        elif leak.kind != UNSEEN or not is_own:
            where = f"{leak.path}:{leak.line}" if leak.line else leak.path
            leaks.append({"where": where, "kind": leak.kind, "found": leak.found, "state": state})
            continue
        if leak.kind == UNSEEN:
            remarks.append({"file": leak.path, "says": f"not checked: {leak.found}"})
    if leaks:
        raise build_refusal(leaks, limit)
    states = list(candidates.states.values())
    entries = [*allowances.globs.items(), *allowances.lines.items()]
    return {
        "clean": True,
        "files": len(states),
        **{state: states.count(state) for state in dict.fromkeys(states)},
        "left_out": candidates.skipped,
        "allowed": len(used_entries),
        "unused_allowances": [entry for entry, number in entries if number not in used_entries],
        "remarks": remarks + [{"file": path, "says": SUBMODULE} for path in candidates.submodules],
        "hint": HISTORY if candidates.is_git else "Not a git repository: every file was checked.",
    }


def iterate_leaks(root: str, candidates: Candidates) -> Iterator[tuple[Leak, str]]:
    """Yield each leak and the state of its file: first in the work tree, then in what only git has.

    A line that only moved is the same leak.
    """
    from contextlib import closing

    from ..git.client import ObjectReader
    from ..projects.publish import scan
    from ..projects.publish.finders import Finder

    finder = Finder()
    reported = set()
    for path, state in candidates.states.items():
        for leak in scan.scan_file(root, path, finder):
            reported.add((leak.path, leak.kind, leak.text))
            yield leak, state
    with closing(ObjectReader(root)) as contents:
        for blob in candidates.hidden:
            new_leaks = []  # a line that occurs twice in one blob is reported twice
            for leak in scan.scan_blob(blob, contents, finder):
                if (leak.path, leak.kind, leak.text) not in reported:
                    yield leak, blob.state
                    new_leaks.append((leak.path, leak.kind, leak.text))
            reported.update(new_leaks)


def build_refusal(leaks: list[Row], limit: int) -> Refused:
    """Return the error that lists the leaks, the worst first."""
    leaks.sort(key=lambda row: (STATES.index(row["state"]), not row["kind"].startswith("secret")))
    first, count = leaks[0], len(leaks)
    error = Refused(
        "not_publishable",
        f"{count:,} {'place' if count == 1 else 'places'} should not be published.",
        f"The first is {first['where']}: {first['kind']}."
        + (f" Only {limit} are shown." if count > limit else ""),
        "Remove them, or allow them in .kaizen/publish-allow.txt, each with a reason "
        f"(`GLOB # reason`). {HISTORY}",
    )
    error.findings = leaks[:limit]
    return error
