"""Render a spec for people, and check it before anything is built."""

import re
from typing import Any

from ..records.quality.contract import lint_contract
from .verdict import Finding

# What a request names exactly: paths, quoted words, names with a dot, an underscore, a digit or an
# inner capital, and names before a parenthesis.
EXACT = re.compile(
    r"`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+'|[\w.-]*/[\w{}/.-]+|\b\w*[_.\d]\w+\b"
    r"|\b[A-Za-z]*[a-z][A-Z]\w*\b|\b\w+(?=\()"
)
# A plain word that is a name by its position: "a function mul", "the class Cart to Basket".
CALLED = re.compile(
    r"\b(?:function|class|method|module|command|option|field|column|table)\s+"
    r"(?!(?:that|which|to|in|for|of|and|with|on|from|as|is|so|by|at|the|an?)\b)([A-Za-z]\w*)"
    r"(?:\s+to\s+([A-Z]\w*))?"
)
# A result of one or two words at the end of a clause: "returning status ok", "returns 404".
RESULT = re.compile(
    r"\breturn(?:s|ing)?\s+(?!(?:the|an?|its|all|how)\b)([\w.]+)(?:\s+([\w.]+))?\s*(?:[,;]|\.?$)",
    re.MULTILINE,
)
# Words of a request that speak of protected files, and the files that are meant then.
SPOKEN = (
    (r"\btests?\b", r"(?:.*/)?(?:tests?|conftest\.py|test_[^/]*|[^/]*_test\.[^/]*)(?:/.*)?"),
    (r"\b(?:config\w*|settings?)\b", r"(?:.*/)?[^/*]*\.(?:toml|ini|cfg|ya?ml|json)"),
    (
        r"\b(?:depend\w*|packages?|requirements?|upgrade|install|lock ?files?)\b",
        r"(?:.*/)?(?:requirements[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)"
        r"|package(?:-lock)?\.json|pnpm-lock\.yaml|[^/]*\.lock|go\.(?:mod|sum)|Cargo\.toml)",
    ),
)
# Gates and their settings are granted only if the request names them.
NEVER_BY_KIND = re.compile(r"\.(?:kaizen|git)\b")


def filter_grants(grants: list[str], request: str) -> list[str]:
    """Return the grants that the request speaks of; a plan cannot extend them."""

    def is_requested(glob: str) -> bool:
        last = glob.rpartition("/")[2]
        if glob in request or (last.strip("*") and last in request):
            return True
        return not NEVER_BY_KIND.search(glob) and any(
            re.search(words, request, re.IGNORECASE) and re.fullmatch(files, glob)
            for words, files in SPOKEN
        )

    return [glob for glob in grants if glob.strip("*/.") and is_requested(glob)]


def render_spec(spec: dict[str, Any]) -> str:
    """Return the spec as Markdown for prompts, the reviewer and the lint."""
    lines = [f"# {spec['title']}", "", "## Acceptance criteria", ""]
    lines += [f"- {criterion['id']}: {criterion['text']}" for criterion in spec["criteria"]]
    for heading, name in (("Constraints", "constraints"), ("Out of scope", "out_of_scope")):
        if spec[name]:
            lines += ["", f"## {heading}", "", *(f"- {text}" for text in spec[name])]
    return "\n".join(lines) + "\n"


def check_spec(spec: dict[str, Any], request: str) -> list[Finding]:
    """Return the lint errors of Q10, and the names of the request that the spec forgot."""
    found = [
        Finding(f"spec-{one['rule']}", f"{one['text']}: {one['suggestion']}")
        for one in lint_contract(render_spec(spec))["findings"]
        if one["severity"] == "error"
    ]
    said = " ".join(
        [*(criterion["text"] for criterion in spec["criteria"]), *spec["constraints"]]
    ).lower()
    words = [
        word for pattern in (RESULT, CALLED) for pair in pattern.findall(request) for word in pair
    ]
    for exact in dict.fromkeys([*EXACT.findall(request), *words]):
        name = exact.strip("`\"'.,").lower()
        if name and name not in said:
            says = f"The request names {exact}, and no criterion or constraint does: add it to one."
            found.append(Finding("spec-forgets", says))
    return found
