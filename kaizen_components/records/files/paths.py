"""Which files a record is about: globs below the project, and the hash of what they match now.

`*`, `?` and `[…]` stay within a folder; `**` stands alone between slashes and crosses folders. A name is also fitted by
its own text, so that a file called `[id].tsx` can be named. Links are entries and never followed.
"""

import os

from ...errors import KaizenError, NotFound, Refused, Unavailable, Usage

SHOWN_MAX = 5


def normalize_globs(root: str, paths: list[str]) -> list[str]:
    """The globs as they are stored: relative, with forward slashes; a folder is everything below it."""
    return list(dict.fromkeys(_stored(root, path) for path in paths))


def _stored(root, path):
    parts = _split_path(path)
    plain = os.path.join(root, *parts)
    if path.endswith("/") or (os.path.isdir(plain) and not os.path.islink(plain)):
        parts.append("**")
    wrong = [part for part in parts if "**" in part and part != "**"]
    if wrong:
        raise Usage(
            "bad_glob",
            f"{wrong[0]!r} in --paths is no glob of ours.",
            "`**` stands for any number of folders, alone between slashes.",
            "Write `src/**/*.py` for the Python files at any depth, `src/*.py` for those in one folder.",
        )
    return "/".join(
        part for at, part in enumerate(parts) if part != "**" or parts[at - 1 : at] != ["**"]
    )


def normalize_path(root: str, path: str) -> str:
    """A file that somebody works on, relative to the project; it need not exist."""
    if os.path.isabs(path):
        for top in (root, os.path.realpath(root)):
            if path.startswith(top.rstrip(os.sep) + os.sep):
                path = path[len(top.rstrip(os.sep)) + 1 :]
                break
    return "/".join(_split_path(path))


def _split_path(path):
    plain = path.replace(os.sep, "/")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    if (
        plain[:1] in ("/", "\\")
        or plain[:2] == "~/"
        or plain[1:3] in (":/", ":\\")
        or ".." in parts
    ):
        raise Refused(
            "outside_project",
            f"{(parts or ['/'])[-1]!r} is not named from the project's root.",
            "Lessons name files by their path below the root, without `..`, so that they hold on every machine.",
            "Give it as `src/x.py`, or as a glob such as `src/*.py` or `src/**`.",
        )
    return parts


def matches_glob(glob: str, path: str) -> bool:
    """Does the glob name this path?"""
    if not path.startswith(glob.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0]):
        return False  # which is all that most globs take
    tail = glob.rsplit("*", 1)[-1].rsplit("?", 1)[-1].rsplit("]", 1)[-1]
    if not path.endswith(tail.removeprefix("/")):  # the ** before it may be no folder at all
        return False
    return _match_steps(_split_glob(glob), path.split("/"))


def _split_glob(glob):
    """The glob by folders; what lies below a folder has at least a name."""
    steps = glob.split("/")
    return [*steps, "*"] if steps[-1] == "**" else steps


def _match_steps(steps, names):
    """Step by step; where that fails, the last ** takes one name more."""
    step = name = again = 0
    deep = -1
    while name < len(names):
        if step < len(steps) and steps[step] == "**":
            deep, again = step, name
            step += 1
        elif step < len(steps) and _match_name(steps[step], names[name]):
            step, name = step + 1, name + 1
        elif deep >= 0:
            again += 1
            step, name = deep + 1, again
        else:
            return False
    return all(left == "**" for left in steps[step:])


def _match_name(step, name):
    if step == name:
        return True
    if not ("*" in step or "?" in step or "[" in step):
        return False
    from fnmatch import fnmatchcase

    return fnmatchcase(name, step)


class FileMatcher:
    """The project's files at one moment: each folder is read once, each file hashed once."""

    def __init__(self, root: str):
        self.root = root
        self._folders: dict[str, tuple[list[str], list[str]]] = {}
        self._entries: dict[str, tuple[str, str] | None] = {}

    def digest(self, globs: list[str]) -> str:
        """The hash of the files that the globs match; of nothing, if they match none."""
        from .files import hash_tree

        entries = [(path, self._entry(path)) for path in self.matched(globs)]
        return hash_tree([(path, *entry) for path, entry in entries if entry])

    def matched(self, globs: list[str]) -> list[str]:
        found: set[str] = set()
        for glob in globs:
            self._collect(_split_glob(glob), found)
        return sorted(found)

    def modified_since(self, globs: list[str], at: str) -> list[str]:
        """The files whose own time is after `at`: a hint, because a checkout sets times anew."""
        from ..ids import format_time

        found = []
        for path in self.matched(globs):
            try:
                if (
                    format_time(os.lstat(os.path.join(self.root, path)).st_mtime_ns // 1_000_000)
                    > at
                ):
                    found.append(path)
            except OSError:
                pass
        return found

    def _collect(self, steps, found):
        left, seen = [("", 0)], set()
        while left:
            here = left.pop()
            if here in seen:
                continue
            seen.add(here)
            folder, at = here
            folders, files = self._names(folder)
            if steps[at] == "**":
                left += [(folder, at + 1), *((folder + name + "/", at) for name in folders)]
            elif at < len(steps) - 1:
                left += [
                    (folder + name + "/", at + 1)
                    for name in folders
                    if _match_name(steps[at], name)
                ]
            else:
                found.update(folder + name for name in files if _match_name(steps[at], name))

    def _names(self, folder):
        """(folders, files and links) in a folder. Without .git and AI/db, which every commit and record changes."""
        if folder not in self._folders:
            folders: list[str] = []
            files: list[str] = []
            try:
                with os.scandir(os.path.join(self.root, folder)) as found:
                    for one in found:
                        if one.is_dir(follow_symlinks=False):
                            folders += (
                                [one.name]
                                if one.name != ".git" and folder + one.name != "AI/db"
                                else []
                            )
                        elif one.is_symlink() or one.is_file(
                            follow_symlinks=False
                        ):  # a pipe would never end
                            files.append(one.name)
            except (FileNotFoundError, NotADirectoryError):
                pass
            except OSError as error:
                raise Unavailable(
                    "folder_unreadable",
                    f"The folder {folder!r} cannot be read.",
                    str(error.strerror),
                    "Check its rights.",
                ) from None
            self._folders[folder] = folders, files
        return self._folders[folder]

    def _entry(self, path):
        """(mode, SHA-256), or None for a file that went away just now."""
        from .files import hash_entry

        if path not in self._entries:
            try:
                self._entries[path] = hash_entry(os.path.join(self.root, path))[:2]
            except (FileNotFoundError, NotFound):
                self._entries[path] = None
        return self._entries[path]


def check_staleness(
    tree: FileMatcher, globs: list[str], recorded: str | None, at: str
) -> dict[str, object]:
    """Are the files other than at `at`, when `recorded` was their hash? If so, with the reason in words."""
    if not globs or not recorded:
        return {"stale": False}
    named = ", ".join(globs)
    try:
        if tree.digest(globs) == recorded:
            return {"stale": False}
        if not tree.matched(globs):
            return {"stale": True, "stale_because": f"No file fits {named} any more."}
        modified = tree.modified_since(globs, at)
    except (
        KaizenError
    ) as error:  # an answer about lessons does not fail for a file that may not be read
        return {"stale": True, "stale_because": f"{error.what} {error.why}"}
    more = f" and {len(modified) - SHOWN_MAX} more" if len(modified) > SHOWN_MAX else ""
    which = f" Modified since: {', '.join(modified[:SHOWN_MAX])}{more}." if modified else ""
    return {
        "stale": True,
        "stale_because": f"What fits {named} changed since {at[:10]} {at[11:19]}Z.{which}",
    }
