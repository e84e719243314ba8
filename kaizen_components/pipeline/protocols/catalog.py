"""Protocols by name: those that we ship, and those of the project or of the target in .kaizen/protocols/*.yml.

Those of the project are read from the disk, those of the target from its last commit. A run keeps the definition that
it began with, so a file that is changed later moves no goal posts.
"""

import os
from typing import Any, NamedTuple

from ...errors import NotFound, Refused
from .. import yaml_file
from ..protocol import Protocol, list_shipped, load_shipped
from ..target.target import Target
from . import fixtures
from .check import find_faults

FOLDER = ".kaizen/protocols"
SHOWN_MAX = 8


class Source(NamedTuple):
    """Where a protocol of that name stands."""

    name: str
    whose: str  # kaizen, project or target
    text: str | None = None


def list_sources(root: str, repo: str | None) -> list[Source]:
    """Everything that --protocol can name."""
    found = [Source(name, "kaizen") for name in list_shipped()]
    found += [Source(name, "project", text) for name, text in _list_on_disk(root)]
    is_root = repo and os.path.isdir(repo) and os.path.samefile(repo, root)
    if repo and not is_root:
        found += [Source(name, "target", text) for name, text in _list_committed(repo)]
    return found


def load_usable(name: str, store, repo: str, options: dict[str, Any]) -> Protocol:
    """The protocol of that name, checked, and its own gates proved on their fixtures; or what is wrong with it."""
    source = find_source(name, store.place.root, repo)
    protocol, wrong = read_source(source)
    if protocol is None or wrong:
        shown = "; ".join(wrong[:SHOWN_MAX]) + (
            f"; and {len(wrong) - SHOWN_MAX} more" * (len(wrong) > SHOWN_MAX)
        )
        place = " --repo REPO" if source.whose == "target" else ""
        raise Refused(
            "bad_protocol",
            f"{FOLDER}/{name}.yml cannot be run.",
            shown,
            f"Mend it; `P11 --name {name}{place}` checks it.",
        )
    for row in (
        fixtures.prove_commands(protocol, store, repo, options) if source.text is not None else ()
    ):
        if not row["ok"]:
            raise Refused(
                "gate_not_proved",
                f"{row['step']} says {row['got']} about a fixture that is {row['which']}.",
                row["says"],
                "A gate that cannot tell them apart judges nothing: mend the command or the fixture.",
            )
    return protocol


def find_source(name: str, root: str, repo: str | None) -> Source:
    there = list_sources(root, repo)
    found = [source for source in there if source.name == name]
    if not found:
        raise NotFound(
            "unknown_protocol",
            f"There is no protocol {name[:60]!r}.",
            "There are: " + ", ".join(dict.fromkeys(source.name for source in there)) + ".",
            f"Name one of them with --protocol, or write {FOLDER}/NAME.yml.",
        )
    if len(found) > 1:
        raise Refused(
            "protocol_name_taken",
            f"There are two protocols called {name}.",
            f"One is that of {found[0].whose}, another that of the {found[1].whose}.",
            "Give yours another name.",
        )
    return found[0]


def read_source(source: Source) -> tuple[Protocol | None, list[str]]:
    """(the protocol, what is wrong with it); None where nothing of it can be used."""
    if source.text is None:
        return load_shipped(source.name), []
    try:
        given = yaml_file.parse_yaml(source.text, f"{source.name}.yml")
    except Refused as error:
        return None, [f"{error.what} {error.why}"]
    wrong = find_faults(given)
    if not wrong and given["name"] != source.name:
        wrong = [f"Its name is {given['name']}, and its file is called {source.name}.yml."]
    return (None if wrong else Protocol(given)), wrong


def _list_on_disk(root):
    folder = os.path.join(root, FOLDER)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".yml"):
            yield name.removesuffix(".yml"), _text(os.path.join(folder, name))


def _text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(yaml_file.CHARS_MAX + 1)
    except (
        OSError
    ) as error:  # a folder of that name, or one that may not be read: no protocol, and said as that
        return f"# {error.strerror}\n"


def _list_committed(repo):
    target = Target(repo)
    try:
        commit = target.head()
        for path in target.paths(commit):
            folder, _, name = path.rpartition("/")
            if folder == FOLDER and name.endswith(".yml"):
                yield (
                    name.removesuffix(".yml"),
                    (target.blob(commit, path) or b"").decode("utf-8", "replace"),
                )
    finally:
        target.close()
