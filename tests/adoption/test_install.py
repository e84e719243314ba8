"""Check the installer: one downloaded script, a repository, and a folder with a space in it."""

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ..conftest import ROOT, find_tool, git
from ..setup.test_bootstrap import make_project
from .conftest import read_all

pytestmark = pytest.mark.skipif(os.name == "nt", reason="this is the bash door")
SETUP = ROOT / "setup"


@pytest.fixture
def origin(tmp_path):
    """Return a bare repository with two versions of a small project; the first has a tag."""
    source = make_project(tmp_path / "source")
    (source / ".gitignore").write_text(".venv\ntasks\nAI/\n__pycache__/\n")
    git(source, "init", "-q", "-b", "main")
    release(source, "one")
    git(source, "tag", "v1")
    release(source, "two")
    bare = tmp_path / "a bare repo.git"
    git(tmp_path, "clone", "-q", "--bare", str(source), str(bare))
    git(source, "remote", "add", "origin", str(bare))
    return bare


def release(source, version):
    (source / "version").write_text(version)
    git(source, "add", "-A")
    git(source, "commit", "-qm", version)


@pytest.fixture
def devroot(tmp_path):
    return tmp_path / "a dev root"


@pytest.fixture
def install(tmp_path, devroot, origin):
    """Return a function that runs the installer script alone in a folder, as after a download."""
    alone = tmp_path / "downloads"
    alone.mkdir()
    shutil.copy(SETUP / "install-kaizen.sh", alone)

    def run(*words, door=alone / "install-kaizen.sh", **environment):
        personal = ("PIP_", "PYTHON", "KAIZEN_", "DEVROOT", "GIT_")
        env = {name: value for name, value in os.environ.items() if not name.startswith(personal)}
        env |= {
            "PYTHON": sys.executable,
            "DEVROOT": str(devroot),
            "KAIZEN_REPO_URL": str(origin),
            "PIP_NO_INDEX": "1",
        }
        env = {name: value for name, value in {**env, **environment}.items() if value is not None}
        return subprocess.run(
            [find_tool("bash"), str(door), *words],
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=300,
        )

    return run


def version(devroot):
    return (devroot / "engine" / "version").read_text()


def test_script_installs_and_can_be_repeated(install, devroot):
    first = install()
    assert first.returncode == 0, first.stdout + first.stderr
    assert version(devroot) == "two" and (devroot / "engine" / "tasks").read_text() == "task_1"
    assert os.path.realpath(devroot / "engine" / ".venv") == str(devroot / ".venv")
    assert "kaizen.py adopt" in first.stdout and not list(devroot.glob("engine.part*"))

    before = read_all(devroot / "engine")
    again = install()
    assert again.returncode == 0, again.stdout + again.stderr
    assert "the newest of main" in again.stdout and read_all(devroot / "engine") == before
    log = (devroot / "install.log").read_text()
    assert log.count("== 20") == 2 and "first loop" in log


def test_second_install_updates_clone(install, devroot, origin, tmp_path):
    install()
    release(tmp_path / "source", "three")
    git(tmp_path / "source", "push", "-q", "origin", "main")

    assert install().returncode == 0 and version(devroot) == "three"


def test_installed_tag_is_kept_until_changed(install, devroot):
    assert install("--ref", "v1").returncode == 0 and version(devroot) == "one"
    stays = install()
    assert (
        stays.returncode == 0
        and version(devroot) == "one"
        and "--ref takes it to another" in stays.stdout
    )
    assert install("--ref=main").returncode == 0 and version(devroot) == "two"
    assert install("--ref", "v1").returncode == 0 and version(devroot) == "one"


@pytest.mark.parametrize(
    "words", [(), ("--ref", "v1"), ("--no-network",), ("--plan-only", "--ref=v1")]
)
def test_plan_creates_nothing(install, devroot, tmp_path, words):
    for door in (None, SETUP / "install-kaizen.sh"):
        planned = install("--plan-only", *words, **({"door": door} if door else {}))
        assert (
            planned.returncode == 0
            and "nothing was done" in planned.stdout
            and "clone" in planned.stdout
        )
        assert not devroot.exists()


def test_script_in_clone_installs_from_its_origin(install, devroot, origin, tmp_path):
    clone = tmp_path / "source"
    door = clone / "setup" / "install-kaizen.sh"
    for name in ("install-kaizen.sh", "install_kaizen.py"):
        shutil.copy(SETUP / name, clone / "setup")
    release(clone, "with its door")

    planned = install("--plan-only", door=door, KAIZEN_REPO_URL=None)
    assert planned.returncode == 0 and f"clone {origin} into" in planned.stdout, planned.stderr
    git(clone, "remote", "remove", "origin")
    planned = install("--plan-only", door=door, KAIZEN_REPO_URL=None)
    assert planned.returncode == 0 and f"clone {clone} into" in planned.stdout, planned.stderr
    done = install("--no-network", door=door, KAIZEN_REPO_URL=None)
    assert done.returncode == 0 and version(devroot) == "with its door", done.stderr


def test_plan_for_existing_clone_changes_nothing(install, devroot):
    install("--ref", "v1")
    before = read_all(devroot)
    planned = install("--plan-only", "--ref", "main")

    assert planned.returncode == 0 and "update" in planned.stdout and "main" in planned.stdout
    assert read_all(devroot) == before


def test_install_without_network_needs_local_source(install, devroot, origin, tmp_path):
    refused = install("--no-network", KAIZEN_REPO_URL="https://example.invalid/kaizen.git")
    assert refused.returncode == 1 and "--no-network" in refused.stderr and not devroot.exists()
    assert install("--no-network").returncode == 0 and version(devroot) == "two"
    git(devroot / "engine", "config", "remote.origin.url", "https://example.invalid/kaizen.git")
    offline = install("--no-network", KAIZEN_REPO_URL=None)
    assert offline.returncode == 0, offline.stderr

    tried = install(KAIZEN_REPO_URL=None, https_proxy="http://127.0.0.1:9")
    assert (
        tried.returncode == 1
        and "could not be updated" in tried.stderr
        and "Traceback" not in tried.stderr
    )


def test_clone_with_changes_is_never_overwritten(install, devroot):
    install("--ref", "v1")
    (devroot / "engine" / "version").write_text("mine")
    before = read_all(devroot)
    for words in ((), ("--ref", "main"), ("--no-network",)):
        refused = install(*words)
        assert refused.returncode == 1 and "changes of yours (version)" in refused.stderr
    assert read_all(devroot) == before


def test_own_commits_are_kept(install, devroot, origin, tmp_path):
    install()
    release(devroot / "engine", "mine")
    release(tmp_path / "source", "theirs")
    git(tmp_path / "source", "push", "-q", "origin", "main")
    refused = install()

    assert (
        refused.returncode == 1 and "left as it is" in refused.stderr and version(devroot) == "mine"
    )


@pytest.mark.parametrize(
    "words, env, code, message",
    [
        ((), {"KAIZEN_REPO_URL": None}, 2, "--url"),
        (("--url", "--upload-pack=x"), {}, 2, ""),
        (("--url=-x",), {}, 2, "cannot be"),
        (("--nonsense",), {}, 2, "Usage"),
        (("--ref", "v9"), {}, 1, "no tag, branch or commit 'v9'"),
        (("--ref=-q",), {}, 2, "cannot be"),
        (("--url", "no/such/folder"), {}, 1, "cloned"),
        ((), {"PYTHON": "/no/such/python"}, 2, "Python 3.11"),
    ],
)
def test_failed_clone_is_explained_and_removed(install, devroot, words, env, code, message):
    refused = install(*words, **env)

    assert refused.returncode == code, refused.stdout + refused.stderr
    assert message in refused.stderr and "Traceback" not in refused.stderr
    assert not (devroot / "engine").exists()


NO_REFS = [
    (["--ref=-q"], "--ref cannot be -q."),
    (["--ref", "-q"], "--ref cannot be -q."),
    (["--ref"], "--ref needs a value: a tag, a branch or a commit."),
    (["--ref", ""], "--ref needs a value: a tag, a branch or a commit."),
]


@pytest.mark.parametrize("words, message", NO_REFS)
def test_invalid_ref_is_refused(install, devroot, words, message):
    refused = install(*words)

    assert (refused.returncode, refused.stderr) == (2, message + "\n") and not devroot.exists()
    assert message.replace("-q", "$ref") in (SETUP / "install-kaizen.ps1").read_text()


def test_refused_install_leaves_no_part_folder(install, devroot):
    refused = install("--ref", "two\twords")

    assert (
        refused.returncode == 2 and "cannot be" in refused.stderr and list(devroot.iterdir()) == []
    )


def test_other_repository_is_refused(install, devroot, origin, tmp_path):
    install()
    shutil.copytree(origin, tmp_path / "another.git")
    refused = install("--url", str(tmp_path / "another.git"))

    assert refused.returncode == 1 and "choose another DEVROOT" in refused.stderr


def test_existing_folder_instead_of_clone_stays(install, devroot):
    (devroot / "engine").mkdir(parents=True)
    (devroot / "engine" / "mine").write_text("mine")
    for door in (None, SETUP / "install-kaizen.sh"):
        refused = install(**({"door": door} if door else {}))
        assert refused.returncode == 1 and "move it away" in refused.stderr
    assert read_all(devroot / "engine") == {"mine": (0o644, b"mine")}


def test_interrupted_installation_is_resumed(install, devroot):
    left, at_work = devroot / "engine.part.1", devroot / "engine.part.2"
    for part in (left, at_work):
        (part / "half").mkdir(parents=True)
    os.utime(left, (0, 0))
    (devroot / ".venv").mkdir()
    (devroot / ".venv" / "pyvenv.cfg").write_text("home = /nowhere\n")

    assert install().returncode == 0 and version(devroot) == "two"
    assert not left.exists() and at_work.exists()  # it may belong to one that clones right now


def test_second_installer_at_once_is_refused(install, devroot):
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: install("--ref", "v1"), range(4)))

    assert 0 in [process.returncode for process in done] and version(devroot) == "one"
    assert all("at work" in process.stderr for process in done if process.returncode)
    assert not [path.name for path in devroot.iterdir() if "part" in path.name]


def test_installer_moves_only_part_folders(install, devroot, tmp_path):
    (tmp_path / "precious").mkdir()
    done = install(
        door=SETUP / "install-kaizen.sh", KAIZEN_INSTALL_TAKEN=str(tmp_path / "precious")
    )

    assert done.returncode == 0 and (tmp_path / "precious").exists()


def test_clone_keeps_its_own_environment(install, devroot, origin):
    devroot.mkdir()
    git(devroot, "clone", "-q", str(origin), "engine")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(devroot / "engine" / ".venv")],
        check=True,
    )

    assert install().returncode == 0 and not (devroot / "engine" / ".venv").is_symlink()
    assert not (devroot / ".venv").exists()


def test_piped_script_ignores_local_files(devroot, origin, tmp_path):
    (tmp_path / "install_kaizen.py").write_text("raise SystemExit('somebody else')")
    env = {**os.environ, "PYTHON": sys.executable, "DEVROOT": str(devroot), "PIP_NO_INDEX": "1"}
    env.pop("KAIZEN_REPO_URL", None)
    script = (SETUP / "install-kaizen.sh").read_bytes()
    done = subprocess.run(
        ["bash", "-s", "--", "--url", str(origin), "--ref", "v1"],
        input=script,
        cwd=tmp_path,
        env=env,
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr
    assert version(devroot) == "one"


def test_password_in_url_is_not_shown(install, devroot):
    word = "not-a-" + "word"
    address = f"https://somebody:{word}@127.0.0.1:9/kaizen.git"
    door = SETUP / "install-kaizen.sh"
    processes = [
        install(*words, door=door, KAIZEN_REPO_URL=address)
        for words in (["--plan-only"], ["--no-network"], [])
    ]

    assert [process.returncode for process in processes] == [0, 1, 1]
    log = (devroot / "install.log").read_text()
    assert word not in log + "".join(process.stdout + process.stderr for process in processes)


# The doors


@pytest.mark.parametrize("door", sorted(SETUP.glob("*.sh")), ids=lambda door: door.name)
def test_shellcheck_reports_nothing(door):
    done = subprocess.run(
        [find_tool("shellcheck"), "-x", str(door)], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("door", sorted(SETUP.glob("*.ps1")), ids=lambda door: door.name)
def test_powershell_script_has_valid_syntax(door):
    tree_sitter = pytest.importorskip(
        "tree_sitter", reason="no PowerShell parser: install requirements-dev.txt"
    )
    grammar = pytest.importorskip(
        "tree_sitter_powershell", reason="no PowerShell parser: install requirements-dev.txt"
    )
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))

    assert parser.parse(b"if (").root_node.has_error  # proof that the parser can fail
    assert not parser.parse(door.read_bytes()).root_node.has_error


WORKS = {
    "install-kaizen": "install_kaizen.py",
    "setup": "bootstrap.py",
    "link-skills": "kaizen.py",
}  # door -> its file


@pytest.mark.parametrize("door", WORKS)
def test_scripts_pass_arguments_and_exit_code(door):
    shell, power, cmd = ((SETUP / f"{door}.{kind}").read_text() for kind in ("sh", "ps1", "cmd"))
    runs = re.findall(r"& \S.*@args.*(?:\n.*)?", power)

    assert WORKS[door] in shell and 'exec "$python"' in shell and '"$@"' in shell
    assert WORKS[door] in power and runs and all("exit $LASTEXITCODE" in run for run in runs)
    assert cmd.endswith(f'-File "%~dp0{door}.ps1" %*\nexit /b %ERRORLEVEL%\n')


@pytest.mark.parametrize("door", sorted(SETUP.glob("*.ps1")), ids=lambda door: door.name)
def test_powershell_script_passes_arguments(door):
    starts = [line for line in door.read_text().splitlines() if "& $" in line or "& py" in line]

    assert [line for line in starts if "-c $ask" not in line and "@args" not in line] == []


# Without git or Python

RELEASES = {  # what /etc/os-release says -> how to get git there
    "ID=debian": "apt install git python3 python3-venv",
    "ID=ubuntu\nID_LIKE=debian": "apt install git python3 python3-venv",
    "ID=fedora": "dnf install git python3",
    'ID="rocky"\nID_LIKE="rhel centos fedora"': "dnf install git python3",
    'ID="opensuse-leap"\nID_LIKE="suse opensuse"': "zypper install git python3",
    "ID=arch": "pacman -S git python",
    "ID=alpine": "apk add git python3",
    "ID=plan9": "See git-scm.com and python.org.",
    None: "See git-scm.com and python.org.",
}
TOOLS = ("bash", "dirname", "sed", "tr")


@pytest.fixture
def without_git(tmp_path):
    """Return a function that makes a PATH without git, on a system of the given name."""

    def make(system):
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in TOOLS:
            os.symlink(find_tool(name), folder / name)
        (folder / "uname").write_text(f"#!{find_tool('bash')}\necho {system}\n")
        (folder / "uname").chmod(0o755)
        return str(folder)

    return make


@pytest.fixture
def installer():
    """Load install_kaizen.py as a module."""
    spec = importlib.util.spec_from_file_location("install_kaizen", SETUP / "install_kaizen.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("release, line", RELEASES.items())
def test_linux_without_git_names_its_package_tool(
    without_git, installer, monkeypatch, tmp_path, release, line
):
    path = tmp_path / "os-release"
    path.write_text(f"NAME=x\n{release}\n") if release else None
    shell = (SETUP / "install-kaizen.sh").read_text().replace("/etc/os-release", str(path))
    shell = shell.replace('\nmain "$@"', "\nhow_to_get")
    done = subprocess.run(
        [find_tool("bash"), "-c", shell],
        env={"PATH": without_git("Linux")},
        capture_output=True,
        text=True,
    )
    opened = open
    monkeypatch.setattr(installer, "open", lambda name, **how: opened(path, **how), raising=False)
    monkeypatch.setattr(installer.platform, "system", lambda: "Linux")

    assert line in done.stdout and done.stdout.strip() == installer.get_install_line()


@pytest.mark.parametrize(
    "system, line", [("Darwin", "xcode-select --install"), ("Windows", "winget install Git.Git")]
)
def test_missing_git_advice_fits_other_systems(installer, monkeypatch, capsys, system, line):
    monkeypatch.setattr(installer.platform, "system", lambda: system)
    monkeypatch.setattr(installer.shutil, "which", lambda name: None)

    assert installer.main(["--url", "x"]) == 2
    message = capsys.readouterr().err
    assert "git was not found" in message and line in message
    door = {"Darwin": "install-kaizen.sh", "Windows": "install-kaizen.ps1"}[system]
    assert installer.INSTALL_LINES[system] in (SETUP / door).read_text()


@pytest.mark.parametrize("system, line", [("Darwin", "xcode-select"), ("Linux", "git")])
def test_install_without_git_creates_nothing(install, without_git, devroot, system, line):
    refused = install(PATH=without_git(system))

    assert (
        refused.returncode == 2
        and "needs git, and it was not found" in refused.stderr
        and line in refused.stderr
    )
    assert not devroot.exists()


def test_installer_needs_only_old_standard_library():
    tree = ast.parse((SETUP / "install_kaizen.py").read_text(), feature_version=(3, 6))
    found = {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    found |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert found <= sys.stdlib_module_names
