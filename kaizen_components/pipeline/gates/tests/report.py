"""The report of a session in the box: outcomes by test id, and whether to trust the session."""

from typing import Any

# From best to worst. A test with several outcomes (teardown, subtests) counts as the worst.
RANK = ("passed", "xpassed", "skipped", "xfailed", "failed", "error", "rewritten")


class Outcome:
    """How one test ended."""

    def __init__(self, event: dict[str, Any]):
        self.kind: str = event["outcome"]
        if self.kind == "failed" and event.get("when", "call") != "call":
            self.kind = "error"
        self.type: str = event.get("type", "")  # of what was raised
        self.path: str = event.get("path", "")  # of the innermost frame inside the tree
        self.line: int = event.get("line", 0)
        self.text: str = event.get("text", "")


class SessionReport:
    """A session: outcomes by id, files that could not be collected, and reasons not to trust it."""

    def __init__(self, seen: dict[str, Any], plan: dict[str, Any], last_lines: str = ""):
        end = seen["end"] or {}
        self.cpu_s: float = end.get("cpu_s", 0.0)
        self.lines: dict[str, Any] = end.get("lines", {})
        self.changed: list[str] = end.get("changed", [])
        self.hooks: list[str] = end.get("hooks", [])
        self.ids: list[str] = []
        self.outcomes: dict[str, Outcome] = {}
        # By the id of the file that could not be collected, or skipped itself.
        self.uncollected: dict[str, Outcome] = {}
        self._canaries: dict[str, Outcome] = {}
        self._timed_out: bool = seen["timed_out"]
        self._has_ended = bool(end)
        self._foreign: int = seen["foreign"]
        self._plan = plan
        self._last_lines = last_lines  # of the box's stderr
        for event in seen["events"]:
            if event["kind"] == "collected":
                self.ids += event["ids"]
            elif event["kind"] == "collect":
                self.uncollected[event["id"]] = Outcome(event)
            elif event["kind"] == "test":
                outcomes = self._canaries if event["own"] else self.outcomes
                name = event["own"] or event["id"]
                outcome = Outcome(event)
                worst_outcome = outcomes.setdefault(name, outcome)
                if RANK.index(outcome.kind) > RANK.index(worst_outcome.kind):
                    outcomes[name] = outcome

    def merge_report(self, other: "SessionReport") -> None:
        """Add the outcomes of another session on the same tree with other tests."""
        self.ids += other.ids
        self.outcomes |= other.outcomes
        self.uncollected |= other.uncollected
        self.cpu_s += other.cpu_s
        for path, other_lines in other.lines.items():
            tests_by_line = self.lines.setdefault(path, other_lines)["ran"]
            for line, tests in other_lines["ran"].items():
                tests_by_line[line] = sorted({*tests_by_line.get(line, []), *tests})

    def find_kind(self, name: str) -> str:
        """Return how a test ended, or "missing"."""
        return self.outcomes[name].kind if name in self.outcomes else "missing"

    @property
    def is_killed(self) -> bool:
        """Return whether a mutant was killed: a test failed or the session did not end."""
        return (
            self._timed_out
            or not self._has_ended
            or bool(self.uncollected)
            or any(outcome.kind != "passed" for outcome in self.outcomes.values())
        )

    @property
    def has_failed_assertion(self) -> bool:
        """Return whether an assertion failed; a test that only crashed does not count."""
        types = {outcome.type for outcome in self.outcomes.values()}
        return not types.isdisjoint(("AssertionError", "Failed"))

    def list_doubts(self) -> list[str]:
        """Return the reasons not to trust this session."""
        doubts = []
        if self._timed_out:
            doubts.append("it did not end in time")
        elif not self._has_ended:
            doubts.append(f"it ended before pytest did: {self._last_lines or 'it printed nothing'}")
        if self._foreign:
            doubts.append("other code wrote into its report")
        doubts += [
            f"{name} passed only in the report"
            for name, outcome in sorted(self.outcomes.items())
            if outcome.kind == "rewritten"
        ]
        if self._has_ended:
            fails, passes = (
                self._canaries[id].kind if id in self._canaries else "not run"
                for id in (self._plan["fails"], self._plan["passes"])
            )
            if fails not in ("failed", "error"):
                doubts.append(f"a test that must fail was {fails}")
            if passes not in ("passed", "error"):  # an error comes from a fixture of the target
                doubts.append(f"a test that must pass was {passes}")
        return doubts
