"""Text from a file or from stdin, for `--body-file PATH`, `--body -` and commands that read a whole input."""

import sys

from . import fields, limits
from .errors import NotFound, Unavailable, Usage

PATH_CHARS_SHOWN = 200
LF = b"\n"


def read_text(name, field, path):
    """The text at `path` (- is stdin), as UTF-8. A final newline is no part of a line or a few sentences."""
    if type(path) is not str or "\0" in path or not path:
        raise Usage("bad_value", f"{fields.format_option(name)}-file must be the path of a file.")
    bytes_max = field.most * 4 + 8  # and a byte order mark, and the end of the line
    data = _read_stdin(name, bytes_max) if path == "-" else _read_file(path, bytes_max)
    if len(data) >= bytes_max:  # there may be more of it, which was not read
        raise Usage(
            "bad_value",
            f"{fields.format_option(name)} has more than {field.most:,} characters.",
            "",
            "Shorten it.",
        )
    try:
        text = data.decode("utf-8-sig" if data[:3] == b"\xef\xbb\xbf" else "utf-8")
    except UnicodeDecodeError as error:
        raise Usage(
            "not_utf8",
            f"The text for {fields.format_option(name)} is not valid UTF-8.",
            f"Byte {error.start:,}, in line {data.count(LF, 0, error.start) + 1:,}, is 0x{data[error.start]:02x}.",
            "Convert it to UTF-8.",
        ) from None
    is_short = field.kind == "line" or field.most <= limits.SUMMARY_CHARS_MAX
    return text.rstrip("\r\n") if is_short else text


def _read_stdin(name, bytes_max):
    if sys.stdin is None or sys.stdin.closed:
        raise Usage(
            "no_stdin",
            f"{fields.format_option(name)} reads stdin, but stdin is closed.",
            "",
            "Give it a file.",
        )
    if sys.stdin.isatty():
        print(
            f"Reading {name.replace('_', ' ')} from the terminal; end with Ctrl-D.", file=sys.stderr
        )
    data = sys.stdin.buffer.read(bytes_max)
    if not data:
        raise Usage(
            "empty_stdin",
            f"{fields.format_option(name)} reads stdin, and nothing came.",
            "",
            "Pipe the text in; only one option can have it.",
        )
    return data


def _read_file(path, bytes_max):
    shown = path if len(path) <= PATH_CHARS_SHOWN else "…" + path[-PATH_CHARS_SHOWN:]
    try:
        with open(path, "rb") as file:
            return file.read(bytes_max)
    except (FileNotFoundError, UnicodeEncodeError):
        raise NotFound(
            "file_not_found", f"There is no file {shown!r}.", "", "Check the path."
        ) from None
    except IsADirectoryError:
        raise Usage("not_a_file", f"{shown!r} is a folder.", "", "Name a file.") from None
    except OSError as error:
        raise Unavailable(
            "cannot_read", f"{shown!r} cannot be read.", str(error.strerror), ""
        ) from None
