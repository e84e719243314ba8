"""What a step was asked, as it is kept: the hash that a replay is keyed by, and the text that says what differs."""

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
    """The question as one text, without what looks like a secret: that is neither sent nor kept."""
    text = scan.redact_secrets(
        "\n\n".join(f"[{one['role']}]\n{one['content']}" for one in question)
    )
    return text if len(text) <= BODY_CHARS_MAX else text[: BODY_CHARS_MAX - len(CUT)] + CUT


def describe_difference(recorded: str, now: str) -> str:
    """Where two questions part, in words."""
    if not recorded:
        return "The recorded question was not kept, only its hash."
    for number, (was, there) in enumerate(zip_longest(recorded.splitlines(), now.splitlines()), 1):
        if was != there:
            return f"First difference: line {number}: recorded {_shown(was)}, now {_shown(there)}."
    return "They differ only in what is not kept: a secret, blanks at the ends, or what was cut."


def _shown(line):
    if line is None:
        return "nothing"
    return repr(line if len(line) <= LINE_CHARS_MAX else line[:LINE_CHARS_MAX] + CUT)
