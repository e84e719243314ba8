"""What the agent makes of the results: clusters, notes, and whether there is more to be tried."""

from typing import Any

from pydantic import Field

from ..answers.contracts import Contract
from ..answers.parse import validate_answer
from ..edits.format import quote_text
from ..verdict import Finding, Verdict

PINNED = ("success", "output", "stdout", "error", "error_type", "stable")


class Cluster(Contract):
    name: str = Field(min_length=2, max_length=120)
    ids: list[str] = Field(
        min_length=1, max_length=200, description="Of the snippets that show this behaviour"
    )
    notes: str = Field(min_length=3, max_length=2_000, description="What the function does here")


class Analysis(Contract):
    """The behaviour that was seen, in groups."""

    clusters: list[Cluster] = Field(min_length=1, max_length=40)
    more: bool = Field(description="true, if there is behaviour that no snippet has shown yet")
    questions: list[str] = Field(
        default=[], max_length=20, description="What another round should find out"
    )
    results: list[dict[str, Any]] = Field(
        default=[], max_length=200, description="May be left out; never changed"
    )


def parse_analysis(text: str) -> dict[str, Any]:
    """The analysis, or AnswerRefused."""
    return validate_answer(text, Analysis).model_dump()


def check_analysis(text: str, results: list[dict[str, Any]], rounds_left: int) -> Verdict:
    """Every id is known and in a cluster, and nothing that was recorded is told differently."""
    given = parse_analysis(text)
    wrong = [*_ids(given, results), *_echoed(given["results"], {one["id"]: one for one in results})]
    if given["more"] and not [one for one in given["questions"] if one.strip()]:
        wrong.append(
            Finding(
                "more",
                "More is true, and no question says what to find out: add one, or say false.",
            )
        )
    if wrong:
        return Verdict(
            "check", f"The analysis has {len(wrong)} fault{'s' * (len(wrong) > 1)}.", wrong
        )
    names = ", ".join(one["name"] for one in given["clusters"][:5])
    if given["more"] and rounds_left > 0:
        return Verdict(
            "more",
            f"Another round: {quote_text('; '.join(given['questions']), 300)}",
            facts={"rounds_left": rounds_left},
        )
    kinds = f"{len(given['clusters'])} kind{'s' * (len(given['clusters']) > 1)} of behaviour"
    return Verdict("pass", f"{kinds}: {quote_text(names, 200)}")


def _ids(given, results):
    known = [one["id"] for one in results]
    named = [id for cluster in given["clusters"] for id in cluster["ids"]]
    wrong = [
        Finding(
            "unknown", f"{quote_text(id, 20)} is no snippet; there are {known[0]} to {known[-1]}."
        )
        for id in dict.fromkeys(named)
        if id not in known
    ]
    left = [id for id in known if id not in named]
    if left:
        wrong.append(
            Finding("left-out", f"In no cluster: {', '.join(left)}. Every snippet shows something.")
        )
    return wrong


def _echoed(echoed, known):
    wrong = []
    for one in echoed:
        id = str(one.get("id"))
        if id not in known:
            wrong.append(
                Finding("unknown", f"results has {quote_text(id, 20)}, which is no snippet.")
            )
            continue
        for key in PINNED:
            if key in one and one[key] != known[id][key]:
                was, told = quote_text(repr(known[id][key]), 120), quote_text(repr(one[key]), 120)
                wrong.append(
                    Finding(
                        "changed",
                        f"{id}: {key} was {was}, and is told as {told}. Leave results out.",
                    )
                )
    return wrong
