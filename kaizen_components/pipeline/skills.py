"""Each step that somebody answers as a skill: its input, output, validator, next step and the two commands.

Made from the protocol, so that an agent reads the same contract that the session enforces.
"""

import json

from . import edits
from .contracts import MODELS
from .protocol import Protocol, Step

FOLDER = ".agents/skills"
CHECKED = {  # kind of answer -> what its checks look at
    "spec": """\
Keeps to the schema; no vague words (the lint of `Q10`); every name, path and value of the request stands in a criterion
or a constraint.""",
    "brief": "Keeps to the schema; every file that it cites exists in the base commit.",
    "edits": """\
Every block applies, exactly once; paths stay inside the write set; Python parses. Then the gates run: ruff and mypy,
later the tests.""",
    "tests": """\
New test files only, named as the tests here are; Python parses. Then the TEST gate: they fail on the base, pass on the
change, and notice mutants.""",
    "review": """\
Keeps to the schema; a rejection names at least one reason. Forbidden paths, dependencies and schemas were looked at
before.""",
}
TEMPLATE = """\
---
name: {name}
description: {description}
---

# {title}

{about}

## Input
`kaizen P5 --id RUN --json` gives it: `question` (what is asked, with the files that matter), `inputs` (a folder with
the whole base commit, to read), `feedback` (what was wrong with the last answer), `budget_left`, `write_set`, `lease`.

## Output
{output}

## Validator
{checked}

## Next
{following}

Nobody but the session decides what follows. An answer for another step, under an old lease, with a path outside the
write set, or with the result of a gate in it is refused and recorded.

## Commands
```sh
kaizen P5 --id RUN --json
kaizen P4 --lease LEASE --file ANSWER --json
```
"""


def documents(protocol: Protocol) -> dict[str, str]:
    """path below the repository -> text, for each step that somebody answers."""
    asked = [step for step in protocol.steps.values() if step.kind == "ask"]
    return {f"{FOLDER}/{_name(protocol, step)}/SKILL.md": _text(protocol, step) for step in asked}


def _name(protocol, step):
    return f"kaizen-{protocol.name}-{step.name}"


def _text(protocol: Protocol, step: Step) -> str:
    about = step.about.rstrip(".")
    description = (
        f"Answer the step {step.name} of a Kaizen {protocol.name} run. {about}. Use it when `kaizen P5` says that the "
        f"step is {step.name}."
    )
    following = "\n".join(f"- {reason}: {_where(edge)}" for reason, edge in step.next.items())
    return TEMPLATE.format(
        name=_name(protocol, step), description=json.dumps(description), title=f"{protocol.name}: {step.name}",
        about=f"{about}. At most {step.attempts} attempts.", output=_output(step), checked=CHECKED[step.answer or ""],
        following=following,
    )  # fmt: skip


def _where(edge):
    to, times = edge
    return f"{to}, at most {times} time{'s' * (times > 1)}" if times else to


def _output(step: Step) -> str:
    if step.answer in MODELS:
        schema = json.dumps(MODELS[step.answer].model_json_schema(), indent=1)
        return f"One JSON object that keeps to this schema:\n\n```json\n{schema}\n```"
    form = edits.FORMAT if step.answer == "edits" else edits.WHOLE_FORM
    return "Plain text:\n\n" + "\n".join(f"    {line}".rstrip() for line in form.splitlines())
