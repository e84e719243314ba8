"""ruff on a tree: its JSON, and never its exit code alone."""

import json

from ....sandbox import run as sandbox
from ...job import Job
from .room import Room
from .seen import Located, Seen, broken

# Ignored files are not in an export; a .gitignore would only hide some that are.
WORDS = (
    "check",
    "--output-format",
    "json",
    "--no-cache",
    "--no-fix",
    "--no-fix-only",
    "--no-respect-gitignore",
    ".",
)
CLEAN, FOUND = 0, 1


def look(job: Job, room: Room, tree: str) -> Seen:
    argv = [*job.tools.python, "-I", "-m", "ruff", *WORDS]
    boxed = sandbox.run(argv, room.folder, job.settings.timeout_s, tree=tree, reads=job.tools.reads)
    if boxed.timed_out or boxed.exit_code not in (CLEAN, FOUND):
        return broken("ruff", boxed, "it failed", room.folder)
    try:
        found = [_located(room, one) for one in json.loads(boxed.stdout.text())]
    except (ValueError, TypeError, KeyError, AttributeError):
        return broken("ruff", boxed, "its answer cannot be read", room.folder)
    if (boxed.exit_code == FOUND) != bool(found):
        return broken("ruff", boxed, f"it names {len(found)} findings", room.folder)
    return Seen("ruff", found, boxed)


def _located(room, one):
    path, line = room.relative(one["filename"]), one["location"]["row"]
    return Located(
        one["code"] or "invalid-syntax", one["message"], path, line, room.line(path, line)
    )
