"""The shell lines of the pages run, AGENTS.md is short, and CLAUDE.md has the same text."""

import os
import re
import subprocess
import sys

import pytest

from kaizen_components import fields
from kaizen_components.index import COMMANDS, Command

from .conftest import ROOT
from .examples import model_url
from .pipeline.factory import QUICK, environment, target

PAGES = [
    "README.md", "setup/SETUP.md", "CONTRIBUTING.md", "docs/secrets.md", "docs/settings.md",
    "docs/overview.md",
]  # fmt: skip
PYTHON = ".venv/bin/python kaizen.py"


def blocks(page):
    return re.findall(r"^```sh\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)


@pytest.mark.parametrize("page", PAGES)
def test_shell_blocks_in_docs_are_valid(page):
    for block in blocks(page):
        done = subprocess.run(["bash", "-n", "-c", block], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_kaizen_commands_in_docs_run(page, root):
    script = "\n".join(
        block for block in blocks(page) if "kaizen.py" in block and "ln -s" not in block
    )
    script = script.replace(PYTHON, f'"{sys.executable}" "{ROOT / "kaizen.py"}"')
    target(root.parent / "targetapp", QUICK)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=root, capture_output=True, text=True,
        env={**os.environ, **environment(model_url()), "KAIZEN_REPO_ROOT": str(root)},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_scripts_named_in_docs_exist(page):
    for path in re.findall(
        r"(?:bash |`)((?:setup|support_scripts|docs)[/\\][\w./\\-]+)", (ROOT / page).read_text()
    ):
        assert (ROOT / path.replace("\\", "/")).exists(), path


def test_agents_md_is_short_and_equals_claude_md():
    agents, claude = ((ROOT / name).read_text() for name in ("AGENTS.md", "CLAUDE.md"))

    assert len(agents.splitlines()) <= 80
    assert agents.splitlines()[1:] == claude.splitlines()[1:]


def test_agents_md_names_existing_commands_and_options():
    text = (ROOT / "AGENTS.md").read_text()
    options = {
        fields.format_option(name)
        for name in (*fields.SHARED, *(key.split(".")[-1] for key in fields.FIELDS))
    }

    assert set(re.findall(r"`(?:kaizen )?([A-Z]{1,2}\d+)\b", text)) <= set(COMMANDS)
    assert set(re.findall(r"--[a-z-]+", text)) - {"--body-file"} <= options


def test_setup_md_names_every_option_of_d1():
    section = (
        (ROOT / "setup" / "SETUP.md")
        .read_text()
        .split("\n## Another repository\n")[1]
        .split("\n## ")[0]
    )
    named = set(re.findall(r"--[a-z]+", section))

    assert named == {fields.format_option(name) for name in Command("D1").options if name != "path"}


def test_documented_link_commands_create_working_links(tmp_path):
    engine = tmp_path / "kaizen"
    engine.mkdir()
    (tmp_path / "other").mkdir()
    for name in ("kaizen.py", "kaizen_components"):
        os.symlink(ROOT / name, engine / name)
    block = next(block for block in blocks("setup/SETUP.md") if "ln -s" in block)
    subprocess.run(["bash", "-euc", block], cwd=engine, check=True)
    env = {name: value for name, value in os.environ.items() if name != "KAIZEN_REPO_ROOT"}
    subprocess.run(
        [sys.executable, "../other/kaizen.py", "K1"],
        cwd=engine,
        env=env,
        check=True,
        capture_output=True,
    )

    assert (tmp_path / "other" / "AI" / "db" / "kaizen.db").exists()


def test_every_requirement_is_pinned_and_explained():
    reasons = (ROOT / "docs" / "dependencies.md").read_text()
    for page in ROOT.glob("requirements-*.txt"):
        for line in page.read_text().splitlines():
            if line and not line.startswith(("#", "-r")):
                assert re.fullmatch(r"[\w-]+==[\w.]+", line), f"{page.name}: {line} is not pinned"
                assert line.split("==")[0] in reasons
