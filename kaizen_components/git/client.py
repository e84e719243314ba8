"""git as a program: no variable, hook, pager, prompt or monitor of anybody's decides what it does for us.

Two ways to call it. `ask` speaks to somebody's repository, whose own configuration counts where it says how files lie
on disk (line endings, links, ownership). Everything that only needs content goes through `objects.Objects` instead, a
repository of our own that has no configuration at all.
"""

import os
import subprocess

from ..errors import NotFound, Refused, Unavailable

TIMEOUT_S = 300
APART = "--next//path"  # rev-parse repeats an option that it does not know: a path may have line breaks, but no //
FACTS = (
    "--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--show-prefix",
    APART, "--git-path", "objects", APART, "--show-toplevel",
)  # fmt: skip
SAID_CHARS_MAX = 500
NOTHING_RUNS = (
    "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.quotePath=false",
    "-c", f"core.attributesFile={os.devnull}", "-c", "commit.gpgSign=false", "-c", "core.protectNTFS=true",
    "-c", "core.protectHFS=true", "-c", "protocol.allow=never", "-c", "gc.auto=0", "-c", "maintenance.auto=false",
    "-c", "fastimport.unpackLimit=1",  # a pack stays one: to unpack it is another process, and half of the time
)  # fmt: skip
OURS = {
    "GIT_OPTIONAL_LOCKS": "0",  # or `status` would write the user's index anew
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "LC_ALL": "C",
    "LANGUAGE": "C",
}


class GitResult:
    """What git answered."""

    def __init__(self, code: int, out: bytes, err: str):
        self.code = code
        self.out = out
        self.err = err

    @property
    def text(self) -> str:
        return os.fsdecode(self.out)


def build_environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """Our environment without what would steer git."""
    kept = {
        name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")
    }
    return {**kept, **OURS, **(more or {})}


def try_git(
    folder: str, *words: str, stdin: bytes = b"", more: dict[str, str] | None = None
) -> GitResult:
    """Run `git words` in a folder; whatever its exit code is, it is an answer."""
    try:
        done = subprocess.run(
            ["git", *NOTHING_RUNS, *words],
            cwd=folder, env=build_environment(more), input=stdin, capture_output=True, timeout=TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise Unavailable(
            "git_slow",
            f"git {words[0]} did not end within {TIMEOUT_S} s.",
            "",
            "Run it by hand in the target to see why.",
        ) from None
    except FileNotFoundError:
        raise Unavailable(
            "no_git",
            "There is no git to run.",
            "A pipeline works on a git repository.",
            "Install git, or put it on the PATH.",
        ) from None
    return GitResult(
        done.returncode, done.stdout, os.fsdecode(done.stderr).strip()[:SAID_CHARS_MAX]
    )


def run_git(
    folder: str, *words: str, stdin: bytes = b"", more: dict[str, str] | None = None
) -> GitResult:
    """The same, and git has to succeed."""
    said = try_git(folder, *words, stdin=stdin, more=more)
    if said.code != 0:
        raise git_error(words[0], said)
    return said


def git_error(word: str, said: GitResult) -> Unavailable:
    return Unavailable(
        "git_failed",
        f"git {word} failed in the target.",
        said.err,
        "Run `git status` and `git fsck` there to see why.",
    )


class Repository:
    """Where a working tree and its objects lie."""

    def __init__(self, top: str, prefix: str, objects: str, format: str):
        self.top = top  # the root of the working tree
        self.prefix = prefix  # the target below it: "" or "mono/app/"
        self.objects = objects  # the folder of the object database
        self.format = format  # sha1 or sha256


def find_repository(path: str) -> Repository:
    """Find the repository around a folder, or say why there is none that can be worked on."""
    if not os.path.isdir(path):
        raise NotFound(
            "no_target", "There is no such folder as --repo names.", "", "Check the path."
        )
    said = try_git(path, "rev-parse", *FACTS)
    facts, *paths = said.text.split(f"\n{APART}\n")
    if not paths:
        raise _not_a_repository(said)
    bare, inside, format, prefix = facts.split("\n", 3)
    if bare == "true" or inside != "true":
        raise Refused(
            "target_without_files",
            "--repo names a repository without a working tree."
            if bare == "true"
            else "--repo names a .git folder.",
            "The run would have no place to be applied to.",
            "Clone it, and name the clone.",
        )
    if said.code != 0:
        raise git_error("rev-parse", said)
    objects, top = paths
    return Repository(
        _strip_newline(top), prefix, os.path.abspath(os.path.join(path, objects)), format
    )


def _strip_newline(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _not_a_repository(said: GitResult) -> Refused | Unavailable:
    if "dubious ownership" in said.err:
        return Refused(
            "target_of_another_user",
            "git does not trust this repository: it belongs to another user.",
            "Its configuration could run programs.",
            "Make it your own, or add it to git's safe.directory.",
        )
    if "not a git repository" in said.err:
        return Refused(
            "not_a_repository",
            "--repo names a folder that is not in a git repository.",
            "A run starts from a commit and ends in a branch.",
            "Run `git init`, add the files and commit them.",
        )
    return git_error("rev-parse", said)
