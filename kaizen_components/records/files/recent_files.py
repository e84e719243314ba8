"""List recently changed files: uncommitted changes in git, then files of the last commits."""

import time

from ...errors import Unavailable
from ...git.client import try_git
from .working_tree import OWN_FOLDERS

COMMITS = 10
PATHS_MAX = 60
TIMEOUT_S = 1.0  # for all git commands together; the digest omits the files if git is slower
GIT_COMMANDS = (
    ("rev-parse", "--show-prefix"),
    (
        "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=all",
        "--ignore-submodules=dirty", ".",
    ),
    ("log", f"-{COMMITS}", "--name-only", "--relative", "--no-renames", "--format=", "-z", "."),
)  # fmt: skip


def list_recent_files(root: str) -> list[str]:
    """Return changed files below `root`, then files of the newest commits; without git, []."""
    end = time.monotonic() + TIMEOUT_S
    outputs = []
    try:
        for words in GIT_COMMANDS:
            result = try_git(root, *words, timeout_s=max(end - time.monotonic(), 0.01))
            if result.code != 0 and words[0] != "log":  # `git log` fails before the first commit
                return []
            outputs.append(result.text)
    except Unavailable:
        return []
    prefix, status, log = outputs
    entries = [entry[3:] for entry in status.split("\0") if len(entry) > 3]
    changed = sorted(path.removeprefix(prefix.strip("\n")) for path in entries)
    committed = filter(None, (name.strip("\n") for name in log.split("\0")))
    paths = dict.fromkeys([*changed, *committed])
    # Leave out names that are not UTF-8: no glob can name them.
    return [path for path in paths if not path.startswith(OWN_FOLDERS) and path.isprintable()][
        :PATHS_MAX
    ]
