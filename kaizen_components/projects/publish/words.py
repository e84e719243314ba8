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
ENDING = re.compile(r"(?i)\.(local|lan|internal|corp)(?!\w|[.-]\w)")
HOST_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-"
HOST_CHARS_MAX = 253
EVERYBODYS = ("host.docker.internal", "metadata.google.internal")  # the same name on every machine

# What stands before `.local` in code: objects, modules, files' stems, and where the name of a package begins.
NOT_HOSTS = NOBODY | frozenset((
    "self", "cls", "this", "super", "threading", "env", "environment", "process", "window", "module", "exports",
    "config", "conf", "settings", "options", "opts", "props", "params", "args", "ctx", "context", "req", "res",
    "request", "response", "state", "rc", "docker-compose", "com", "org", "net", "io", "java", "javax", "jdk", "sun",
))  # fmt: skip
CODE_AFTER = re.compile(r"[(\[]|\s{0,2}=")  # a call, an index, an assignment
HOST_BEFORE = re.compile(r"(?i)(?:\w@|//|\\\\|\b(?:ssh|scp|ping|host|hostname|server|machine)[\s:='\"`]{1,3})\Z")
NO_HOST_BEFORE = re.compile(r"(?:\w|(?<!/)/|(?<!\\)\\)\Z")  # a part of a word or of a path
HOST_BEFORE_CHARS = 16
HOST_AFTER = re.compile(r":(?:\d{2,5}\b|[~/])")  # a port, or a path as scp writes it


class Hit(NamedTuple):
    kind: str
    found: str


Finder = Callable[[str], Iterator[Hit]]


def finders(home: str | None = None, names: list[str] | None = None) -> list[Finder]:
    """What to look for here: this user's home and these names, those of this machine unless told."""
    home = os.path.expanduser("~") if home is None else home
    return [_homes(home), _names(own_names() if names is None else names), _addresses, _inner]


def own_names() -> list[str]:
    """The names of this machine and of its user, where they say something."""
    host = socket.gethostname()
    given = [host, host.split(".")[0], os.path.basename(os.path.expanduser("~"))]
    given += [os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME")]
    return sorted({name for name in given if len(name) >= NAME_CHARS_MIN and name.lower() not in COMMON})


def _homes(home: str) -> Finder:
    """Any folder of a person, and this user's own home wherever it is: /root only with what lies in it."""
    ending = r"[\\/][\w.]" if os.path.basename(home).lower() in COMMON else r"(?![\w.-])"
    own = re.compile(rf"(?<![\w.-]){re.escape(home)}{ending}") if len(home) > 3 else None

    def look(text: str) -> Iterator[Hit]:
        theirs = [match[0].rstrip(".") for match in HOME.finditer(text) if _is_person(match[1] or match[2])]
        mine = own.findall(text) if own and home in text and os.path.basename(home).lower() not in NOBODY else []
        yield from _each("personal path", [*theirs, *(one for one in mine if not one.startswith(tuple(theirs)))])

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
    yield from _each("private address", [one for one in found if all(int(part) <= 255 for part in one.split("."))])


def _inner(text: str) -> Iterator[Hit]:
    found = INNER.findall(text) if "://" in text else []
    found += _bare_hosts(text)
    yield from _each("internal host name", [one for one in found if one.lower() not in EVERYBODYS])


def _bare_hosts(text: str) -> Iterator[str]:
    """From the ending back to where the name begins: names are rare, and a text is long."""
    for ending in ENDING.finditer(text):
        at = ending.start()
        before = text[max(at - HOST_CHARS_MAX, 0) : at]
        name = before[len(before.rstrip(HOST_CHARS)) :]
        if _is_host(name.lower(), text[max(at - len(name) - HOST_BEFORE_CHARS, 0) : at - len(name)], ending):
            yield name + ending[0]


def _is_host(name: str, before: str, ending: re.Match[str]) -> bool:
    """A name with a hyphen is no name in code; any other needs a sign that a machine is meant, and no sign of code."""
    labels = name.split(".")
    if not all(label and label[0] != "-" for label in labels) or NO_HOST_BEFORE.search(before):
        return False
    if labels[0] in NOT_HOSTS or labels[-1] in NOT_HOSTS:
        return False
    if "-" in name:
        return True
    if CODE_AFTER.match(ending.string, ending.end()):
        return False
    is_numbered = any(len(label) > 2 and label[0].isalpha() and label[-1].isdigit() for label in labels)
    is_rare = ending[1].lower() in ("lan", "corp")  # nobody calls an attribute that
    is_told = HOST_BEFORE.search(before) or HOST_AFTER.match(ending.string, ending.end())
    return is_numbered or is_rare or bool(is_told)


def _each(kind: str, found: list[str]) -> Iterator[Hit]:
    """Each once, in the order of the text."""
    return (Hit(kind, one) for one in dict.fromkeys(found))
