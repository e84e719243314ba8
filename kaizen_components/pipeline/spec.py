"""Render the spec for people, and check it before anything is built."""

import re
from typing import Any

from ..records.quality.contract import lint_contract
from .verdict import Finding

# What a request names exactly: paths, quoted words, names with a dot, an underscore, a digit or an
# inner capital, and calls.
EXACT = re.compile(
    r"`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+'|[\w.-]*/[\w{}/.-]+|\b\w*[_.\d]\w+\b"
    r"|\b[A-Za-z]*[a-z][A-Z]\w*\b|\b\w+(?=\()"
)
# A plain word that is a name because of the word before it: "a function mul", "the class Cart".
CALLED = re.compile(
    r"\b(?:function|class|method|module|command|option|field|column|table)\s+"
    r"(?!(?:that|which|to|in|for|of|and|with|on|from|as|is|so|by|at|the|an?)\b)"
    r"([A-Za-z]\w*)(?:\s+to\s+([A-Z]\w*))?"
)
# A result of one or two words at the end of a clause: "returning status ok", "returns 404".
RESULT = re.compile(
    r"\breturn(?:s|ing)?\s+(?!(?:the|an?|its|all|how)\b)([\w.]+)(?:\s+([\w.]+))?\s*(?:[,;]|\.?$)",
    re.MULTILINE,
)
# Words of a request that allow a change of protected files, and the files that they mean.
MENTIONS = (
    (r"\btests?\b", r"(?:.*/)?(?:tests?|conftest\.py|test_[^/]*|[^/]*_test\.[^/]*)(?:/.*)?"),
    (r"\b(?:config\w*|settings?)\b", r"(?:.*/)?[^/*]*\.(?:toml|ini|cfg|ya?ml|json)"),
    (
        r"\b(?:depend\w*|packages?|requirements?|upgrade|install|lock ?files?)\b",
        r"(?:.*/)?(?:requirements[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)"
        r"|package(?:-lock)?\.json|pnpm-lock\.yaml|[^/]*\.lock|go\.(?:mod|sum)|Cargo\.toml)",
    ),
)
# The settings of gates are granted only if the request has their exact path.
ONLY_BY_NAME = re.compile(r"\.(?:kaizen|git)\b")


def filter_grants(grants: list[str], request: str) -> list[str]:
    """Return the grants that the request mentions: a planner must not grant itself more."""
    allowed = []
    for glob in grants:
        name = glob.rpartition("/")[2]
        is_named = glob in request or (bool(name.strip("*")) and name in request)
        is_meant = not ONLY_BY_NAME.search(glob) and any(
            re.search(words, request, re.IGNORECASE) and re.fullmatch(files, glob)
            for words, files in MENTIONS
        )
        if glob.strip("*/.") and (is_named or is_meant):
            allowed.append(glob)
    return allowed


def render_spec(spec: dict[str, Any]) -> str:
    """Return the spec as Markdown for prompts, the reviewer and the lint."""
    lines = [f"# {spec['title']}", "", "## Acceptance criteria", ""]
    lines += [f"- {criterion['id']}: {criterion['text']}" for criterion in spec["criteria"]]
    for heading, name in (("Constraints", "constraints"), ("Out of scope", "out_of_scope")):
        if spec[name]:
            lines += ["", f"## {heading}", "", *(f"- {text}" for text in spec[name])]
    return "\n".join(lines) + "\n"


def check_spec(spec: dict[str, Any], request: str) -> list[Finding]:
    """Return the lint errors of the spec, and a finding for each name of the request it omits."""
    findings = [
        Finding(f"spec-{fault['rule']}", f"{fault['text']}: {fault['suggestion']}")
        for fault in lint_contract(render_spec(spec))["findings"]
        if fault["severity"] == "error"
    ]
    criteria = [criterion["text"] for criterion in spec["criteria"]]
    text = " ".join([*criteria, *spec["constraints"]]).lower()
    words = [
        word for pattern in (RESULT, CALLED) for pair in pattern.findall(request) for word in pair
    ]
    for exact in dict.fromkeys([*EXACT.findall(request), *words]):
        name = exact.strip("`\"'.,").lower()
        if name and name not in text:
            says = f"The request names {exact}, and no criterion or constraint does: add it to one."
            findings.append(Finding("spec-forgets", says))
    return findings
