"""Times as people write them become UTC text that sorts."""

import pytest

from kaizen_components.records import ids, moment

NOW_MS = 1_794_812_400_000  # 2026-11-16T07:00:00Z


@pytest.fixture(autouse=True)
def _now(monkeypatch):
    monkeypatch.setattr(ids, "now_ms", lambda: NOW_MS)


@pytest.mark.parametrize(
    "text, meant",
    [
        ("7d", "2026-11-09T07:00:00.000Z"),
        ("+7d", "2026-11-23T07:00:00.000Z"),
        ("+12h", "2026-11-16T19:00:00.000Z"),
        ("+30m", "2026-11-16T07:30:00.000Z"),
        ("+1w", "2026-11-23T07:00:00.000Z"),
        ("+0d", "2026-11-16T07:00:00.000Z"),
        ("2026-11-20T08:00Z", "2026-11-20T08:00:00.000Z"),
        ("2026-11-20T08:00:00.250+02:00", "2026-11-20T06:00:00.250Z"),
    ],
)
def test_time_with_plus_is_future_and_age_past(text, meant):
    assert moment.read_moment(text) == meant


@pytest.mark.parametrize(
    "text", ["+", "+d", "++7d", "+-7d", "-7d", "+7", "+7x", "+1.5d", "+7 d", "", {}, [], None, 7]
)
def test_invalid_time_is_refused(text):
    with pytest.raises((ValueError, TypeError)):
        moment.read_moment(text)


@pytest.mark.parametrize(
    "text", ["+99999999d", "+3000000d", "99999999d", "999999d", "400000d", "+" + "9" * 5_000 + "d"]
)
def test_year_without_four_digits_is_refused(text):
    with pytest.raises((ValueError, OverflowError)):
        moment.read_moment(text)


def test_only_ages_and_plus_times_count_as_relative():
    assert all(map(moment.is_relative, ("7d", "+7d", "12h")))
    assert not any(map(moment.is_relative, ("2026-11-20", "d", "+", None, 7)))
