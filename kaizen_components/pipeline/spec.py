"""The spec as people read it, and what is checked about it before anything is built."""

import re
from typing import Any

from ..records.quality.contract import lint_contract
from .verdict import Finding

# What a request names exactly: paths, quoted words, names with a dot, an underscore, a digit or an inner capital, and
# whatever is called.
EXACT = re.compile(
    r"`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+'|[\w.-]*/[\w{}/.-]+|\b\w*[_.\d]\w+\b|\b[A-Za-z]*[a-z][A-Z]\w*\b|\b\w+(?=\()"
)
# A plain word that is a name by where it stands: "a function mul", "the class Cart to Basket".
CALLED = re.compile(
    r"\b(?:function|class|method|module|command|option|field|column|table)\s+"
    r"(?!(?:that|which|to|in|for|of|and|with|on|from|as|is|so|by|at|the|an?)\b)([A-Za-z]\w*)(?:\s+to\s+([A-Z]\w*))?"
)
# A result that it names in one word or two, at the end of a clause: "returning status ok", "returns 404".
RESULT = re.compile(
    r"\breturn(?:s|ing)?\s+(?!(?:the|an?|its|all|how)\b)([\w.]+)(?:\s+([\w.]+))?\s*(?:[,;]|\.?$)",
    re.MULTILINE,
)
# What is protected, by the words of a request that speak of it and by the names of the files that are meant then.
SPOKEN = (
    (r"\btests?\b", r"(?:.*/)?(?:tests?|conftest\.py|test_[^/]*|[^/]*_test\.[^/]*)(?:/.*)?"),
    (r"\b(?:config\w*|settings?)\b", r"(?:.*/)?[^/*]*\.(?:toml|ini|cfg|ya?ml|json)"),
    (
        r"\b(?:depend\w*|packages?|requirements?|upgrade|install|lock ?files?)\b",
        r"(?:.*/)?(?:requirements[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|package(?:-lock)?\.json|pnpm-lock\.yaml"
        r"|[^/]*\.lock|go\.(?:mod|sum)|Cargo\.toml)",
    ),
)
NEVER_BY_KIND = re.compile(
    r"\.(?:kaizen|git)\b"
)  # gates and their settings: only if the request names them


def filter_grants(grants: list[str], request: str) -> list[str]:
    """The grants that count: whoever plans may not let himself change what the request does not speak of."""
    names = [glob for glob in grants if glob.strip("*/.")]
    return [glob for glob in names if _is_named(glob, request) or _is_meant(glob, request)]


def _is_named(glob, request):
    last = glob.rpartition("/")[2]
    return glob in request or (bool(last.strip("*")) and last in request)


def _is_meant(glob, request):
    return not NEVER_BY_KIND.search(glob) and any(
        re.search(words, request, re.IGNORECASE) and re.fullmatch(files, glob)
        for words, files in SPOKEN
    )


def render_spec(spec: dict[str, Any]) -> str:
    """The form that prompts, the reviewer and the lint get."""
    lines = [f"# {spec['title']}", "", "## Acceptance criteria", ""]
    lines += [f"- {criterion['id']}: {criterion['text']}" for criterion in spec["criteria"]]
    for heading, name in (("Constraints", "constraints"), ("Out of scope", "out_of_scope")):
        if spec[name]:
            lines += ["", f"## {heading}", "", *(f"- {text}" for text in spec[name])]
    return "\n".join(lines) + "\n"


def check_spec(spec: dict[str, Any], request: str) -> list[Finding]:
    """What is wrong with a spec: what Q10's lint calls an error, and what the request names and it forgot."""
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
            found.append(
                Finding(
                    "spec-forgets",
                    f"The request names {exact}, and no criterion or constraint does: add it to one.",
                )
            )
    return found
