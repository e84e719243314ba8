"""Read SKILL.md, its front matter, and the other texts of a skill, up to a maximum size."""

import os
from typing import Any, NamedTuple

from ...errors import explain_missing_package

BYTES_MAX = 1_000_000  # of a page, which a host adds to the context of a model


class Unreadable(Exception):
    """A text that cannot be read; `says` is the reason, `line` its place."""

    def __init__(self, says: str, line: int | None = None):
        super().__init__(says)
        self.says = says
        self.line = line


class Page(NamedTuple):
    front: dict[str, Any]
    body: str
    first: int  # the line on which the body begins


def read_text(path: str) -> str:
    """Return the text of a file; raise Unreadable if it is too long or not UTF-8."""
    try:
        if not os.path.isfile(path):
            raise Unreadable(f"{os.path.basename(path)} is not a file.")
        with open(path, "rb") as file:
            data = file.read(BYTES_MAX + 1)
    except OSError as error:
        raise Unreadable(f"It cannot be read: {error.strerror}.") from None
    if len(data) > BYTES_MAX:
        raise Unreadable(f"It has more than {BYTES_MAX:,} bytes.")
    if b"\0" in data:
        raise Unreadable("It contains a NUL byte.")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        says = f"It is not UTF-8: byte {error.start:,} is 0x{data[error.start]:02x}."
        raise Unreadable(says) from None


def read_page(path: str) -> Page:
    """Read the front matter and the body of a SKILL.md."""
    lines = read_text(path).split("\n")
    ends = [number for number, line in enumerate(lines) if line.rstrip() == "---"][:2]
    if ends[:1] != [0] or len(ends) < 2:
        raise Unreadable("It does not begin with front matter: `---`, then YAML, then `---`.", 1)
    front = read_yaml("\n".join(lines[1 : ends[1]]), 2)
    if not isinstance(front, dict):
        raise Unreadable("The front matter must be names and values, such as `name: my-skill`.", 1)
    return Page(front, "\n".join(lines[ends[1] + 1 :]), ends[1] + 2)


def read_yaml(text: str, first: int = 1) -> Any:
    """Parse YAML that begins on line `first` of a file; raise Unreadable if it is invalid."""
    try:
        import yaml  # imported here, because an adoption without skills does not need PyYAML
    except ImportError:
        raise explain_missing_package(
            "package_missing",
            "The package pyyaml is not installed.",
            "Kaizen needs it to read the front matter of a skill.",
        ) from None
    try:
        return yaml.safe_load(text)
    except RecursionError:
        raise Unreadable("It is not YAML: nested too deeply.", first) from None
    except (yaml.YAMLError, ValueError) as error:
        location, why = (
            getattr(error, "problem_mark", None),
            getattr(error, "problem", None) or error,
        )
        raise Unreadable(
            f"It is not YAML: {why}.", location.line + first if location else first
        ) from None
