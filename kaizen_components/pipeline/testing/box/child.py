"""The child: imports come from the tree first, the configuration is the base's, and then it is pytest."""

import os
import resource
import sys
import time
from importlib import machinery

from . import reporter

OVERRIDES = {"xdist": ["-n0"], "pytest_cov": ["--no-cov"]}  # what addopts may ask for and a session cannot have


def begin(asked: dict, plan: dict, send) -> None:
    """Run the session and end the process; nothing of the target runs after it."""
    try:
        os.setpgid(0, 0)
        if asked["quiet"]:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        if asked["cpu_s"]:
            resource.setrlimit(resource.RLIMIT_CPU, (asked["cpu_s"], asked["cpu_s"] + 1))
        _session(asked, plan, send)
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        os.write(2, f"session ended: {error!r}\n".encode())
    finally:
        os._exit(0)


def _session(asked, plan, send):
    import pytest

    root = plan["root"]
    os.chdir(root)
    sys.argv[:] = ["pytest"]
    _tree_first([os.path.normpath(os.path.join(root, path)) for path in plan["paths"]])
    measured = _coverage(root, asked["cover"]) if asked["cover"] else None
    plugin = reporter.Reporter(asked, root, send, measured)
    status = pytest.main(_arguments(asked, plan, root), plugins=[plugin])
    lines = _lines(measured, root, asked["cover"]) if measured else {}
    changed = [] if asked["fast"] else plan["before"].changed()  # 30 ms; a mutant's framework was looked at before
    send(kind="end", status=int(status), lines=lines, changed=changed, hooks=plugin.hooks, cpu_s=time.process_time())


def _arguments(asked, plan, root):
    """As the base would run it, without its cache, its other processes and its coverage; all of it, never a part."""
    from importlib.util import find_spec

    config = os.path.join(plan["folder"], "config", plan["config"])
    fixed = ["-p", "no:cacheprovider", "-c", config, f"--rootdir={root}", f"--confcutdir={root}", "--tb=short"]
    for module, options in OVERRIDES.items():
        fixed += options if find_spec(module) else []
    return [*fixed, f"--maxfail={int(asked['fast'])}", "--continue-on-collection-errors", *asked["select"]]


class TreeFirst:
    """Finds the target's own packages in the tree, before any editable install of the same project."""

    def __init__(self, paths):
        self._paths = paths

    def find_spec(self, name, path=None, target=None):
        spec = machinery.PathFinder.find_spec(name, self._paths) if path is None else None
        return spec if spec and spec.loader else None  # a plain folder hides no installed package


def _tree_first(paths):
    names = {name.split(".")[0] for path in paths if os.path.isdir(path) for name in os.listdir(path)}
    sys.path[:] = [*paths, *(path for path in sys.path if not _holds(path, names))]
    first: list = [machinery.BuiltinImporter, machinery.FrozenImporter]
    rest = [finder for finder in sys.meta_path if finder not in first and not _maps(finder, names)]
    sys.meta_path[:] = [*first, TreeFirst(paths), *rest]


def _holds(path, names):
    """Whether a folder that an editable install put on the path holds packages of the same names as the tree."""
    if path.startswith((sys.prefix, sys.base_prefix)) or "site-packages" in path or not os.path.isdir(path):
        return False
    return bool(names & {name for name in os.listdir(path) if os.path.isfile(os.path.join(path, name, "__init__.py"))})


def _maps(finder, names):
    mapping = getattr(sys.modules.get(getattr(finder, "__module__", ""), None), "MAPPING", None)
    return isinstance(mapping, dict) and bool(names & set(mapping))


def _coverage(root, files):
    """Data stays in memory; no configuration of the tree is read, and no comment in it excludes a line."""
    import coverage

    try:
        import coverage.tracer

        os.environ["COVERAGE_CORE"] = "ctrace"  # the newer core sees each line once, so not by which tests
    except ImportError:
        os.environ["COVERAGE_CORE"] = "pytrace"
    paths = [os.path.join(root, name) for name in files]
    measured = coverage.Coverage(data_file=None, include=paths, config_file=False, messages=False)
    measured.clear_exclude()
    measured.start()
    return measured


def _lines(measured, root, files):
    """path -> the lines that can be run, and for each one that was, the tests that did ("" is at import)."""
    measured.stop()
    data, seen = measured.get_data(), {}
    for name in files:
        path = os.path.join(root, name)
        try:
            can_run = measured.analysis2(path)[1]
        except Exception as error:  # no source, or not Python: nothing of it was measured
            seen[name] = {"error": f"{error}"[:300], "can_run": [], "ran": {}}
            continue
        seen[name] = {"can_run": can_run, "ran": data.contexts_by_lineno(path)}
    return seen
