"""Check that the target's own tools are found and never installed."""

import os
import subprocess
import sys
import sysconfig

import pytest

from kaizen_components.errors import NotFound, Unavailable
from kaizen_components.pipeline.job import Settings
from kaizen_components.pipeline.target.target import Target
from kaizen_components.pipeline.target.toolchain import find_missing_tools, find_tools

from .targets import FASTAPI, everything, repository


@pytest.fixture
def repo(tmp_path):
    return repository(tmp_path / "a repö", FASTAPI)


def environment(folder):
    """Create an environment without pip or tools, which is quick."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)


def test_named_interpreter_reports_tool_versions(repo):
    found = find_tools(Target(str(repo)), sys.executable)

    assert found.python == [sys.executable]
    assert set(found.versions) == {"python", "ruff", "mypy", "pytest", "coverage"}
    assert found.versions["python"] == sys.version.split()[0]
    assert find_missing_tools(found) == []
    for prefix in (sys.prefix, os.path.realpath(sys.base_prefix)):
        assert any(f"{prefix}/".startswith(f"{one}/") for one in found.reads)
    assert os.path.expanduser("~") not in found.reads


def test_missing_or_broken_interpreter_is_error(repo, tmp_path):
    with pytest.raises(NotFound):
        find_tools(Target(str(repo)), "no-such-python")
    dumb = tmp_path / "dumb"
    dumb.write_text("#!/bin/sh\nexit 0\n")
    dumb.chmod(0o755)
    with pytest.raises(Unavailable):
        find_tools(Target(str(repo)), str(dumb))


def test_targets_environment_comes_first(repo):
    environment(repo / ".venv")
    found = find_tools(Target(str(repo)))

    assert found.python == [str(repo / ".venv" / "bin" / "python")]
    assert [one.rule for one in find_missing_tools(found)] == ["ruff", "mypy", "pytest", "coverage"]
    assert find_missing_tools(found)[0].text.endswith(
        "Install it: uv pip install --python .venv/bin/python ruff"
    )
    assert [one.rule for one in find_missing_tools(found, Settings(replaces=["check"]))] == [
        "pytest",
        "coverage",
    ]


def test_folder_uses_environment_further_up(tmp_path):
    repo = repository(tmp_path / "mono", {f"app/{name}": text for name, text in FASTAPI.items()})
    environment(repo / "venv")
    environment(tmp_path / ".venv")  # outside of the repository: nobody's

    assert find_tools(Target(str(repo / "app"))).python == [str(repo / "venv" / "bin" / "python")]


def test_modules_named_like_tools_are_ignored(repo, monkeypatch):
    environment(repo / ".venv")
    for name in ("ruff", "mypy"):
        (repo / f"{name}.py").write_text("print('ruff 9.9.9')\n")
        (repo / ".venv" / "bin" / f"{name}.py").write_text("print('ruff 9.9.9')\n")
    monkeypatch.setenv("PYTHONPATH", str(repo))
    monkeypatch.chdir(repo)

    assert set(find_tools(Target(str(repo))).versions) == {"python"}


def test_uv_project_is_only_looked_at(repo, monkeypatch):
    scripts = sysconfig.get_path("scripts")
    (repo / "uv.lock").write_text("version = 1\n")
    monkeypatch.setenv("PATH", f"{scripts}:{os.environ['PATH']}")
    before = everything(repo)
    found = find_tools(Target(str(repo)))

    assert found.versions["python"]
    assert found.install == "uv add --dev"
    assert everything(repo) == before


def test_python_on_path_is_last_choice(repo, tmp_path, monkeypatch):
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{shim.parent}:/usr/bin:/bin")

    assert find_tools(Target(str(repo))).python == [sys.executable]


def test_packages_below_src_are_found(tmp_path):
    flat = repository(tmp_path / "flat", FASTAPI)
    nested = repository(
        tmp_path / "nested", {f"src/{name}": text for name, text in FASTAPI.items()}
    )
    package = repository(tmp_path / "package", {"src/__init__.py": "", "src/a.py": ""})

    found = [
        find_tools(Target(str(repo)), sys.executable).paths for repo in (flat, nested, package)
    ]
    assert found == [(".",), ("src", "."), (".",)]


def test_editable_source_is_readable_but_not_the_top(repo):
    environment(repo / ".venv")
    (site,) = (repo / ".venv").glob("lib/python3*/site-packages")
    (repo / "src").mkdir()
    (site / "editable.pth").write_text(f"{repo / 'src'}\n{repo}\n")
    found = find_tools(Target(str(repo)))

    assert str(repo / "src") in found.reads and str(repo) not in found.reads
