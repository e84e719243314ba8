"""Find protocols by name: ours, and .kaizen/protocols/*.yml of the project or of the target.

A project's protocols are read from the disk, a target's from its last commit. A run keeps the
definition that it began with, so a later change of the file does not affect the run.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import NotFound, Refused
from .. import yaml_file
from ..protocol import Protocol, list_shipped, load_shipped
from ..target.target import Target
from . import fixtures
from .check import find_faults

if TYPE_CHECKING:
    from ...parameters import Store

FOLDER = ".kaizen/protocols"
SHOWN_MAX = 8
OWNERS = {"kaizen": "Kaizen", "project": "this project", "target": "the target"}


class Source(NamedTuple):
    """The file of a protocol."""

    name: str
    whose: str  # kaizen, project or target
    text: str | None = None


def list_sources(root: str, repo: str | None) -> list[Source]:
    """Return every protocol that --protocol can name."""
    sources = [Source(name, "kaizen") for name in list_shipped()]
    folder = os.path.join(root, FOLDER)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name.endswith(".yml"):
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    text = file.read(yaml_file.CHARS_MAX + 1)
            except OSError as error:  # a folder, or an unreadable file: reported as a fault
                text = f"# {error.strerror}\n"
            sources.append(Source(name.removesuffix(".yml"), "project", text))
    if repo and not (os.path.isdir(repo) and os.path.samefile(repo, root)):
        with contextlib.closing(Target(repo)) as target:
            commit = target.find_head()
            for path in target.list_paths(commit):
                parent, _, name = path.rpartition("/")
                if parent == FOLDER and name.endswith(".yml"):
                    text = (target.read_blob(commit, path) or b"").decode("utf-8", "replace")
                    sources.append(Source(name.removesuffix(".yml"), "target", text))
    return sources


def load_usable(name: str, store: Store, repo: str, options: dict[str, Any]) -> Protocol:
    """Return the protocol called `name`; refuse one with faults, or with a gate that misjudges a
    fixture."""
    source = find_source(name, store.place.root, repo)
    protocol, faults = read_source(source)
    if protocol is None or faults:
        hidden_count = len(faults) - SHOWN_MAX
        place = " --repo REPO" if source.whose == "target" else ""
        raise Refused(
            "bad_protocol",
            f"The protocol {FOLDER}/{name}.yml cannot be run.",
            "; ".join(
                [*faults[:SHOWN_MAX], *([f"and {hidden_count} more"] if hidden_count > 0 else [])]
            ),
            f"Fix the file, then check it with `P11 --name {name}{place}`.",
        )
    if source.text is not None:
        for row in fixtures.prove_commands(protocol, store, repo, options):
            if not row["ok"]:
                raise Refused(
                    "gate_not_proved",
                    (
                        f"The gate {row['step']} gave the wrong verdict on a {row['which']} "
                        f"fixture: {row['got']}."
                    ),
                    row["says"],
                    (
                        "A gate must pass good fixtures and fail bad ones: fix its command "
                        "or the fixture."
                    ),
                )
    return protocol


def find_source(name: str, root: str, repo: str | None) -> Source:
    """Return the protocol called `name`; refuse a name that does not exist or exists twice."""
    sources = list_sources(root, repo)
    matches = [source for source in sources if source.name == name]
    if not matches:
        raise NotFound(
            "unknown_protocol",
            f"There is no protocol {name[:60]!r}.",
            f"The known ones are {', '.join(dict.fromkeys(source.name for source in sources))}.",
            f"Give --protocol a known name, or write {FOLDER}/NAME.yml.",
        )
    if len(matches) > 1:
        raise Refused(
            "protocol_name_taken",
            f"There are two protocols called {name}.",
            f"Both {OWNERS[matches[0].whose]} and {OWNERS[matches[1].whose]} define one.",
            "Rename one of the two.",
        )
    return matches[0]


def read_source(source: Source) -> tuple[Protocol | None, list[str]]:
    """Return the protocol and its faults. A faulty protocol is returned as None."""
    if source.text is None:
        return load_shipped(source.name), []
    try:
        definition = yaml_file.parse_yaml(source.text, f"{source.name}.yml")
    except Refused as error:
        return None, [f"{error.what} {error.why}"]
    faults = find_faults(definition)
    if not faults and definition["name"] != source.name:
        faults = [f"Its name is {definition['name']}, but its file is called {source.name}.yml."]
    return (None if faults else Protocol(definition)), faults
