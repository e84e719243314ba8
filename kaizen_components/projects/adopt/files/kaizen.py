#!/usr/bin/env python3
"""The launcher of Kaizen in this repository. The records stay here, in AI/db.

Put here by `kaizen.py adopt`; its `--check` compares this file, its `--remove` takes it away.
"""

import gc
import os
import sys

gc.set_threshold(10_000)  # there is nothing to collect while modules load

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINE = os.path.join(HERE, "kaizen_components")


def stop(exit_code, code, what, why, next_step):
    """Say what, why and what next, as the engine would; a hook neither fails its host nor talks to
    it."""
    if [word.lower() for word in sys.argv[1:2]] in (["hook"], ["d3"]):
        sys.exit(0)
    if "--json" in sys.argv:
        import json

        error = {
            "status": "ERROR",
            "code": code,
            "what": what,
            "why": why,
            "next": next_step,
            "retryable": False,
        }
        sys.stderr.write(json.dumps(error) + "\n")
    else:
        sys.stderr.write("error: " + what + "\n  why: " + why + "\n next: " + next_step + "\n")
    sys.exit(exit_code)


def no_engine():
    why = "The link is never committed, so each clone makes its own."
    if os.path.lexists(ENGINE):
        why = (
            "kaizen_components leads to "
            + os.path.realpath(ENGINE)
            + ", and no whole engine is there any more."
        )
    next_step = (
        "Run `python3 WHERE_THE_ENGINE_IS/kaizen.py adopt . --apply` in this folder. "
        "The records in AI/ are safe."
    )
    stop(5, "engine_missing", "The Kaizen engine is not here.", why, next_step)


def has_packages():
    for name in ("libsql", "libsql_experimental"):
        try:
            __import__(name)
            return True
        except ImportError:
            pass
    return False


def use_python_with_packages():
    """A bare `python3` will do: the .venv here, or else the engine's own, has the packages."""
    os.environ["KAIZEN_PYTHON_CHOSEN"] = (
        "1"  # once, or two broken ones would start each other for ever
    )
    inside = (
        os.path.join("Scripts", "python.exe") if os.name == "nt" else os.path.join("bin", "python")
    )
    for home in (HERE, os.path.dirname(os.path.realpath(ENGINE))):
        python = os.path.join(home, ".venv", inside)
        if os.path.exists(python):
            command = [python, os.path.abspath(__file__)] + sys.argv[1:]  # noqa: RUF005  (for an old Python)
            if os.name != "nt":
                os.execv(python, command)
            import subprocess

            sys.exit(subprocess.call(command))


if not os.environ.get("KAIZEN_REPO_ROOT"):
    os.environ["KAIZEN_REPO_ROOT"] = HERE
if not os.path.isfile(os.path.join(ENGINE, "args.py")):
    no_engine()
if not os.environ.get("KAIZEN_PYTHON_CHOSEN") and (
    sys.version_info < (3, 11) or not has_packages()
):
    use_python_with_packages()
if sys.version_info < (3, 11):  # noqa: UP036  (the engine does not load on an older one)
    version = (
        "This is Python "
        + sys.version.split()[0]
        + ", and there is no .venv here or beside the engine."
    )
    stop(
        5,
        "python_too_old",
        "Kaizen needs Python 3.11 or newer.",
        version,
        "Run the engine's `bash setup/setup.sh`.",
    )

try:
    from kaizen_components.args import entry  # only now: the root had to be pinned first
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    entry()
