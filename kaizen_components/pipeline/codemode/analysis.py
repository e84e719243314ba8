"""Check the agent's analysis of the results: clusters, notes, and the wish for another round."""

from typing import Any

from pydantic import Field

from ..answers.contracts import Contract
from ..answers.kind import format_count
from ..answers.parse import validate_answer
from ..edits.format import quote_text
from ..verdict import Finding, Verdict

RESULT_KEYS = ("success", "output", "stdout", "error", "error_type", "stable")


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
    """Return the analysis in `text`; raise AnswerRefused if it is invalid."""
    return validate_answer(text, Analysis).model_dump()


def check_analysis(text: str, results: list[dict[str, Any]], rounds_left: int) -> Verdict:
    """Check that every snippet is in a cluster and no recorded result is changed."""
    analysis = parse_analysis(text)
    clusters, questions = analysis["clusters"], analysis["questions"]
    findings = [
        *_check_ids([id for cluster in clusters for id in cluster["ids"]], results),
        *_check_repeated_results(analysis["results"], results),
    ]
    if analysis["more"] and not any(question.strip() for question in questions):
        says = "`more` is true, but no question says what to find out. Add one, or set it to false."
        findings.append(Finding("more", says))
    if findings:
        return Verdict("check", f"The analysis has {format_count(findings)}.", findings)
    if analysis["more"] and rounds_left > 0:
        says = f"Another round: {quote_text('; '.join(questions), 300)}"
        return Verdict("more", says, facts={"rounds_left": rounds_left})
    names = quote_text(", ".join(cluster["name"] for cluster in clusters[:5]), 200)
    return Verdict("pass", f"{format_count(clusters, 'cluster')} of behaviour: {names}")


def _check_ids(ids: list[str], results: list[dict[str, Any]]) -> list[Finding]:
    """Return a finding for each unknown snippet, and one for the snippets without a cluster."""
    snippet_ids = [result["id"] for result in results]
    findings = [
        Finding(
            "unknown",
            f"There is no snippet {quote_text(id, 20)}; there are {snippet_ids[0]} to {snippet_ids[-1]}.",
        )
        for id in dict.fromkeys(ids)
        if id not in snippet_ids
    ]
    missing_ids = [id for id in snippet_ids if id not in ids]
    if missing_ids:
        says = f"In no cluster: {', '.join(missing_ids)}. Put every snippet into a cluster."
        findings.append(Finding("left-out", says))
    return findings


def _check_repeated_results(
    repeated: list[dict[str, Any]], results: list[dict[str, Any]]
) -> list[Finding]:
    """Return a finding for each result that the analysis repeats differently."""
    by_id = {result["id"]: result for result in results}
    findings = []
    for row in repeated:
        id = str(row.get("id"))
        if id not in by_id:
            says = f"`results` has {quote_text(id, 20)}, but there is no such snippet."
            findings.append(Finding("unknown", says))
            continue
        for key in RESULT_KEYS:
            if key in row and row[key] != by_id[id][key]:
                recorded_value = quote_text(repr(by_id[id][key]), 120)
                says = f"{id}: {key} is {recorded_value} on record, but the answer says "
                says += f"{quote_text(repr(row[key]), 120)}. Leave results out."
                findings.append(Finding("changed", says))
    return findings
