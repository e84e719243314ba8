"""Prepare the files of a run: the exported base, the candidate, and the files quoted in prompts."""

from __future__ import annotations

import os
import re
import shutil
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from ..edits import apply as edits
from ..job import Job, Settings, Tools
from ..spec import render_spec
from .clearing import delete_path
from .examples import strip_tests
from .target import Target
from .toolchain import find_tools

if TYPE_CHECKING:
    from ...parameters import Place

LISTED_MAX = 400
FILE_CHARS_MAX = 24_000
README_CHARS_MAX = 2_000
HITS_MAX = 60
QUOTED_MAX = 12
EXAMPLES_MAX = 2
ROOM_CHARS = 6_000  # about 1,500 tokens
TESTS = re.compile(r"(^|/)test_[^/]*\.py$|_test\.py$")
OTHER_TESTS = re.compile(
    r"(^|/)(tests?|specs?|__tests__)/[^/]+\.\w+$|(^|/)test[._-][^/]*$|[._-](test|spec)\.\w+$"
)
TITLE_WORDS_MAX = 6
WORDS = re.compile(r"[A-Za-z_/][\w/-]{3,}")
READMES = ("README.md", "README.rst", "README.txt", "README")


class Workspace:
    """The working files of a run, which can be recreated from its records and the base commit."""

    def __init__(
        self, place: Place, run: dict[str, Any], options: dict[str, Any], folder: str | None = None
    ):
        self.run = run
        self.folder = folder or os.path.join(place.work, "runs", run["id"])
        self._repo = os.path.join(place.root, run["repo"])
        self.commit: str = run["base_commit"]
        self.options = options
        self._base: str | None = None
        self._settings: Settings | None = None

    @cached_property
    def target(self) -> Target:
        return Target(self._repo)

    def close(self) -> None:
        if "target" in vars(self):
            self.target.close()

    @property
    def base(self) -> str:
        """The folder with the base tree, which is exported at the first use."""
        if self._base is None:
            self._base = self._export_base("base")
        return self._base

    def export_inputs(self) -> str:
        """Export the base into a folder for an agent to read, which gates never use."""
        return os.path.abspath(self._export_base("inputs"))

    def _export_base(self, name: str) -> str:
        """Export the base into the folder `name`, unless it exists; a failure leaves no folder."""
        folder = os.path.join(self.folder, name)
        part = folder + ".part"
        if not os.path.isdir(folder):
            shutil.rmtree(part, ignore_errors=True)
            os.makedirs(part)
            self.target.export_commit(self.commit, part)
            os.rename(part, folder)
        return folder

    def delete_gate_files(self) -> None:
        """Delete all files that gates use, because an agent could have changed them meanwhile."""
        self._base = self._settings = None
        for name in ("base", "base.part", "head", "scratch", "objects"):
            delete_path(os.path.join(self.folder, name))

    @property
    def settings(self) -> Settings:
        from .settings import read_settings  # pydantic is slow

        if self._settings is None:
            self._settings = read_settings(self.base)
            self._settings.allow_failing_baseline |= bool(
                self.options.get("allow_failing_baseline")
            )
        return self._settings

    def list_paths(self) -> list[str]:
        return self.target.list_paths(self.commit)

    def read(self, path: str) -> bytes | None:
        """Return the content of a file of the base, or None if it does not exist."""
        return self.target.read_blob(self.commit, path)

    def render_listing(self) -> str:
        paths = self.list_paths()
        suffix = f"\n… and {len(paths) - LISTED_MAX:,} more" if len(paths) > LISTED_MAX else ""
        return "\n".join(paths[:LISTED_MAX]) + suffix

    def quote_files(self, paths: list[str]) -> list[dict[str, str]]:
        """Return the path and text of each file for a prompt, shortened."""
        return [
            {"path": path, "text": self._read_text(path)}
            for path in paths[:QUOTED_MAX]
            if self.read(path) is not None
        ]

    def quote_context(self, cited_paths: list[str]) -> list[dict[str, str]]:
        """Return the files that a builder sees: the cited ones, and other small sources.

        A scout often forgets an important file, and a few thousand more characters do no harm.
        """
        paths = list(dict.fromkeys(cited_paths))
        room = ROOM_CHARS - sum(len(self._read_text(path)) for path in paths)
        for path in self.list_likely_sources():
            if path.endswith(".py") and not TESTS.search(path):
                text = self._read_text(path)
                room -= len(text)
                if path not in cited_paths and room >= 0 and text.strip():
                    paths.append(path)
        return self.quote_files(paths)

    def _read_text(self, path: str) -> str:
        text = (self.read(path) or b"").decode("utf-8", "replace")
        return text if len(text) <= FILE_CHARS_MAX else text[:FILE_CHARS_MAX] + "\n… (cut)"

    def read_readme(self) -> tuple[str, str]:
        name = next((name for name in READMES if self.read(name) is not None), "")
        return name, self._read_text(name)[:README_CHARS_MAX] if name else ""

    def search_lines(self, text: str) -> str:
        """Return the lines of the base that contain a word of `text`, in the form of grep."""
        words = {word.lower() for word in WORDS.findall(text)}
        hits = []
        for path in self.list_paths():
            data = self.read(path) or b""
            if b"\0" in data or len(data) > 200_000:
                continue
            for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
                if any(word in line.lower() for word in words):
                    hits.append(f"{path}:{number}: {line.strip()[:160]}")
        return "\n".join(hits[:HITS_MAX])

    def list_likely_sources(self) -> list[str]:
        """Return the sources that a scout reads first: near the root, and the smallest first."""
        sources = [
            path for path in self.list_paths() if path.endswith((".py", ".toml", ".js", ".ts"))
        ]
        return sorted(
            sources, key=lambda path: (path.count("/"), len(self.read(path) or b""), path)
        )[:QUOTED_MAX]

    @property
    def is_pytest(self) -> bool:
        """Return whether our gate runs the tests with pytest; else the settings have a command."""
        return "test" not in self.settings.replaces

    def is_test(self, path: str) -> bool:
        return bool((TESTS if self.is_pytest else OTHER_TESTS).search(path))

    def list_examples(self) -> list[dict[str, str]]:
        """Return existing test files without their tests, as examples of imports and fixtures."""
        tests = [path for path in self.list_paths() if self.is_test(path)]
        files = self.quote_files(
            sorted(tests, key=lambda path: (len(self.read(path) or b""), path))[:EXAMPLES_MAX]
        )
        return (
            [{**file, "text": strip_tests(file["text"])} for file in files]
            if self.is_pytest
            else files
        )

    def choose_test_path(self, title: str) -> str:
        """Return an unused path for new tests, beside existing ones and named like them.

        Return an empty text if there is no existing test to follow.
        """
        example = next(
            (file["path"] for file in self.list_examples()),
            "tests/test_.py" if self.is_pytest else "",
        )
        if not example:
            return ""
        folder, name = os.path.split(example)
        words = "_".join(re.findall(r"[a-z0-9]+", title.lower())[:TITLE_WORDS_MAX]) or "change"
        prefix_text, suffix_text = "", os.path.splitext(name)[1]
        if prefix := re.match(r"test[._-]?", name):
            prefix_text = prefix[0]
        elif suffix := re.search(r"[._-](test|spec)\.\w+$", name):
            suffix_text = suffix[0]  # .test.js
        candidates = (
            f"{prefix_text}{words}{'' if number == 1 else f'_{number}'}{suffix_text}"
            for number in count(1)
        )
        paths = ("/".join(filter(None, (folder, name))) for name in candidates)
        return next(path for path in paths if path not in self.list_paths())

    def apply_answer(self, text: str) -> dict[str, bytes | None]:
        """Return {path: new content} of the edits in an answer, or raise EditRefused."""
        paths = self.list_paths()

        def is_link(path: str) -> bool:
            exported_path = os.path.join(self.base, path)
            # A link to outside of the base is listed, but not exported.
            return os.path.islink(exported_path) or (
                path in paths and not os.path.isfile(exported_path)
            )

        return edits.apply_edits(
            edits.parse_edits(text), self.read, existing_paths=paths, is_link=is_link
        )

    def collect_changes(self, build: str | None, tests: str | None) -> dict[str, bytes | None]:
        """Return {path: new content} of the edits in both answers together."""
        changes: dict[str, bytes | None] = {}
        for text in (build, tests):
            if text is not None:
                changes |= self.apply_answer(text)
        return changes

    def make_job(self, spec: dict[str, Any], build: str, tests: str | None) -> Job:
        """Write the candidate's tree into `head`, and return the job for a gate."""
        head = os.path.join(self.folder, "head")
        shutil.rmtree(head, ignore_errors=True)
        shutil.copytree(self.base, head, symlinks=True)
        edits.write_changes(head, self.collect_changes(build, tests))
        commit = self.write_candidate(spec, build, tests)
        test_paths = list(self.collect_changes(None, tests)) if tests else []
        scratch = os.path.join(self.folder, "scratch")
        os.makedirs(scratch, exist_ok=True)
        return Job(
            self.base,
            head,
            self.target.hash_files(self.commit),
            self.target.hash_files(commit, self.objects),
            self.target.find_changed_lines(self.commit, commit, self.objects),
            self._find_tools(),
            self.settings,
            tuple(test_paths),
            tuple(spec["grants"]),
            scratch,
        )

    def _find_tools(self) -> Tools:
        return find_tools(self.target, self.options.get("python"), self.commit)

    def make_base_job(self) -> Job:
        """Return the job for a gate that judges the base itself, before any answer."""
        tree, scratch = self.target.hash_files(self.commit), os.path.join(self.folder, "scratch")
        os.makedirs(scratch, exist_ok=True)
        tools = self._find_tools()
        return Job(self.base, self.base, tree, tree, {}, tools, self.settings, scratch=scratch)

    @property
    def objects(self) -> str:
        """The private folder for new git objects; a failed run leaves none in the target."""
        return os.path.join(self.folder, "objects")

    def write_candidate(self, spec: dict[str, Any], build: str, tests: str | None) -> str:
        """Write a commit with the edits of the answers, and return its hash."""
        return self.target.write_commit(
            self.commit,
            self.collect_changes(build, tests),
            build_commit_message(spec, self.run),
            self.objects,
        )

    def render_diff(self, commit: str) -> str:
        return self.target.render_diff(self.commit, commit, self.objects)

    def delete_files(self) -> None:
        """Delete all files that can be recreated."""
        self._base = None
        for name in ("base", "base.part", "head", "scratch", "objects", "inputs", "inputs.part"):
            shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)


def build_commit_message(spec: dict[str, Any], run: dict[str, Any]) -> str:
    return f"{spec['title']}\n\n{render_spec(spec)}\nMade by {run['id']}.\n"
