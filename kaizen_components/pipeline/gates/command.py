"""A protocol's own gate: a command that sees the candidate and the answers, in the box; exit code 0 is a pass."""

import json
import os
import shutil

from ...sandbox import run as sandbox
from ..answers.context import StepContext
from ..ask.messages import parse_answers
from ..job import Job
from ..protocol import Step
from ..target.clearing import delete_path
from ..verdict import Finding, Verdict

ANSWERS = "KAIZEN_ANSWERS"
TAIL_CHARS = 2_000
NOT_RUN = (126, 127)  # what a shell says of a program that it cannot start


def judge_command(step: Step, job: Job, asked: StepContext) -> Verdict:
    sandbox.require_level(job.settings.minimum_level)
    room, answers = os.path.join(job.scratch, "command"), os.path.join(job.scratch, "answers")
    delete_path(room)
    shutil.copytree(job.head, room, symlinks=True)
    _lay_out(answers, asked)
    words = step.command
    argv = [*job.tools.python, *words[1:]] if words[0] in ("python", "python3") else words
    boxed = sandbox.run_in_sandbox(
        argv, room, min(step.timeout_s, job.settings.timeout_s), tree=job.head_tree,
        reads=(*job.tools.reads, answers), variables={ANSWERS: answers},
    )  # fmt: skip
    shown = f"`{' '.join(words)}`"
    facts = {"command": words}
    if boxed.exit_code == 0 and not boxed.timed_out:
        return Verdict("pass", f"{shown} passes.", [], [boxed], facts)
    if boxed.exit_code in NOT_RUN:
        says = f"{shown} cannot be started here."
        return Verdict(
            "missing",
            says,
            [Finding(step.name, f"{says} {_tail(boxed, room, answers)}")],
            [boxed],
            facts,
        )
    ended = "does not end in time" if boxed.timed_out else f"fails with exit code {boxed.exit_code}"
    return Verdict(
        "check",
        f"{shown} {ended}.",
        [Finding(step.name, _tail(boxed, room, answers))],
        [boxed],
        facts,
    )


def _lay_out(folder: str, asked: StepContext) -> None:
    """The answers as files, objects as STEP.json and texts as STEP.txt, and the request."""
    delete_path(folder)
    os.makedirs(folder)
    texts = {"request.txt": asked.request}
    for name, value in parse_answers(asked).items():
        is_text = isinstance(value, str)
        texts[f"{name}.txt" if is_text else f"{name}.json"] = (
            value if is_text else json.dumps(value, indent=1)
        )
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8", errors="replace") as file:
            file.write(text)


def _tail(boxed, room, answers):
    said = (boxed.stdout.text() + "\n" + boxed.stderr.text()).strip()
    said = said.replace(os.path.join(room, ""), "").replace(answers, f"${ANSWERS}")
    return said[-TAIL_CHARS:] or f"It said nothing, and ended with exit code {boxed.exit_code}."
