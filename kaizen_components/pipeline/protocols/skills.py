"""Render a skill for each step that an agent answers: input, output, validator, next, commands.

The text is made from the protocol, so an agent reads the contract that the run enforces.
"""

import json

from ..answers.kinds import get_kind
from ..protocol import Protocol

FOLDER = ".agents/skills"
TEMPLATE = """\
---
name: {name}
description: {description}
---

# {title}

{about}

## Input
`kaizen P5 --id RUN --json` returns `question` (the task, with the files that matter), `inputs` (a
folder with the whole base commit, to read), `feedback` (the faults of the last answer),
`budget_left`, `write_set` and `lease`.

## Output
{output}

## Validator
{checked}

## Next
{following}

Only the session decides which step follows. It refuses and records an answer for another step,
under an old lease, with a path outside the write set, or with the result of a gate in it.

## Commands
```sh
kaizen P5 --id RUN --json
kaizen P4 --lease LEASE --file ANSWER --json
```
"""


def render_skills(protocol: Protocol) -> dict[str, str]:
    """Return {path in the repository: text} of the skill of each step that an agent answers."""
    pages = {}
    for step in protocol.steps.values():
        if step.kind != "ask":
            continue
        name, about = f"kaizen-{protocol.name}-{step.name}", step.about.rstrip(".")
        description = (
            f"Answer the step {step.name} of a Kaizen {protocol.name} run. {about}. "
            f"Use it when `kaizen P5` says that the step is {step.name}."
        )
        following = [
            f"- {reason}: {to}" + (f", at most {times} time{'s' * (times > 1)}" if times else "")
            for reason, (to, times) in step.next.items()
        ]
        kind = get_kind(step)
        form = kind.describe_form(step)
        if "schema" in form:
            schema = json.dumps(form["schema"], indent=1)
            output = f"One JSON object that follows this schema:\n\n```json\n{schema}\n```"
        else:
            lines = (f"    {line}".rstrip() for line in form["format"].splitlines())
            output = "Plain text:\n\n" + "\n".join(lines)
        pages[f"{FOLDER}/{name}/SKILL.md"] = TEMPLATE.format(
            name=name,
            description=json.dumps(description),
            title=f"{protocol.name}: {step.name}",
            about=f"{about}. At most {step.attempts} attempts.",
            output=output,
            checked=kind.checks,
            following="\n".join(following),
        )
    return pages
