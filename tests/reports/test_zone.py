"""The timezone of a report: how it is chosen, and when its days begin."""

import os
from datetime import date

import pytest

from kaizen_components.errors import Usage
from kaizen_components.reports.engine import zone
from kaizen_components.reports.engine.zone import Zone, find_local_timezone


@pytest.fixture
def localtime(tmp_path, monkeypatch):
    """`localtime("Europe/Berlin")` sets the timezone of the machine."""

    def set_to(name):
        file = tmp_path / "share" / "zoneinfo" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")
        (tmp_path / "localtime").symlink_to(file)
        monkeypatch.setattr(zone, "LOCALTIME", str(tmp_path / "localtime"))
        monkeypatch.delenv("TZ", raising=False)

    return set_to


@pytest.mark.parametrize(
    "variable, zone_name",
    [
        ("Europe/Berlin", "Europe/Berlin"),
        (":America/New_York", "America/New_York"),
        (os.sep.join(["", "usr", "share", "zoneinfo", "Asia", "Kolkata"]), "Asia/Kolkata"),
        ("UTC", "UTC"),
        ("Etc/UTC", "UTC"),
        ("Nowhere/Else", "UTC"),
        ("CET-1CEST", "UTC"),
        ("../../etc/passwd", "UTC"),
        ("Europe", "UTC"),
    ],
)
def test_invalid_tz_variable_means_utc(monkeypatch, variable, zone_name):
    monkeypatch.setenv("TZ", variable)

    assert find_local_timezone() == zone_name == Zone().name


@pytest.mark.parametrize("name", ["Europe/Berlin", "America/Argentina/Ushuaia"])
def test_without_tz_system_zone_is_used(localtime, name):
    localtime(name)

    assert Zone().name == name


def test_missing_system_zone_means_utc(monkeypatch, tmp_path):
    monkeypatch.delenv("TZ", raising=False)
    monkeypatch.setattr(zone, "LOCALTIME", str(tmp_path / "nothing"))

    assert Zone().name == "UTC"


def test_explicit_zone_overrides_tz_variable(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")

    assert Zone("Europe/Berlin").format_time("2026-11-16T10:00:00.000Z") == "2026-11-16 11:00"
    assert Zone().format_time("2026-11-16T10:00:00.000Z") == "2026-11-16 15:30"


@pytest.mark.parametrize(
    "name", ["Nowhere/Else", "../../etc/passwd", "\x1b[31m", "", "Europe/Berlin "]
)
def test_unknown_timezone_is_refused_with_advice(cli, name):
    cli("K1")
    refused = cli("R4", "--timezone", name, "--json")

    assert refused.exit_code == Usage.exit_code and refused.error["next"]


def test_day_begins_at_local_midnight():
    berlin = Zone("Europe/Berlin")

    assert [berlin.find_day_start(date(2026, 3, day)) for day in (29, 30)] == [
        "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z",
    ]  # fmt: skip
    assert [berlin.find_day_start(date(2026, 10, day)) for day in (25, 26)] == [
        "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z",
    ]  # fmt: skip


def test_day_without_midnight_begins_at_first_moment():
    assert (
        Zone("America/Sao_Paulo").find_day_start(date(2018, 11, 4)) == "2018-11-04T03:00:00.000Z"
    )  # 01:00 there


@pytest.mark.parametrize(
    "name", ["Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "UTC"]
)
def test_moment_belongs_to_day_of_last_midnight(name):
    there = Zone(name)
    for month in range(1, 13):
        for day in (1, 8, 25, 28):
            begins = there.find_day_start(date(2026, month, day))
            assert there.format_day(begins) == date(2026, month, day).isoformat()
            assert there.format_time(begins).endswith(" 00:00")
