"""What a session in the box said, read outside of it: outcomes by test id, and whether the session is believed."""

from typing import Any

# From best to worst; a test that has several (a failing teardown, a subtest) has the worst of them.
RANK = ("passed", "xpassed", "skipped", "xfailed", "failed", "error", "rewritten")


class Outcome:
    """How one test ended."""

    def __init__(self, event: dict[str, Any]):
        self.kind: str = event["outcome"]
        if self.kind == "failed" and event.get("when", "call") != "call":
            self.kind = "error"
        self.type: str = event.get("type", "")  # of what was raised
        self.path: str = event.get(
            "path", ""
        )  # the innermost file of the tree that it went through
        self.line: int = event.get("line", 0)
        self.text: str = event.get("text", "")

    @property
    def passed(self) -> bool:
        return self.kind == "passed"


class SessionReport:
    """One session: outcomes by id, what could not be collected, and the reasons not to believe it."""

    def __init__(self, seen: dict[str, Any], asked: dict[str, Any], last_lines: str = ""):
        self.name: str = seen["name"]
        self.seconds: float = seen["seconds"]
        self.timed_out: bool = seen["timed_out"]
        end = seen["end"] or {}
        self.ended = bool(end)
        self.cpu_s: float = end.get("cpu_s", 0.0)
        self.lines: dict[str, Any] = end.get("lines", {})
        self.changed: list[str] = end.get("changed", [])
        self.hooks: list[str] = end.get("hooks", [])
        self.ids: list[str] = [
            one for event in seen["events"] if event["kind"] == "collected" for one in event["ids"]
        ]
        self.outcomes: dict[str, Outcome] = {}
        self.broken: dict[
            str, Outcome
        ] = {}  # by the id of the file that could not be collected, or skipped itself
        self._canaries: dict[str, Outcome] = {}
        for event in seen["events"]:
            self._take(event)
        self._foreign: int = seen["foreign"]
        self._asked = asked
        self._last_lines = last_lines  # of the box's stderr

    def _take(self, event: dict[str, Any]) -> None:
        if event["kind"] == "collect":
            self.broken[event["id"]] = Outcome(event)
        elif event["kind"] == "test":
            where = self._canaries if event["own"] else self.outcomes
            name, outcome = event["own"] or event["id"], Outcome(event)
            if name not in where or RANK.index(outcome.kind) > RANK.index(where[name].kind):
                where[name] = outcome

    def add(self, more: "SessionReport") -> None:
        """Take in what another session on the same tree saw of other tests."""
        self.ids += more.ids
        self.outcomes |= more.outcomes
        self.broken |= more.broken
        self.seconds += more.seconds
        self.cpu_s += more.cpu_s
        for path, seen in more.lines.items():
            ran = self.lines.setdefault(path, seen)["ran"]
            for line, tests in seen["ran"].items():
                ran[line] = sorted({*ran.get(line, []), *tests})

    def passed(self) -> set[str]:
        return {one for one, outcome in self.outcomes.items() if outcome.passed}

    @property
    def killed(self) -> bool:
        """Whether some test failed, or the session did not get as far as its canary: what a mutant should do."""
        return (
            self.timed_out
            or not self.ended
            or bool(self.broken)
            or any(not one.passed for one in self.outcomes.values())
        )

    @property
    def asserted(self) -> bool:
        """Whether an assertion failed, and not only something crashed."""
        return any(one.type in ("AssertionError", "Failed") for one in self.outcomes.values())

    def doubts(self) -> list[str]:
        """Why this session is not believed; none if it is."""
        found = []
        if self.timed_out:
            found.append("it did not end in time")
        elif not self.ended:
            found.append(f"it ended before pytest did: {self._last_lines or 'it printed nothing'}")
        if self._foreign:
            found.append("somebody else wrote into its report")
        found += [f"{one} passed only in the report" for one in sorted(self._of_kind("rewritten"))]
        return found + (self._canary_doubts() if self.ended else [])

    def _of_kind(self, kind: str) -> list[str]:
        return [one for one, outcome in self.outcomes.items() if outcome.kind == kind]

    def _canary_doubts(self) -> list[str]:
        fails, passes = (self._canaries.get(self._asked[name]) for name in ("fails", "passes"))
        found = []
        if fails is None or fails.kind not in ("failed", "error"):
            found.append(f"a test that must fail was {fails.kind if fails else 'not run'}")
        if passes is None or passes.kind not in (
            "passed",
            "error",
        ):  # an error is a fixture of the target's own
            found.append(f"a test that must pass was {passes.kind if passes else 'not run'}")
        return found
