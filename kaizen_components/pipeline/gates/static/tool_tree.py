"""The place where tools look at a tree: a copy in which everything that steers a tool is the base's.

A candidate that loosens ruff.toml, adds a .gitignore or changes a plugin of mypy is judged as if it had not.
"""

import configparser
import hashlib
import os
import shutil
import tomllib

from ...job import Job
from ...target.review import matches_any

CACHE = ".kaizen-mypy"
STEERING = frozenset(
    {
        "ruff.toml",
        ".ruff.toml",
        "pyproject.toml",
        "mypy.ini",
        ".mypy.ini",
        "setup.cfg",
        "tox.ini",
        ".gitignore",
        ".ignore",
    }
)
LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc", ".git", CACHE)


class ToolTree:
    """One folder that is filled anew for every tree; what mypy remembers of the last one stays in it."""

    def __init__(self, job: Job, name: str = "static"):
        self.job = job
        self.folder = os.path.join(job.scratch, name)
        os.makedirs(self.folder, exist_ok=True)

    def fill(self, tree: str, with_tests: bool = False) -> None:
        """Put base or head into the room, with the new tests or without: the builder has not written them."""
        for name in os.listdir(self.folder):
            if name != CACHE:
                path = os.path.join(self.folder, name)
                shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(
                    path
                ) else os.unlink(path)
        shutil.copytree(tree, self.folder, symlinks=True, ignore=LEFT_OUT, dirs_exist_ok=True)
        for path in self.job.tests:
            _remove(os.path.join(self.folder, path))
        if tree != self.job.base:
            self._steer()
        for path in self.job.tests if with_tests else ():
            os.makedirs(os.path.dirname(os.path.join(self.folder, path)), exist_ok=True)
            shutil.copy2(
                os.path.join(self.job.head, path),
                os.path.join(self.folder, path),
                follow_symlinks=False,
            )
        self._alone()
        _stamp(self.folder)

    def _steer(self):
        """Every file that steers a tool, or is protected and not granted, as the base has it; or not at all."""
        extra = list_steering_files(self.job.base, self.job.tools.paths)
        for path in {*_listed(self.job.base), *_listed(self.folder)}:
            kept = os.path.basename(path) in STEERING or path in extra
            if kept or (
                matches_any(path, self.job.settings.protected)
                and not matches_any(path, self.job.grants)
            ):
                _remove(os.path.join(self.folder, path))
                source = os.path.join(self.job.base, path)
                if os.path.lexists(source):
                    os.makedirs(os.path.dirname(os.path.join(self.folder, path)), exist_ok=True)
                    shutil.copy2(source, os.path.join(self.folder, path), follow_symlinks=False)

    def _alone(self):
        """Without settings at its root ruff would look further up, into folders that are not the target's."""
        there = any(
            os.path.lexists(os.path.join(self.folder, name)) for name in ("ruff.toml", ".ruff.toml")
        )
        if not there and "ruff" not in read_toml(os.path.join(self.folder, "pyproject.toml")).get(
            "tool", {}
        ):
            with open(os.path.join(self.folder, "ruff.toml"), "w", encoding="utf-8"):
                pass

    def relative(self, path: str) -> str:
        """A path that a tool named, from the root of the tree, wherever the box has put that."""
        parts = [part for part in path.replace(os.sep, "/").split("/") if part not in ("", ".")]
        if not os.path.isabs(path):
            return "/".join(parts)
        for at in range(len(parts)):
            if os.path.lexists(os.path.join(self.folder, *parts[at:])):
                return "/".join(parts[at:])
        return parts[-1] if parts else path

    def line(self, path: str, number: int) -> str:
        """The text of a line, without the blanks around it; "" where there is none."""
        try:
            with open(os.path.join(self.folder, path), "rb") as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def list_steering_files(base: str, roots: tuple[str, ...]) -> set[str]:
    """Files that the base's own settings name: what ruff's `extend`, and local plugins of mypy."""
    found = set()
    for path in _listed(base):
        if os.path.basename(path) in ("ruff.toml", ".ruff.toml", "pyproject.toml"):
            given = read_toml(os.path.join(base, path))
            given = (
                given.get("tool", {}).get("ruff", {}) if path.endswith("pyproject.toml") else given
            )
            if isinstance(given.get("extend"), str):
                found.add(
                    os.path.normpath(os.path.join(os.path.dirname(path), given["extend"])).replace(
                        os.sep, "/"
                    )
                )
    for plugin in read_mypy_settings(base)[1].get("plugins", []):
        module = plugin.split(":")[0].replace(".", "/")
        names = [plugin] if plugin.endswith(".py") else [f"{module}.py", f"{module}/__init__.py"]
        found |= {
            os.path.normpath(os.path.join(root, name)).replace(os.sep, "/")
            for root in roots
            for name in names
        }
    return found


def read_mypy_settings(folder: str) -> tuple[str, dict[str, list[str]]]:
    """(the file that mypy would read, its lists that matter here); ("", {}) where there is none."""
    for name in ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg"):
        path = os.path.join(folder, name)
        if name.endswith(".toml"):
            given = read_toml(path).get("tool", {}).get("mypy")
        else:
            reader = configparser.RawConfigParser(strict=False)
            try:
                reader.read(path, encoding="utf-8")
                given = dict(reader["mypy"]) if "mypy" in reader else None
            except (configparser.Error, UnicodeDecodeError):
                given = {}  # mypy will say what is wrong with it
        if isinstance(given, dict):
            return name, {
                key: _words(given[key])
                for key in ("files", "packages", "modules", "plugins")
                if key in given
            }
    return "", {}


def _words(value):
    given = value if isinstance(value, list) else str(value).replace("\n", ",").split(",")
    return [str(word).strip() for word in given if str(word).strip()]


def read_toml(path: str) -> dict:
    """A TOML file as far as it can be read: what is wrong with it is for the tool to say."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _listed(folder):
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in (CACHE, "__pycache__")]
        for name in (
            *files,
            *(name for name in folders if os.path.islink(os.path.join(here, name))),
        ):
            yield os.path.relpath(os.path.join(here, name), folder).replace(os.sep, "/")


def _remove(path):
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
        os.unlink(path)


def _stamp(folder):
    """Set each source's time by its content: mypy takes a file of the same size and second for the same file."""
    for path in _listed(folder):
        full = os.path.join(folder, path)
        if path.endswith((".py", ".pyi")) and not os.path.islink(full):
            with open(full, "rb") as file:
                stamp = int.from_bytes(hashlib.sha256(file.read()).digest()[:4], "big") >> 1
            os.utime(full, (stamp, stamp))
