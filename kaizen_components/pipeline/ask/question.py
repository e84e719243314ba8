"""A question as it is recorded: its hash, which keys a replay, and its text."""

from itertools import zip_longest

from ...limits import BODY_CHARS_MAX
from ...records.ledger.canonical import encode_canonical
from ...records.ledger.hashing import hash_text
from ...records.secrets import scan

Question = list[dict[str, str]]
LINE_CHARS_MAX = 200
CUT = "… (cut)"


def hash_question(question: Question) -> str:
    return hash_text(encode_canonical(question))


def render_question(question: Question) -> str:
    """Return the question as one text without secrets, which are neither sent nor recorded."""
    text = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in question)
    text = scan.redact_secrets(text)
    return _cut_text(text, BODY_CHARS_MAX - len(CUT)) if len(text) > BODY_CHARS_MAX else text


def describe_difference(recorded: str, now: str) -> str:
    """Say at which line two questions differ."""
    if not recorded:
        return "The recorded question was not kept, only its hash."
    for number, pair in enumerate(zip_longest(recorded.splitlines(), now.splitlines()), 1):
        if pair[0] != pair[1]:
            was, there = (
                "nothing" if line is None else repr(_cut_text(line, LINE_CHARS_MAX))
                for line in pair
            )
            return f"First difference: line {number}: recorded {was}, now {there}."
    return "They differ only in what is not kept: a secret, blanks at the ends, or what was cut."


def _cut_text(text: str, chars_max: int) -> str:
    return text if len(text) <= chars_max else text[:chars_max] + CUT
