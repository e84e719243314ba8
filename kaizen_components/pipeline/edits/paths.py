"""Check that a path is inside the repository, outside .git, and the same on every system."""

import unicodedata
from collections.abc import Callable, Iterable

from .format import EditRefused, PathRefused, quote_text

PATH_BYTES_MAX = 1_000
NAME_BYTES_MAX = 255
# Windows opens a device under these names, whatever follows the first dot.
PORTS = (f"{port}{digit}" for port in ("com", "lpt") for digit in "0123456789¹²³")
DEVICES = frozenset(("con", "prn", "aux", "nul", "conin$", "conout$", *PORTS))
# Characters that macOS leaves out of a name: ".g\u200cit" is ".git" there.
IGNORED = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
FORBIDDEN = frozenset(':<>"|?*\ufffd')  # the last stands for bytes that are not text


def check_path(path: str) -> str:
    """Return the path with single slashes and without `./`, or raise EditRefused."""
    fault = _find_path_fault(path)
    if fault:
        raise PathRefused(
            path,
            f"The path {quote_text(path)!r} is refused: {fault}.",
            "",
            "Name files from the root of the repository, such as src/app/main.py.",
        )
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _find_path_fault(path: str) -> str:
    """Return why the path is refused, or an empty text."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "it is not UTF-8"
    names = [part for part in path.split("/") if part not in ("", ".")]
    if not names or path.endswith("/"):
        return "it names no file"
    if path[0] in "/~" or path[1:2] == ":":
        return "it is absolute"
    if "\\" in path:
        return "it has a backslash"
    if size > PATH_BYTES_MAX:
        return "it is too long"
    for name in names:
        if name == "..":
            return "it contains .."
        if not name.isprintable() or FORBIDDEN & set(name):
            return f"{quote_text(name)!r} has a character that not all systems allow in a name"
        if len(name.encode()) > NAME_BYTES_MAX:
            return "a name in it is too long"
        folded_name = unicodedata.normalize("NFKC", name).translate(IGNORED).rstrip(" .").casefold()
        if folded_name == ".git" or (folded_name.startswith("git~") and folded_name[4:].isdigit()):
            return "it is in .git"
        if name[-1] in " ." or name[0] == " ":
            return f"{quote_text(name)!r} begins or ends with a blank or ends with a dot"
        if folded_name.partition(".")[0].rstrip(" ") in DEVICES:
            return f"{quote_text(name)!r} is the name of a device"
    return ""


def fold_case(path: str) -> str:
    """Return an equal text for two paths that are the same file on macOS or Windows."""
    return unicodedata.normalize("NFC", path).casefold()


def list_parents(path: str) -> list[str]:
    """Return the folders of a path, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


class ExistingPaths:
    """The paths that exist or that earlier edits create, to detect clashes between them."""

    def __init__(self, paths: Iterable[str], is_link: Callable[[str], bool]):
        self.is_link = is_link
        self.files = set(paths)
        self.folders = {folder for path in self.files for folder in list_parents(path)}
        self.spellings = {fold_case(path): path for path in (*self.files, *self.folders)}

    def check(self, path: str) -> None:
        """Add the path; refuse a link, a folder, and two paths that differ only in case."""
        name, parents = quote_text(path), list_parents(path)
        for part in (*parents, path):
            if self.is_link(part):
                raise PathRefused(
                    path,
                    f"{name} is refused: {quote_text(part)} is a symbolic link.",
                    "",
                    "Name the file itself.",
                )
            other = self.spellings.setdefault(fold_case(part), part)
            if other != part:
                raise EditRefused(
                    f"{name} is refused: {quote_text(other)} exists.",
                    "Some systems treat the two paths as one.",
                    "Use the spelling that exists.",
                )
        if path in self.folders:
            raise EditRefused(f"{name} is a folder.", "", "Name a file in it.")
        for parent in parents:
            if parent in self.files:
                raise EditRefused(
                    f"{name} cannot be created.",
                    f"{quote_text(parent)} is a file, not a folder.",
                    "Choose another folder.",
                )
        self.files.add(path)
        self.folders.update(parents)
