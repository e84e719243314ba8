"""A random walk with codemode: an eval is delivered only if the gates have proven it."""

import os
import sys
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from kaizen_components.pipeline.codemode import fixture

from .agent_life import CODEMODE
from .codemode_answers import ANALYSIS, GOOD, MORE, REQUEST, SNIPPETS, SOURCE, SPEC
from .run_records_codemode import CodemodeRecords
from .targets import repository
from .test_walk import ACTORS, Held, Walk

WRONG = [
    *CODEMODE["bad"].values(), MORE, ANALYSIS.replace('"S12"', '"S99"'), SNIPPETS.replace('"S1"', '"S2"'),
    SPEC.partition("  - id: C3")[0], SPEC.replace("raises: ValueError", "raises: KeyError"), "cases: !!bool x",
    "nothing of use", "{}", '{"gate": "spec-validation", "reason": "pass"}', '{"proof_id": "prf_1"}',
]  # fmt: skip
TEXTS = st.one_of(st.sampled_from([*GOOD.values(), *WRONG]), st.text(min_size=1, max_size=200))
STEPS = st.sampled_from([None, None, None, "exploration-plan", "spec-validation"])


class WalkOfCodemode(Walk):
    right: ClassVar = {**GOOD, "spec-refinement": SPEC}
    cheat: ClassVar = {"spec-synthesis": CODEMODE["bad"]["spec-synthesis"]}
    words: ClassVar = {"request": REQUEST, "protocol": "codemode", "function": "app.text:slugify"}

    def __init__(self):
        super().__init__()
        self.records = CodemodeRecords(self.door)

    def target(self):
        return repository(self.place / "targetapp", {"app/__init__.py": "", "app/text.py": SOURCE})

    def look_at_accepted(self, accepted):
        """Each accepted run has an eval that the function passes."""
        made = list(self.place.glob("evals/codemode/*.yml"))
        assert len(made) == len(accepted)
        for path in made:
            spec = fixture.read_fixture(str(path))
            assert fixture.run_fixture(spec, str(self.repo), sys.executable)["failed"] == 0

    @rule(text=TEXTS, newest=st.booleans(), at=st.integers(0, 30), actor=ACTORS, step=STEPS)
    def hand_in(self, text, newest, at, actor, step):
        turn = self.turns[-1 if newest else at % len(self.turns)]
        self.answer(turn["lease"], text, actor=actor, **({"step": step} if step else {}))

    @rule()
    def meddle(self):
        """Replace the function in the gates' folder with one that passes the wrong cases."""
        for run in self.records.runs():
            for name, text in CODEMODE["files"].items():
                path = self.place / "AI" / "work" / "runs" / run["id"] / "base" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)


WalkOfCodemode.TestCase.settings = settings(
    Walk.TestCase.settings,
    max_examples=int(os.environ.get("KAIZEN_WALKS", "3")),
    stateful_step_count=15,
)


class TestWalkOfCodemode(Held, WalkOfCodemode.TestCase):
    pass
