"""The session of an agent host, such as Claude Code or Codex, that somebody calls from."""

import os

VARIABLES = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")  # that the hosts set in the shells of their sessions
UUID_CHARS = frozenset("0123456789abcdef-")
CHARS_MAX = 64


def named():
    """The session that this process runs in; None for none, and for one host within another, where it is not clear."""
    found = {os.environ.get(name, "") for name in VARIABLES} - {""}
    return known(found.pop()) if len(found) == 1 else None


def known(session):
    """An id as both hosts make them; None for other text, which is not recorded."""
    return session if session and len(session) <= CHARS_MAX and UUID_CHARS.issuperset(session) else None
