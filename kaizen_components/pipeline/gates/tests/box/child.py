"""The child process: import from the tree first, use the base's configuration, run pytest."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from . import imports, reporter

# Plugins that addopts may switch on, and the flags that switch them off again.
OVERRIDES = {"xdist": ["-n0"], "pytest_cov": ["--no-cov"]}


def run_child(options: dict[str, Any], plan: dict[str, Any], send: Callable[..., None]) -> None:
    """Run the session and end the process; nothing of the target runs after it.

    The base's configuration applies, except for its cache, parallel workers and coverage.
    """
    try:
        os.setpgid(0, 0)
        if options["quiet"]:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 1)
            os.dup2(nowhere, 2)
        if options["cpu_s"]:
            resource.setrlimit(resource.RLIMIT_CPU, (options["cpu_s"], options["cpu_s"] + 1))
        import pytest

        root = plan["root"]
        config = os.path.join(plan["folder"], "config", plan["config"])
        os.chdir(root)
        sys.argv[:] = ["pytest"]
        roots = [os.path.normpath(os.path.join(root, path)) for path in plan["paths"]]
        imports.put_tree_first(roots)
        words = ["-p", "no:cacheprovider", "-c", config, f"--rootdir={root}"]
        words += [f"--confcutdir={root}", "--tb=short", "--continue-on-collection-errors"]
        words.append(f"--maxfail={int(options['fast'])}")
        for module, flags in OVERRIDES.items():
            if find_spec(module) and not {module, "*"} & {*plan["blocked"]}:
                words += flags  # a blocked plugin has no options
        coverage = _start_coverage(root, options["cover"]) if options["cover"] else None
        plugin = reporter.Reporter(options, root, send, coverage)
        status = pytest.main([*words, *options["select"]], plugins=[plugin])
        lines = _read_coverage(coverage, root, options["cover"]) if coverage else {}
        # It takes 30 ms, so it is left out for mutants.
        framework_changes = [] if options["fast"] else plan["before"].list_changes()
        send(
            kind="end",
            status=int(status),
            lines=lines,
            changed=framework_changes,
            hooks=plugin.hooks,
            cpu_s=time.process_time(),
        )
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        os.write(2, f"session ended: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(0)


def _start_coverage(root: str, files: list[str]) -> Any:
    """Start coverage in memory. Ignore the tree's configuration and `pragma: no cover`."""
    import coverage

    try:
        import coverage.tracer

        # The newer core sees each line once, so it cannot tell which tests ran it.
        os.environ["COVERAGE_CORE"] = "ctrace"
    except ImportError:
        os.environ["COVERAGE_CORE"] = "pytrace"
    paths = [os.path.join(root, name) for name in files]
    meter = coverage.Coverage(data_file=None, include=paths, config_file=False, messages=False)
    meter.clear_exclude()
    meter.start()
    return meter


def _read_coverage(coverage_meter: Any, root: str, files: list[str]) -> dict[str, Any]:
    """Return each file's executable lines and the tests that ran each line ("" for an import)."""
    coverage_meter.stop()
    data = coverage_meter.get_data()
    lines = {}
    for name in files:
        path = os.path.join(root, name)
        try:
            can_run = coverage_meter.analysis2(path)[1]
        except Exception as error:  # no source, or not Python
            lines[name] = {"error": f"{error}"[:300], "can_run": [], "ran": {}}
            continue
        lines[name] = {"can_run": can_run, "ran": data.contexts_by_lineno(path)}
    return lines
