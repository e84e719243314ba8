"""The tree that static tools check: a copy whose tool settings are those of the base.

A candidate cannot hide a finding by a looser ruff.toml, a .gitignore or another mypy plugin.
"""

import configparser
import hashlib
import os
import shutil
import tomllib
from typing import Any

from ....sandbox import run as sandbox
from ...job import Job
from ...target.protected_files import copy_file, list_files, matches_any

CACHE = ".kaizen-mypy"
RUFF_FILES = ("ruff.toml", ".ruff.toml")
MYPY_FILES = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")
STEERING = frozenset((*RUFF_FILES, *MYPY_FILES, "tox.ini", ".gitignore", ".ignore"))
SKIPPED = frozenset((CACHE, "__pycache__", ".git"))
SKIPPED_FILES = shutil.ignore_patterns("*.pyc", *SKIPPED)


class ToolTree:
    """A folder that is filled anew for every tree. Only mypy's cache stays in it."""

    def __init__(self, job: Job, name: str = "static"):
        self.job = job
        self.folder = os.path.join(job.scratch, name)
        os.makedirs(self.folder, exist_ok=True)

    def fill_from(self, tree: str, with_tests: bool = False) -> None:
        """Copy base or head here. Skip the new tests by default: the builder did not write them."""
        job = self.job
        for entry in os.scandir(self.folder):
            if entry.name != CACHE:
                is_folder = entry.is_dir(follow_symlinks=False)
                shutil.rmtree(entry.path) if is_folder else os.unlink(entry.path)
        shutil.copytree(tree, self.folder, symlinks=True, ignore=SKIPPED_FILES, dirs_exist_ok=True)
        for path in job.tests:
            _remove_file(os.path.join(self.folder, path))
        # Take settings of tools, and files that are protected and not granted, from the base.
        extra_paths = list_steering_files(job.base, job.tools.paths)
        paths = list_files(job.base) | list_files(self.folder, SKIPPED)
        for path in paths if tree != job.base else ():
            is_steering = os.path.basename(path) in STEERING or path in extra_paths
            is_protected = matches_any(path, job.settings.protected)
            if is_steering or (is_protected and not matches_any(path, job.grants)):
                target, source = os.path.join(self.folder, path), os.path.join(job.base, path)
                _remove_file(target)
                if os.path.lexists(source):
                    copy_file(source, target)
        for path in job.tests if with_tests else ():
            copy_file(os.path.join(job.head, path), os.path.join(self.folder, path))
        # Without settings at the root, ruff would look for them above the target.
        has_own = any(os.path.lexists(os.path.join(self.folder, name)) for name in RUFF_FILES)
        project = read_toml(os.path.join(self.folder, "pyproject.toml"))
        if not has_own and "ruff" not in project.get("tool", {}):
            open(os.path.join(self.folder, "ruff.toml"), "w").close()
        # Derive each mtime from the content: mypy takes files of equal size and mtime for the same.
        for path in list_files(self.folder, SKIPPED):
            full_path = os.path.join(self.folder, path)
            if path.endswith((".py", ".pyi")) and not os.path.islink(full_path):
                with open(full_path, "rb") as file:
                    stamp = int.from_bytes(hashlib.sha256(file.read()).digest()[:4], "big") >> 1
                os.utime(full_path, (stamp, stamp))

    def run_tool(
        self, argv: list[str], tree: str, variables: dict[str, str] | None = None
    ) -> sandbox.SandboxResult:
        """Run a command in this folder; `tree` is the hash of its files."""
        reads, limit_s = self.job.tools.reads, self.job.settings.timeout_s
        return sandbox.run_in_sandbox(
            argv, self.folder, limit_s, tree=tree, reads=reads, variables=variables
        )

    def make_relative_path(self, path: str) -> str:
        """Return a path from a tool's output, relative to the root of the tree."""
        parts = [part for part in path.replace(os.sep, "/").split("/") if part not in ("", ".")]
        if not os.path.isabs(path):
            return "/".join(parts)
        for start in range(len(parts)):  # in the box the root may have another path
            if os.path.lexists(os.path.join(self.folder, *parts[start:])):
                return "/".join(parts[start:])
        return parts[-1] if parts else path

    def read_line(self, path: str, number: int) -> str:
        """Return a line without its indentation, or "" if the line does not exist."""
        try:
            with open(os.path.join(self.folder, path), "rb") as file:
                lines = file.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return ""
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def list_steering_files(base: str, roots: tuple[str, ...]) -> set[str]:
    """Return the files that settings of the base name: ruff's `extend` and local mypy plugins."""
    paths = set()
    for path in list_files(base):
        folder, name = os.path.split(path)
        if name in (*RUFF_FILES, "pyproject.toml"):
            settings = read_toml(os.path.join(base, path))
            if name == "pyproject.toml":
                settings = settings.get("tool", {}).get("ruff", {})
            if isinstance(settings.get("extend"), str):
                paths.add(os.path.join(folder, settings["extend"]))
    for plugin in read_mypy_settings(base)[1].get("plugins", []):
        module = plugin.split(":")[0].replace(".", "/")
        names = [plugin] if plugin.endswith(".py") else [f"{module}.py", f"{module}/__init__.py"]
        paths |= {os.path.join(root, name) for root in roots for name in names}
    return {os.path.normpath(path).replace(os.sep, "/") for path in paths}


def read_mypy_settings(folder: str) -> tuple[str, dict[str, list[str]]]:
    """Return the settings file that mypy would read and its list options; ("", {}) without one."""
    for name in MYPY_FILES:
        path = os.path.join(folder, name)
        settings: Any
        if name.endswith(".toml"):
            settings = read_toml(path).get("tool", {}).get("mypy")
        else:
            reader = configparser.RawConfigParser(strict=False)
            try:
                reader.read(path, encoding="utf-8")
                settings = dict(reader["mypy"]) if "mypy" in reader else None
            except (configparser.Error, UnicodeDecodeError):
                settings = {}  # mypy reports what is wrong with it
        if isinstance(settings, dict):
            lists = {}
            for key in ("files", "packages", "modules", "plugins"):
                value = settings.get(key, [])
                is_list = isinstance(value, list)
                words = value if is_list else str(value).replace("\n", ",").split(",")
                if key in settings:
                    lists[key] = [str(word).strip() for word in words if str(word).strip()]
            return name, lists
    return "", {}


def read_toml(path: str) -> dict[str, Any]:
    """Return a TOML file, or {} if it cannot be read: the tool reports what is wrong with it."""
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError):
        return {}


def _remove_file(path: str) -> None:
    if os.path.lexists(path) and (os.path.islink(path) or not os.path.isdir(path)):
        os.unlink(path)
