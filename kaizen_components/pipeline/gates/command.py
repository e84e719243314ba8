"""A protocol's own gate: a command that reads the candidate and the answers. Exit code 0 passes."""

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
from .static.own_command import describe_output, has_passed, resolve_command

ANSWERS = "KAIZEN_ANSWERS"
NOT_STARTED = (126, 127)  # exit codes of a shell that cannot start a program


def judge_command(step: Step, job: Job, context: StepContext) -> Verdict:
    """Run the step's command on a copy of the candidate, with the answers in $KAIZEN_ANSWERS."""
    sandbox.require_level(job.settings.minimum_level)
    tree = os.path.join(job.scratch, "command")
    answers = os.path.join(job.scratch, "answers")
    delete_path(tree)
    shutil.copytree(job.head, tree, symlinks=True)
    # Objects as STEP.json, texts as STEP.txt, and the request as request.txt.
    delete_path(answers)
    os.makedirs(answers)
    texts = {"request.txt": context.request}
    for name, value in parse_answers(context).items():
        is_text = isinstance(value, str)
        text = value if is_text else json.dumps(value, indent=1)
        texts[f"{name}.txt" if is_text else f"{name}.json"] = text
    for name, text in texts.items():
        path = os.path.join(answers, name)
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    sandbox_run = sandbox.run_in_sandbox(
        resolve_command(job, step.command),
        tree,
        min(step.timeout_s, job.settings.timeout_s),
        tree=job.head_tree,
        reads=(*job.tools.reads, answers),
        variables={ANSWERS: answers},
    )
    command_line = f"`{' '.join(step.command)}`"
    facts = {"command": step.command}
    if has_passed(sandbox_run):
        return Verdict("pass", f"{command_line} passes.", [], [sandbox_run], facts)
    output = describe_output(sandbox_run, tree).replace(answers, f"${ANSWERS}")
    if sandbox_run.exit_code in NOT_STARTED:
        summary = f"{command_line} cannot be started in the sandbox."
        return Verdict(
            "missing", summary, [Finding(step.name, f"{summary} {output}")], [sandbox_run], facts
        )
    summary = f"{command_line} fails with exit code {sandbox_run.exit_code}."
    if sandbox_run.timed_out:
        summary = f"{command_line} did not end in time."
    return Verdict("check", summary, [Finding(step.name, output)], [sandbox_run], facts)
