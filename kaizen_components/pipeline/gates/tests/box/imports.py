"""Set up imports in a box: prefer the tree, and ignore environment variables such as PYTHONPATH."""

from __future__ import annotations

import os
import sys
from importlib import machinery
from typing import Any


def clear_environment() -> None:
    """Remove variables that affect Python or pytest, and path entries from PYTHONPATH and `-c`."""
    path_entries = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for name in list(os.environ):
        if name.startswith(("PYTHON", "PYTEST_", "COVERAGE_", "COV_")) and name != "PYTHONHASHSEED":
            del os.environ[name]
    sys.path[:] = [path for path in sys.path if path not in ("", *path_entries)]


class TreeFinder:
    """Find the target's packages in the tree, before any editable install of the same project."""

    def __init__(self, paths: list[str]):
        self._paths = paths

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        spec = machinery.PathFinder.find_spec(name, self._paths) if path is None else None
        # A folder without __init__.py has no loader and is no package.
        return spec if spec and spec.loader else None


def put_tree_first(paths: list[str]) -> None:
    """Import from these folders before anything else, and never from another copy of the tree."""
    names = {name.split(".")[0] for path in paths for name in _list_folder(path)}
    sys.path[:] = [*paths, *(path for path in sys.path if not _has_same_packages(path, names))]
    builtin: list[Any] = [machinery.BuiltinImporter, machinery.FrozenImporter]
    other_finders = []
    for finder in sys.meta_path:
        module = sys.modules.get(getattr(finder, "__module__", ""))
        mapping = getattr(module, "MAPPING", None)  # of an editable install by setuptools
        is_editable = isinstance(mapping, dict) and names & set(mapping)
        if finder not in builtin and not is_editable:
            other_finders.append(finder)
    sys.meta_path[:] = [*builtin, TreeFinder(paths), *other_finders]


def _has_same_packages(path: str, names: set[str]) -> bool:
    """Return whether an editable install put this folder with the tree's packages on the path."""
    if path.startswith((sys.prefix, sys.base_prefix)) or "site-packages" in path:
        return False
    return any(
        name in names and os.path.isfile(os.path.join(path, name, "__init__.py"))
        for name in _list_folder(path)
    )


def _list_folder(path: str) -> list[str]:
    """Return the names in a folder; none if it is missing or the sandbox hides it."""
    try:
        return os.listdir(path)
    except OSError:
        return []
