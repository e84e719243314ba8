"""The malicious and the confused agent with codemode and with a user protocol."""

import pytest

from .agent_life import CHEATS, CODEMODE, OWN, run_agents
from .codemode_answers import SOURCE
from .protocols import NOTES, SCRIPT, put
from .run_records import Records
from .run_records_codemode import CodemodeRecords
from .targets import everything, repository

FILES = {"app/__init__.py": "", "app/text.py": SOURCE, ".kaizen/check_notes.py": SCRIPT}
PROTOCOLS = {"codemode": (CODEMODE, CodemodeRecords), "own": (OWN, Records)}


@pytest.fixture(params=PROTOCOLS)
def protocol(request):
    return request.param


@pytest.fixture
def repo(tmp_path, root):
    put(root, NOTES)
    return repository(tmp_path / "app", FILES)


@pytest.fixture
def live(door, repo, protocol):
    given, records = PROTOCOLS[protocol]
    return lambda character: run_agents(door, character, repo, given=given, records=records)


def test_every_cheat_of_malicious_agent_is_refused(live, protocol, repo, root):
    before = everything(repo)
    life = live("malicious")

    assert everything(repo) == before and not (root / "evals").exists()
    if protocol == "codemode":  # it allows no illegal move
        assert life.refusals()[:2] == ["unknown-lease", "gates-are-ours"]
        assert [state["outcome"] for state in life.states()] == ["failed"]
        return
    assert life.answers_to_cheats() == CHEATS
    rules = [
        "unknown-lease",
        "gates-are-ours",
        "changed-base",
        "lease-used",
        "stale-lease",
        "run-ended",
    ]
    assert life.refusals() == rules
    said = [(one["move"], one["reason"]) for one in life.moves if one["move"].startswith("answer ")]
    assert said == [("answer notes", "pass")]
    assert [one["step"] for one in life.moves if one["move"] == "ask"][-1] == said[-1][0].split()[
        1
    ]  # once more
    assert [state["outcome"] for state in life.states()] == ["aborted"]


def test_confused_agent_gets_outcome_its_protocol_allows(live, protocol, root):
    life = live("confused")
    # The second run of codemode ends with its only illegal move.
    ends = {
        "codemode": [("accepted", 3), ("failed", 1)],
        "own": [("accepted", 1), ("accepted", 1)],
    }[protocol]

    assert [(state["outcome"], state["asks"]) for state in life.states()] == ends
    assert life.answers_to("the next step too soon") == [(4, "another_step")]
    evals = sorted(path.name for path in root.glob("evals/codemode/*"))
    assert evals == (["app_text_slugify.yml"] if protocol == "codemode" else [])
