"""Check which code may explore a function, and that no snippet may repeat another."""

import json

import pytest

from kaizen_components.pipeline.answers.parse import AnswerRefused
from kaizen_components.pipeline.codemode.code import find_code_faults
from kaizen_components.pipeline.codemode.snippets import check_snippets

from .conftest import CALLS, SLUGIFY, fence, finding_texts, snippets


def test_valid_snippets_pass():
    verdict = check_snippets(SLUGIFY, fence(snippets()), [])

    assert (verdict.reason, verdict.facts["snippets"]) == ("pass", len(CALLS))


@pytest.mark.parametrize(
    "code",
    [
        "slugify('A')",
        "from app.text import slugify\nslugify('A')",
        "import app.text\napp.text.slugify('A')",
        "from app import text\ntext.slugify('A')",
        "import datetime, json\nx = slugify(str(datetime.date(2024, 1, 1)))\njson.dumps(x)",
        "[slugify(one) for one in ('a', 'b')]",
        "import asyncio\nasyncio.run(slugify('A'))",
        "type(slugify('a')).__name__",
        "words = {}\nwords['a'] = slugify('A')\nwords",
    ],
)
def test_snippet_that_calls_the_function_is_allowed(code):
    assert find_code_faults(SLUGIFY, code) == []


@pytest.mark.parametrize(
    ("code", "says"),
    [
        ("", "empty"),
        ("slugify(", "does not parse"),
        ("slugify('a')\0", "does not parse"),
        ("slugify(" + "(" * 1900 + ")" * 1900 + ")", "does not parse"),
        ("x" * 5000, "characters"),
        ("1 + 1", "never calls slugify"),
        ("'slugify(1)'", "never calls slugify"),
        ("other.slugify('a')", "never calls slugify"),
        ("x = slugify('a')", "must end in an expression"),
        ("try:\n    slugify(1)\nexcept Exception:\n    pass\n1", "try/except"),
        ("def slugify(x):\n    return x\nslugify('a')", "something else"),
        ("slugify = str\nslugify('a')", "something else"),
        ("(lambda slugify: slugify('a'))(str)", "something else"),
        ("from app.other import slugify\nslugify('a')", "something else"),
        ("from app.text import other as slugify\nslugify('a')", "something else"),
        ("for slugify in (str,):\n    pass\nslugify('a')", "something else"),
        ("import app.text\napp.text.re = None\nslugify('a')", "as it is"),
        ("slugify.x = 1\nslugify('a')", "as it is"),
        ("setattr(slugify, 'x', 1)\nslugify('a')", "setattr"),
        ("slugify.__globals__['re'] = None\nslugify('a')", "__globals__"),
        ("__builtins__['repr'] = str\nslugify('a')", "__builtins__"),
        ("import os\nslugify('a')", "imports os"),
        ("import sys, gc\nslugify('a')", "imports gc"),
        ("from unittest.mock import patch\nslugify('a')", "imports unittest.mock"),
        ("from app.text import *\nslugify('a')", "star"),
        ("eval('1')\nslugify('a')", "eval"),
    ],
)
def test_snippet_with_misleading_code_is_refused(code, says):
    assert says in " ".join(find_code_faults(SLUGIFY, code))


@pytest.mark.parametrize(
    "again",
    ["slugify( 'a' )", 'slugify("a")  # another', "from app.text import slugify\nslugify('a')"],
)
def test_snippet_equivalent_to_earlier_one_is_refused(again):
    verdict = check_snippets(SLUGIFY, fence(snippets([*CALLS[:11], (again, "value")])), [])

    assert verdict.reason == "check"
    assert finding_texts(verdict) == "S12 is the same code as S3: try something else."


def test_later_round_must_continue_ids_without_repeats():
    earlier = snippets()
    new = [(f"slugify('new {number}')", "error" if number < 3 else "value") for number in range(10)]

    assert check_snippets(SLUGIFY, fence(snippets(new, first=13)), earlier).reason == "pass"
    repeated = check_snippets(SLUGIFY, fence(snippets([*new[:9], CALLS[0]], first=13)), earlier)
    assert "S22 is the same code as S1" in finding_texts(repeated)
    with pytest.raises(AnswerRefused, match="S13 to S22"):
        check_snippets(SLUGIFY, fence(snippets(new)), earlier)


def dump(rows):
    return json.dumps({"snippets": rows})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I would try some values.", "no JSON object"),
        ("x" * 1_000_001, "characters"),
        (dump(snippets()[:9]), "at least 10"),
        (dump([{**row, "result": "pass"} for row in snippets()]), "result"),
        (dump([{**row, "expects": "value"} for row in snippets()]), "expect an error"),
        (dump(list(reversed(snippets()))), "in order"),
        (dump(snippets([(f"slugify('{n}')", "error") for n in range(41)])), "at most 40"),
    ],
)
def test_malformed_answer_is_refused_with_its_fault(text, says):
    with pytest.raises(AnswerRefused) as refused:
        check_snippets(SLUGIFY, text, [])

    assert says in str(refused.value)
