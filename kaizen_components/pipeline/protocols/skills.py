"""Each step that somebody answers as a skill: its input, output, validator, next step and the two commands.

Made from the protocol, so that an agent reads the same contract that the session enforces.
"""

import json

from ..answers.kinds import kind_of
from ..protocol import Protocol, Step

FOLDER = ".agents/skills"
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


def render_skills(protocol: Protocol) -> dict[str, str]:
    """path below the repository -> text, for each step that somebody answers."""
    asked = [step for step in protocol.steps.values() if step.kind == "ask"]
    return {
        f"{FOLDER}/{_name(protocol, step)}/SKILL.md": _render_skill(protocol, step)
        for step in asked
    }


def _name(protocol, step):
    return f"kaizen-{protocol.name}-{step.name}"


def _render_skill(protocol: Protocol, step: Step) -> str:
    about = step.about.rstrip(".")
    description = (
        f"Answer the step {step.name} of a Kaizen {protocol.name} run. {about}. Use it when `kaizen P5` says that the "
        f"step is {step.name}."
    )
    following = "\n".join(f"- {reason}: {_where(edge)}" for reason, edge in step.next.items())
    return TEMPLATE.format(
        name=_name(protocol, step), description=json.dumps(description), title=f"{protocol.name}: {step.name}",
        about=f"{about}. At most {step.attempts} attempts.", output=_describe_output(step), checked=kind_of(step).checked,
        following=following,
    )  # fmt: skip


def _where(edge):
    to, times = edge
    return f"{to}, at most {times} time{'s' * (times > 1)}" if times else to


def _describe_output(step: Step) -> str:
    form = kind_of(step).form(step)
    if "schema" in form:
        return f"One JSON object that keeps to this schema:\n\n```json\n{json.dumps(form['schema'], indent=1)}\n```"
    return "Plain text:\n\n" + "\n".join(
        f"    {line}".rstrip() for line in form["format"].splitlines()
    )
