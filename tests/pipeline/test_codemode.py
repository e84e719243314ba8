"""Check codemode from the command line: an agent explores a function and gets an eval case."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest

from kaizen_components.pipeline.protocol import load_shipped

from .. import warm
from ..conftest import ROOT, git
from ..model_server import Answer
from .agent_life import CODEMODE, run_agents
from .codemode_answers import BROKEN, CODES, GOOD, MORE, REQUEST, SNIPPETS, SOURCE, SPEC, case
from .factory import environment, server
from .run_records_codemode import CodemodeRecords
from .targets import everything, repository
from .test_resume import kill_after

FIXTURE = "evals/codemode/app_text_slugify.yml"


class Session:
    def __init__(self, cli, root, tmp_path, source=SOURCE, settings=""):
        self.cli, self.root, self.file = cli, root, tmp_path / "answer"
        files = {"app/__init__.py": "", "app/text.py": source, ".kaizen/pipeline.toml": settings}
        self.repo = repository(tmp_path / "app", files)
        self.turn = {}

    def begin(self, *more, request=REQUEST):
        words = ("--function", "app.text:slugify", "--driver", "agent", "--python", sys.executable)
        words += ("--request", request, "--repo", str(self.repo), *more, "--json")
        done = self.cli("P1", "--protocol", "codemode", *words)
        assert done.exit_code == 0, done.err
        self.turn = done.json
        return self

    def say(self, text):
        self.file.write_text(text)
        words = ("--lease", self.turn["lease"], "--file", str(self.file), "--json")
        said = self.cli("P4", *words).json
        if not said.get("outcome"):
            self.turn = self.cli("P5", "--id", self.turn["id"], "--json").json
        return said

    def through(self, *steps):
        for step in steps:
            assert self.turn["step"] == step
            said = self.say(GOOD[step])
            assert said["passed"], said
        return said


@pytest.fixture
def session(cli, root, tmp_path):
    return Session(cli, root, tmp_path).begin()


EXPLORED = ("exploration-plan", "execution-analysis")
WHOLE = (*EXPLORED, "spec-synthesis")


def run_fixture(session, *more):
    words = [sys.executable, "-m", "kaizen_components.pipeline.codemode"]
    words += [str(session.root / FIXTURE), "--repo", str(session.repo), "--python", sys.executable]
    return subprocess.run([*words, *more], cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_agent_run_creates_eval_that_detects_changes(session):
    before = everything(session.repo)
    last = session.through(*WHOLE)
    assert (last["outcome"], last["run"]["fixture"]) == ("accepted", FIXTURE)
    assert everything(session.repo) == before
    record = session.cli("Q7", "--id", last["run"]["case_id"], "--json").json["record"]
    assert (record["category"], record["fixture"]) == ("behavior", FIXTURE)
    command = f"python -m kaizen_components.pipeline.codemode {FIXTURE} --repo ../app"
    assert command in record["command"]
    run = session.cli("P2", "--id", session.turn["id"], "--json").json
    gates = {step.name for step in load_shipped("codemode").steps.values() if step.kind == "gate"}
    assert {row["step"] for row in run["gates"] if row["proof_id"]} == gates

    assert run_fixture(session).returncode == 0
    (session.repo / "app" / "text.py").write_text(BROKEN)
    later = run_fixture(session)
    assert later.returncode == 1
    assert "C1 FAIL  slugify('A b')" in later.stdout
    replay = session.cli("P6", "--id", session.turn["id"], "--json").json
    assert replay["same"] is True  # it uses the commit that the run began with


def test_recorded_command_runs_in_adopted_project(cli, root, tmp_path, door):
    """Run the recorded command in an adopted project, with the `python` of our environment."""
    git(root, "init", "-q")
    assert cli("adopt", str(root), "--apply").exit_code == 0
    repo = repository(tmp_path / "an app", {"app/__init__.py": "", "app/text.py": SOURCE})
    life = run_agents(door, "honest", repo, given=CODEMODE, records=CodemodeRecords)
    (state,) = life.states()
    (run,) = life.records.runs()
    case_id = life.records.events(run)[-1]["payload"]["delivered"]["case_id"]
    command = cli("Q7", "--id", case_id, "--json").json["record"]["command"]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    env = {"PATH": path, "HOME": str(tmp_path)}

    def later(line=command):
        options = {"shell": True, "cwd": root, "env": env, "capture_output": True, "text": True}
        return subprocess.run(line, timeout=120, **options)

    def summary():
        done = later()
        return done.returncode, done.stdout.splitlines()[-1]

    assert state["outcome"] == "accepted"
    assert summary() == (0, "6 passed, 0 failed: app.text:slugify")
    (repo / "app" / "text.py").write_text(BROKEN)
    assert summary() == (1, "5 passed, 1 failed: app.text:slugify")
    (repo / "app" / "text.py").unlink()
    assert later().returncode == 1  # a missing function does not do what it should
    bare = later(command.replace("python -m", "python -S -m", 1))
    assert bare.returncode == 2 and "Use the Python that Kaizen runs with" in bare.stderr, bare
    shutil.rmtree(repo)
    assert later().returncode == 2


def test_function_that_contradicts_requirement_is_rejected(cli, root, tmp_path):
    session = Session(cli, root, tmp_path, BROKEN).begin()
    last = session.through(*WHOLE)

    assert last["outcome"] == "rejected"
    text = last["run"]["findings"][0]
    assert "slugify('A b')" in text and "by the requirement" in text
    assert not (root / "evals").exists()


def test_value_without_evidence_is_refused(session):
    session.through(*EXPLORED)
    invented = session.say(SPEC.replace("'two-words'", "'two--words'"))
    assert (invented["reason"], invented["next_step"]) == ("check", "spec-synthesis")
    unseen = session.say(SPEC + case(7, "slugify('Q')", "expect: \"'q'\"", "S7"))

    assert unseen["reason"] == "check"
    assert "C7" in unseen["findings"][0]
    malformed = session.say("function: !!bool x\ncases: []\n")
    assert (malformed["reason"], malformed["next_step"]) == ("malformed", "spec-synthesis")
    ended = session.cli("P7", "--id", session.turn["id"], "--abort", "--json").json
    assert ended["outcome"] == "aborted"


def more_text(count):
    """Return an analysis of `count` snippets that asks for another round."""
    return MORE.replace('"S8"', ", ".join(f'"S{number}"' for number in (8, *range(13, count + 1))))


def test_codemode_allows_two_extra_rounds(session):
    session.through("exploration-plan")
    count = len(CODES)
    codes = iter(f"slugify('{letter} z')" for letter in "abcdefghijklmnopqrstuvw")
    for _ in range(2):
        assert session.say(more_text(count))["reason"] == "more"
        assert "What about other blanks?" in session.turn["feedback"]
        again = json.loads(SNIPPETS)["snippets"][:10]
        for number, snippet in enumerate(again, count + 1):
            expects = "error" if number < count + 4 else "value"
            snippet |= {"id": f"S{number}", "code": next(codes), "expects": expects}
        count += 10
        assert session.say(json.dumps({"snippets": again}))["reason"] == "pass"

    assert session.say(more_text(count))["next_step"] == "spec-synthesis"  # no round is left


def test_weak_spec_may_only_be_extended(cli, root, tmp_path):
    session = Session(cli, root, tmp_path, settings="kill_floor = 1.0\n").begin()
    session.through(*EXPLORED)
    wrong_type = case(3, "slugify(None)", "raises: TypeError", "S9")
    weak = SPEC.partition("  - id: C3")[0] + wrong_type
    weak += case(4, "slugify('x' * 101)", "raises: ValueError", "S11")
    said = session.say(weak)
    assert said["then"][0].startswith("spec-validation 1: weak")
    assert said["next_step"] == "spec-refinement"
    assert "No case notices this mistake" in session.turn["question"]
    gone = session.say(weak.replace(wrong_type, "").replace("id: C4", "id: C3"))
    assert gone["reason"] == "check"
    assert any("C4 is gone" in text for text in gone["findings"])
    limit = case(5, "slugify('x' * 100)", f'expect: "{"x" * 100!r}"', "S6")
    words = case(6, "slugify('  two  words ')", "expect: \"'two-words'\"", "S3")
    last = session.say(weak + limit + words)

    assert last["outcome"] == "accepted", last


def test_existing_fixture_is_not_overwritten(session):
    (session.root / FIXTURE).parent.mkdir(parents=True)
    (session.root / FIXTURE).write_text("of another run\n")
    said = session.through(*WHOLE)

    assert said["run"]["fixture"] == FIXTURE.replace(".yml", "_2.yml")
    assert (session.root / FIXTURE).read_text() == "of another run\n"


@pytest.mark.parametrize(
    "words, code",
    [
        (["--protocol", "codemode"], "missing_option"),
        (["--protocol", "codemode", "--function", "app.text"], "bad_function"),
        (["--function", "app.text:slugify"], "function_without_use"),
    ],
)
def test_function_option_is_required_only_by_codemode(cli, tmp_path, words, code):
    repo = repository(tmp_path / "app", {"app/text.py": SOURCE})
    done = cli("P1", *words, "--driver", "agent", "--request", "x", "--repo", str(repo), "--json")

    assert (done.exit_code, done.error["code"]) == (2, code)


def test_missing_function_blocks_the_run(cli, root, tmp_path):
    repo = repository(tmp_path / "app", {"app/text.py": SOURCE})
    words = ["--function", "app.text:slugfy", "--driver", "agent", "--request", "x"]
    words += ["--repo", str(repo), "--python", sys.executable, "--json"]
    done = cli("P1", "--protocol", "codemode", *words)

    assert (done.exit_code, done.json["outcome"]) == (5, "blocked")
    assert "Did you mean app.text:slugify?" in done.json["findings"][0]


BEGINNINGS = {
    "You explore": "exploration-plan",
    "You read what": "execution-analysis",
    "You write a spec": "spec-synthesis",
}
# The same command line, killed when the fixture is written but not yet recorded.
KILLED_IN_DELIVERY = """
import os, signal
from kaizen_components.pipeline.codemode import eval_case
from kaizen_components.pipeline.run import delivery
def killed(*given):
    eval_case.deliver_fixture(*given)
    os.kill(os.getpid(), signal.SIGKILL)
delivery.eval_case = type("killed", (), {"deliver_fixture": staticmethod(killed)})
"""


def model(asked):
    def answer(request):
        system = request["messages"][0]["content"]
        step = next(step for words, step in BEGINNINGS.items() if system.startswith(words))
        asked.append(step)
        return Answer("Here it is:\n```\n" + GOOD[step] + "\n```\n")

    return answer


@pytest.mark.parametrize("moment", [None, 8, 17, "delivery"])
def test_killed_model_run_continues_with_next_step(cli, root, tmp_path, moment):
    repo = repository(tmp_path / "app", {"app/__init__.py": "", "app/text.py": SOURCE})
    words = ["P1", "--protocol", "codemode", "--request", REQUEST, "--repo", str(repo)]
    words += ["--function", "app/text.py:slugify", "--python", sys.executable, "--json"]
    asked = []
    with server(model(asked)) as serving:
        env = environment(serving.url)
        if moment is None:
            ended = cli(*words, env=env).json
        else:
            if moment == "delivery":
                variables = {**os.environ, **env, "KAIZEN_REPO_ROOT": str(root)}
                dead = warm.run(words, variables, root, first=KILLED_IN_DELIVERY)
            else:
                dead = kill_after(moment, words, env, root)
            assert dead.returncode == -signal.SIGKILL, dead.stderr
            assert (root / FIXTURE).exists() == (moment == "delivery")
            ended = cli("P7", "--id", "@last", "--json", env=env).json

    assert (ended["outcome"], ended["fixture"]) == ("accepted", FIXTURE)
    assert asked == list(BEGINNINGS.values())  # each step once
    cases = cli("R5", "--format", "json", "--json").json["data"]["never_run"]
    assert [row["id"] for row in cases] == [ended["case_id"]]
    assert os.listdir(root / "evals" / "codemode") == [os.path.basename(FIXTURE)]
