"""The target's own tools: which interpreter, what it has to see, and which tools answer there. Nothing is installed."""

import json
import os
import re
import shutil
import subprocess
import sys

from ...errors import NotFound, Unavailable
from ...sandbox import process as runner
from ..job import Settings, Tools
from ..verdict import Finding
from .target import Target

NEEDED = {
    "ruff": "check",
    "mypy": "check",
    "pytest": "test",
    "coverage": "test",
}  # tool -> the gate that runs it
ASK_S = 120
# -I: neither the folder we stand in nor PYTHONPATH may put a module of its own in a tool's place.
ALONE = "-I"
# What is installed with its version is taken at its word: to start all four took two thirds of a second, at each call.
# A tool that is there and broken fails in its gate, and that is blocked.
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
said = {name: installed(name) for name in sys.argv[1:]}
asked = [(name, ask(name)) for name in said if said[name] is None]
for name, process in asked:
    out = process.communicate()[0].decode("utf-8", "replace")
    if process.returncode == 0:
        said[name] = out
said = {name: version for name, version in said.items() if version}
try:
    import pip
    has_pip = True
except ImportError:
    has_pip = False
sys.stdout.write(json.dumps({
    "said": said, "pip": has_pip, "python": sys.version.split()[0], "executable": sys.executable,
    "prefixes": [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix], "path": sys.path,
}))
"""
_known: dict[str, dict] = {}


class Interpreter:
    """An interpreter: its path, the words by which a person names it, and whether uv keeps its environment."""

    def __init__(self, path: str, name: str, uv: bool = False):
        self.path = path
        self.name = name
        self.uv = uv


def find_tools(target: Target, python: str | None = None, commit: str | None = None) -> Tools:
    """What `python` names; else the target's .venv or venv; else what uv would use; else the python on the PATH."""
    place = (
        find_interpreter(target, python) if python else _own(target) or _by_uv(target) or _on_path()
    )
    answer = _known.get(place.path)
    if answer is None or set(NEEDED) - set(
        answer["said"]
    ):  # what was missing may have been installed since
        answer = _known[place.path] = _answer(place)
    versions = {name: _version(text) for name, text in answer["said"].items()}
    program = answer[
        "executable"
    ]  # not the path that was asked: that may be a script which looks for it
    return Tools(
        [program], _reads(target, program, answer["prefixes"], answer["path"]), _paths(target, commit),
        {"python": answer["python"], **versions}, _install(place, answer["pip"]),
    )  # fmt: skip


def find_missing_tools(tools: Tools, settings: Settings | None = None) -> list[Finding]:
    """What does not answer, each with the line that installs it; tools of a gate that is replaced are not needed."""
    replaced = settings.replaces if settings else frozenset()
    absent = [
        name for name, gate in NEEDED.items() if name not in tools.versions and gate not in replaced
    ]
    return [
        Finding(name, f"{name} does not run in the target. Install it: {tools.install} {name}")
        for name in absent
    ]


def find_interpreter(target: Target, python: str) -> Interpreter:
    """The interpreter that --python names, or NotFound."""
    for path in (shutil.which(python), os.path.abspath(python), os.path.join(target.path, python)):
        if path and os.path.isfile(path):
            return Interpreter(os.path.abspath(path), python, _is_uv(target))
    raise NotFound(
        "no_python",
        f"There is no interpreter {python[:80]!r}.",
        "--python names one by its path or its name.",
        "",
    )


def _own(target):
    """The environment beside the target's files, or further up in its repository."""
    folder = target.path
    while True:
        for name in (".venv", "venv"):
            for program in (("bin", "python"), ("Scripts", "python.exe")):
                path = os.path.join(folder, name, *program)
                if os.path.isfile(path):
                    return Interpreter(
                        path,
                        os.path.relpath(path, target.path).replace(os.sep, "/"),
                        _is_uv(target),
                    )
        if os.path.realpath(folder) == os.path.realpath(
            target.layout.top
        ) or folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)


def _is_uv(target):
    """Does uv keep this project? By its lock file, or by its settings."""
    for folder in {target.path, target.layout.top}:
        if os.path.isfile(os.path.join(folder, "uv.lock")):
            return True
        try:
            with open(
                os.path.join(folder, "pyproject.toml"), encoding="utf-8", errors="replace"
            ) as file:
                if re.search(r"^\s*\[tool\.uv[\].]", file.read(), re.M):
                    return True
        except OSError:
            pass
    return False


def _by_uv(target):
    """The interpreter that uv would use. `uv run` would make the environment where there is none; this only looks."""
    uv = shutil.which("uv")
    if uv is None or not _is_uv(target):
        return None
    kept = os.environ.get("UV_PROJECT_ENVIRONMENT")
    path = os.path.join(target.path, kept, "bin", "python") if kept else ""
    if not os.path.isfile(path):
        done = subprocess.run(
            [uv, "python", "find", "--offline", "--no-python-downloads"],
            cwd=target.path, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASK_S,
        )  # fmt: skip
        path = os.fsdecode(done.stdout).strip() if done.returncode == 0 else ""
    return Interpreter(path, "uv run python", True) if os.path.isfile(path) else None


def _on_path():
    for name in ("python3", "python"):
        path = shutil.which(name)
        if path:
            return Interpreter(path, name)
    return Interpreter(sys.executable, "python3")


def _answer(place: Interpreter) -> dict:
    environment = {
        name: value
        for name, value in runner.scrub_environment().items()
        if not name.startswith("PYTHON")
    }
    try:
        done = subprocess.run(
            [place.path, ALONE, "-c", ASK, *NEEDED],
            cwd=os.path.dirname(place.path), env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=ASK_S,
        )  # fmt: skip
        return json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise Unavailable(
            "python_does_not_run",
            f"{place.name} does not run.",
            f"{type(error).__name__}: asked for its version, it gave no answer.",
            "Mend the target's environment, or name another interpreter with --python.",
        ) from None


def _version(text):
    found = re.search(r"\d+(?:\.\w+)+", text)
    return found[0] if found else text.strip()[:40]


def _install(place: Interpreter, pip: bool) -> str:
    if place.uv:
        return "uv add --dev"
    return f"{place.name} -m pip install" if pip else f"uv pip install --python {place.name}"


def _reads(target: Target, path: str, prefixes: list[str], entries: list[str]) -> tuple[str, ...]:
    """Folders that the interpreter needs: its environment, its base, and where each link on the way to it lies.

    With them comes the source folder of a target that is installed in editable mode, but never its top with `.git`.
    """
    found = {os.path.abspath(prefix) for prefix in prefixes} | {
        os.path.realpath(prefix) for prefix in prefixes
    }
    link = path
    for _ in range(20):
        found.add(os.path.dirname(os.path.abspath(link)))
        if not os.path.islink(link):
            break
        link = os.path.join(os.path.dirname(link), os.readlink(link))
    top = os.path.realpath(target.layout.top)
    found |= {
        entry
        for entry in map(os.path.realpath, entries)
        if entry.startswith(top + os.sep) and os.path.isdir(entry)
    }
    home = os.path.expanduser("~")
    wide = {
        os.path.abspath(os.sep),
        home,
        os.path.realpath(home),
    }  # a folder that holds everything is never shown
    return tuple(
        one
        for one in sorted(found - wide)
        if not any(one.startswith(other + os.sep) for other in found - wide)
    )


def _paths(target: Target, commit: str | None) -> tuple[str, ...]:
    """Where packages lie: below src/ where there are sources in it and it is no package itself."""
    paths = target.paths(commit or target.head())
    layout = (
        any(path.startswith("src/") and path.endswith(".py") for path in paths)
        and "src/__init__.py" not in paths
    )
    return ("src", ".") if layout else (".",)
