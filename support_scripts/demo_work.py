"""The team of the demo, and the life of a task from its opening to its end."""

import itertools
import pathlib
import tomllib
from collections.abc import Iterator
from typing import Any

from demo_stage import DAY_MINUTES, Life, Stage

LEAD, OFFICE = "lead", "ferry-office"  # people; the others are agents
REVIEWER, SCOUT, NIGHTLY = "reviewer", "scout", "nightly"
WEEK_S = 604_800
# Invented prices: dollars for a million tokens in and out.
MODELS = {"large": (3.0, 15.0), "small": (0.25, 1.25)}
ASKS_AFTER = {"critical": 7, "high": 11, "normal": 29, "low": 83}  # minutes


class Team:
    """The stage, the texts of demo.toml, and the ids and states of the records so far."""

    def __init__(self, stage: Stage):
        self.stage, self.call, self.dice = stage, stage.call, stage.dice
        text = pathlib.Path(__file__).with_name("demo.toml").read_text(encoding="utf-8")
        self.text: dict[str, Any] = tomllib.loads(text)
        self.tasks: dict[str, str] = {}  # key -> id
        self.state: dict[str, str] = {}  # key -> open, done …
        self.busy: set[str] = set()  # actors that work on a task now
        self.ids: dict[str, str] = {}  # sources, reviews
        self._turn: dict[str, Iterator[Any]] = {}

    def turn(self, name: str, scope: str) -> Any:
        """Return the next text with this name for a scope; start again after the last one."""
        items = [item for item in self.text[name] if scope in item["scope"]]
        return next(self._turn.setdefault(f"{name} {scope}", itertools.cycle(items)))


def days(number: float) -> float:
    return number * DAY_MINUTES


class Work:
    """The life of one task from the day it is opened."""

    def __init__(self, team: Team, key: str, task: dict[str, Any]):
        self.team, self.call, self.dice, self.key, self.task = team, team.call, team.dice, key, task
        self.spec = team.text["scope"][task["scope"]]
        self.builder = self.spec["builder"]
        self.extras = task.get("extras", [])
        self.version = 0
        self.token: int | None = None

    def life(self) -> Life:
        yield days(self.task["day"])
        self.open()
        tries = self.task["tries"]
        yield from self.wait()
        self.take()
        yield from self.prepare()
        for letter in tries:
            yield self.task["hours"] * 30
            if self.task["hours"] >= 5:
                self.update(self.builder, note=self.dice.choice(self.team.text["said"]["progress"]))
            yield self.task["hours"] * 60 * self.dice.uniform(0.5, 1.5)
            yield from getattr(self, "try_" + letter)()
        if tries[-1] != "f":
            self.team.busy.discard(self.builder)
        if "reopened" in self.extras:
            yield from self.reopen()
            self.team.busy.discard(self.builder)

    def open(self) -> None:
        task, tasks = self.task, self.team.tasks
        optional = {"priority": task["priority"]} if "priority" in task else {}
        if set(task["tries"]) & set("prckf"):
            optional["done_when"] = [self.spec["command"]]
        row = self.call(
            LEAD, "W1", title=task["title"], summary=task["summary"], scope=task["scope"],
            depends_on=[tasks[key] for key in task.get("after", ())], **optional,
        )  # fmt: skip
        self.id = tasks[self.key] = row["id"]
        self.team.state[self.key] = "open"

    def wait(self) -> Life:
        """Wait until the dependencies are closed and the builder is free; poll often if urgent."""
        yield self.dice.uniform(10, 60)
        while self.builder in self.team.busy or any(
            self.team.state[key] not in ("done", "canceled") for key in self.task.get("after", ())
        ):
            yield ASKS_AFTER[self.task.get("priority", "normal")]

    def take(self, ttl_s: int = WEEK_S) -> None:
        self.team.busy.add(self.builder)
        self.token = self.call(self.builder, "W13", id=self.id, ttl_s=ttl_s)["token"]
        self.update(self.builder, status="active", token=self.token)

    def update(self, actor: str, **options: Any) -> None:
        self.call(actor, "W2", id=self.id, **options)
        if "status" in options:
            self.team.state[self.key] = options["status"]

    def prepare(self) -> Life:
        """Record a plan and the packet of a scout, which come before the work."""
        if "plan" in self.extras:
            text = self.team.text["said"]["plan"]
            words = {"title": "Four steps", "summary": "Cases first.", "body": text}
            plan = self.call(self.builder, "W3", task_id=self.id, **words)
            yield 20
            self.call(LEAD, "W4", id=plan["id"], status="active", note="Agreed.")
        if "packet" in self.extras:
            spec = self.team.turn("packet", self.task["scope"])
            words = {"title": spec["title"], "summary": spec["summary"], "recipient": SCOUT}
            packet = self.call(self.builder, "W5", task_id=self.id, **words)
            yield self.dice.uniform(25, 90)
            self.call(SCOUT, "W6", id=packet["id"], summary=spec["result"], outcome=spec["outcome"])

    # How an attempt ends

    def try_p(self, concern: list[str] | None = None) -> Life:
        self.build()
        proof = self.prove(passes=True)
        yield self.dice.uniform(10, 70)
        if concern:
            self.call(
                OFFICE, "Q1", task_id=self.id, title="Tried on the pier; it is as it should be."
            )
            self.judge(
                "ACCEPTABLE_WITH_CONCERNS", concern[0], proof, severity="low", remedies=concern[1:]
            )
        else:
            self.judge(
                "VERIFIED_ACCEPTABLE", self.dice.choice(self.team.text["said"]["accepted"]), proof
            )
        self.team.stage.tree = f"{self.key} {self.version}"  # others have changed it meanwhile
        self.update(self.builder, status="done", token=self.token)

    def try_c(self) -> Life:
        yield from self.try_p(self.team.text["said"]["concern"])

    def try_f(self) -> Life:
        self.build(status="error")
        self.prove(passes=False)
        yield 15
        self.update(self.builder, note=self.spec["note"])

    def try_k(self) -> Life:
        """Prove twice on the same files: the command first fails and then passes."""
        self.build()
        self.prove(passes=False)
        yield 12
        self.prove(passes=True)
        self.update(
            self.builder, note="It failed once and passed once, with nothing changed in between."
        )

    def try_r(self) -> Life:
        self.build()
        proof = self.prove(passes=True)
        yield self.dice.uniform(20, 90)
        spec = self.team.turn("rejected", self.task["scope"])
        known = self.team.ids.get(spec.get("pattern", ""))  # the anti-pattern of this case
        self.judge(
            "VERIFICATION_FAILED", spec["summary"], proof, [known] if known else [],
            severity="high", findings=[spec["finding"]], remedies=[spec["remedy"]],
        )  # fmt: skip
        self.update(self.builder, note="Back to work: " + spec["remedy"])

    def try_w(self) -> Life:
        self.build()
        waive = (
            "The lead decided: the sheets go to the printer today, two links are mended tomorrow."
        )
        self.update(self.builder, status="done", token=self.token, waive=waive)
        yield 1

    def try_b(self) -> Life:
        note = "Nobody is on the pier in this weather."
        self.update(self.builder, status="blocked", token=self.token, note=note)
        yield 1

    def try_x(self) -> Life:
        self.call(LEAD, "W13", id=self.id, action="break", note="Not needed any more.")
        self.update(
            LEAD, status="canceled", note="The phones keep the page longer than the crossing takes."
        )
        yield 1

    def try_s(self) -> Life:
        """Abandon the task: the lease ends, the task stays active."""
        self.call(self.builder, "W13", id=self.id, action="renew", token=self.token, ttl_s=3600)
        yield 1

    # Steps of an attempt

    def build(self, status: str = "ok") -> None:
        """Record an attempt as a trace: one model drafts, another explains, the gate decides."""
        self.version += 1
        parts = [
            ("draft the change", "model", "large", 0.5),
            ("explain the change", "model", "small", 0.12),
            (self.spec["command"], "gate", "", 0.38),
        ]  # fmt: skip
        wall_ms = self.dice.randrange(240_000, 1_500_000)
        start_ms, stage = self.team.stage.now_ms - wall_ms, self.team.stage
        title = f"attempt {self.version}: {self.task['title']}"[:200]
        around = self.call(
            self.builder, "T1", name=title, kind="run", status=status, task_id=self.id,
            duration_ms=wall_ms, started_at=stage.moment(start_ms),
        )["id"]  # fmt: skip
        for name, kind, model, share in parts:
            duration_ms = round(wall_ms * share)
            self.call(
                self.builder, "T1", name=name, kind=kind, parent=around, duration_ms=duration_ms,
                task_id=self.id, started_at=stage.moment(start_ms),
                status=status if kind == "gate" else "ok", **self.make_usage(model),
            )  # fmt: skip
            start_ms += duration_ms

    def make_usage(self, model: str) -> dict[str, Any]:
        if not model:
            return {}
        tokens_in = self.dice.randrange(60_000, 700_000)
        tokens_out = self.dice.randrange(4_000, 40_000)
        price_in, price_out = MODELS[model]
        cost = round((tokens_in * price_in + tokens_out * price_out) / 1e6, 4)
        tokens = {"tokens_in": tokens_in, "tokens_out": tokens_out}
        return {"model": f"model-{model}", **tokens, "cost_usd": cost}

    def prove(self, passes: bool) -> str:
        self.team.stage.tree = f"{self.key} {self.version}"
        spec = self.spec["passed" if passes else "failed"] + "\n"
        options = {"exit_code": 0 if passes else 1, "output": spec, "task_id": self.id}
        return self.team.stage.witness(self.builder, self.spec["command"], **options)["id"]

    def judge(
        self,
        conclusion: str,
        summary: str,
        proof: str | None = None,
        cited: list[str] | None = None,
        **options: Any,
    ) -> None:
        about = {"proof_id": proof, "evidence": [proof, *(cited or [])]} if proof else {}
        self.call(
            REVIEWER, "Q2", task_id=self.id, conclusion=conclusion, summary=summary,
            scope=self.task["scope"], **about, **options,
        )  # fmt: skip

    def reopen(self) -> Life:
        yield days(self.dice.uniform(3, 5))
        self.update(
            OFFICE, status="open", note="It happened again this morning, on the second ship."
        )
        yield self.dice.uniform(60, 300)
        self.take()
        yield self.task["hours"] * 40
        yield from self.try_p()
