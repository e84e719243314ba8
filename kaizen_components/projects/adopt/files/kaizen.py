#!/usr/bin/env python3
"""The launcher of Kaizen in this repository. The records stay here, in AI/db.

`kaizen.py adopt` wrote this file; its `--check` compares the file and `--remove` deletes it.
"""

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

gc.set_threshold(10_000)  # loading modules creates no garbage to collect

HERE = os.path.dirname(os.path.abspath(__file__))
ENGINE = os.path.join(HERE, "kaizen_components")


def stop(exit_code: int, code: str, what: str, why: str, next_step: str) -> "NoReturn":
    """Print the error as the engine does, and exit; a hook prints nothing and exits 0."""
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
        reason = "  why: " + why + "\n" if why else ""
        sys.stderr.write("error: " + what + "\n" + reason + " next: " + next_step + "\n")
    sys.exit(exit_code)


def has_engine(home: str) -> bool:
    return os.path.isfile(os.path.join(home, "kaizen_components", "args.py"))


def find_engine() -> "str | None":
    """Return the folder of an engine: KAIZEN_ENGINE, or a folder beside this one."""
    named = os.environ.get("KAIZEN_ENGINE")
    if named:
        return named
    around = os.path.dirname(HERE)
    for name in ("agent-kaizen", "kaizen", "engine"):
        home = os.path.join(around, name)
        if has_engine(home) and os.path.realpath(home) != os.path.realpath(HERE):
            return home
    return None


def stop_without_engine() -> None:
    """Exit with an error that says how to link the engine."""
    why = "The link to it is not committed. Each clone makes its own."
    if os.path.lexists(ENGINE):
        why = "kaizen_components leads to " + os.path.realpath(ENGINE) + ", which has no engine."
    home = find_engine()
    next_step = "Run `python3 kaizen.py relink --engine PATH` with the folder of the engine."
    if home and has_engine(home):
        next_step = "Run `python3 kaizen.py relink`. It will use the engine in " + home + "."
    stop(5, "engine_missing", "The Kaizen engine is not here.", why, next_step)


def relink(words: "list[str]") -> None:
    """Link kaizen_components to an engine on this machine."""
    named = words[1:] if words[:1] == ["--engine"] else words[0].split("=")[1:] if words else []
    if (words and len(named) != 1) or len(words) > 2:
        stop(2, "usage", "relink takes only --engine PATH.", "", "relink --engine ../agent-kaizen")
    home = named[0] if named else find_engine()
    if not home or not has_engine(home):
        what = (
            "There is no Kaizen engine in " + home + "." if home else "No Kaizen engine was found."
        )
        why = "Searched KAIZEN_ENGINE and the folders agent-kaizen, kaizen and engine beside this one."
        next_step = (
            "Name the folder of a clone of Kaizen: `python3 kaizen.py relink --engine PATH`."
        )
        stop(3, "no_engine", what, "" if home else why, next_step)
    package = os.path.join(os.path.realpath(home), "kaizen_components")
    if os.path.realpath(ENGINE) == package and not os.path.islink(ENGINE):
        stop(4, "engine_here", "The engine is in this folder.", "", "There is nothing to link.")
    try:
        if os.path.islink(ENGINE) or (os.name == "nt" and os.path.lexists(ENGINE)):
            os.unlink(ENGINE)
        if sys.platform == "win32":  # a junction: a symbolic link needs a right that few have
            import _winapi

            _winapi.CreateJunction(package, ENGINE)
        else:
            beside = os.path.dirname(os.path.dirname(package)) == os.path.dirname(HERE)
            # Relative, so that both folders can be moved together.
            os.symlink(os.path.relpath(package, HERE) if beside else package, ENGINE)
    except OSError as error:
        why = "A file or folder is there." if os.path.lexists(ENGINE) else str(error)
        stop(
            5,
            "cannot_link",
            "kaizen_components could not be linked.",
            why,
            "Move it away, then relink.",
        )
    sys.stdout.write("Linked kaizen_components to " + package + ".\n")
    sys.exit(0)


def has_packages() -> bool:
    for name in ("libsql", "libsql_experimental"):
        try:
            __import__(name)
            return True
        except ImportError:
            pass
    return False


def use_python_with_packages() -> None:
    """Start again with the Python of the .venv here, or else of the engine's."""
    # Only once, because two broken ones would start each other for ever.
    os.environ["KAIZEN_PYTHON_CHOSEN"] = "1"
    names = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    inside = os.path.join(*names)
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
if sys.argv[1:2] == ["relink"]:
    relink(sys.argv[2:])
if not has_engine(HERE):
    stop_without_engine()
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
    from kaizen_components.args import entry  # imported here, after KAIZEN_REPO_ROOT is set
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    entry()
