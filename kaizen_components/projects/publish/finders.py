"""What should not be published: personal folders, this machine and its user by name, addresses only an inner net knows.

Secrets: records/secrets/secrets.py. Patterns are bounded; each is tried only where its trigger is.
"""

import os
import re
import socket
from collections.abc import Callable, Iterator
from typing import NamedTuple

# Names that stand for nobody in particular, or for a machine that everybody has.
NOBODY = frozenset((
    "user", "username", "name", "you", "your", "me", "someone", "somebody", "example", "runner", "linuxbrew", "shared",
    "public", "default", "vagrant",
))  # fmt: skip
COMMON = NOBODY | frozenset((
    "root", "admin", "administrator", "ubuntu", "debian", "docker", "guest", "test", "tests", "build", "agent", "node",
    "python", "jenkins", "localhost", "github", "macbook", "home", "developer", "nobody", "postgres", "host", "server",
    "local", "computer", "desktop", "laptop", "kaizen", "main", "work", "code", "data", "system", "service", "owner",
    "author", "master", "worker", "container", "sandbox", "claude", "codex", "codespace", "gitpod",
))  # fmt: skip
NAME_CHARS_MIN = 4
HOME = re.compile(
    r"(?<![\w.~-])(?:/mnt/[a-z])?/(?:home|Users)/([A-Za-z0-9._-]{1,64})"
    r"|(?<![A-Za-z])[A-Za-z]:[\\/]{1,2}(?i:users)[\\/]{1,2}([A-Za-z0-9._-]{1,64})"
)
ADDRESS = re.compile(
    r"(?<![\w.])(?:10(?:\.\d{1,3}){3}|192\.168(?:\.\d{1,3}){2}|172\.(?:1[6-9]|2\d|3[01])(?:\.\d{1,3}){2})(?![\w.]\w|\w)"
)
INNER = re.compile(
    r"(?i)\b[a-z][a-z0-9+.-]{1,20}://(?:[^\s/@\"'<>]{1,99}@)?"
    r"((?:[a-z0-9-]{1,63}\.){1,9}(?:local|internal|lan|corp|intranet|localdomain|private|home\.arpa))(?![\w.-]*\w)"
)
BARE = re.compile(  # a machine's name: after user@ or \\, or with a hyphen or digit in its first part
    r"(?i)(?:(?<=\w@)|(?<=\\\\)|(?<![\w.\\/-])(?=[a-z0-9-]{0,62}[-0-9]))"
    r"([a-z][a-z0-9-]{0,62}\.(?:[a-z0-9-]{1,63}\.){0,8}(?:local|lan|internal|corp))(?![\w-]|\.\w)"
)
BARE_ENDINGS = (".local", ".lan", ".internal", ".corp")
EVERYBODYS = ("host.docker.internal", "metadata.google.internal")  # the same name on every machine


class Hit(NamedTuple):
    kind: str
    found: str


Finder = Callable[[str], Iterator[Hit]]


def build_finders(home: str | None = None, names: list[str] | None = None) -> list[Finder]:
    """What to look for here: this user's home and these names, those of this machine unless told."""
    home = os.path.expanduser("~") if home is None else home
    return [_homes(home), _names(list_own_names() if names is None else names), _addresses, _inner]


def list_own_names() -> list[str]:
    """The names of this machine and of its user, where they say something."""
    host = socket.gethostname()
    given = [host, host.split(".")[0], os.path.basename(os.path.expanduser("~"))]
    given += [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")]
    return sorted(
        {name for name in given if len(name) >= NAME_CHARS_MIN and name.lower() not in COMMON}
    )


def _homes(home: str) -> Finder:
    """Any folder of a person, and this user's own home wherever it is: /root only with what lies in it."""
    ending = r"[\\/][\w.]" if os.path.basename(home).lower() in COMMON else r"(?![\w.-])"
    own = re.compile(rf"(?<![\w.-]){re.escape(home)}{ending}") if len(home) > 3 else None

    def look(text: str) -> Iterator[Hit]:
        theirs = [
            match[0].rstrip(".")
            for match in HOME.finditer(text)
            if _is_person(match[1] or match[2])
        ]
        mine = (
            own.findall(text)
            if own and home in text and os.path.basename(home).lower() not in NOBODY
            else []
        )
        yield from _each(
            "personal path", [*theirs, *(one for one in mine if not one.startswith(tuple(theirs)))]
        )

    return look


def _is_person(name: str) -> bool:
    name = name.rstrip(".")
    return bool(name) and name.lower() not in NOBODY and not name.isupper()


def _names(names: list[str]) -> Finder:
    if not names:
        return lambda text: iter(())
    pattern = re.compile(rf"(?i)(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    return lambda text: _each("machine or user name", pattern.findall(text))


def _addresses(text: str) -> Iterator[Hit]:
    found = ADDRESS.findall(text)
    yield from _each(
        "private address",
        [one for one in found if all(int(part) <= 255 for part in one.split("."))],
    )


def _inner(text: str) -> Iterator[Hit]:
    found = INNER.findall(text) if "://" in text else []
    lower = text.lower()
    if any(ending in lower for ending in BARE_ENDINGS):
        found += BARE.findall(text)
    yield from _each("internal host name", [one for one in found if one.lower() not in EVERYBODYS])


def _each(kind: str, found: list[str]) -> Iterator[Hit]:
    """Each once, in the order of the text."""
    return (Hit(kind, one) for one in dict.fromkeys(found))
