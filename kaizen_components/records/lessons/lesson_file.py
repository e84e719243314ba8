"""Find the Markdown files that hold lessons, and read them."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ...errors import KaizenError, NotFound, Refused, Unavailable, Usage
from ...limits import BODY_CHARS_MAX
from ..files.files import find_project_path
from ..ledger.hashing import sha256
from ..secrets import scan
from .entry import Entry, Page, read_page

BY_FILE = {"gotcha.md": "gotcha", "learning.md": "learning", "learned.md": "learned"}
TOOL_FOLDERS = """
.git .hg .svn .jj .venv node_modules __pycache__ .tox .nox .eggs .hypothesis .direnv .gradle
.terraform .next .nuxt .svelte-kit .turbo .yarn .pnpm-store .npm"""
SKIPPED_FOLDERS = frozenset(TOOL_FOLDERS.split())
TOOL_MARKS = ("pyvenv.cfg", "CACHEDIR.TAG")  # files of a virtual environment and of a cache
REMEDIES = {
    "file_unreadable": "Make it readable, then run the command again.",
    "path_not_utf8": "Rename the folder, then run the command again.",
    "not_utf8": "Convert the file to UTF-8, then run the command again.",
    "nul_character": "Convert it to UTF-8 without NUL characters, then run the command again.",
    "entry_too_long": "Split the entry with headings or list items, then run the command again.",
    "secret_refused": "Remove it, or write an obviously fake value (docs/secrets.md says which).",
}


@dataclass
class Problem:
    """Why a file cannot be migrated."""

    code: str
    line: int
    text: str
    error: type[KaizenError] = Refused


@dataclass
class LessonFile:
    path: str  # below the project, with forward slashes
    kind: str
    real: str  # the path of the file itself, with links resolved
    sha256: str = ""
    data: bytes = b""
    page: Page = field(default_factory=Page)
    problems: list[Problem] = field(default_factory=list)

    @property
    def entries(self) -> list[Entry]:
        return self.page.entries

    def hash_entry(self, entry: Entry) -> str:
        return entry.source_hash(self.kind, self.path)

    def add_problem(
        self, code: str, line: int, text: str, error: type[KaizenError] = Refused
    ) -> None:
        self.problems.append(Problem(code, line, text, error))


def get_file_kind(path: str) -> str | None:
    return BY_FILE.get(os.path.basename(path).lower())


def find_lesson_files(
    root: str, roots: Sequence[str] = ()
) -> tuple[list[LessonFile], list[dict[str, str]]]:
    """Return all lesson files below the project or `roots`, and what was skipped and why."""
    base = os.path.realpath(root)
    skipped: list[dict[str, str]] = []
    paths: dict[str, None] = {}
    for start in [_resolve_root(base, given_path) for given_path in roots] or [base]:
        paths.update(dict.fromkeys(_walk(base, start, skipped)))
    files: dict[str, LessonFile] = {}
    # Read links last: if a link leads to a lesson file, the link is skipped.
    links = {path for path in paths if os.path.islink(os.path.join(base, path))}
    in_order = sorted(paths, key=lambda path: (path in links, os.fsencode(path)))
    for path in in_order:
        real = os.path.realpath(os.path.join(base, path))
        why = ""
        if find_project_path(base, path) is None:
            why = "a link that leads out of the project"
        elif not os.path.isfile(real):
            why = "not a file"
        elif real in files:
            why = f"a link to {spell_path(files[real].path)}"
        elif _is_in_skipped_folder(base, os.path.dirname(real)):
            why = "a link into a folder that is not searched"
        if why:
            skipped.append({"path": spell_path(path), "why": why})
        else:
            files[real] = load_lesson_file(path, real)
    return sorted(files.values(), key=lambda file: os.fsencode(file.path)), skipped


def _resolve_root(base: str, given_path: str) -> str:
    path = find_project_path(base, given_path)
    if path is None or path.startswith("../"):
        raise Refused(
            "outside_project",
            f"{spell_path(os.path.basename(given_path.rstrip('/')) or given_path)} is outside the project.",
            "Lessons are migrated from folders below the project's root; links that lead out are not followed.",
            "Give --roots as folders below the project.",
        )
    real, shown_path = os.path.realpath(os.path.join(base, path)), spell_path(path)
    if not os.path.exists(real):
        raise NotFound(
            "folder_not_found",
            f"There is no folder {shown_path}.",
            "--roots must name folders of the project.",
            "Check --roots.",
        )
    if not os.path.isdir(real):
        raise Usage(
            "not_a_folder",
            f"{shown_path} is not a folder.",
            "Lessons are searched in folders.",
            "Give --roots the folder that contains the file.",
        )
    if _is_in_skipped_folder(base, real):
        why = "A tool, such as git, keeps its own files there."
        raise Refused(
            "not_searched", f"{shown_path} is never searched.", why, "Give --roots other folders."
        )
    return real


def _walk(base: str, start: str, skipped: list[dict[str, str]]) -> Iterator[str]:
    """Yield paths with the name of a lesson file. Links to folders are not followed."""

    def note_unreadable(error: OSError) -> None:
        path = spell_path(os.path.relpath(error.filename, base))
        skipped.append({"path": path, "why": str(error.strerror)})

    for here, folders, names in os.walk(start, onerror=note_unreadable):
        folders[:] = [
            name
            for name in sorted(folders)
            if _is_searched(base, os.path.join(here, name), skipped)
        ]
        for name in names:
            if get_file_kind(name):
                yield os.path.relpath(os.path.join(here, name), base).replace(os.sep, "/")


def _is_searched(base: str, folder: str, skipped: list[dict[str, str]]) -> bool:
    """Return whether to search a folder. Add a nested project with its own records to `skipped`."""
    name = os.path.basename(folder)
    if os.path.islink(folder) or folder == os.path.join(base, "AI"):
        return False
    if name in SKIPPED_FOLDERS or (name[0] == "." and "cache" in name.lower()):
        return False
    if any(os.path.exists(os.path.join(folder, mark)) for mark in TOOL_MARKS):
        return False
    if os.path.exists(os.path.join(folder, "AI", "db", "kaizen.db")):
        path = spell_path(os.path.relpath(folder, base))
        skipped.append({"path": path, "why": "a project with records of its own"})
        return False
    return True


def _is_in_skipped_folder(base: str, real: str) -> bool:
    while len(real) > len(base):
        if not _is_searched(base, real, []):
            return True
        real = os.path.dirname(real)
    return False


def spell_path(path: str) -> str:
    """Return a path as printable text: bytes that are not UTF-8 become escapes such as \\xff."""
    return path.encode("utf-8", "backslashreplace").decode()


def load_lesson_file(path: str, real: str) -> LessonFile:
    """Read a file. Add a problem for all content that a record or a backup cannot hold."""
    file = LessonFile(path, get_file_kind(path) or "", real)
    try:
        with open(real, "rb") as opened:
            file.data = opened.read()
    except OSError as error:
        file.add_problem("file_unreadable", 1, f"cannot be read: {error.strerror}", Unavailable)
        return file
    file.sha256 = sha256(file.data)
    text = _decode(file)
    if text is not None:
        file.page = read_page(text)
        for entry in file.entries:
            if len(entry.body) > BODY_CHARS_MAX:
                says = f"is longer than {BODY_CHARS_MAX:,} characters"
                file.add_problem("entry_too_long", entry.line, says)
        kind = scan.find_secret(text)
        if kind:  # anywhere in the file, since the backup would keep it
            lines = text.split("\n")
            secret_lines = [
                number for number, line in enumerate(lines, 1) if scan.find_secret(line)
            ]
            # A private key has several lines; report its first one.
            keys = [number for number, line in enumerate(lines, 1) if "PRIVATE KEY" in line]
            says = f"seems to hold a secret ({kind})"
            file.add_problem("secret_refused", (secret_lines or keys or [1])[0], says)
    return file


def _decode(file: LessonFile) -> str | None:
    """Return the text of a file. If it cannot be decoded, add a problem and return None."""
    kind = scan.find_secret(file.path)
    if kind:
        file.path = os.path.basename(file.path)  # the folder's name must not be shown
        says = f"is in a folder whose name seems to be a secret ({kind})"
        file.add_problem("secret_refused", 1, says)
    elif spell_path(file.path) != file.path:
        file.path = spell_path(file.path)
        file.add_problem("path_not_utf8", 1, "has a path that is not UTF-8")
    elif b"\0" in file.data:
        line = file.data.count(b"\n", 0, file.data.index(b"\0")) + 1
        says = "has a NUL character: it is not text, or not UTF-8"
        file.add_problem("nul_character", line, says)
    else:
        try:
            return file.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = file.data.count(b"\n", 0, error.start) + 1
            file.add_problem("not_utf8", line, "is not UTF-8")
    return None


def require_importable(files: list[LessonFile]) -> None:
    """Raise an error that lists all problems and describes the first one."""
    bad = [(file, problem) for file in files for problem in file.problems]
    if not bad:
        return
    file, first = bad[0]
    error = first.error(
        first.code,
        f"{file.path}:{first.line} {first.text}.",
        "Nothing was written: all files are migrated together or none.",
        REMEDIES[first.code],
    )
    error.findings = [
        {"file": file.path, "line": problem.line, "problem": problem.text} for file, problem in bad
    ]
    raise error
