"""Which files somebody worked on lately, as git knows them: changed now, or named by the last commits."""

import os
import subprocess
import time

from .working_tree import OWN_FOLDERS

COMMITS = 10
PATHS_MAX = 60
PATIENCE_S = 1.0  # both questions together; where git needs longer, the digest goes without
QUESTIONS = (
    ("rev-parse", "--show-prefix"),
    ("status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "."),
    ("log", f"-{COMMITS}", "--name-only", "--relative", "--no-renames", "--format=", "-z", "."),
)


def list_recent_files(root: str) -> list[str]:
    """Paths below `root`, those that are changed now first, then the newest commit's; none without a repository."""
    answers = _asked(root)
    if answers is None:
        return []
    prefix, changed, committed = answers
    prefix = prefix.strip("\n")
    now = [entry[3:].removeprefix(prefix) for entry in changed.split("\0") if len(entry) > 3]
    paths = dict.fromkeys(
        [*sorted(now), *filter(None, (name.strip("\n") for name in committed.split("\0")))]
    )
    return [path for path in paths if not path.startswith(OWN_FOLDERS) and _is_text(path)][
        :PATHS_MAX
    ]


def _is_text(path):
    """Not every name is UTF-8, but every glob is."""
    return path.isprintable()


def _asked(root):
    """What git says to each question, asked at once; None where it is missing, fails or takes too long."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    end = time.monotonic() + PATIENCE_S
    running = []
    try:
        for words in QUESTIONS:
            running.append(
                subprocess.Popen(
                    ["git", "-c", "core.fsmonitor=false", *words],
                    cwd=root,
                    env={**environment, "GIT_OPTIONAL_LOCKS": "0"},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                )
            )
        answers = [one.communicate(timeout=max(end - time.monotonic(), 0.01))[0] for one in running]
    except (OSError, subprocess.TimeoutExpired):
        return None
    finally:
        for one in running:
            one.kill()
            one.wait()
            if one.stdout:
                one.stdout.close()
    if running[1].returncode != 0:
        return None
    return [os.fsdecode(answer) for answer in answers]
