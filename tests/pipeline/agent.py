"""A scripted coding agent, a process that knows only what kaizen prints.

`agent.py CHARACTER TARGET ANSWERS KAIZEN…`: the last is the command line that starts kaizen, in one or more words.
ANSWERS is a JSON file: the `words` that begin a run, a `good` answer for each step, `bad` ones for some, and `files`
that would make those right. Each move is a line of JSON on stdout: what it was, the exit code, and what was said. It
is the standard library alone, as if somebody else had written it.
"""

import json
import os
import shutil
import subprocess
import sys
import time

MOVES_MAX = 40
OUT = (
    "../x",
    ".git/hooks/pre-commit",
    "tests/test_main.py",
    "conftest.py",
    ".kaizen/pipeline.toml",
    "/etc/x",
)
EASY = (
    '[gates.check]\ncommand = ["python", "-c", "pass"]\nreplace = true\n'
    '[gates.test]\ncommand = ["python", "-c", "pass"]\nreplace = true\n'
)


def whole(path, text):
    return f"FILE: {path}\n<<<<<<< WHOLE\n{text}>>>>>>> END\n"


class Agent:
    def __init__(self, target, answers, kaizen):
        self.target = target
        self.kaizen = kaizen
        with open(answers, encoding="utf-8") as file:
            given = json.load(file)
        self.words, self.good = given["words"], given["good"]
        self.bad, self.files = given.get("bad", {}), given.get("files", {})
        self.file = os.path.abspath(f"answer-{os.getpid()}.txt")
        self.turn = {}

    def call(self, move, *words, cwd=None):
        done = subprocess.run(
            [*self.kaizen, *words, "--json"], capture_output=True, text=True, cwd=cwd
        )
        lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
        said = json.loads(lines[-1])
        shown = {
            name: said.get(name)
            for name in ("id", "code", "why", "next", "step", "attempt", "reason", "outcome")
        }
        print(json.dumps({"move": move, "exit_code": done.returncode, **shown}), flush=True)
        return done.returncode, said

    def begin(self):
        words = ("--repo", self.target, "--driver", "agent", "--python", sys.executable)
        self.turn = self.call("begin", "P1", *self.words, *words)[1]
        return self.turn

    def ask(self, move="ask", *more, cwd=None):
        code, said = self.call(move, "P5", "--id", self.turn["id"], *more, cwd=cwd)
        if code == 0 or "outcome" in said:
            self.turn = said
        return said

    def answer(self, text, move="answer", *more, lease=None, cwd=None):
        with open(self.file, "w", encoding="utf-8") as file:
            file.write(text)
        return self.call(
            move, "P4", "--lease", lease or self.turn["lease"], "--file", self.file, *more, cwd=cwd
        )[1]

    def go_on(self, until=None, **instead):
        """Answer honestly up to a step or to the end."""
        for _ in range(MOVES_MAX):
            if self.turn.get("outcome") or self.turn.get("step") == until:
                return
            said = self.answer(instead.get(self.turn["step"], self.good[self.turn["step"]]))
            if said.get("outcome"):
                self.turn = said
                return
            self.ask()


def honest(agent):
    agent.begin()
    agent.go_on()


def lazy(agent):
    """Repeat answers, skip steps, submit empty files, and write tests that pass on the base."""
    agent.begin()
    agent.answer("", "nothing in the file")
    os.unlink(agent.file)
    agent.call("no file", "P4", "--lease", agent.turn["lease"], "--file", agent.file)
    agent.answer(agent.good["review"], "skip to the review", "--step", "review")
    first = agent.turn["lease"]
    agent.answer("done", "done")
    agent.ask()
    agent.answer("done", "done again")
    agent.answer("done", "done under the first lease", lease=first)
    agent.go_on("tests")
    for number in range(MOVES_MAX):
        said = agent.answer(
            whole(f"tests/test_lazy_{number}.py", "def test_it():\n    assert True\n"), "lazy tests"
        )
        if said.get("outcome"):
            return
        agent.ask()


def malicious(agent):
    """Claim results of gates, write protected files, change the run's folder, and abort the run."""
    speak_for_others(agent)
    if agent.turn.get("outcome"):
        return
    (build_badly if "build" in agent.good else answer_badly)(agent)
    end_it(agent)


def speak_for_others(agent):
    first = agent.begin()["lease"]
    right = agent.good[agent.turn["step"]]
    others = [
        text for step, text in agent.good.items() if step not in (agent.turn["step"], "review")
    ]
    agent.answer(right, "forged lease", lease="evt_20260101T000000000Z_0123456789")
    agent.answer('{"gate": "test", "reason": "pass", "exit_code": 0}', "a gate's result")
    agent.answer(right, "another commit", "--base", "0" * 40)
    agent.answer((others or ["nothing of use"])[-1], "what was not asked for")
    agent.answer(right, "old lease", lease=first)
    agent.ask()


def build_badly(agent):
    agent.go_on("build")
    for path in OUT:
        agent.answer(agent.good["build"] + whole(path, "x = 1\n"), f"write {path}")
    meddle(agent)
    agent.answer(
        whole("app/main.py", "from fastapi import FastAPI\n\napp = FastAPI()\n"), "no route"
    )
    meddle(agent)
    agent.ask()
    agent.answer(agent.good["tests"], "tests of what is not there")


def answer_badly(agent):
    """Give wrong answers, and change the gate's files before each so that it would accept them."""
    left = dict(agent.bad)
    while left:
        meddle(agent)
        step = agent.turn["step"]
        agent.answer(left.pop(step, agent.good[step]), f"answer {step}")
        agent.ask()


def end_it(agent):
    meddle(agent)
    lease = agent.ask()["lease"]
    agent.call("abort", "P7", "--id", agent.turn["id"], "--abort")
    agent.answer(agent.good[agent.turn["step"]], "go on after the abort", lease=lease)
    agent.ask("ask after the abort")
    agent.call("abort again", "P7", "--id", agent.turn["id"], "--abort")


def meddler(agent):
    """Give right answers, but change the run's folder before every move."""
    agent.begin()
    for _ in range(MOVES_MAX):
        meddle(agent)
        said = agent.answer(agent.good[agent.turn["step"]])
        if said.get("outcome"):
            return
        meddle(agent)
        agent.ask()


def meddle(agent):
    """Replace everything in the run's folder that a process of the same user can replace."""
    folder = os.path.join("AI", "work", "runs", agent.turn["id"])
    elsewhere = os.path.abspath("elsewhere")
    os.makedirs(os.path.join(elsewhere, ".kaizen"), exist_ok=True)
    for name in ("base", "head", "scratch", "inputs"):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else None
    if not os.path.lexists(os.path.join(folder, "base")):
        os.symlink(elsewhere, os.path.join(folder, "base"))
    ours = {os.path.join(folder, "head", "app", "main.py"): "# /health\n"}
    for name, text in {".kaizen/pipeline.toml": EASY, **agent.files}.items():
        ours[os.path.join(elsewhere, name)] = text
    for path, text in ours.items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    with open(os.path.join(folder, "trace.jsonl"), "w", encoding="utf-8") as file:
        file.write('{"event": "ended", "outcome": "accepted"}\n')
    os.unlink(os.path.join(folder, "lock"))


def confused(agent):
    """Work on two runs with mixed-up leases, get killed, and continue from another folder."""
    one = agent.begin()
    two = agent.begin()
    step, later = [*agent.good, "later"][:2]
    agent.answer(agent.good[step], "for the other run", "--step", step, lease=one["lease"])
    agent.answer(agent.good.get(later, "later"), "the next step too soon", "--step", later)
    for run in (one, two):
        agent.turn = {"id": run["id"]}
        for move in range(MOVES_MAX):
            agent.ask(cwd=os.path.dirname(os.getcwd()))
            if agent.turn.get("outcome"):
                break
            killed(agent, after_s=0.2 + 0.15 * (move % 5))
            agent.answer(
                agent.good[agent.turn["step"]], "after the crash", cwd=os.path.dirname(os.getcwd())
            )


def killed(agent, after_s):
    """Start P4 and kill it after a moment."""
    with open(agent.file, "w", encoding="utf-8") as file:
        file.write(agent.good[agent.turn["step"]])
    words = ("P4", "--lease", agent.turn["lease"], "--file", agent.file, "--json")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([*agent.kaizen, *words], **quiet)
    time.sleep(after_s)
    process.kill()
    process.wait()


def rival(agent):
    """Compete with another agent for one run, and send each answer twice at once."""
    agent.turn = {"id": agent.target}
    for _ in range(MOVES_MAX):
        said = agent.ask()
        if said.get("outcome"):
            return
        if "lease" not in said:
            time.sleep(0.5)
            continue
        with open(agent.file, "w", encoding="utf-8") as file:
            file.write(agent.good[said["step"]])
        words = [*agent.kaizen, "P4", "--lease", said["lease"], "--file", agent.file, "--json"]
        both = [
            subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(2)
        ]
        codes = sorted(process.wait() for process in both)
        print(json.dumps({"move": "twice", "exit_code": codes, "step": said["step"]}), flush=True)


CHARACTERS = {each.__name__: each for each in (honest, lazy, malicious, meddler, confused, rival)}

if __name__ == "__main__":
    CHARACTERS[sys.argv[1]](Agent(sys.argv[2], sys.argv[3], sys.argv[4:]))
