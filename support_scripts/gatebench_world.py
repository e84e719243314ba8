"""The minimal environment of gatebench, and a tiny project for each problem."""

import difflib
import hashlib
import json
import pathlib
import shutil
import sys
import sysconfig
import venv
from importlib import metadata
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kaizen_components.pipeline.job import Job, Settings, Tools  # noqa: E402  (the path must be set first)

PACKAGES = ("pytest", "pluggy", "iniconfig", "packaging", "pygments", "coverage")
SPEC = "tests/test_spec.py"
COMMON = {
    "greeting.py": 'def greeting(name):\n    return f"Hello, {name}!"\n',
    "tests/test_greeting.py": "from greeting import greeting\n\n\ndef test_greeting():\n"
    '    assert greeting("Ada") == "Hello, Ada!"\n',
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n',
}


class Problem(NamedTuple):
    """One line of the data: a function to write, its reference, a bug and its tests."""

    name: str
    entry: str
    stub: str
    reference: str
    bug: str
    tests: str


def read_problems(path: pathlib.Path) -> list[Problem]:
    """Read the data; turn the checks of each row into a pytest file."""
    problems = []
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        entry, prompt = row["entry_point"], row["prompt"]
        checks = [text for text in row["test"].splitlines() if not text.startswith("check(")]
        tests = "\n".join(["from solution import *", *checks]).rstrip()
        tests += f"\n\n\ndef test_{entry}():\n    check({entry})\n"
        bodies = (
            "    raise NotImplementedError\n",
            row["canonical_solution"],
            row["buggy_solution"],
        )
        stub, reference, bug = (prompt + body for body in bodies)
        problems.append(Problem(row["task_id"], entry, stub, reference, bug, tests))
    return problems


def copy_environment(folder: pathlib.Path) -> pathlib.Path:
    """Make a virtual environment with pytest and coverage, copied from ours without the network."""
    venv.create(folder, with_pip=False, symlinks=True)
    target = pathlib.Path(
        sysconfig.get_path("purelib", "venv", {"base": str(folder), "platbase": str(folder)})
    )
    for package in PACKAGES:
        for file in metadata.files(package) or ():
            source = pathlib.Path(str(file.locate()))
            if source.is_file() and ".." not in file.parts:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target / file)
    return folder / "bin" / "python"


def write_tree(folder: pathlib.Path, files: dict[str, str | bytes]) -> str:
    """Write a tree, and return a hash of it."""
    digest = hashlib.sha256()
    for name, content in sorted(files.items()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        body = content.encode() if isinstance(content, str) else content
        (folder / name).write_bytes(body)
        digest.update(f"{name}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()


def make_job(
    folder: pathlib.Path,
    base: dict[str, Any],
    head: dict[str, Any],
    python: pathlib.Path,
    **settings: Any,
) -> Job:
    """Make a job like the engine's. `folder` keeps the baseline for later candidates."""
    if not (folder / "base").exists():
        write_tree(folder / "base", base)
    place = folder / f"head-{len(list(folder.glob('head-*')))}"
    tree = write_tree(place, head)
    (folder / "scratch").mkdir(exist_ok=True)
    digest = hashlib.sha256(json.dumps(base, sort_keys=True).encode()).hexdigest()
    changed = find_changed_lines(base, head)
    tools = Tools([str(python)], (str(python.parent.parent), sys.base_prefix))
    trees = (str(folder / "base"), str(place), digest, tree)
    scratch = str(folder / "scratch")
    return Job(*trees, changed, tools, Settings(**settings), (SPEC,), (), scratch)


def find_changed_lines(base: dict[str, Any], head: dict[str, Any]) -> dict[str, set[int]]:
    """Return path -> numbers of the lines that are new or changed."""
    changed: dict[str, set[int]] = {}
    for name, text in head.items():
        if isinstance(text, str) and text != base.get(name):
            before, after = base.get(name, "").splitlines(), text.splitlines()
            matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
            lines = (
                range(first + 1, last + 1)
                for kind, _, _, first, last in matcher.get_opcodes()
                if kind != "equal"
            )
            changed[name] = {line for part in lines for line in part}
    return changed
