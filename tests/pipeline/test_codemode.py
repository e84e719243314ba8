"""codemode from the command line: an agent explores a function, and what it says becomes an eval that can be run."""

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
from .codemode_answers import BROKEN, CODES, GOOD, MORE, REQUEST, SNIPPETS, SOURCE, SPEC, case
from .factory import environment, server
from .lived import CODEMODE, life
from .targets import everything, repository
from .test_resume import kill_after
from .witnessed_codemode import CodemodeRecords

FIXTURE = "evals/codemode/app_text_slugify.yml"


class Session:
    def __init__(self, cli, root, tmp_path, source=SOURCE, settings=""):
        self.cli, self.root, self.file = cli, root, tmp_path / "answer"
        files = {"app/__init__.py": "", "app/text.py": source, ".kaizen/pipeline.toml": settings}
        self.repo = repository(tmp_path / "app", files)
        self.turn = {}

    def begin(self, *more, request=REQUEST):
        words = ("--function", "app.text:slugify", "--driver", "agent", "--python", sys.executable)
        done = self.cli("P1", "--protocol", "codemode", "--request", request, "--repo", str(self.repo), *words, *more,
                        "--json")  # fmt: skip
        assert done.exit_code == 0, done.err
        self.turn = done.json
        return self

    def say(self, text):
        self.file.write_text(text)
        said = self.cli(
            "P4", "--lease", self.turn["lease"], "--file", str(self.file), "--json"
        ).json
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


def run_later(session, *more):
    words = [
        sys.executable,
        "-m",
        "kaizen_components.pipeline.codemode",
        str(session.root / FIXTURE),
    ]
    words += ["--repo", str(session.repo), "--python", sys.executable, *more]
    return subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=120)


def test_an_honest_agent_makes_an_eval_that_can_be_run_later_and_notices_a_change(session):
    before = everything(session.repo)
    last = session.through("exploration-plan", "execution-analysis", "spec-synthesis")
    assert (last["outcome"], last["run"]["fixture"]) == ("accepted", FIXTURE)
    assert everything(session.repo) == before
    record = session.cli("Q7", "--id", last["run"]["case_id"], "--json").json["record"]
    assert (record["category"], record["fixture"]) == ("behavior", FIXTURE)
    assert (
        f"python -m kaizen_components.pipeline.codemode {FIXTURE} --repo ../app"
        in record["command"]
    )

    assert run_later(session).returncode == 0
    (session.repo / "app" / "text.py").write_text(BROKEN)
    later = run_later(session)
    assert later.returncode == 1
    assert "C1 FAIL  slugify('A b')" in later.stdout
    assert (
        session.cli("P6", "--id", session.turn["id"], "--json").json["same"] is True
    )  # on the commit it began with


def test_the_command_of_the_case_runs_as_it_is_recorded_in_the_projects_folder(
    cli, root, tmp_path, door
):
    """The folder is one that has adopted Kaizen, and `python` the one of its environment."""
    git(root, "init", "-q")
    assert cli("adopt", str(root), "--apply").exit_code == 0
    repo = repository(tmp_path / "an app", {"app/__init__.py": "", "app/text.py": SOURCE})
    lived = life(door, "honest", repo, given=CODEMODE, records=CodemodeRecords)
    (state,) = lived.states()
    (run,) = lived.records.runs()
    case_id = lived.records.events(run)[-1]["payload"]["delivered"]["case_id"]
    command = cli("Q7", "--id", case_id, "--json").json["record"]["command"]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])

    def later(line=command):
        env = {"PATH": path, "HOME": str(tmp_path)}
        return subprocess.run(
            line, shell=True, cwd=root, env=env, capture_output=True, text=True, timeout=120
        )

    assert state["outcome"] == "accepted"
    passed = later()
    assert (passed.returncode, passed.stdout.splitlines()[-1]) == (
        0,
        "6 passed, 0 failed: app.text:slugify",
    ), passed
    (repo / "app" / "text.py").write_text(BROKEN)
    failed = later()
    assert (failed.returncode, failed.stdout.splitlines()[-1]) == (
        1,
        "5 passed, 1 failed: app.text:slugify",
    ), failed
    assert "C1 FAIL  slugify('A b')" in failed.stdout
    (repo / "app" / "text.py").unlink()
    assert later().returncode == 1  # what is not there any more does not do what it should
    bare = later(command.replace("python -m", "python -S -m", 1))
    assert (bare.returncode, "Use the Python that Kaizen runs with" in bare.stderr) == (2, True), (
        bare
    )
    shutil.rmtree(repo)
    assert later().returncode == 2


def test_a_function_that_contradicts_its_requirement_is_rejected_and_makes_no_eval(
    cli, root, tmp_path
):
    session = Session(cli, root, tmp_path, BROKEN).begin()
    last = session.through("exploration-plan", "execution-analysis", "spec-synthesis")

    assert last["outcome"] == "rejected"
    assert (
        "slugify('A b')" in last["run"]["findings"][0]
        and "by the requirement" in last["run"]["findings"][0]
    )
    assert not (root / "evals").exists()


def test_a_value_out_of_the_air_is_refused_and_so_is_what_the_code_would_give(session):
    session.through("exploration-plan", "execution-analysis")
    air = session.say(SPEC.replace("'two-words'", "'two--words'"))
    assert (air["reason"], air["next_step"]) == ("check", "spec-synthesis")
    unseen = SPEC + case(7, "slugify('Q')", "expect: \"'q'\"", "S7")
    said = session.say(unseen)

    assert said["reason"] == "check"
    assert "C7" in said["findings"][0]


def listed(number):
    """The ids of all snippets that no cluster of MORE has, and S8."""
    return ", ".join(f'"S{at}"' for at in (8, *range(13, number + 1)))


def test_another_round_goes_on_counting_and_there_are_two_at_most(session):
    session.through("exploration-plan")
    number, codes = (
        len(CODES),
        iter(f"slugify('{letter} z')" for letter in "abcdefghijklmnopqrstuvw"),
    )
    for _ in range(2):
        assert session.say(MORE.replace('"S8"', listed(number)))["reason"] == "more"
        assert "What about other blanks?" in session.turn["feedback"]
        again = json.loads(SNIPPETS)["snippets"][:10]
        for at, one in enumerate(again, number + 1):
            one |= {
                "id": f"S{at}",
                "code": next(codes),
                "expects": "error" if at < number + 4 else "value",
            }
        number += 10
        assert session.say(json.dumps({"snippets": again}))["reason"] == "pass"

    assert (
        session.say(MORE.replace('"S8"', listed(number)))["next_step"] == "spec-synthesis"
    )  # no round is left


def test_a_weak_spec_may_be_added_to_and_nothing_may_be_taken_away(cli, root, tmp_path):
    session = Session(cli, root, tmp_path, settings="kill_floor = 1.0\n").begin()
    session.through("exploration-plan", "execution-analysis")
    wrong_type = case(3, "slugify(None)", "raises: TypeError", "S9")
    weak = (
        SPEC.partition("  - id: C3")[0]
        + wrong_type
        + case(4, "slugify('x' * 101)", "raises: ValueError", "S11")
    )
    said = session.say(weak)
    assert (said["then"][0][:23], said["next_step"]) == (
        "spec-validation 1: weak",
        "spec-refinement",
    )
    assert "No case notices this mistake" in session.turn["question"]
    gone = session.say(weak.replace(wrong_type, "").replace("id: C4", "id: C3"))
    assert gone["reason"] == "check"
    assert any("C4 is gone" in one for one in gone["findings"])
    limit = case(5, "slugify('x' * 100)", f'expect: "{"x" * 100!r}"', "S6")
    last = session.say(
        weak + limit + case(6, "slugify('  two  words ')", "expect: \"'two-words'\"", "S3")
    )

    assert last["outcome"] == "accepted", last


def test_a_fixture_that_is_there_is_left_alone(session):
    (session.root / FIXTURE).parent.mkdir(parents=True)
    (session.root / FIXTURE).write_text("of another run\n")
    said = session.through("exploration-plan", "execution-analysis", "spec-synthesis")

    assert said["run"]["fixture"] == FIXTURE.replace(".yml", "_2.yml")
    assert (session.root / FIXTURE).read_text() == "of another run\n"


@pytest.mark.parametrize(
    "words, code",
    [
        (["--protocol", "codemode"], "missing_option"),
        (["--protocol", "codemode", "--function", "app.text"], "bad_function"),
        (["--protocol", "codemode", "--function", "app.text:Slug.make"], "bad_function"),
        (["--function", "app.text:slugify"], "function_without_use"),
    ],
)
def test_a_function_is_named_where_it_is_needed_and_nowhere_else(cli, tmp_path, words, code):
    repo = repository(tmp_path / "app", {"app/text.py": SOURCE})
    done = cli("P1", *words, "--driver", "agent", "--request", "x", "--repo", str(repo), "--json")

    assert (done.exit_code, done.error["code"]) == (2, code)


def test_a_function_that_is_not_there_blocks_the_run_and_says_which_is(cli, root, tmp_path):
    repo = repository(tmp_path / "app", {"app/text.py": SOURCE})
    words = (
        "--function",
        "app.text:slugfy",
        "--driver",
        "agent",
        "--request",
        "x",
        "--repo",
        str(repo),
    )
    done = cli("P1", "--protocol", "codemode", *words, "--python", sys.executable, "--json")

    assert (done.exit_code, done.json["outcome"]) == (5, "blocked")
    assert "Did you mean app.text:slugify?" in done.json["findings"][0]


def test_every_gate_of_an_accepted_run_has_its_witnessed_proof(session):
    session.through("exploration-plan", "execution-analysis", "spec-synthesis")
    run = session.cli("P2", "--id", session.turn["id"], "--json").json
    gates = {row["step"]: row["proof_id"] for row in run["gates"] if row["proof_id"]}

    assert set(gates) == {
        step.name for step in load_shipped("codemode").steps.values() if step.kind == "gate"
    }


BEGINNINGS = {
    "You explore": "exploration-plan", "You read what": "execution-analysis", "You write a spec": "spec-synthesis",
}  # fmt: skip
# The same command line, killed as soon as the fixture is written and nothing says so yet.
KILLED_IN_DELIVERY = """
import os, signal
from kaizen_components.pipeline.codemode import eval_case
from kaizen_components.pipeline.run import delivery
def killed(*given):
    eval_case.deliver(*given)
    os.kill(os.getpid(), signal.SIGKILL)
delivery.eval_case = type("killed", (), {"deliver": staticmethod(killed)})
"""


def model(asked):
    def answered(request):
        system = request["messages"][0]["content"]
        step = next(step for words, step in BEGINNINGS.items() if system.startswith(words))
        asked.append(step)
        return Answer("Here it is:\n```\n" + GOOD[step] + "\n```\n")

    return answered


def model_words(repo):
    words = (
        "--function",
        "app/text.py:slugify",
        "--repo",
        str(repo),
        "--python",
        sys.executable,
        "--json",
    )
    return ["P1", "--protocol", "codemode", "--request", REQUEST, *words]


def test_a_model_can_drive_it_as_well(cli, root, tmp_path):
    repo = repository(tmp_path / "app", {"app/__init__.py": "", "app/text.py": SOURCE})
    asked = []
    with server(model(asked)) as serving:
        done = cli(*model_words(repo), env=environment(serving.url))

    assert (done.exit_code, done.json["outcome"]) == (0, "accepted"), done.err
    assert asked == list(BEGINNINGS.values())
    assert (root / FIXTURE).exists()


@pytest.mark.parametrize("moment", [8, 17, "delivery"])
def test_a_run_that_is_killed_and_resumed_asks_nothing_twice_and_delivers_once(
    cli, root, tmp_path, moment
):
    repo = repository(tmp_path / "app", {"app/__init__.py": "", "app/text.py": SOURCE})
    asked = []
    with server(model(asked)) as serving:
        env = environment(serving.url)
        if moment == "delivery":
            given = {**os.environ, **env, "KAIZEN_REPO_ROOT": str(root)}
            dead = warm.run(model_words(repo), given, root, first=KILLED_IN_DELIVERY)
        else:
            dead = kill_after(moment, model_words(repo), env, root)
        assert dead.returncode == -signal.SIGKILL, dead.stderr
        assert (root / FIXTURE).exists() == (moment == "delivery")
        resumed = cli("P7", "--id", "@last", "--json", env=env).json

    assert (resumed["outcome"], resumed["fixture"]) == ("accepted", FIXTURE)
    assert asked == list(BEGINNINGS.values())
    cases = cli("R5", "--format", "json", "--json").json["data"]["never_run"]
    assert [case["id"] for case in cases] == [resumed["case_id"]]
    assert os.listdir(root / "evals" / "codemode") == [os.path.basename(FIXTURE)]


def test_yaml_that_breaks_its_reader_is_malformed_and_the_run_can_be_ended(session):
    session.through("exploration-plan", "execution-analysis")
    said = session.say("function: !!bool x\ncases: []\n")
    assert (said["reason"], said["next_step"]) == ("malformed", "spec-synthesis")

    assert (
        session.cli("P7", "--id", session.turn["id"], "--abort", "--json").json["outcome"]
        == "aborted"
    )
