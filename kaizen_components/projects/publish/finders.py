"""Find personal folders, names of this machine and its user, and addresses of private networks.

records/secrets finds secrets. All patterns are bounded, so that a hostile file cannot slow them.
"""

import os
import re
import socket
from collections.abc import Iterator
from typing import NamedTuple

# Names that identify no person and no machine.
NOBODY_TEXT = """
    user username name you your me someone somebody example runner linuxbrew shared public default
    vagrant
"""
COMMON_TEXT = """
    root admin administrator ubuntu debian docker guest test tests build agent node python jenkins
    localhost github macbook home developer nobody postgres host server local computer desktop
    laptop kaizen main work code data system service owner author master worker container sandbox
    claude codex codespace gitpod
"""
NOBODY = frozenset(NOBODY_TEXT.split())
COMMON = NOBODY | frozenset(COMMON_TEXT.split())
NAME_CHARS_MIN = 4
HOME = re.compile(
    r"(?<![\w.~-])(?:/mnt/[a-z])?/(?:home|Users)/([A-Za-z0-9._-]{1,64})"
    r"|(?<![A-Za-z])[A-Za-z]:[\\/]{1,2}(?i:users)[\\/]{1,2}([A-Za-z0-9._-]{1,64})"
)
ADDRESS = re.compile(
    r"(?<![\w.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}"
    r"|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})(?![\w.]\w|\w)"
)
INNER = re.compile(
    r"(?i)\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]{1,99}@)?"
    r"((?:[a-z0-9-]{1,63}\.){1,9}"
    r"(?:local|internal|lan|corp|intranet|localdomain|private|home\.arpa))(?![\w.-]*\w)"
)
# A machine's name: after user@ or \\, or with a hyphen or digit in its first part.
BARE = re.compile(
    r"(?i)(?:(?<=\w@)|(?<=\\\\)|(?<![\w.\\/-])(?=[a-z0-9-]{0,62}[-0-9]))"
    r"([a-z][a-z0-9-]{0,62}\.(?:[a-z0-9-]{1,63}\.){0,8}(?:local|lan|internal|corp))(?![\w-]|\.\w)"
)
BARE_ENDINGS = (".local", ".lan", ".internal", ".corp")
EVERYBODYS = ("host.docker.internal", "metadata.google.internal")  # names that exist everywhere


class Hit(NamedTuple):
    kind: str
    text: str


class Finder:
    """Find text that identifies a person, this machine or its user, or a private network.

    Tests pass another home and other names; the defaults are those of this user and machine.
    """

    def __init__(self, home: str | None = None, names: list[str] | None = None):
        self._home = os.path.expanduser("~") if home is None else home
        user = os.path.basename(self._home).lower()
        ending = (
            r"[\\/][\w.]" if user in COMMON else r"(?![\w.-])"
        )  # a common name such as /root counts only in the path of a file
        has_person = len(self._home) > 3 and user not in NOBODY
        pattern = rf"(?<![\w.-]){re.escape(self._home)}{ending}"
        self._own_home = re.compile(pattern) if has_person else None
        name_pattern = "|".join(map(re.escape, list_own_names() if names is None else names))
        self._own_name = (
            re.compile(rf"(?i)(?<![\w-])(?:{name_pattern})(?![\w-])") if name_pattern else None
        )

    def find(self, text: str) -> Iterator[Hit]:
        """Yield each distinct hit once, ordered by kind and then by position."""
        yield from _list_hits("personal path", self._find_homes(text))
        if self._own_name:
            yield from _list_hits("machine or user name", self._own_name.findall(text))
        addresses = [
            address
            for address in ADDRESS.findall(text)
            if all(int(part) <= 255 for part in address.split("."))
        ]
        yield from _list_hits("private address", addresses)
        hosts = INNER.findall(text) if "://" in text else []
        lower = text.lower()
        if any(ending in lower for ending in BARE_ENDINGS):
            hosts += BARE.findall(text)
        hosts = [host for host in hosts if host.lower() not in EVERYBODYS]
        yield from _list_hits("internal host name", hosts)

    def _find_homes(self, text: str) -> list[str]:
        """Return the home folders in the text, including this user's home at an unusual path."""
        homes = []
        for match in HOME.finditer(text):
            person = (match[1] or match[2]).rstrip(".")
            if person and person.lower() not in NOBODY and not person.isupper():
                homes.append(match[0].rstrip("."))
        own_homes = self._own_home.findall(text) if self._own_home and self._home in text else []
        return [*homes, *(path for path in own_homes if not path.startswith(tuple(homes)))]


def _list_hits(kind: str, texts: list[str]) -> list[Hit]:
    return [Hit(kind, text) for text in dict.fromkeys(texts)]


def list_own_names() -> list[str]:
    """Return the names of this machine and of its user, except common ones."""
    host = socket.gethostname()
    names = [host, host.split(".")[0], os.path.basename(os.path.expanduser("~"))]
    names += [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")]
    return sorted(
        {name for name in names if len(name) >= NAME_CHARS_MIN and name.lower() not in COMMON}
    )
