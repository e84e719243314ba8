"""Read text from a file or stdin, for `--body-file PATH`, `--body -` and commands with an input."""

from __future__ import annotations

import sys

from . import fields, limits
from .errors import NotFound, Unavailable, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PATH_CHARS_SHOWN = 200
LF = b"\n"


def read_text(name: str, field: fields.Field, path: Any) -> str:
    """Return the UTF-8 text at `path` (- is stdin); short texts lose their final newline."""
    option = fields.format_option(name)
    if type(path) is not str or "\0" in path or not path:
        what = f"{option}-file must be the path of a file."
        raise Usage(
            "bad_value", what, "The value is empty or no path.", "Give a path, or - for stdin."
        )
    bytes_max = field.most * 4 + 8  # room for a byte order mark and the end of the line
    data = read_stdin(name, bytes_max) if path == "-" else read_file(path, bytes_max)
    if len(data) >= bytes_max:  # the rest was not read
        what = f"{option} has more than {field.most:,} characters."
        raise Usage("bad_value", what, "Longer texts are not stored.", "Shorten the text.")
    try:
        text = data.decode("utf-8-sig" if data[:3] == b"\xef\xbb\xbf" else "utf-8")
    except UnicodeDecodeError as error:
        line = data.count(LF, 0, error.start) + 1
        raise Usage(
            "not_utf8",
            f"The text for {option} is not valid UTF-8.",
            f"Byte {error.start:,}, in line {line:,}, is 0x{data[error.start]:02x}.",
            "Convert the text to UTF-8.",
        ) from None
    is_short = field.kind == "line" or field.most <= limits.SUMMARY_CHARS_MAX
    return text.rstrip("\r\n") if is_short else text


def read_stdin(name: str, bytes_max: int) -> bytes:
    """Return what is piped in; raise Usage if stdin is closed or empty."""
    option = fields.format_option(name)
    if sys.stdin is None or sys.stdin.closed:
        what = f"{option} reads stdin, but stdin is closed."
        raise Usage(
            "no_stdin",
            what,
            "Kaizen was started without standard input.",
            "Pipe the text in, or give the path of a file.",
        )
    if sys.stdin.isatty():
        hint = f"Reading {name.replace('_', ' ')} from the terminal; end with Ctrl-D."
        print(hint, file=sys.stderr)
    data = sys.stdin.buffer.read(bytes_max)
    if not data:
        what = f"{option} reads stdin, but stdin is empty."
        why = "Nothing was piped in, or another option has read it already."
        raise Usage("empty_stdin", what, why, "Pipe the text in, and use - for one option only.")
    return data


def read_file(path: str, bytes_max: int) -> bytes:
    """Return the beginning of the file; raise an error that names it if that fails."""
    short_path = path if len(path) <= PATH_CHARS_SHOWN else "…" + path[-PATH_CHARS_SHOWN:]
    try:
        with open(path, "rb") as file:
            return file.read(bytes_max)
    except (FileNotFoundError, UnicodeEncodeError):
        what = f"There is no file {short_path!r}."
        raise NotFound(
            "file_not_found",
            what,
            "A relative path starts at the current folder.",
            "Check the path.",
        ) from None
    except IsADirectoryError:
        raise Usage(
            "not_a_file",
            f"{short_path!r} is a folder, not a file.",
            "The text is read from one file.",
            "Give the path of a file.",
        ) from None
    except OSError as error:
        what = f"Cannot read {short_path!r}."
        raise Unavailable(
            "cannot_read", what, f"{error.strerror}.", "Check the path and its permissions."
        ) from None
