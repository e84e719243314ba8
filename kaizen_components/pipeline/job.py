"""The input of a gate: two trees, what changed between them, and the target's tools."""

from __future__ import annotations

from collections.abc import Iterable

PROTECTED = (
    *("tests/**", "test/**", "**/test_*.py", "**/*_test.py", "**/conftest.py", "conftest.py"),
    *("pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", ".coveragerc", "mypy.ini"),
    *("ruff.toml", ".ruff.toml", "noxfile.py", "*.lock", "package-lock.json", "pnpm-lock.yaml"),
    *("requirements*.txt", ".github/**", ".kaizen/**", "sitecustomize.py", "usercustomize.py"),
    "*.pth",
)


class Settings:
    """A repository's settings from .kaizen/pipeline.toml of its base, never of a candidate."""

    def __init__(
        self,
        *,
        coverage_floor: float = 0.8,
        kill_floor: float = 0.6,
        mutation_s: float = 60.0,
        repeats: int = 3,
        timeout_s: float = 600.0,
        minimum_level: str = "L1",
        protected: Iterable[str] = PROTECTED,
        commands: dict[str, list[str]] | None = None,
        replaces: Iterable[str] = (),
        budget: dict[str, float] | None = None,
        attempts: dict[str, int] | None = None,
        allow_failing_baseline: bool = False,
    ):
        self.coverage_floor = coverage_floor  # of changed lines
        self.kill_floor = kill_floor  # of mutants on changed lines
        self.mutation_s = mutation_s  # for all mutants together
        self.repeats = repeats  # of new tests, to find flaky ones
        self.timeout_s = timeout_s  # of one command
        self.minimum_level = minimum_level
        self.protected = tuple(protected)
        self.commands = commands or {}  # extra ones for the gates "check" and "test"
        self.replaces = frozenset(replaces)  # the gates that only run the repository's command
        self.budget = budget or {}  # of a run, unless the caller sets one
        self.attempts = attempts or {}  # of the model's steps, by name
        self.allow_failing_baseline = allow_failing_baseline


class Tools:
    """The commands of the target's own tools, and the folders that they must be able to read."""

    def __init__(
        self,
        python: list[str],
        reads: tuple[str, ...] = (),
        paths: tuple[str, ...] = (".",),
        versions: dict[str, str] | None = None,
        install: str = "",
    ):
        self.python = python  # the beginning of a command line: ["/project/.venv/bin/python"]
        self.reads = reads  # folders outside the tree that the interpreter needs
        self.paths = paths  # where the target's packages are in the tree: ".", "src"
        self.versions = versions or {}  # of python and of each tool that runs
        self.install = install  # the command that installs a tool there, without its name


class Job:
    """One candidate for a gate to judge."""

    def __init__(
        self,
        base: str,
        head: str,
        base_tree: str,
        head_tree: str,
        changed: dict[str, set[int]],
        tools: Tools,
        settings: Settings,
        tests: tuple[str, ...] = (),
        grants: tuple[str, ...] = (),
        scratch: str = "",
    ):
        self.base = base  # the folder with the base tree, without .git; gates write into copies
        self.head = head  # the folder with the candidate
        self.base_tree = base_tree  # the hash of each tree
        self.head_tree = head_tree
        self.changed = changed  # path -> numbers of new or changed lines in head; no deleted files
        self.tools = tools
        self.settings = settings
        self.tests = tests  # new tests, written from the spec alone: in head, not in base
        self.grants = grants  # protected paths (globs) that the spec lets the builder change
        self.scratch = scratch  # a folder for the gate, on the same disk
