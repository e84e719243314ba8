"""Find the target's interpreter, its tools, and the folders they read; install nothing."""

import json
import os
import re
import shutil
import subprocess
import sys
from typing import Any

from ...errors import NotFound, Unavailable
from ...sandbox import process as runner
from ..job import Settings, Tools
from ..verdict import Finding
from .target import Target

# tool -> the gate that runs it
NEEDED = {"ruff": "check", "mypy": "check", "pytest": "test", "coverage": "test"}
ASK_S = 120
# With -I, a module in the working folder or on PYTHONPATH cannot replace a tool.
ISOLATED = "-I"
# The installed version is read without starting the tool, because starting all four took 0.7 s at
# each call. A broken tool fails later in its gate, which is then blocked.
ASK = """
import importlib.metadata, importlib.util, json, subprocess, sys
def ask(name):
    return subprocess.Popen([sys.executable, "-I", "-m", name, "--version"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
def installed(name):
    try:
        return importlib.metadata.version(name) if importlib.util.find_spec(name) else None
    except importlib.metadata.PackageNotFoundError:
        return None
versions = {name: installed(name) for name in sys.argv[1:]}
for name, process in [(name, ask(name)) for name in versions if versions[name] is None]:
    out = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode == 0:
        versions[name] = out
try:
    import pip
    has_pip = True
except ImportError:
    has_pip = False
sys.stdout.write(json.dumps({
    "versions": {name: version for name, version in versions.items() if version}, "pip": has_pip,
    "python": sys.version.split()[0], "executable": sys.executable, "path": sys.path,
    "prefixes": [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix],
}))
"""
_answers: dict[str, dict[str, Any]] = {}


class Interpreter:
    """An interpreter: its path, its name in messages, and whether uv manages its environment."""

    def __init__(self, path: str, name: str, uv: bool = False):
        self.path = path
        self.name = name
        self.uv = uv


def find_tools(target: Target, python: str | None = None, commit: str | None = None) -> Tools:
    """Return the tools of `python`; without it, of the target's .venv or venv, of uv, or of the
    Python on the PATH."""
    named_interpreter = find_interpreter(target, python) if python else None
    place = named_interpreter or _find_environment(target) or _find_on_path(target)
    answer = _answers.get(place.path)
    if answer is None or set(NEEDED) - set(
        answer["versions"]
    ):  # a missing tool may be installed by now
        answer = _answers[place.path] = ask_interpreter(place)
    if place.uv:
        install = "uv add --dev"
    elif answer["pip"]:
        install = f"{place.name} -m pip install"
    else:
        install = f"uv pip install --python {place.name}"
    versions = {"python": answer["python"]}
    for name, text in answer["versions"].items():
        version = re.search(r"\d+(?:\.\w+)+", text)
        versions[name] = version[0] if version else text.strip()[:40]
    paths = target.list_paths(commit or target.find_head())
    has_src = "src/__init__.py" not in paths and any(
        path.startswith("src/") and path.endswith(".py") for path in paths
    )
    return Tools(
        [answer["executable"]],  # not place.path: it may be a script that starts the interpreter
        _list_folders_read(target, answer),
        ("src", ".") if has_src else (".",),
        versions,
        install,
    )


def find_missing_tools(tools: Tools, settings: Settings | None = None) -> list[Finding]:
    """Return a finding with an install line for each missing tool that a gate needs.

    A gate whose command the settings replace needs no tool.
    """
    replaced_gates = settings.replaces if settings else frozenset()
    return [
        Finding(name, f"{name} does not run in the target. Install it: {tools.install} {name}")
        for name, gate in NEEDED.items()
        if name not in tools.versions and gate not in replaced_gates
    ]


def find_interpreter(target: Target, python: str) -> Interpreter:
    """Return the interpreter that --python names, or raise NotFound."""
    for path in (shutil.which(python), os.path.abspath(python), os.path.join(target.path, python)):
        if path and os.path.isfile(path):
            return Interpreter(os.path.abspath(path), python, _is_uv(target))
    raise NotFound(
        "no_python",
        f"There is no interpreter {python[:80]!r}.",
        "It is neither a file nor a program on the PATH.",
        "Give --python the path or the name of an interpreter.",
    )


def _find_environment(target: Target) -> Interpreter | None:
    """Return the .venv or venv in the target's folder, or in a parent folder in its repository."""
    folder = target.path
    while True:
        for name in (".venv", "venv"):
            for program in (("bin", "python"), ("Scripts", "python.exe")):
                path = os.path.join(folder, name, *program)
                if os.path.isfile(path):
                    relative = os.path.relpath(path, target.path).replace(os.sep, "/")
                    return Interpreter(path, relative, _is_uv(target))
        parent = os.path.dirname(folder)
        if os.path.realpath(folder) == os.path.realpath(target.layout.top) or folder == parent:
            return None
        folder = parent


def _is_uv(target: Target) -> bool:
    """Return whether uv manages this project: it has a lock file or a table [tool.uv]."""
    for folder in {target.path, target.layout.top}:
        if os.path.isfile(os.path.join(folder, "uv.lock")):
            return True
        path = os.path.join(folder, "pyproject.toml")
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                if re.search(r"^\s*\[tool\.uv[\].]", file.read(), re.M):
                    return True
        except OSError:
            pass
    return False


def _find_on_path(target: Target) -> Interpreter:
    """Return the interpreter of a uv project; otherwise the one on the PATH, or our own."""
    uv = shutil.which("uv")
    if uv and _is_uv(target):
        environment = os.environ.get("UV_PROJECT_ENVIRONMENT")
        path = os.path.join(target.path, environment, "bin", "python") if environment else ""
        if not os.path.isfile(path):
            find = subprocess.run(  # `uv run` would create the environment; this only looks
                [uv, "python", "find", "--offline", "--no-python-downloads"],
                cwd=target.path,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=ASK_S,
            )
            path = os.fsdecode(find.stdout).strip() if find.returncode == 0 else ""
        if os.path.isfile(path):
            return Interpreter(path, "uv run python", True)
    for name in ("python3", "python"):
        if program := shutil.which(name):
            return Interpreter(program, name)
    return Interpreter(sys.executable, "python3")


def ask_interpreter(place: Interpreter) -> dict[str, Any]:
    """Return the interpreter's version, folders and tools; raise Unavailable if it does not run."""
    environment = {
        name: value
        for name, value in runner.scrub_environment().items()
        if not name.startswith("PYTHON")
    }
    try:
        answer = subprocess.run(
            [place.path, ISOLATED, "-c", ASK, *NEEDED],
            cwd=os.path.dirname(place.path),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_S,
        )
        return json.loads(answer.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise Unavailable(
            "python_does_not_run",
            f"The interpreter {place.name} does not run.",
            f"It did not report its version ({type(error).__name__}).",
            "Repair the target's environment, or name another interpreter with --python.",
        ) from None


def _list_folders_read(target: Target, answer: dict[str, Any]) -> tuple[str, ...]:
    """Return the folders that the interpreter reads: its environment, its base installation, and
    the folder of each link to it.

    If the target is installed in editable mode, its source folder is included, but never the root
    of the repository, which has `.git`.
    """
    folders = {
        clean(path) for path in answer["prefixes"] for clean in (os.path.abspath, os.path.realpath)
    }
    link = answer["executable"]
    for _ in range(20):
        folders.add(os.path.dirname(os.path.abspath(link)))
        if not os.path.islink(link):
            break
        link = os.path.join(os.path.dirname(link), os.readlink(link))
    top = os.path.realpath(target.layout.top)
    for entry in map(os.path.realpath, answer["path"]):
        if entry.startswith(top + os.sep) and os.path.isdir(entry):
            folders.add(entry)
    home = os.path.expanduser("~")
    folders -= {os.path.abspath(os.sep), home, os.path.realpath(home)}  # too much would be readable
    return tuple(
        folder
        for folder in sorted(folders)
        if not any(folder.startswith(other + os.sep) for other in folders)
    )
