"""The files that hold lessons, found below the project and read."""

import os
from dataclasses import dataclass, field

from ...errors import KaizenError, NotFound, Refused, Unavailable, Usage
from ...limits import BODY_CHARS_MAX
from ..files.files import find_project_path
from ..ledger.hashing import sha256
from ..secrets import scan
from .entry import Entry, Page, read_page

BY_FILE = {"gotcha.md": "gotcha", "learning.md": "learning", "learned.md": "learned"}
SKIPPED_FOLDERS = {
    ".git", ".hg", ".svn", ".jj", ".venv", "node_modules", "__pycache__", ".tox", ".nox", ".eggs", ".hypothesis",
    ".direnv", ".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit", ".turbo", ".yarn", ".pnpm-store", ".npm",
}  # fmt: skip
TOOL_MARKS = (
    "pyvenv.cfg",
    "CACHEDIR.TAG",
)  # a virtual environment of any name; a cache by its own word


@dataclass
class Problem:
    """Why a file cannot be migrated."""

    code: str
    line: int
    says: str
    error: type[KaizenError] = Refused


@dataclass
class LessonFile:
    path: str  # below the project, with forward slashes
    kind: str
    real: str  # where it is on this machine, behind a link
    sha256: str = ""
    data: bytes = b""
    page: Page = field(default_factory=Page)
    problems: list[Problem] = field(default_factory=list)

    @property
    def entries(self) -> list[Entry]:
        return self.page.entries

    def hash_of(self, entry: Entry) -> str:
        return entry.source_hash(self.kind, self.path)


def get_file_kind(path: str) -> str | None:
    return BY_FILE.get(os.path.basename(path).lower())


# Finding


def find_lesson_files(root: str, roots=()) -> tuple[list[LessonFile], list[dict]]:
    """(every lesson file, read; what was passed over and why) below the project or some of its folders."""
    base = os.path.realpath(root)
    passed: list[dict] = []
    named: dict[str, None] = {}
    for start in [_start(base, one) for one in roots] or [base]:
        named.update(dict.fromkeys(_walk(base, start, passed)))
    found: dict[str, LessonFile] = {}
    for path in sorted(
        named, key=lambda path: (os.path.islink(os.path.join(base, path)), os.fsencode(path))
    ):
        real = os.path.realpath(os.path.join(base, path))
        reason = _passed_over(base, path, real, found)
        if reason:
            passed.append({"path": spell_path(path), "why": reason})
        else:
            found[real] = load_lesson_file(path, real)
    return sorted(found.values(), key=lambda file: os.fsencode(file.path)), passed


def _start(base, given):
    path = find_project_path(base, given)
    if path is None or path.startswith("../"):
        raise Refused(
            "outside_project",
            f"{spell_path(os.path.basename(given.rstrip('/')) or given)} lies outside the project.",
            "Lessons are migrated from folders below the project's root; a link that leads out counts as outside.",
            "Give --roots as folders below the project.",
        )
    real = os.path.realpath(os.path.join(base, path))
    if not os.path.exists(real):
        raise NotFound(
            "folder_not_found", f"There is no folder {spell_path(path)}.", "", "Check --roots."
        )
    if not os.path.isdir(real):
        raise Usage(
            "not_a_folder",
            f"{spell_path(path)} is not a folder.",
            "",
            "Give --roots the folder that it is in.",
        )
    if _is_closed(base, real):
        raise Refused(
            "not_searched",
            f"{spell_path(path)} is never searched.",
            "It belongs to a tool.",
            "Check --roots.",
        )
    return real


def _walk(base, start, passed):
    """Paths of files with the name of a lesson file. Links to folders are never followed."""

    def unreadable(error):
        passed.append(
            {"path": spell_path(os.path.relpath(error.filename, base)), "why": str(error.strerror)}
        )

    for here, folders, names in os.walk(start, onerror=unreadable):
        folders[:] = [
            name for name in sorted(folders) if _is_open(base, os.path.join(here, name), passed)
        ]
        for name in names:
            if get_file_kind(name):
                yield os.path.relpath(os.path.join(here, name), base).replace(os.sep, "/")


def _is_open(base, folder, passed):
    name = os.path.basename(folder)
    if (
        os.path.islink(folder)
        or name in SKIPPED_FOLDERS
        or (name[0] == "." and "cache" in name.lower())
    ):
        return False
    if folder == os.path.join(base, "AI") or any(
        os.path.exists(os.path.join(folder, mark)) for mark in TOOL_MARKS
    ):
        return False
    if os.path.exists(os.path.join(folder, "AI", "db", "kaizen.db")):
        passed.append(
            {
                "path": spell_path(os.path.relpath(folder, base)),
                "why": "a project with records of its own",
            }
        )
        return False
    return True


def _is_closed(base, real):
    """Is this path in a folder that a search would not enter?"""
    while len(real) > len(base):
        if not _is_open(base, real, []):
            return True
        real = os.path.dirname(real)
    return False


def _passed_over(base, path, real, found):
    """Why a file with the right name is none to migrate, or None."""
    if find_project_path(base, path) is None:
        return "a link that leads out of the project"
    if not os.path.isfile(real):
        return "not a file"
    if real in found:
        return f"a link to {spell_path(found[real].path)}"
    return (
        "a link into a folder that is not searched"
        if _is_closed(base, os.path.dirname(real))
        else None
    )


def spell_path(path: str) -> str:
    """A path as text; a name that is not UTF-8 with its bytes spelled out."""
    return path.encode("utf-8", "backslashreplace").decode()


# Reading


def load_lesson_file(path: str, real: str) -> LessonFile:
    file = LessonFile(path, get_file_kind(path) or "", real)
    try:
        with open(real, "rb") as opened:
            file.data = opened.read()
    except OSError as error:
        file.problems.append(
            Problem("file_unreadable", 1, f"cannot be read: {error.strerror}", Unavailable)
        )
        return file
    file.sha256 = sha256(file.data)
    text = _decoded(file)
    if text is not None:
        file.page = read_page(text)
        file.problems += _unfit(file, text)
    return file


def _decoded(file):
    """The text of a file that can be recorded, or None and the problem with it."""
    kind = scan.find_secret(file.path)
    if kind:
        file.path = os.path.basename(file.path)  # the value is not to be shown
        file.problems.append(
            Problem(
                "secret_refused", 1, f"lies in a folder whose name seems to be a secret ({kind})"
            )
        )
    elif spell_path(file.path) != file.path:
        file.path = spell_path(file.path)
        file.problems.append(Problem("path_not_utf8", 1, "has a path that is not UTF-8"))
    elif b"\0" in file.data:
        line = file.data.count(b"\n", 0, file.data.index(b"\0")) + 1
        file.problems.append(
            Problem("nul_character", line, "has a NUL character; it is no text, or not in UTF-8")
        )
    else:
        try:
            return file.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = file.data.count(b"\n", 0, error.start) + 1
            file.problems.append(Problem("not_utf8", line, "is not UTF-8"))
    return None


def _unfit(file, text):
    """Secrets anywhere in the file, because its backup would keep them too; entries that no record can hold."""
    for entry in file.entries:
        if len(entry.body) > BODY_CHARS_MAX:
            yield Problem(
                "entry_too_long", entry.line, f"is longer than {BODY_CHARS_MAX:,} characters"
            )
    kind = scan.find_secret(text)
    if kind:
        yield Problem("secret_refused", _line_of_secret(text), f"seems to hold a secret ({kind})")


def _line_of_secret(text):
    """The line that holds it, or where one that takes several lines begins, as a private key does."""
    lines = text.split("\n")
    found = [number for number, line in enumerate(lines, 1) if scan.find_secret(line)]
    begins = [number for number, line in enumerate(lines, 1) if "PRIVATE KEY" in line]
    return (found or begins or [1])[0]


def require_importable(files: list[LessonFile]) -> None:
    """All files can be migrated, or an error that names the first that cannot, and lists all of them."""
    bad = [(file, problem) for file in files for problem in file.problems]
    if not bad:
        return
    file, first = bad[0]
    error = first.error(
        first.code,
        f"{file.path}:{first.line} {first.says}.",
        "Nothing was written; files are migrated all together or not at all.",
        REMEDIES[first.code],
    )
    error.findings = [
        {"file": file.path, "line": one.line, "problem": one.says} for file, one in bad
    ]
    raise error


REMEDIES = {
    "file_unreadable": "Make it readable, then run the command again.",
    "path_not_utf8": "Rename the folder, then run the command again.",
    "not_utf8": "Convert the file to UTF-8, then run the command again.",
    "nul_character": "Convert the file to UTF-8 without NUL characters, then run the command again.",
    "entry_too_long": "Split the entry with headings or list items, then run the command again.",
    "secret_refused": "Take it out, or write an obviously fake value instead (docs/secrets.md says which pass).",
}
