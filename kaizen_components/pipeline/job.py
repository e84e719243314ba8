"""The input of a gate: two exported trees, what changed between them, and the target's tools."""

from typing import Any

PROTECTED = (
    "tests/**", "test/**", "**/test_*.py", "**/*_test.py", "**/conftest.py", "conftest.py",
    "pytest.ini", "tox.ini", "setup.cfg", "pyproject.toml", ".coveragerc", "mypy.ini", "ruff.toml",
    ".ruff.toml", "noxfile.py", "*.lock", "package-lock.json", "pnpm-lock.yaml",
    "requirements*.txt", ".github/**", ".kaizen/**", "sitecustomize.py", "usercustomize.py",
    "*.pth",
)  # fmt: skip


class Settings:
    """The settings in .kaizen/pipeline.toml, read from the base tree, never from the candidate."""

    def __init__(self, **given: Any):
        self.coverage_floor: float = given.pop("coverage_floor", 0.8)  # of changed lines
        self.kill_floor: float = given.pop("kill_floor", 0.6)  # of mutants on changed lines
        self.mutation_s: float = given.pop("mutation_s", 60.0)  # of all mutants together
        self.repeats: int = given.pop("repeats", 3)  # of new tests, to find flaky ones
        self.timeout_s: float = given.pop("timeout_s", 600.0)  # of one command
        self.minimum_level: str = given.pop("minimum_level", "L1")
        self.protected: tuple[str, ...] = tuple(given.pop("protected", PROTECTED))
        # The repository's own "check" and "test", and which of them replace ours.
        self.commands: dict[str, list[str]] = given.pop("commands", {})
        self.replaces: frozenset[str] = frozenset(given.pop("replaces", ()))
        self.budget: dict[str, float] = given.pop("budget", {})  # of a run, as a default
        self.allow_failing_baseline: bool = given.pop("allow_failing_baseline", False)
        assert not given, given


class Tools:
    """How to call the target's tools, and what they must be able to read."""

    def __init__(
        self, python: list[str], reads: tuple[str, ...] = (), paths: tuple[str, ...] = (".",),
        versions: dict[str, str] | None = None, install: str = "",
    ):  # fmt: skip
        self.python = python  # such as ["/project/.venv/bin/python"]
        self.reads = reads  # folders outside the tree that the interpreter needs
        self.paths = paths  # where the target's packages are in the tree: ".", "src"
        self.versions = versions or {}  # of python and of each tool that answers
        self.install = install  # the line that installs a tool there, up to its name


class Job:
    """One candidate for a gate to judge."""

    def __init__(
        self, base: str, head: str, base_tree: str, head_tree: str, changed: dict[str, set[int]],
        tools: Tools, settings: Settings, tests: tuple[str, ...] = (),
        granted: tuple[str, ...] = (), scratch: str = "",
    ):  # fmt: skip
        self.base = base  # the folder with the base tree, without .git; no gate writes into it
        self.head = head  # the folder with the candidate
        self.base_tree = base_tree  # their hashes
        self.head_tree = head_tree
        self.changed = changed  # path -> new or changed lines in head; without deleted files
        self.tools = tools
        self.settings = settings
        self.tests = tests  # new tests, written from the spec alone; in head and not in base
        self.grants = granted  # protected paths (globs) that the spec lets the builder change
        self.scratch = scratch  # a folder for the gate, on the same disk
