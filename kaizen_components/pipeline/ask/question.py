"""The recorded form of a question: its text, and the hash by which a replay finds the answer."""

from itertools import zip_longest

from ...limits import BODY_CHARS_MAX
from ...records.ledger.canonical import encode_canonical
from ...records.ledger.hashing import hash_text
from ...records.secrets import scan

Question = list[dict[str, str]]
LINE_CHARS_MAX = 200
CUT = "… (cut)"


def hash_question(question: Question) -> str:
    """Return the hash by which a replay finds the recorded answer."""
    return hash_text(encode_canonical(question))


def render_question(question: Question) -> str:
    """Return the question as one text. Secrets are redacted, and a very long text is cut."""
    text = "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in question)
    text = scan.redact_secrets(text)
    return _cut_text(text, BODY_CHARS_MAX - len(CUT)) if len(text) > BODY_CHARS_MAX else text


def describe_difference(recorded: str, now: str) -> str:
    """Return a sentence with the first line in which two questions differ."""
    if not recorded:
        return "Only the hash of the recorded question is known, not its text."
    for number, pair in enumerate(zip_longest(recorded.splitlines(), now.splitlines()), 1):
        if pair[0] != pair[1]:
            old, new = (
                "nothing" if line is None else repr(_cut_text(line, LINE_CHARS_MAX))
                for line in pair
            )
            return f"First difference: line {number}: recorded {old}, now {new}."
    return "They differ only in parts that are not recorded: secrets, outer blanks, or cut text."


def _cut_text(text: str, chars_max: int) -> str:
    """Return the first `chars_max` characters of the text, then a mark if it is cut."""
    return text if len(text) <= chars_max else text[:chars_max] + CUT
