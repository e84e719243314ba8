"""Check that the target's tools are found, and that none is installed."""

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


def test_configured_interpreter_reports_tool_versions(repo):
    tools = find_tools(Target(str(repo)), sys.executable)

    assert tools.python == [sys.executable]
    assert set(tools.versions) == {"python", "ruff", "mypy", "pytest", "coverage"}
    assert tools.versions["python"] == sys.version.split()[0]
    assert find_missing_tools(tools) == []
    for prefix in (sys.prefix, os.path.realpath(sys.base_prefix)):
        assert any(f"{prefix}/".startswith(f"{folder}/") for folder in tools.reads)
    assert os.path.expanduser("~") not in tools.reads


def test_missing_or_broken_interpreter_raises_error(repo, tmp_path):
    with pytest.raises(NotFound):
        find_tools(Target(str(repo)), "no-such-python")
    dumb = tmp_path / "dumb"
    dumb.write_text("#!/bin/sh\nexit 0\n")
    dumb.chmod(0o755)
    with pytest.raises(Unavailable):
        find_tools(Target(str(repo)), str(dumb))


def test_virtual_environment_of_target_is_preferred(repo):
    environment(repo / ".venv")
    tools = find_tools(Target(str(repo)))

    assert tools.python == [str(repo / ".venv" / "bin" / "python")]
    missing = find_missing_tools(tools)
    assert [finding.rule for finding in missing] == ["ruff", "mypy", "pytest", "coverage"]
    assert missing[0].text.endswith("Install it: uv pip install --python .venv/bin/python ruff")
    missing = find_missing_tools(tools, Settings(replaces=["check"]))
    assert [finding.rule for finding in missing] == ["pytest", "coverage"]


def test_virtual_environment_is_found_in_parent_folder(tmp_path):
    repo = repository(tmp_path / "mono", {f"app/{name}": text for name, text in FASTAPI.items()})
    environment(repo / "venv")
    environment(tmp_path / ".venv")  # outside of the repository: ignored

    assert find_tools(Target(str(repo / "app"))).python == [str(repo / "venv" / "bin" / "python")]


def test_modules_named_like_tools_are_ignored(repo, monkeypatch):
    environment(repo / ".venv")
    for name in ("ruff", "mypy"):
        (repo / f"{name}.py").write_text("print('ruff 9.9.9')\n")
        (repo / ".venv" / "bin" / f"{name}.py").write_text("print('ruff 9.9.9')\n")
    monkeypatch.setenv("PYTHONPATH", str(repo))
    monkeypatch.chdir(repo)

    assert set(find_tools(Target(str(repo))).versions) == {"python"}


def test_uv_project_is_inspected_without_changes(repo, monkeypatch):
    scripts = sysconfig.get_path("scripts")
    (repo / "uv.lock").write_text("version = 1\n")
    monkeypatch.setenv("PATH", f"{scripts}:{os.environ['PATH']}")
    before = everything(repo)
    tools = find_tools(Target(str(repo)))

    assert tools.versions["python"]
    assert tools.install == "uv add --dev"
    assert everything(repo) == before


def test_python_on_path_is_used_without_environment(repo, tmp_path, monkeypatch):
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

    paths = [
        find_tools(Target(str(repo)), sys.executable).paths for repo in (flat, nested, package)
    ]
    assert paths == [(".",), ("src", "."), (".",)]


def test_editable_install_exposes_source_but_not_root(repo):
    environment(repo / ".venv")
    (site,) = (repo / ".venv").glob("lib/python3*/site-packages")
    (repo / "src").mkdir()
    (site / "editable.pth").write_text(f"{repo / 'src'}\n{repo}\n")
    reads = find_tools(Target(str(repo))).reads

    assert str(repo / "src") in reads and str(repo) not in reads
