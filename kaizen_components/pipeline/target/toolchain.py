"""Find the target's own tools: its interpreter, the folders it reads, and the tools that it has.

Nothing is installed.
"""

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
# -I: neither the working folder nor PYTHONPATH may put a module of its own in a tool's place.
ISOLATED = "-I"
# An installed version is believed without starting the tool: starting all four took 0.7 s at each
# call. A broken tool fails in its gate, and the gate is then blocked.
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
    """Return the tools of `python`, or else of the target's .venv or venv, of uv, of the PATH."""
    named = find_interpreter(target, python) if python else None
    place = named or _find_environment(target) or _find_on_path(target)
    answer = _answers.get(place.path)
    if answer is None or set(NEEDED) - set(answer["versions"]):  # it may be installed by now
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
        [answer["executable"]],  # not the path that was asked, which may be a script
        _list_folders_read(target, answer),
        ("src", ".") if has_src else (".",),
        versions,
        install,
    )


def find_missing_tools(tools: Tools, settings: Settings | None = None) -> list[Finding]:
    """Return a finding with an install line for each tool that a gate needs and does not have.

    A gate that the settings replace needs none.
    """
    replaced = settings.replaces if settings else frozenset()
    return [
        Finding(name, f"{name} does not run in the target. Install it: {tools.install} {name}")
        for name, gate in NEEDED.items()
        if name not in tools.versions and gate not in replaced
    ]


def find_interpreter(target: Target, python: str) -> Interpreter:
    """Return the interpreter that --python names, or raise NotFound."""
    for path in (shutil.which(python), os.path.abspath(python), os.path.join(target.path, python)):
        if path and os.path.isfile(path):
            return Interpreter(os.path.abspath(path), python, _is_uv(target))
    raise NotFound(
        "no_python",
        f"There is no interpreter {python[:80]!r}.",
        "--python takes its path or its name.",
        "",
    )


def _find_environment(target: Target) -> Interpreter | None:
    """Return the environment beside the target's files, or further up in its repository."""
    folder = target.path
    while True:
        for name in (".venv", "venv"):
            for program in (("bin", "python"), ("Scripts", "python.exe")):
                path = os.path.join(folder, name, *program)
                if os.path.isfile(path):
                    shown = os.path.relpath(path, target.path).replace(os.sep, "/")
                    return Interpreter(path, shown, _is_uv(target))
        parent = os.path.dirname(folder)
        if os.path.realpath(folder) == os.path.realpath(target.layout.top) or folder == parent:
            return None
        folder = parent


def _is_uv(target: Target) -> bool:
    """Does uv manage this project? Its lock file or its settings say so."""
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
    """Return the interpreter that uv would use in its project, or else the one on the PATH."""
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
            f"{place.name} does not run.",
            f"It did not report its version ({type(error).__name__}).",
            "Repair the target's environment, or name another interpreter with --python.",
        ) from None


def _list_folders_read(target: Target, answer: dict[str, Any]) -> tuple[str, ...]:
    """Return the folders that the interpreter needs: its environment, its base, and each link's.

    The source folder of a target installed in editable mode is among them, but never the top with
    `.git`.
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
    folders -= {os.path.abspath(os.sep), home, os.path.realpath(home)}  # they hold everything
    return tuple(
        folder
        for folder in sorted(folders)
        if not any(folder.startswith(other + os.sep) for other in folders)
    )
