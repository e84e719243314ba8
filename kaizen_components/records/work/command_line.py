"""Normalize command lines for records: equal lists of words get the same spelling."""

from ...errors import Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _@%+=:,./-")


def join_words(words: "Iterable[str]") -> str:
    import shlex

    return shlex.join(words)


def normalize_command_line(option: str, line: str) -> str:
    """Return the normal spelling of a command line; raise Usage if a shell cannot split it."""
    if PLAIN.issuperset(line) and line.split():
        return " ".join(line.split())  # same result as shlex, which takes 8 to 15 ms to import
    import shlex

    words, why = [""], "It does not name a program."
    try:
        words = shlex.split(line)
    except ValueError as error:
        why = f"{error}."
    if not words or not words[0]:
        what = f"{option} cannot be split as a shell command line."
        raise Usage("not_a_command", what, why, 'Close every quote: pytest -k "a b".')
    return shlex.join(words)
