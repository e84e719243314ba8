"""Who is on the stage of the demo: the actors, their texts (demo.toml), and what has become of everything so far."""

import itertools
import pathlib
import tomllib
from collections.abc import Iterator
from typing import Any

from demo_stage import DAY_MINUTES, Stage

LEAD, OFFICE = "lead", "ferry-office"  # people; the others are agents
REVIEWER, SCOUT, NIGHTLY = "reviewer", "scout", "nightly"


class Team:
    """The stage, the texts, and what has become of everything so far, by key."""

    def __init__(self, stage: Stage):
        self.stage = stage
        self.call = stage.call
        self.dice = stage.dice
        self.text: dict[str, Any] = tomllib.loads(
            pathlib.Path(__file__).with_name("demo.toml").read_text(encoding="utf-8")
        )
        self.tasks: dict[str, str] = {}  # key -> id
        self.state: dict[str, str] = {}  # key -> open, done …
        self.busy: set[str] = set()  # who works on a task
        self.ids: dict[str, str] = {}  # sources, reviews
        self._turn: dict[str, Iterator[Any]] = {}

    def turn(self, name: str, scope: str) -> Any:
        """What is said next of this sort, in this part of the project; after the last comes the first."""
        said = [one for one in self.text[name] if scope in one["scope"]]
        return next(self._turn.setdefault(f"{name} {scope}", itertools.cycle(said)))


def days(number: float) -> float:
    return number * DAY_MINUTES
