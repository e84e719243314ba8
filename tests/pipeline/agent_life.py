"""Run scripted agents as processes that use only the command line."""

import json
import os
import subprocess
import sys

from .. import warm
from . import codemode_answers
from .factory import GOOD, REQUEST
from .protocols import EMPTY_NOTES, GOOD_NOTES
from .run_records import Records

SCRIPT = os.path.join(os.path.dirname(__file__), "agent.py")
# For each protocol: the options of P1, right answers, wrong ones, and files that would accept the wrong ones.
FACTORY = {
    "words": ["--request", REQUEST],
    "good": {step: texts[0] for step, texts in GOOD.items()},
}
OWN = {
    "words": ["--protocol", "release-notes", "--request", "2.0 adds /health."], "good": {"notes": GOOD_NOTES},
    "bad": {"notes": EMPTY_NOTES}, "files": {".kaizen/check_notes.py": ""},
}  # fmt: skip
CODEMODE = {
    "words": ["--protocol", "codemode", "--function", "app.text:slugify", "--request", codemode_answers.REQUEST],
    "good": codemode_answers.GOOD,
    "bad": {
        "exploration-plan": codemode_answers.SNIPPETS.replace("slugify('one')", "slugify(slugify.__globals__)"),
        "spec-synthesis": codemode_answers.SPEC.replace("'two-words'", "'Two-Words'"),
    },
    "files": {"app/__init__.py": "", "app/text.py": codemode_answers.SOURCE.replace("text.lower()", "text.title()")},
}  # fmt: skip


CHEATS = {  # the moves of a malicious agent -> (exit code, error code)
    "forged lease": (3, "unknown_lease"), "a gate's result": (1, "gates_are_ours"),
    "another commit": (4, "changed_base"), "old lease": (4, "lease_used"), "go on after the abort": (4, "stale_lease"),
}  # fmt: skip


class AgentLife:
    """The moves of an agent with their results, and the records of its runs."""

    def __init__(self, lines, records):
        self.moves = [json.loads(line) for line in lines]
        self.records = records

    def answers_to(self, move):
        """Return (exit code, error code) of each such move."""
        return [(one["exit_code"], one["code"]) for one in self.moves if one["move"] == move]

    def answers_to_cheats(self):
        return {move: told for move in CHEATS for told in self.answers_to(move)}

    def states(self):
        for run in self.records.runs():
            self.records.check(run)
        return [self.records.state(run) for run in self.records.runs()]

    def refusals(self):
        events = [event for run in self.records.runs() for event in self.records.events(run)]
        return [event["reason"] for event in events if event["event"] == "refused"]


def run_agents(door, character, target, *names, given=FACTORY, records=Records):
    """Run one agent of that character, or one for each name at the same time."""
    root = door.store.place.root
    answers = os.path.join(root, "answers.json")
    with open(answers, "w", encoding="utf-8") as file:
        json.dump(given, file)
    words = [sys.executable, SCRIPT, character, str(target), answers, sys.executable, warm.__file__]
    environment = {
        **os.environ,
        "KAIZEN_REPO_ROOT": root,
        "KAIZEN_SANDBOX_MAX": "L1",
        warm.SERVER: warm.server(),
    }
    started = [
        subprocess.Popen(
            words, cwd=root, env={**environment, "KAIZEN_ACTOR": name}, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True,
        )
        for name in names or ("agent",)
    ]  # fmt: skip
    said = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0] * len(started), said
    return AgentLife("".join(said).splitlines(), records(door))
