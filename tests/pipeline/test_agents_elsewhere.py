"""The same agents over codemode and over a protocol of a user's own: what they may not do, they cannot there either."""

import pytest

from .codemode_answers import SOURCE
from .lived import CHEATS, CODEMODE, OWN, life
from .protocols import NOTES, SCRIPT, put
from .targets import everything, repository
from .witnessed import Records
from .witnessed_codemode import CodemodeRecords

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
    return lambda character: life(door, character, repo, given=given, records=records)


def test_malicious_agent_is_refused(live, protocol, repo, root):
    before = everything(repo)
    lived = live("malicious")

    assert lived.told_of_cheats() == CHEATS
    rules = [
        "unknown-lease",
        "gates-are-ours",
        "changed-base",
        "lease-used",
        "stale-lease",
        "run-ended",
    ]
    assert lived.refusals() == rules
    said = [
        (one["move"], one["reason"]) for one in lived.moves if one["move"].startswith("answer ")
    ]
    assert said == {
        "codemode": [
            ("answer exploration-plan", "check"), ("answer exploration-plan", "pass"),
            ("answer execution-analysis", "pass"), ("answer spec-synthesis", "check"),
        ],
        "own": [("answer notes", "pass")],
    }[protocol]  # fmt: skip
    assert [one["step"] for one in lived.moves if one["move"] == "ask"][-1] == said[-1][0].split()[
        1
    ]  # once more
    assert [state["outcome"] for state in lived.states()] == ["aborted"]
    assert everything(repo) == before
    assert not (root / "evals").exists()


def test_confused_agent_loses_nothing(live, protocol, root):
    lived = live("confused")
    asks = {"codemode": 3, "own": 1}[protocol]

    assert [(state["outcome"], state["asks"]) for state in lived.states()] == [
        ("accepted", asks)
    ] * 2
    assert lived.told("the next step too soon") == [(4, "another_step")]
    evals = sorted(path.name for path in root.glob("evals/codemode/*"))
    assert evals == (
        ["app_text_slugify.yml", "app_text_slugify_2.yml"] if protocol == "codemode" else []
    )
