"""The events of the demo besides its tasks: lessons, rules, evals, sources, predictions, scores.

Each function is a generator that calls commands and yields the minutes of work until its next step.
The stage runs all generators side by side.
"""

import itertools
from hashlib import sha256
from typing import Any

from demo_stage import Life
from demo_work import LEAD, NIGHTLY, OFFICE, REVIEWER, SCOUT, Team, Work, days


def list_lives(team: Team) -> list[Life]:
    """Return all lives. Of steps with the same time, the life earlier in the list goes first."""
    return [
        *(Work(team, key, task).life() for key, task in team.text["task"].items()),
        *(gotcha(team, item) for item in team.text["gotcha"]),
        *(policy(team, item) for item in team.text["policy"]),
        *(eval_case(team, item) for item in team.text["case"]),
        *(anti_pattern(team, item) for item in team.text["anti_pattern"]),
        *(source(team, key, item) for key, item in team.text["source"].items()),
        *(prediction(team, item) for item in team.text["prediction"]),
        review(team),
        scores(team),
        rehearsal(team),
    ]


def gotcha(team: Team, spec: dict[str, Any]) -> Life:
    """Record a pitfall, and promote it as its `fate` says."""
    yield days(spec["day"])
    builder, fate = team.text["scope"][spec["scope"]]["builder"], spec.get("fate", "")
    words = {name: spec[name] for name in ("title", "summary", "body", "scope")}
    evidence = [spec["evidence"], *([team.ids[spec["source"]]] if "source" in spec else [])]
    about = {
        "evidence": evidence,
        "paths": spec.get("paths", []),
        "task_id": team.tasks[spec["task"]],
    }
    gotcha_id = team.call(builder, "G1", **words, **about)["id"]
    if not fate:
        return
    yield days(spec["days"])
    if fate == "retired":
        team.call(
            LEAD, "G5", id=gotcha_id, status=fate, note="It has not come back since the change."
        )
        return
    learning = team.call(REVIEWER, "L2", id=gotcha_id)["id"]
    if fate == "learning":
        return
    yield days(spec["days"])
    if fate == "waiver":
        backing = {"waive": "Seen in every rehearsal since; a test of it needs a storm."}
    elif fate == "proof":
        scope = team.text["scope"][spec["scope"]]
        team.stage.tree = "lesson " + spec["title"]
        proof = team.stage.witness(
            REVIEWER, scope["command"], 0, scope["passed"] + "\n", about=learning
        )
        backing = {"proof_id": proof["id"]}
    else:
        words = {"conclusion": "VERIFIED_ACCEPTABLE", "summary": "Three rehearsals, no relapse."}
        backing = {"verification_id": team.call(REVIEWER, "Q2", about=learning, **words)["id"]}
    team.call(LEAD, "L3", id=learning, **backing)


def policy(team: Team, spec: dict[str, Any]) -> Life:
    yield days(spec["day"])
    row = team.call(
        LEAD, "X1", title=spec["title"], summary=spec["summary"], priority=spec["priority"]
    )
    if "retired" in spec:
        yield days(spec["retired"] - spec["day"])
        team.call(LEAD, "X6", id=row["id"], reason=spec["reason"])


def eval_case(team: Team, spec: dict[str, Any]) -> Life:
    """Record an eval case and run it every other day, with better and better results."""
    yield days(spec["day"])
    words = {
        name: spec[name] for name in ("title", "summary", "category", "command") if name in spec
    }
    case = team.call(REVIEWER, "Q3", **words)["id"]
    if "chance" not in spec:
        return
    first, last = spec["chance"]
    while True:
        yield days(2) - team.dice.uniform(0, 30)
        stage = team.stage
        share = (stage.now_ms - stage.start_ms) / (stage.end_ms - stage.start_ms)
        chance = first + (last - first) * share
        score = round(min(1.0, max(0.0, chance + team.dice.uniform(-0.12, 0.12))), 2)
        outcome = "passed" if team.dice.random() < chance else "failed"
        duration_ms = team.dice.randrange(800, 9_000)
        run = {"outcome": outcome, "score": score, "duration_ms": duration_ms}
        team.call(NIGHTLY, "Q4", case_id=case, **run)


def anti_pattern(team: Team, spec: dict[str, Any]) -> Life:
    yield days(spec["day"])
    words = {name: value for name, value in spec.items() if name != "day"}
    team.ids[spec["title"]] = team.call(REVIEWER, "Q5", **words)["id"]


def source(team: Team, key: str, spec: dict[str, Any]) -> Life:
    yield days(spec["day"])
    words = {name: spec[name] for name in ("title", "tier", "version", "license") if name in spec}
    before = {"supersedes": team.ids[spec["supersedes"]]} if "supersedes" in spec else {}
    read = {"content_hash": sha256(key.encode()).hexdigest()} if spec["tier"] == "canonical" else {}
    row = team.call(SCOUT, "S1", **words, **before, **read, url=f"https://example.org/{key}")
    team.ids[key] = row["id"]


def review(team: Team) -> Life:
    yield days(0.4)
    words = {
        "title": "The timetable in the first winter",
        "summary": "Does what we expect come true on the pier?",
    }
    team.ids["review"] = team.call(LEAD, "I1", **words)["id"]
    for spec in team.text["correction"]:
        yield days(spec["days"])
        team.call(OFFICE, "I3", irl_id=team.ids["review"], summary=spec["summary"])


def prediction(team: Team, spec: dict[str, Any]) -> Life:
    yield days(spec["day"])
    deadline = team.stage.moment(team.stage.now_ms + round(spec["days"] * 1.4 * 86_400_000))
    words = {"summary": spec["summary"], "probability": spec["probability"], "deadline": deadline}
    row = team.call(LEAD, "I2", irl_id=team.ids["review"], **words)
    if "outcome" in spec:
        yield days(spec["days"])
        summary = "It did." if spec["outcome"] == "happened" else "It did not, or nobody can tell."
        team.call(OFFICE, "I4", prediction_id=row["id"], outcome=spec["outcome"], summary=summary)


def scores(team: Team) -> Life:
    """Score test coverage and the satisfaction of the office once a week."""
    yield days(4.8)
    for week in itertools.count():
        coverage = round(0.71 + 0.03 * week + team.dice.uniform(-0.01, 0.01), 3)
        team.call(NIGHTLY, "T2", name="coverage", value=coverage)
        team.call(
            OFFICE, "T2", name="content", value=min(5, 3 + week // 2), source="human", unit="of 5"
        )
        yield days(5)


def rehearsal(team: Team) -> Life:
    """Record a test task and purge it; later change a file that a lesson names."""
    yield days(0.6)
    team.call(LEAD, "W1", title="Only to practise", summary="Removed at once.", test=True)
    team.call(LEAD, "K7")
    yield days(16)
    team.call(
        "writer", "A1", path="docs/leaflet.txt", title="The leaflet as it went to the printer"
    )
    yield days(9)
    for name, text in team.text["changed_file"].items():
        (team.stage.root / name).write_text(text, encoding="utf-8", newline="\n")
