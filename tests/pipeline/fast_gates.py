"""Gates that answer at once, for tests in which the gates are not the subject.

`install()` replaces the judges of `ready`, `static` and `testing`. They decide what the commands of `factory.QUICK`
would decide, but read the files themselves and start no process. Everything around them is as shipped: the registry,
the proofs, the machine. The fixture `fast_gates` installs them in this process and sets KAIZEN_TEST_GATES, which
tests/warm.py reads and the engine does not.

Real gates run in their own tests and in one run per driver: test_factory (model), test_turn (agent), test_replay.
"""

import os
import re
from types import SimpleNamespace

from kaizen_components.pipeline.gates import registry
from kaizen_components.pipeline.verdict import Finding, Verdict
from kaizen_components.sandbox import run as sandbox

VARIABLE = "KAIZEN_TEST_GATES"
NEEDED_TEXT = re.compile(r"not os\.path\.exists\('(.+?)'\) or '(.+?)' in open\('(.+?)'\)")
load_judge = registry.load_attribute


def install():
    """Replace the judges; a test may replace an entry of SCRIPTED in turn."""
    judges = {registry.GATES[name].judge: name for name in SCRIPTED}

    def load_attribute(address):
        return SCRIPTED[judges[address]] if address in judges else load_judge(address)

    registry.load_attribute = load_attribute


def uninstall():
    registry.load_attribute = load_judge


def judge_base(job):
    return Verdict("pass", "Scripted: the base passes.", runs=[scripted_result(job.base_tree)])


def judge_code(job):
    return Verdict("pass", "Scripted: the check passes.", runs=[scripted_result(job.head_tree)])


def judge_tests(job):
    runs = [scripted_result(job.base_tree), scripted_result(job.head_tree)]
    if not passes_tests(job, job.head):
        says = "Scripted: the tests fail."
        return Verdict("regression", says, [Finding("test", says)], runs)
    if job.tests and passes_tests(job, job.base):
        says = "Scripted: the new tests pass on the base too."
        findings = [Finding("passes-on-base", says, path) for path in job.tests]
        return Verdict("weak", says, findings, runs)
    return Verdict("pass", "Scripted: the tests pass, and fail on the base.", runs=runs)


def passes_tests(job, code_folder):
    """Return whether the target's own test command would pass on this code with the new tests."""
    test, text, path = NEEDED_TEXT.search(job.settings.commands["test"][-1]).groups()
    if not os.path.exists(os.path.join(job.head, test)):
        return True
    with open(os.path.join(code_folder, path), encoding="utf-8") as file:
        return text in file.read()


def scripted_result(tree):
    """Return what a proof records of a command."""
    silence = SimpleNamespace(text=str)
    return SimpleNamespace(
        argv=["scripted"],
        exit_code=0,
        timed_out=False,
        stopped="",
        duration_ms=0,
        stdout=silence,
        stderr=silence,
        protection=f"{sandbox.detect_level()} scripted",
        tree=tree,
    )


SCRIPTED = {"ready": judge_base, "static": judge_code, "testing": judge_tests}
