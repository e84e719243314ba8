"""What gatebench works with: an environment that has only what the gate needs, and a tiny project for each problem."""

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
    """One line of the data: a function to write, its reference and its bug as file contents, and its tests."""

    name: str
    entry: str
    stub: str
    reference: str
    bug: str
    tests: str


def read_problems(path: pathlib.Path) -> list[Problem]:
    with path.open(encoding="utf-8") as file:
        return [_problem(json.loads(line)) for line in file]


def _problem(row: dict[str, Any]) -> Problem:
    entry, prompt = row["entry_point"], row["prompt"]
    tests = "\n".join(line for line in row["test"].splitlines() if not line.startswith("check("))
    tests = (
        f"from solution import *\n{tests.rstrip()}\n\n\ndef test_{entry}():\n    check({entry})\n"
    )
    stub, reference, bug = (
        prompt + body
        for body in (
            "    raise NotImplementedError\n",
            row["canonical_solution"],
            row["buggy_solution"],
        )
    )
    return Problem(row["task_id"], entry, stub, reference, bug, tests)


def copy_environment(folder: pathlib.Path) -> pathlib.Path:
    """A virtual environment with pytest and coverage, copied from the one that runs this: no network is asked."""
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


def tools(python: pathlib.Path) -> Tools:
    return Tools([str(python)], (str(python.parent.parent), sys.base_prefix))


def make_job(
    folder: pathlib.Path,
    base: dict[str, Any],
    head: dict[str, Any],
    python: pathlib.Path,
    **settings: Any,
) -> Job:
    """A candidate as the engine would hand it over; `folder` keeps what is known of the base between candidates."""
    if not (folder / "base").exists():
        write_tree(folder / "base", base)
    place = folder / f"head-{len(list(folder.glob('head-*')))}"
    tree = write_tree(place, head)
    (folder / "scratch").mkdir(exist_ok=True)
    digest = hashlib.sha256(json.dumps(base, sort_keys=True).encode()).hexdigest()
    return Job(
        str(folder / "base"), str(place), digest, tree, find_changed_lines(base, head), tools(python), Settings(**settings),
        (SPEC,), (), str(folder / "scratch"),
    )  # fmt: skip


def find_changed_lines(base: dict[str, Any], head: dict[str, Any]) -> dict[str, set[int]]:
    """path -> numbers of the lines that are new or changed."""
    found: dict[str, set[int]] = {}
    for name, text in head.items():
        if isinstance(text, str) and text != base.get(name):
            before, after = base.get(name, "").splitlines(), text.splitlines()
            matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
            lines = (
                range(first + 1, last + 1)
                for kind, _, _, first, last in matcher.get_opcodes()
                if kind != "equal"
            )
            found[name] = {line for part in lines for line in part}
    return found
