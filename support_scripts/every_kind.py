"""Make a small project with a record of every kind, to test the checks of the ledger."""

import pathlib
import subprocess
from typing import Any

TEXT = {"title": "A title", "summary": "In short."}
PROTOCOL = """\
name: tiny
version: "1"
about: Say.
start: say
budget: {asks: 2}
steps:
  say: {kind: ask, about: Say., answer: text, prompt: Say., attempts: 1, next: {pass: see, malformed: failed}}
  see:
    {kind: gate, about: See., gate: command, command: [test, -f, x], attempts: 1,
     fixtures: {good: [{files: {x: ""}}], bad: [{}]}, next: {pass: accepted, check: failed}}
"""


def record_every_kind(call: Any, root: pathlib.Path) -> None:
    """Add a record of every kind; `call` runs a command in the project at `root`."""
    first = call("W1", **TEXT, body="Grüße, 世界", done_when=["true"], op_id="op-1")["id"]
    second = call("W1", **TEXT, depends_on=[first], parent=first)["id"]
    call("W2", id=second, status="active", note="Begun.")
    call("W13", id=second)
    call("W3", task_id=first, **TEXT)
    call("W4", id="@last", status="active")
    call("W5", task_id=first, **TEXT, payload_json={"links": [1, 2.5]})
    call("W6", id="@last", summary="Two dead links.")
    call("W2", id=first, status="done", waive="Later.")
    (root / "file.txt").write_text("x", encoding="utf-8")
    call("A1", path="file.txt")
    call("Q1", title="Seen", task_id=first)
    call("Q2", conclusion="VERIFIED_ACCEPTABLE", summary="Fine.", task_id=first)
    call("G1", **TEXT, body="Long.", evidence=["seen"])
    call("G5", id="@last", note="Again.")
    learning = call("L2", id="@last")["id"]
    call("L3", id=learning, waive="Seen often.")
    call("L11", id="@last", reason="Gone.")
    (root / "GOTCHA.md").write_text("# Gotchas\n\n- One.\n", encoding="utf-8")
    call("M3")
    call("Q3", **TEXT, category="proof")
    call("Q4", case_id="@last", outcome="passed", score=0.5)
    call("Q5", title="A pattern", symptom="s", correction="c")
    call("X1", **TEXT)
    call("X6", id="@last", reason="Old.")
    call("S1", title="A source", tier="primary", url="https://example.org/")
    call("O1", contract="c")
    change = {"title": "t", "hypothesis": "h", "metric": "m", "baseline": 1.5, "candidate": 2}
    call("O2", lab_id="@last", **change, body="b")
    call("I1", **TEXT)
    call("I2", irl_id="@last", summary="s", probability=0.25, deadline="+7d")
    call("I3", irl_id="@last", summary="s")
    call("I4", prediction_id="@last", outcome="happened", summary="s")
    call("T1", name="n", duration_ms=1, cost_usd=0.5)
    call("T2", name="n", value=1.5)
    call("R0", scope="project", query="title")
    record_run(call, root)
    call("W1", **TEXT, test=True)
    call("K7")


def record_run(call: Any, root: pathlib.Path) -> None:
    """Record a run that reaches its first question and is aborted.

    The protocol is short because a benchmark changes every byte of it in turn.
    """
    repo = root / "AI" / "work" / "target"
    if not repo.exists():
        (repo / ".kaizen" / "protocols").mkdir(parents=True)
        (repo / ".kaizen" / "protocols" / "tiny.yml").write_text(PROTOCOL, encoding="utf-8")
        somebody = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
        commit = [*somebody, "commit", "-q", "-m", "first"]
        for words in (["init", "-q"], ["add", "-A", "-f"], commit):
            subprocess.run(["git", *words], cwd=repo, check=True)
    call("P1", request="Do it.", repo=str(repo), protocol="tiny", driver="agent")
    call("P7", id="@last", abort=True)
