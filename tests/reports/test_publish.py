"""A report that was written is an artifact with its hash; one that cannot be recorded is not there."""

import hashlib
import json
import stat

import pytest

from kaizen_components.errors import Busy, Conflict, NotFound, Unavailable, Usage
from kaizen_components.records.ledger import anchor

ENDINGS = {"html": "</html>\n", "md": "=\n", "json": "}\n"}


@pytest.fixture
def seen(kaizen):
    kaizen("Q1", title="Seen")
    return kaizen


def exports(root):
    return sorted(path.name for path in (root / "AI" / "db" / "exports").iterdir())


def artifact_of(kaizen, made):
    return kaizen("A3", id=made["artifact_id"])["record"]


def entries(kaizen):
    return anchor.read_last_anchor(kaizen.store.place.anchors)[1]


@pytest.mark.parametrize("format", ENDINGS)
def test_report_is_recorded_as_anchored_artifact(seen, root, format):
    before = entries(seen)
    made = seen("R4", format=format)
    data = (root / made["path"]).read_bytes()
    artifact = artifact_of(seen, made)

    assert made["sha256"] == artifact["sha256"] == hashlib.sha256(data).hexdigest()
    assert (artifact["path"], artifact["bytes"], artifact["summary"]) == (
        made["path"],
        len(data),
        made["again"],
    )
    assert made["path"].startswith("AI/db/exports/proof-report-") and data.decode().endswith(
        ENDINGS[format]
    )
    assert seen("A5", id=made["artifact_id"])["status"] == "OK"
    assert entries(seen) == before + 1 == seen("K8")["entries"]


def test_modified_report_fails_hash_check(seen, root, cli):
    made = seen("R4")
    (root / made["path"]).write_text("<h1>All is well</h1>")

    assert cli("A5", "--id", made["artifact_id"]).exit_code == 7


@pytest.mark.parametrize("format", ENDINGS)
def test_footer_names_log_root_and_command(seen, root, format):
    origin, size, top = anchor.read_last_anchor(seen.store.place.anchors)
    made = seen("R4", format=format, timezone="Europe/Berlin")
    text = (root / made["path"]).read_text()
    checkpoint = anchor.format_checkpoint(origin, size, top).strip()
    again = f"kaizen R4 --limit 50 --timezone Europe/Berlin --as-of {size} --format {format}"

    for said in (origin, top, checkpoint.split("\n")[2], again, "Europe/Berlin"):
        assert said in text, said
    assert made["again"] == again


@pytest.mark.parametrize("format", ENDINGS)
def test_footer_command_reproduces_report_bytes(seen, root, cli, format):
    first = seen("R4", format=format, query="Seen", since="2026-01-01")
    seen("Q1", title="Seen later")
    again = cli(*first["again"].split()[1:], "--out", "again")

    assert again.exit_code == 0, again.err
    assert (root / "again").read_bytes() == (root / first["path"]).read_bytes()


def test_existing_file_is_not_overwritten(seen, root):
    (root / "mine.html").write_text("mine")
    before = entries(seen)
    with pytest.raises(Conflict):
        seen("R4", out=str(root / "mine.html"))

    assert (root / "mine.html").read_text() == "mine" and entries(seen) == before


def test_report_inside_project_is_recorded_by_path(seen, root):
    made = seen("R4", out=str(root / "new folder" / "report.html"))
    artifact = artifact_of(seen, made)

    assert made["path"] == artifact["path"] == "new folder/report.html"
    assert (artifact["kind"], (root / made["path"]).is_file()) == ("file", True)


def test_report_outside_project_is_recorded_by_name(seen, root, tmp_path):
    made = seen("R4", out=str(tmp_path / "elsewhere" / "report.html"))
    artifact = artifact_of(seen, made)

    assert (artifact["kind"], artifact["name"], artifact.get("path")) == (
        "external",
        "report.html",
        None,
    )
    assert str(tmp_path) not in json.dumps(artifact) and made["path"].startswith(str(tmp_path))
    assert (
        seen("A5", id=made["artifact_id"], path=str(tmp_path / "elsewhere" / "report.html"))[
            "status"
        ]
        == "OK"
    )


@pytest.mark.parametrize("format", ENDINGS)
def test_out_dash_prints_report_without_recording(seen, root, cli, format):
    before = entries(seen)
    shown = cli("R4", "--format", format, "--out", "-")

    assert (exports(root), entries(seen)) == ([], before)
    assert shown.out == (root / seen("R4", format=format)["path"]).read_text()


def test_unwritable_exports_folder_records_nothing(seen, root, cli):
    (root / "AI" / "db" / "exports").rmdir()
    (root / "AI" / "db" / "exports").write_text("in the way")
    before = entries(seen)

    assert cli("R4", "--json").exit_code == Unavailable.exit_code
    assert entries(seen) == before


def test_unrecorded_report_leaves_no_file(seen, root, cli):
    with seen.store.begin_write_transaction():
        refused = cli("R4", "--json", env={"KAIZEN_BUSY_TIMEOUT_S": "0.2"})

    assert (refused.exit_code, exports(root)) == (Busy.exit_code, [])


def test_open_passes_file_to_browser(seen, root, cli, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{tmp_path}/asked"\n')
    browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
    done = cli("R4", "--open", "--json", env={"BROWSER": str(browser)})

    assert (tmp_path / "asked").read_text() == (root / done.json["path"]).as_uri()


def test_open_without_browser_prints_advice(seen, root, cli, tmp_path):
    done = cli(
        "R4",
        "--open",
        env={"PATH": str(tmp_path), "BROWSER": None, "DISPLAY": None, "WAYLAND_DISPLAY": None},
    )

    assert done.exit_code == 0 and len(exports(root)) == 1
    assert "Open the file yourself" in done.out + done.err


@pytest.mark.parametrize("words", [["--format", "md"], ["--format", "json"], ["--out", "-"]])
def test_open_is_refused_without_html_file(seen, root, cli, words):
    assert cli("R4", "--open", *words, "--json").exit_code == Usage.exit_code
    assert exports(root) == []


def test_report_with_test_flag_is_removed_by_k7(seen):
    made = seen("R4", test=True)

    assert artifact_of(seen, made)["test"] is True
    seen("K7")
    with pytest.raises(NotFound):
        seen("A3", id=made["artifact_id"])


def test_same_op_id_writes_no_second_file(seen, root):
    first = seen("R4", op_id="once")
    again = seen("R4", op_id="once")

    assert (again["path"], again["replayed"], len(exports(root))) == (first["path"], True, 1)


def test_report_without_database_fails_with_advice(cli):
    refused = cli("R4", "--json")

    assert refused.exit_code != 0 and refused.error["next"]


def test_terminal_output_has_numbers_path_and_command(seen, cli):
    done = cli("R4")

    assert (
        "reported, unknown  1" in done.out
        and "HTML: AI/db/exports/" in done.out
        and "Repeat with: kaizen R4" in done.out
    )
