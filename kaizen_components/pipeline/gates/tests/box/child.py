"""The child: imports come from the tree first, the configuration is the base's, and then it is pytest."""

import os
import resource
import sys
import time

from . import imports, reporter

OVERRIDES = {
    "xdist": ["-n0"],
    "pytest_cov": ["--no-cov"],
}  # what addopts may ask for and a session cannot have


def run_child(asked: dict, plan: dict, send) -> None:
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
        os.write(2, f"session ended: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(0)


def _session(asked, plan, send):
    import pytest

    root = plan["root"]
    os.chdir(root)
    sys.argv[:] = ["pytest"]
    imports.put_tree_first([os.path.normpath(os.path.join(root, path)) for path in plan["paths"]])
    measured = _coverage(root, asked["cover"]) if asked["cover"] else None
    plugin = reporter.Reporter(asked, root, send, measured)
    status = pytest.main(_arguments(asked, plan, root), plugins=[plugin])
    lines = _lines(measured, root, asked["cover"]) if measured else {}
    changed = (
        [] if asked["fast"] else plan["before"].changed()
    )  # 30 ms; a mutant's framework was looked at before
    send(
        kind="end",
        status=int(status),
        lines=lines,
        changed=changed,
        hooks=plugin.hooks,
        cpu_s=time.process_time(),
    )


def _arguments(asked, plan, root):
    """As the base would run it, without its cache, its other processes and its coverage; all of it, never a part."""
    from importlib.util import find_spec

    config = os.path.join(plan["folder"], "config", plan["config"])
    fixed = [
        "-p",
        "no:cacheprovider",
        "-c",
        config,
        f"--rootdir={root}",
        f"--confcutdir={root}",
        "--tb=short",
    ]
    for module, options in OVERRIDES.items():
        blocked = {module, "*"} & {*plan["blocked"]}  # it has no options then
        fixed += options if find_spec(module) and not blocked else []
    return [
        *fixed,
        f"--maxfail={int(asked['fast'])}",
        "--continue-on-collection-errors",
        *asked["select"],
    ]


def _coverage(root, files):
    """Data stays in memory; no configuration of the tree is read, and no comment in it excludes a line."""
    import coverage

    try:
        import coverage.tracer

        os.environ["COVERAGE_CORE"] = (
            "ctrace"  # the newer core sees each line once, so not by which tests
        )
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
