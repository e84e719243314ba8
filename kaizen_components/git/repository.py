"""Find the repository around a folder: its working tree and its objects."""

import os

from ..errors import NotFound, Refused, Unavailable
from .client import GitResult, git_error, try_git

# rev-parse prints unknown options as they are. A path may have line breaks, but never //.
SEPARATOR = "--next//path"
FACTS = (
    "--is-bare-repository", "--is-inside-work-tree", "--show-object-format", "--show-prefix",
    SEPARATOR, "--git-path", "objects", SEPARATOR, "--show-toplevel",
)  # fmt: skip


class Repository:
    """The location of a working tree and of its objects."""

    def __init__(self, top: str, prefix: str, objects: str, format: str):
        self.top = top  # the root of the working tree
        self.prefix = prefix  # the target below it: "" or "mono/app/"
        self.objects = objects  # the folder of the object database
        self.format = format  # sha1 or sha256


def find_repository(path: str) -> Repository:
    """Return the repository that contains a folder; raise an error if a run cannot work on it."""
    if not os.path.isdir(path):
        raise NotFound(
            "no_target",
            f"There is no folder {path!r}.",
            "A run needs an existing repository.",
            "Give --repo an existing folder.",
        )
    result = try_git(path, "rev-parse", *FACTS)
    facts, *paths = result.text.split(f"\n{SEPARATOR}\n")
    if not paths:
        raise _repository_error(result)
    is_bare, is_inside, format, prefix = facts.split("\n", 3)
    if is_bare == "true" or is_inside != "true":
        raise _no_files_error(
            "a repository without a working tree" if is_bare == "true" else "a .git folder"
        )
    if result.code != 0:
        raise git_error("rev-parse", result)
    objects, top = paths
    top = top.removesuffix("\n").removesuffix("\r")
    return Repository(top, prefix, os.path.abspath(os.path.join(path, objects)), format)


def _repository_error(result: GitResult) -> Refused | Unavailable:
    """Return the error that explains why git found no usable repository."""
    if "dubious ownership" in result.err:
        return Refused(
            "target_of_another_user",
            "git does not trust this repository, because it belongs to another user.",
            "Its configuration could start programs.",
            "Change its owner, or add it to git's safe.directory.",
        )
    if "cannot use bare repository" in result.err:
        return _no_files_error("a repository without a working tree")
    if "not a git repository" in result.err:
        return Refused(
            "not_a_repository",
            "--repo names a folder that is not in a git repository.",
            "A run starts from a commit and creates a branch.",
            "Run `git init`, commit the files, then start the run again.",
        )
    return git_error("rev-parse", result)


def _no_files_error(kind: str) -> Refused:
    return Refused(
        "target_without_files",
        f"--repo names {kind}.",
        "A run needs a working tree for its changes.",
        "Clone the repository, and give the clone to --repo.",
    )
