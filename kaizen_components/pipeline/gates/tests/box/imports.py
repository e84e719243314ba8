"""Where imports come from in a box: the tree first, and nothing that the environment says."""

import os
import sys
from importlib import machinery


def clear_environment() -> None:
    """What tells Python or pytest to do more than we say, and the folders that PYTHONPATH and `-c` put first."""
    outside = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for name in [
        name for name in os.environ if name.startswith(("PYTHON", "PYTEST_", "COVERAGE_", "COV_"))
    ]:
        if name != "PYTHONHASHSEED":
            del os.environ[name]
    sys.path[:] = [path for path in sys.path if path not in ("", *outside)]


class TreeFirst:
    """Finds the target's own packages in the tree, before any editable install of the same project."""

    def __init__(self, paths):
        self._paths = paths

    def find_spec(self, name, path=None, target=None):
        spec = machinery.PathFinder.find_spec(name, self._paths) if path is None else None
        return spec if spec and spec.loader else None  # a plain folder hides no installed package


def put_tree_first(paths: list) -> None:
    """Let imports look into these folders before anything else."""
    names = {name.split(".")[0] for path in paths for name in _list_folder(path)}
    sys.path[:] = [*paths, *(path for path in sys.path if not _holds(path, names))]
    first: list = [machinery.BuiltinImporter, machinery.FrozenImporter]
    rest = [finder for finder in sys.meta_path if finder not in first and not _maps(finder, names)]
    sys.meta_path[:] = [*first, TreeFirst(paths), *rest]


def _holds(path, names):
    """Whether a folder that an editable install put on the path holds packages of the same names as the tree."""
    if path.startswith((sys.prefix, sys.base_prefix)) or "site-packages" in path:
        return False
    inside = (
        name
        for name in _list_folder(path)
        if os.path.isfile(os.path.join(path, name, "__init__.py"))
    )
    return not names.isdisjoint(inside)


def _list_folder(path):
    """Return the names in a folder. One that is missing, or that the sandbox hides, has none."""
    try:
        return os.listdir(path)
    except OSError:
        return []


def _maps(finder, names):
    mapping = getattr(sys.modules.get(getattr(finder, "__module__", ""), None), "MAPPING", None)
    return isinstance(mapping, dict) and bool(names & set(mapping))
