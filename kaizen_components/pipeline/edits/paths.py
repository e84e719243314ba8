"""Which paths an edit may name: below the root, on every system the same file, and never git's own."""

import unicodedata
from collections.abc import Callable, Iterable

from .format import EditRefused, PathRefused, quote_text

PATH_BYTES_MAX = 1_000
NAME_BYTES_MAX = 255
# Windows opens a device under these names, whatever follows the first dot.
DEVICES = frozenset(
    {
        "con",
        "prn",
        "aux",
        "nul",
        "conin$",
        "conout$",
        *(f"{port}{n}" for port in ("com", "lpt") for n in "0123456789¹²³"),
    }
)
# Characters that macOS leaves out of a name: ".g\u200cit" is ".git" there.
IGNORED = dict.fromkeys(
    [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)


def check_path(path: str) -> str:
    """The path with single slashes and without `./`, or EditRefused."""
    wrong = _wrong(path)
    if wrong:
        raise PathRefused(
            path,
            f"The path {quote_text(path)!r} is refused: {wrong}.",
            "",
            "Name files from the root of the repository, such as src/app/main.py.",
        )
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _wrong(path):
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "it is not UTF-8"
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if not parts or path.endswith("/"):
        return "it names no file"
    if path[0] in "/~" or path[1:2] == ":":
        return "it is absolute"
    if "\\" in path:
        return "it has a backslash"
    if size > PATH_BYTES_MAX:
        return "it is too long"
    return next((wrong for part in parts if (wrong := _wrong_name(part))), "")


def _wrong_name(name):
    if name == "..":
        return "it leads upwards"
    if not name.isprintable() or any(
        char in ':<>"|?*\ufffd' for char in name
    ):  # the last stands for no text at all
        return f"{quote_text(name)!r} has a character that file names cannot have everywhere"
    if len(name.encode()) > NAME_BYTES_MAX:
        return "a name in it is too long"
    plain = unicodedata.normalize("NFKC", name).translate(IGNORED).rstrip(" .").casefold()
    if plain == ".git" or (plain.startswith("git~") and plain[4:].isdigit()):
        return "it lies in .git"
    if name[-1] in " ." or name[0] == " ":
        return f"{quote_text(name)!r} begins or ends with a blank or ends with a dot"
    if plain.partition(".")[0].rstrip(" ") in DEVICES:
        return f"{quote_text(name)!r} is the name of a device"
    return ""


def fold_case(path: str) -> str:
    """What two paths have in common when they are one file on macOS or Windows."""
    return unicodedata.normalize("NFC", path).casefold()


def list_parents(path: str) -> list[str]:
    """The folders of a path, the outermost first."""
    parts = path.split("/")
    return ["/".join(parts[:end]) for end in range(1, len(parts))]


class ExistingPaths:
    """The files that are there, to see whether a path clashes with one of them or with another edit's."""

    def __init__(self, there: Iterable[str], is_link: Callable[[str], bool]):
        self.is_link = is_link
        self.files = set(there)
        self.folders = {folder for path in self.files for folder in list_parents(path)}
        self.spelled = {fold_case(path): path for path in (*self.files, *self.folders)}

    def check(self, path: str) -> None:
        """Add the path; EditRefused if it leads through a link, is a folder, or is another's in other letters."""
        for part in (*list_parents(path), path):
            if self.is_link(part):
                raise PathRefused(
                    path,
                    f"{quote_text(path)} is refused: {quote_text(part)} is a symbolic link.",
                    "",
                    "Name the file itself.",
                )
            other = self.spelled.setdefault(fold_case(part), part)
            if other != part:
                raise EditRefused(
                    f"{quote_text(path)} is refused: there is {quote_text(other)}, and some systems take the two for one.",
                    "",
                    "Use the spelling that is there.",
                )
        if path in self.folders:
            raise EditRefused(f"{quote_text(path)} is a folder.", "", "Name a file in it.")
        inside = next((folder for folder in list_parents(path) if folder in self.files), None)
        if inside:
            raise EditRefused(
                f"{quote_text(path)} cannot be: {quote_text(inside)} is a file.",
                "",
                "Choose another folder.",
            )
        self.files.add(path)
        self.folders.update(list_parents(path))
