"""What R3, R5, R6, R7 and R11 share: reproducible files, escaped texts, filters."""

import json

import pytest

from kaizen_components.errors import NotFound, Usage

HOSTILE = "<script>alert(1)</script> | `x` **b** \u202e\x1b[31m gate"
CODES = ("R3", "R5", "R6", "R7", "R11")
WORDS = {"R11": {"query": "gate"}}


def build_options(code, **more):
    return {**WORDS.get(code, {}), **more}


def fill(kaizen, text="The gate", scope="project", test=False):
    """Add records for each of the reports."""
    more = {"scope": scope, "test": test}
    kaizen("G1", title=text, summary=text, body=text, evidence=[text], **more)
    case = kaizen("Q3", title=text, summary=text, category="security", **more)["id"]
    kaizen("Q4", case_id=case, outcome="failed", score=0.5, test=test)
    source = kaizen("S1", title=text, tier="primary", url="https://example.org/gate", **more)["id"]
    kaizen(
        "S1",
        title=text,
        tier="primary",
        url="https://example.org/2",
        supersedes=source,
        version=text,
        **more,
    )
    pattern = kaizen("Q5", title=text, symptom=text, correction=text, **more)["id"]
    kaizen(
        "Q2",
        about=pattern,
        conclusion="VERIFICATION_FAILED",
        summary=text,
        evidence=[source],
        **more,
    )


@pytest.mark.parametrize("format", ["html", "md", "json"])
@pytest.mark.parametrize("code", CODES)
def test_report_as_of_checkpoint_never_changes(kaizen, root, code, format):
    fill(kaizen)
    first = kaizen(code, **build_options(code, format=format, timezone="Asia/Kolkata"))
    for other in CODES:
        kaizen(other, **build_options(other))
    again = kaizen(code, **build_options(code, format=format, timezone="Asia/Kolkata"))
    size = first["ledger"]["entries"]
    fill(kaizen, "A later gate, and no gate before it")
    then = kaizen(code, **build_options(code, format=format, timezone="Asia/Kolkata", as_of=size))

    assert (root / first["path"]).read_bytes() == (root / again["path"]).read_bytes()
    assert (root / first["path"]).read_bytes() == (root / then["path"]).read_bytes()
    assert f"--as-of {size}" in first["again"]


@pytest.mark.parametrize("code", CODES)
def test_empty_database_report_suggests_command(kaizen, code):
    kaizen("K1")
    report = kaizen(code, **build_options(code, out="-", format="md"))

    assert ("kaizen " in report["document"].split("---")[0]) == (code != "R11")
    assert code != "R11" or "Try fewer" in report["document"]


@pytest.mark.parametrize("code", CODES)
def test_list_reports_escape_hostile_text(kaizen, code):
    fill(kaizen, HOSTILE)
    page = kaizen(code, **build_options(code, out="-", format="html"))["document"]
    text = kaizen(code, **build_options(code, out="-", format="md"))["document"]

    assert (
        "alert(1)" in page
        and "<script>alert" not in page
        and "\x1b" not in page
        and "\u202e" not in page
    )
    assert (
        "\\<script\\>" in text
        and "<script>" not in text.replace("\\<script", "")
        and "\x1b" not in text
    )


@pytest.mark.parametrize("code", CODES)
def test_list_reports_cut_huge_text(kaizen, code):
    kaizen("G1", title="gate", summary="s" * 2_000, body="gate " * 199_000)
    kaizen("Q5", title="gate", symptom="s" * 2_000, correction="c", body="gate " * 199_000)
    kaizen("Q3", title="gate", summary="s", category="proof", body="gate " * 199_000)
    kaizen("S1", title="gate", tier="primary", url="https://example.org/", body="gate " * 199_000)

    assert len(kaizen(code, **build_options(code, out="-", format="md"))["document"]) < 20_000


@pytest.mark.parametrize("code", CODES)
def test_list_reports_omit_test_records(kaizen, code):
    kaizen("K1")
    nothing = kaizen(code, **build_options(code, out="-", format="md"))["data"]
    fill(kaizen, "Only a trial of the gate", test=True)
    report = kaizen(code, **build_options(code, out="-", format="md"))

    assert {**report["data"], "at": None} == {**nothing, "at": None} and "trial" not in report[
        "document"
    ]


@pytest.mark.parametrize("code", CODES)
def test_report_applies_and_names_its_filters(kaizen, code):
    fill(kaizen, scope="engine")
    words = {"scope": "nowhere", "since": "2020-01-01", "until": "2100-01-01"}
    report = kaizen(code, **build_options(code, out="-", format="md", **words))

    assert (
        "scope nowhere" in report["document"]
        and "since 2020-01-01" in report["document"]
        and "before 2100" in report["document"]
    )
    assert report["document"].count("The gate") == 0
    assert (
        "The gate"
        in kaizen(code, **{**build_options(code), "query": "gate", "scope": "engine", "out": "-"})[
            "document"
        ]
    )


@pytest.mark.parametrize("code", CODES)
def test_json_report_has_data_and_becomes_artifact(kaizen, root, code):
    fill(kaizen)
    report = kaizen(code, **build_options(code, format="json"))

    assert json.loads((root / report["path"]).read_text())["data"] == json.loads(
        json.dumps(report["data"])
    )
    assert kaizen("A5", id=report["artifact_id"])["status"] == "OK"


@pytest.mark.parametrize("code", CODES)
def test_unknown_checkpoint_and_timezone_are_refused(kaizen, code):
    fill(kaizen)

    with pytest.raises(NotFound):
        kaizen(code, **build_options(code, as_of=10_000))
    with pytest.raises(Usage):
        kaizen(code, **build_options(code, timezone="Nowhere/City"))
