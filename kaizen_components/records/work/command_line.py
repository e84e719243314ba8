"""Command lines as records keep them: one spelling for one list of words, whatever quotes it was written with."""

from ...errors import Usage

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _@%+=:,./-")


def join_words(words):
    import shlex

    return shlex.join(words)


def normalize_command_line(option, line):
    """The line in its one spelling, or a Usage error that says what is wrong with it."""
    if PLAIN.issuperset(line) and line.split():
        return " ".join(
            line.split()
        )  # what shlex would say too; importing it takes 8 to 15 ms, a cold write 35
    import shlex

    try:
        words = shlex.split(line)
    except ValueError as error:
        raise _not_words(option, f"{error}.") from None
    if not words or not words[0]:
        raise _not_words(option, "It names no program.")
    return shlex.join(words)


def _not_words(option, why):
    return Usage(
        "not_a_command",
        f"{option} is not words that a shell would split.",
        why,
        'Close every quote: pytest -k "a b".',
    )
