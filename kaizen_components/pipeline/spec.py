"""The spec as people read it, and what is checked about it before anything is built."""

import re
from typing import Any

from ..records.contract import lint
from .verdict import Finding

# What a request names exactly: paths, quoted words, names with a dot, an underscore, a digit or an inner capital.
EXACT = re.compile(r"`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+'|[\w.-]*/[\w{}/.-]+|\b\w*[_.\d]\w+\b|\b[a-z]+[A-Z]\w*\b")
# A result that it names in one word or two, at the end of a clause: "returning status ok", "returns 404".
RESULT = re.compile(
    r"\breturn(?:s|ing)?\s+(?!(?:the|an?|its|all|how)\b)([\w.]+)(?:\s+([\w.]+))?\s*(?:[,;]|\.?$)", re.MULTILINE
)
# A request that speaks of what is protected: tests, configuration, dependencies.
PROTECTED = re.compile(
    r"\b(?:tests?|config\w*|settings?|depend\w*|packages?|requirements?|upgrade|install|lock ?files?)\b", re.IGNORECASE
)


def granted(grants: list[str], request: str) -> list[str]:
    """The grants that count: whoever plans may not let himself change what the request does not speak of."""
    if PROTECTED.search(request):
        return grants
    return [glob for glob in grants if glob in request or glob.rpartition("/")[2] in request]


def markdown(spec: dict[str, Any]) -> str:
    """The form that prompts, the reviewer and the lint get."""
    lines = [f"# {spec['title']}", "", "## Acceptance criteria", ""]
    lines += [f"- {criterion['id']}: {criterion['text']}" for criterion in spec["criteria"]]
    for heading, name in (("Constraints", "constraints"), ("Out of scope", "out_of_scope")):
        if spec[name]:
            lines += ["", f"## {heading}", "", *(f"- {text}" for text in spec[name])]
    return "\n".join(lines) + "\n"


def findings(spec: dict[str, Any], request: str) -> list[Finding]:
    """What is wrong with a spec: what Q10's lint calls an error, and what the request names and it forgot."""
    found = [
        Finding(f"spec-{one['rule']}", f"{one['text']}: {one['suggestion']}")
        for one in lint(markdown(spec))["findings"]
        if one["severity"] == "error"
    ]
    said = " ".join([*(criterion["text"] for criterion in spec["criteria"]), *spec["constraints"]]).lower()
    results = [word for pair in RESULT.findall(request) for word in pair]
    for exact in dict.fromkeys([*EXACT.findall(request), *results]):
        name = exact.strip("`\"'.,").lower()
        if name and name not in said:
            found.append(
                Finding(
                    "spec-forgets", f"The request names {exact}, and no criterion or constraint does: add it to one."
                )
            )
    return found
