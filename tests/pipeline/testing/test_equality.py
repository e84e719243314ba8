"""Values that equal everything are met by real tests, and honest values of all kinds are left in peace."""

from .conftest import BASE

LIAR = "\n\nclass Yes:\n    def __eq__(self, other):\n        return True\n\n    def __hash__(self):\n        return 0\n"


def test_value_that_equals_everything_is_found(verdict):
    lies = LIAR + "\n\ndef double(number):\n    return [Yes()]\n"
    seen = verdict({"app/main.py": BASE["app/main.py"] + lies}, test="""from app.main import double


def test_double():
    assert double(3) == [6]
""")  # fmt: skip

    assert (seen.reason, {finding.rule for finding in seen.findings}) == (
        "check",
        {"equals-everything"},
    )


def test_honest_values_and_any_of_mock_pass(verdict):
    test = '''from __future__ import annotations

from unittest import mock

import pytest
from app.main import double


def test_double():
    """Text."""
    assert double(3) == 6 != 7
    assert double(0.5) == pytest.approx(1.0)
    assert [double(1), double(2)] == [2, mock.ANY]
    assert 1 < double(1) < 3
'''
    seen = verdict(test=test)

    assert seen.reason == "pass", seen.findings and seen.findings[0].text
