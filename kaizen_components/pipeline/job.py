"""What a gate gets: two exported trees, what changed between them, and the tools of the target."""

from typing import Any

PROTECTED = (
    "tests/**", "test/**", "**/test_*.py", "**/*_test.py", "**/conftest.py", "conftest.py", "pytest.ini", "tox.ini",
    "setup.cfg", "pyproject.toml", ".coveragerc", "mypy.ini", "ruff.toml", ".ruff.toml", "noxfile.py", "*.lock",
    "package-lock.json", "pnpm-lock.yaml", "requirements*.txt",
    ".github/**", ".kaizen/**", "sitecustomize.py", "usercustomize.py", "*.pth",
)  # fmt: skip


class Settings:
    """What a repository may decide in .kaizen/pipeline.toml; read from the base tree, never from the candidate."""

    def __init__(self, **given: Any):
        self.coverage_floor: float = given.pop("coverage_floor", 0.8)  # of changed lines
        self.kill_floor: float = given.pop("kill_floor", 0.6)  # of mutants on changed lines
        self.mutation_s: float = given.pop(
            "mutation_s", 60.0
        )  # the time box of all mutants together
        self.repeats: int = given.pop("repeats", 3)  # of new tests, to see whether they are flaky
        self.timeout_s: float = given.pop("timeout_s", 600.0)  # of one command
        self.minimum_level: str = given.pop("minimum_level", "L1")
        self.protected: tuple[str, ...] = tuple(given.pop("protected", PROTECTED))
        self.commands: dict[str, list[str]] = given.pop(
            "commands", {}
        )  # the repository's own: "check", "test"
        self.replaces: frozenset[str] = frozenset(
            given.pop("replaces", ())
        )  # those that stand instead of ours
        self.budget: dict[str, float] = given.pop(
            "budget", {}
        )  # of a run, where the caller does not say
        self.allow_failing_baseline: bool = given.pop("allow_failing_baseline", False)
        assert not given, given


class Tools:
    """How the target's own tools are called: the beginning of each command line, and what it must see."""

    def __init__(
        self, python: list[str], reads: tuple[str, ...] = (), paths: tuple[str, ...] = (".",),
        versions: dict[str, str] | None = None, install: str = "",
    ):  # fmt: skip
        self.python = python  # such as ["/project/.venv/bin/python"]
        self.reads = (
            reads  # folders outside the tree that the interpreter needs: its environment, its base
        )
        self.paths = paths  # where the target's packages lie in the tree: ".", "src"
        self.versions = (
            versions or {}
        )  # of python and of each tool that answers; one that does not is absent
        self.install = install  # the line that installs a tool there, up to its name


class Job:
    """One candidate to be judged."""

    def __init__(
        self, base: str, head: str, base_tree: str, head_tree: str, changed: dict[str, set[int]], tools: Tools,
        settings: Settings, tests: tuple[str, ...] = (), granted: tuple[str, ...] = (), scratch: str = "",
    ):  # fmt: skip
        self.base = base  # the folder with the base tree, without .git; a gate may write into a copy, never into this
        self.head = head  # the folder with the candidate
        self.base_tree = base_tree  # their hashes
        self.head_tree = head_tree
        self.changed = changed  # path -> numbers of the lines that are new or changed in head; deleted files are absent
        self.tools = tools
        self.settings = settings
        self.tests = (
            tests  # new tests, written from the spec alone; they are in head and not in base
        )
        self.grants = granted  # protected paths (globs) that the spec lets the builder change
        self.scratch = scratch  # a folder of the gate's own, on the same disk
