"""A written report is recorded as an artifact; if that fails, no file remains."""

import hashlib
import json
import stat

import pytest

from kaizen_components.errors import Busy, Conflict, NotFound, Unavailable, Usage
from kaizen_components.records.ledger import anchor

ENDINGS = {"html": "</html>\n", "md": "=\n", "json": "}\n"}


@pytest.fixture
def kaizen_with_proof(kaizen):
    kaizen("Q1", title="Seen")
    return kaizen


def exports(root):
    return sorted(path.name for path in (root / "AI" / "db" / "exports").iterdir())


def artifact_of(kaizen, report):
    return kaizen("A3", id=report["artifact_id"])["record"]


def entries(kaizen):
    return anchor.read_last_anchor(kaizen.store.place.anchors)[1]


@pytest.mark.parametrize("format", ENDINGS)
def test_report_is_recorded_as_anchored_artifact(kaizen_with_proof, root, format):
    before = entries(kaizen_with_proof)
    report = kaizen_with_proof("R4", format=format)
    data = (root / report["path"]).read_bytes()
    artifact = artifact_of(kaizen_with_proof, report)

    assert report["sha256"] == artifact["sha256"] == hashlib.sha256(data).hexdigest()
    assert (artifact["path"], artifact["bytes"], artifact["summary"]) == (
        report["path"],
        len(data),
        report["again"],
    )
    assert report["path"].startswith("AI/db/exports/proof-report-") and data.decode().endswith(
        ENDINGS[format]
    )
    assert kaizen_with_proof("A5", id=report["artifact_id"])["status"] == "OK"
    assert entries(kaizen_with_proof) == before + 1 == kaizen_with_proof("K8")["entries"]


def test_modified_report_fails_hash_check(kaizen_with_proof, root, cli):
    report = kaizen_with_proof("R4")
    (root / report["path"]).write_text("<h1>All is well</h1>")

    assert cli("A5", "--id", report["artifact_id"]).exit_code == 7


@pytest.mark.parametrize("format", ENDINGS)
def test_footer_names_log_root_and_command(kaizen_with_proof, root, format):
    origin, size, top = anchor.read_last_anchor(kaizen_with_proof.store.place.anchors)
    report = kaizen_with_proof("R4", format=format, timezone="Europe/Berlin")
    text = (root / report["path"]).read_text()
    checkpoint = anchor.format_checkpoint(origin, size, top).strip()
    again = f"kaizen R4 --limit 50 --timezone Europe/Berlin --as-of {size} --format {format}"

    for text_part in (origin, top, checkpoint.split("\n")[2], again, "Europe/Berlin"):
        assert text_part in text, text_part
    assert report["again"] == again


@pytest.mark.parametrize("format", ENDINGS)
def test_footer_command_reproduces_report_bytes(kaizen_with_proof, root, cli, format):
    first = kaizen_with_proof("R4", format=format, query="Seen", since="2026-01-01")
    kaizen_with_proof("Q1", title="Seen later")
    again = cli(*first["again"].split()[1:], "--out", "again")

    assert again.exit_code == 0, again.err
    assert (root / "again").read_bytes() == (root / first["path"]).read_bytes()


def test_existing_file_is_not_overwritten(kaizen_with_proof, root):
    (root / "mine.html").write_text("mine")
    before = entries(kaizen_with_proof)
    with pytest.raises(Conflict):
        kaizen_with_proof("R4", out=str(root / "mine.html"))

    assert (root / "mine.html").read_text() == "mine" and entries(kaizen_with_proof) == before


def test_report_inside_project_is_recorded_by_path(kaizen_with_proof, root):
    report = kaizen_with_proof("R4", out=str(root / "new folder" / "report.html"))
    artifact = artifact_of(kaizen_with_proof, report)

    assert report["path"] == artifact["path"] == "new folder/report.html"
    assert (artifact["kind"], (root / report["path"]).is_file()) == ("file", True)


def test_report_outside_project_is_recorded_by_name(kaizen_with_proof, root, tmp_path):
    report = kaizen_with_proof("R4", out=str(tmp_path / "elsewhere" / "report.html"))
    artifact = artifact_of(kaizen_with_proof, report)

    assert (artifact["kind"], artifact["name"], artifact.get("path")) == (
        "external",
        "report.html",
        None,
    )
    assert str(tmp_path) not in json.dumps(artifact) and report["path"].startswith(str(tmp_path))
    assert (
        kaizen_with_proof(
            "A5", id=report["artifact_id"], path=str(tmp_path / "elsewhere" / "report.html")
        )["status"]
        == "OK"
    )


@pytest.mark.parametrize("format", ENDINGS)
def test_out_dash_prints_report_without_recording(kaizen_with_proof, root, cli, format):
    before = entries(kaizen_with_proof)
    printed = cli("R4", "--format", format, "--out", "-")

    assert (exports(root), entries(kaizen_with_proof)) == ([], before)
    assert printed.out == (root / kaizen_with_proof("R4", format=format)["path"]).read_text()


def test_unwritable_exports_folder_records_nothing(kaizen_with_proof, root, cli):
    (root / "AI" / "db" / "exports").rmdir()
    (root / "AI" / "db" / "exports").write_text("in the way")
    before = entries(kaizen_with_proof)

    assert cli("R4", "--json").exit_code == Unavailable.exit_code
    assert entries(kaizen_with_proof) == before


def test_unrecorded_report_leaves_no_file(kaizen_with_proof, root, cli):
    with kaizen_with_proof.store.begin_write_transaction():
        result = cli("R4", "--json", env={"KAIZEN_BUSY_TIMEOUT_S": "0.2"})

    assert (result.exit_code, exports(root)) == (Busy.exit_code, [])


def test_open_passes_file_to_browser(kaizen_with_proof, root, cli, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/asked"\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    result = cli("R4", "--open", "--json", env={"BROWSER": str(browser)})

    assert (tmp_path / "asked").read_text() == (root / result.json["path"]).as_uri()


def test_open_without_browser_prints_advice(kaizen_with_proof, root, cli, tmp_path):
    result = cli(
        "R4",
        "--open",
        env={"PATH": str(tmp_path), "BROWSER": None, "DISPLAY": None, "WAYLAND_DISPLAY": None},
    )

    assert result.exit_code == 0 and len(exports(root)) == 1
    assert "Open the file yourself" in result.out + result.err


@pytest.mark.parametrize("words", [["--format", "md"], ["--format", "json"], ["--out", "-"]])
def test_open_is_refused_without_html_file(kaizen_with_proof, root, cli, words):
    assert cli("R4", "--open", *words, "--json").exit_code == Usage.exit_code
    assert exports(root) == []


def test_report_with_test_flag_is_removed_by_k7(kaizen_with_proof):
    report = kaizen_with_proof("R4", test=True)

    assert artifact_of(kaizen_with_proof, report)["test"] is True
    kaizen_with_proof("K7")
    with pytest.raises(NotFound):
        kaizen_with_proof("A3", id=report["artifact_id"])


def test_same_op_id_writes_no_second_file(kaizen_with_proof, root):
    first = kaizen_with_proof("R4", op_id="once")
    again = kaizen_with_proof("R4", op_id="once")

    assert (again["path"], again["replayed"], len(exports(root))) == (first["path"], True, 1)


def test_report_without_database_fails_with_advice(cli):
    result = cli("R4", "--json")

    assert result.exit_code != 0 and result.error["next"]


def test_terminal_output_has_numbers_path_and_command(kaizen_with_proof, cli):
    result = cli("R4")

    assert (
        "reported, unknown  1" in result.out
        and "HTML: AI/db/exports/" in result.out
        and "Repeat with: kaizen R4" in result.out
    )
