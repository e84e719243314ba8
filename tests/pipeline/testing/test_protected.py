import os
import shutil
from pathlib import Path

from kaizen_components.pipeline.gates.tests import shadow
from kaizen_components.pipeline.target import protected_files

from .conftest import BASE, NEW


def test_touched_protected_files_are_reported(candidate):
    files = {"deep/conftest.py": "", "pyproject.toml": "", "app/more.py": ""}
    job = candidate({"tests/test_main.py": None, **files})

    assert protected_files.find_changes(job) == {
        "tests/test_main.py": "deleted",
        "deep/conftest.py": "added",
        "pyproject.toml": "added",
    }
    paths = [finding.path for finding in protected_files.check_protected(job)]
    assert paths == ["deep/conftest.py", "pyproject.toml", "tests/test_main.py"]


def test_path_granted_by_spec_is_not_protected(candidate):
    files = {"tests/data/x.txt": "", "pyproject.toml": ""}
    job = candidate(files, grants=("pyproject.toml", "tests/data/**"))

    assert protected_files.find_changes(job) == {}


def test_protected_globs_match_in_subfolders():
    assert protected_files.matches_any("a/b/pytest.ini", ["pytest.ini"])
    assert protected_files.matches_any("test_x.py", ["**/test_*.py"])
    assert protected_files.matches_any("a/b/test_x.py", ["**/test_*.py"])
    assert not protected_files.matches_any("src/tests/x.py", ["tests/**"])
    assert not protected_files.matches_any("a/xpytest.ini", ["pytest.ini"])


def test_restoring_takes_protected_files_from_base(candidate, tmp_path):
    job = candidate({"tests/test_main.py": "", "conftest.py": "", "tests/sub/test_more.py": ""})
    place = tmp_path / "copy"
    shutil.copytree(job.head, place)

    protected_files.restore_protected(job, str(place))

    assert (place / "tests/test_main.py").read_text() == BASE["tests/test_main.py"]
    assert (place / NEW).exists()
    assert not (place / "conftest.py").exists() and not (place / "tests/sub/test_more.py").exists()
    assert Path(job.head, "conftest.py").exists()


def test_symlink_replacing_protected_file_is_restored(candidate):
    job = candidate()
    os.unlink(os.path.join(job.head, "tests/test_main.py"))
    os.symlink("../app/main.py", os.path.join(job.head, "tests/test_main.py"))

    assert protected_files.find_changes(job) == {"tests/test_main.py": "changed"}
    protected_files.restore_protected(job, job.head)
    assert protected_files.find_changes(job) == {}
    assert "double" in Path(job.head, "app/main.py").read_text()


def test_new_module_that_shadows_another_is_reported(candidate):
    names = ("math.py", "app/json.py", "numpy/__init__.py", "x.pth", "app/main.so", "fine.py")
    job = candidate(dict.fromkeys(names, ""))

    paths = [finding.path for finding in shadow.find_shadowing_files(job, {"numpy"})]
    assert paths == ["app/main.so", "math.py", "numpy/__init__.py", "x.pth"]
