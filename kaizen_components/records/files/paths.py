"""Match the globs of a record with the files of the project, and hash the matches.

`*`, `?` and `[…]` match within one folder. `**` stands alone between slashes and matches any
number of folders. A glob also matches a file with exactly its text, so a file called `[id].tsx` can
be named. Links count as files and are never followed.
"""

from __future__ import annotations

import os

from ...errors import KaizenError, NotFound, Refused, Unavailable, Usage

SHOWN_MAX = 5


def normalize_globs(root: str, paths: list[str]) -> list[str]:
    """Return the globs relative to `root`, with forward slashes. Turn a folder into `folder/**`."""
    globs = []
    for path in paths:
        parts = _split_path(path)
        plain = os.path.join(root, *parts)
        if path.endswith("/") or (os.path.isdir(plain) and not os.path.islink(plain)):
            parts.append("**")
        wrong = [part for part in parts if "**" in part and part != "**"]
        if wrong:
            raise Usage(
                "bad_glob",
                f"{wrong[0]!r} in --paths is not a valid glob.",
                "`**` means any number of folders and must be alone between slashes.",
                "Write `src/**/*.py` for files at any depth, `src/*.py` for those in one folder.",
            )
        pairs = zip(parts, ["", *parts], strict=False)
        globs.append("/".join(part for part, before in pairs if (part, before) != ("**", "**")))
    return list(dict.fromkeys(globs))


def normalize_path(root: str, path: str) -> str:
    """Return a file's path relative to the project; it need not exist."""
    if os.path.isabs(path):
        for top in (root, os.path.realpath(root)):
            if path.startswith(top.rstrip(os.sep) + os.sep):
                path = path[len(top.rstrip(os.sep)) + 1 :]
                break
    return "/".join(_split_path(path))


def _split_path(path: str) -> list[str]:
    plain = path.replace(os.sep, "/")
    parts = [part for part in plain.split("/") if part not in ("", ".")]
    is_absolute = plain[:1] in ("/", "\\") or plain[:2] == "~/" or plain[1:3] in (":/", ":\\")
    if is_absolute or ".." in parts:
        raise Refused(
            "outside_project",
            f"{(parts or ['/'])[-1]!r} is not a path below the project's root.",
            "Lessons use paths below the root, so that they are valid on every machine.",
            "Write the path as `src/x.py`, or as a glob such as `src/*.py` or `src/**`.",
        )
    return parts


def matches_glob(glob: str, path: str) -> bool:
    """Return whether a glob matches a path. Most paths already differ in its fixed start or end."""
    if not path.startswith(glob.split("*", 1)[0].split("?", 1)[0].split("[", 1)[0]):
        return False
    tail = glob.rsplit("*", 1)[-1].rsplit("?", 1)[-1].rsplit("]", 1)[-1]
    if not path.endswith(tail.removeprefix("/")):  # `**` before the tail may match no folder at all
        return False
    steps, names = _split_glob(glob), path.split("/")
    step = name = retry = 0
    deep = -1
    while name < len(names):
        if step < len(steps) and steps[step] == "**":
            deep, retry = step, name
            step += 1
        elif step < len(steps) and _match_name(steps[step], names[name]):
            step, name = step + 1, name + 1
        elif deep >= 0:  # the last ** matches one more name
            retry += 1
            step, name = deep + 1, retry
        else:
            return False
    return all(left == "**" for left in steps[step:])


def _split_glob(glob: str) -> list[str]:
    """Split a glob at its slashes. Add `*` to a final `**`, which must match at least one name."""
    steps = glob.split("/")
    return [*steps, "*"] if steps[-1] == "**" else steps


def _match_name(step: str, name: str) -> bool:
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

    def hash_matches(self, globs: list[str]) -> str:
        """Return the hash of all files that the globs match; an empty list has a hash too."""
        from .files import hash_entry, hash_tree

        entries = []
        for path in self.find_matches(globs):
            if path not in self._entries:
                try:
                    self._entries[path] = hash_entry(os.path.join(self.root, path))[:2]
                except (FileNotFoundError, NotFound):  # the file was removed just now
                    self._entries[path] = None
            if entry := self._entries[path]:
                entries.append((path, *entry))
        return hash_tree(entries)

    def find_matches(self, globs: list[str]) -> list[str]:
        paths: set[str] = set()
        for glob in globs:
            self._collect(_split_glob(glob), paths)
        return sorted(paths)

    def find_modified_since(self, globs: list[str], at: str) -> list[str]:
        """Return the files modified after `at`. This is a hint: a checkout sets new times."""
        from ..ids import format_time

        paths = []
        for path in self.find_matches(globs):
            try:
                modified_ms = os.lstat(os.path.join(self.root, path)).st_mtime_ns // 1_000_000
            except OSError:
                continue
            if format_time(modified_ms) > at:
                paths.append(path)
        return paths

    def _collect(self, steps: list[str], paths: set[str]) -> None:
        waiting, seen = [("", 0)], set()
        while waiting:
            here = waiting.pop()
            if here in seen:
                continue
            seen.add(here)
            folder, at = here
            folders, files = self._list_folder(folder)
            if steps[at] == "**":
                waiting += [(folder, at + 1), *((f"{folder}{name}/", at) for name in folders)]
            elif at < len(steps) - 1:
                matches = [name for name in folders if _match_name(steps[at], name)]
                waiting += [(f"{folder}{name}/", at + 1) for name in matches]
            else:
                paths.update(folder + name for name in files if _match_name(steps[at], name))

    def _list_folder(self, folder: str) -> tuple[list[str], list[str]]:
        """Return (folders, files and links) without .git and AI/db, which change all the time."""
        if folder in self._folders:
            return self._folders[folder]
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(os.path.join(self.root, folder)) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != ".git" and folder + entry.name != "AI/db":
                            folders.append(entry.name)
                    elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                        files.append(entry.name)  # leave out pipes: reading one would never end
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            what, why = f"The folder {folder!r} cannot be read.", str(error.strerror)
            raise Unavailable("folder_unreadable", what, why, "Check its permissions.") from None
        self._folders[folder] = folders, files
        return folders, files


def check_staleness(
    matcher: FileMatcher, globs: list[str], recorded: str | None, at: str
) -> dict[str, object]:
    """Return whether the files no longer have the hash `recorded` at the time `at`, and why."""
    if not globs or not recorded:
        return {"stale": False}
    try:
        if matcher.hash_matches(globs) == recorded:
            return {"stale": False}
        if not matcher.find_matches(globs):
            reason = f"No file matches {', '.join(globs)} any more."
            return {"stale": True, "stale_because": reason}
        modified = matcher.find_modified_since(globs, at)
    except KaizenError as error:  # an unreadable file must not fail an answer about lessons
        return {"stale": True, "stale_because": f"{error.what} {error.why}"}
    reason = f"The files of {', '.join(globs)} changed since {at[:10]} {at[11:19]}Z."
    if modified:
        more = f" and {len(modified) - SHOWN_MAX} more" if len(modified) > SHOWN_MAX else ""
        reason += f" Modified since: {', '.join(modified[:SHOWN_MAX])}{more}."
    return {"stale": True, "stale_because": reason}
