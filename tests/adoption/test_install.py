"""Check the installer: one downloaded script, a repository, and a folder with a space in it."""

import ast
import json
import os
import re
import shlex
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
    shutil.copy(SETUP / "install-agent-kaizen.sh", alone)

    def run(*words, door=alone / "install-agent-kaizen.sh", **environment):
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
    return (devroot / "agent-kaizen" / "version").read_text()


def test_install_script_installs_and_can_run_again(install, devroot):
    first = install()
    assert first.returncode == 0, first.stdout + first.stderr
    assert (
        version(devroot) == "two"
        and (devroot / "agent-kaizen/AI/work/demo/tasks").read_text() == "task_1"
    )
    assert os.path.realpath(devroot / "agent-kaizen" / ".venv") == str(
        devroot / "Python/venvs/kaizen"
    )
    assert "kaizen.py adopt" in first.stdout and not list(devroot.glob("agent-kaizen.part*"))

    before = read_all(devroot / "agent-kaizen")
    again = install()
    assert again.returncode == 0, again.stdout + again.stderr
    assert "the newest of main" in again.stdout and read_all(devroot / "agent-kaizen") == before
    log = (devroot / "install.log").read_text()
    assert log.count("== 20") == 2 and "first loop" in log


def test_second_install_updates_clone(install, devroot, origin, tmp_path):
    install()
    release(tmp_path / "source", "three")
    git(tmp_path / "source", "push", "-q", "origin", "main")

    assert install().returncode == 0 and version(devroot) == "three"


def test_installed_tag_stays_until_ref_changes_it(install, devroot):
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
def test_install_plan_creates_no_files(install, devroot, tmp_path, words):
    for door in (None, SETUP / "install-agent-kaizen.sh"):
        planned = install("--plan-only", *words, **({"door": door} if door else {}))
        assert (
            planned.returncode == 0
            and "nothing was done" in planned.stdout
            and "clone" in planned.stdout
        )
        assert not devroot.exists()


def test_script_in_clone_installs_from_its_origin(install, devroot, origin, tmp_path):
    clone = tmp_path / "source"
    door = clone / "setup" / "install-agent-kaizen.sh"
    for name in ("install-agent-kaizen.sh", "install_agent_kaizen.py"):
        shutil.copy(SETUP / name, clone / "setup")
    release(clone, "with its door")

    planned = install("--plan-only", door=door, KAIZEN_REPO_URL=None)
    assert planned.returncode == 0 and f"clone {origin} into" in planned.stdout, planned.stderr
    git(clone, "remote", "remove", "origin")
    planned = install("--plan-only", door=door, KAIZEN_REPO_URL=None)
    assert planned.returncode == 0 and f"clone {clone} into" in planned.stdout, planned.stderr
    done = install("--no-network", door=door, KAIZEN_REPO_URL=None)
    assert done.returncode == 0 and version(devroot) == "with its door", done.stderr


def test_install_plan_for_existing_clone_changes_nothing(install, devroot):
    install("--ref", "v1")
    before = read_all(devroot)
    planned = install("--plan-only", "--ref", "main")

    assert planned.returncode == 0 and "update" in planned.stdout and "main" in planned.stdout
    assert read_all(devroot) == before


def test_install_without_network_needs_local_source(install, devroot, origin, tmp_path):
    refused = install("--no-network", KAIZEN_REPO_URL="https://example.invalid/kaizen.git")
    assert refused.returncode == 1 and "--no-network" in refused.stderr and not devroot.exists()
    assert install("--no-network").returncode == 0 and version(devroot) == "two"
    git(
        devroot / "agent-kaizen",
        "config",
        "remote.origin.url",
        "https://example.invalid/kaizen.git",
    )
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
    (devroot / "agent-kaizen" / "version").write_text("mine")
    before = read_all(devroot)
    for words in ((), ("--ref", "main"), ("--no-network",)):
        refused = install(*words)
        assert refused.returncode == 1 and "changes of yours (version)" in refused.stderr
    assert read_all(devroot) == before


def test_update_of_clone_with_own_commits_is_refused(install, devroot, origin, tmp_path):
    install()
    release(devroot / "agent-kaizen", "mine")
    release(tmp_path / "source", "theirs")
    git(tmp_path / "source", "push", "-q", "origin", "main")
    refused = install()

    assert (
        refused.returncode == 1 and "left as it is" in refused.stderr and version(devroot) == "mine"
    )


@pytest.mark.parametrize(
    "words, env, code, said",
    [
        ((), {"KAIZEN_REPO_URL": None}, 2, "--url"),
        (("--url", "--upload-pack=x"), {}, 2, ""),
        (("--url=-x",), {}, 2, "cannot be"),
        (("--nonsense",), {}, 2, "Usage"),
        (("--ref", "v9"), {}, 1, "no tag, branch or commit 'v9'"),
        (("--ref=-q",), {}, 2, "cannot be"),
        (("--url", "no/such/folder"), {}, 1, "cloned"),
        ((), {"PYTHON": "/no/such/python"}, 2, "again with --yes"),
    ],
)
def test_failed_git_clone_is_explained_and_removed(install, devroot, words, env, code, said):
    refused = install(*words, **env)

    assert refused.returncode == code, refused.stdout + refused.stderr
    assert said in refused.stderr and "Traceback" not in refused.stderr
    assert not (devroot / "agent-kaizen").exists()


POWERSHELL = {path.name: path.read_text() for path in SETUP.glob("*.ps1")}
DOOR = (SETUP / "install-agent-kaizen.cmd").read_text()
POWERSHELL["install-agent-kaizen.cmd"] = DOOR.split("#:powershell\n")[-1]
NO_REFS = [
    (["--ref=-q"], "--ref cannot be -q."),
    (["--ref", "-q"], "--ref cannot be -q."),
    (["--ref"], "--ref needs a value: a tag, a branch or a commit."),
    (["--ref", ""], "--ref needs a value: a tag, a branch or a commit."),
]


@pytest.mark.parametrize("words, said", NO_REFS)
def test_install_of_invalid_ref_is_refused(install, devroot, words, said):
    refused = install(*words)

    assert (refused.returncode, refused.stderr) == (2, said + "\n") and not devroot.exists()
    assert said.replace("-q", "$ref") in POWERSHELL["install-agent-kaizen.cmd"]


def test_refused_install_leaves_no_temporary_folder(install, devroot):
    refused = install("--ref", "two\twords")

    assert (
        refused.returncode == 2 and "cannot be" in refused.stderr and list(devroot.iterdir()) == []
    )


def test_url_of_another_repository_is_refused(install, devroot, origin, tmp_path):
    install()
    shutil.copytree(origin, tmp_path / "another.git")
    refused = install("--url", str(tmp_path / "another.git"))

    assert refused.returncode == 1 and "choose another DEVROOT" in refused.stderr


def test_existing_folder_in_place_of_clone_is_kept(install, devroot):
    (devroot / "agent-kaizen").mkdir(parents=True)
    (devroot / "agent-kaizen" / "mine").write_text("mine")
    for door in (None, SETUP / "install-agent-kaizen.sh"):
        refused = install(**({"door": door} if door else {}))
        assert refused.returncode == 1 and "move it away" in refused.stderr
    assert read_all(devroot / "agent-kaizen") == {"mine": (0o644, b"mine")}


def test_interrupted_installation_is_resumed(install, devroot):
    left, at_work = devroot / "agent-kaizen.part.1", devroot / "agent-kaizen.part.2"
    for part in (left, at_work):
        (part / "half").mkdir(parents=True)
    os.utime(left, (0, 0))
    (devroot / ".venv").mkdir()
    (devroot / ".venv" / "pyvenv.cfg").write_text("home = /nowhere\n")

    assert install().returncode == 0 and version(devroot) == "two"
    assert not left.exists() and at_work.exists()  # it may belong to one that clones right now


def test_second_installer_at_same_time_is_refused(install, devroot):
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: install("--ref", "v1"), range(4)))

    assert 0 in [process.returncode for process in done] and version(devroot) == "one"
    assert all("at work" in process.stderr for process in done if process.returncode)
    assert not [path.name for path in devroot.iterdir() if "part" in path.name]


def test_installer_moves_only_its_own_temporary_folders(install, devroot, tmp_path):
    (tmp_path / "precious").mkdir()
    done = install(
        door=SETUP / "install-agent-kaizen.sh", KAIZEN_INSTALL_TAKEN=str(tmp_path / "precious")
    )

    assert done.returncode == 0 and (tmp_path / "precious").exists()


def test_existing_clone_keeps_its_own_virtual_environment(install, devroot, origin):
    devroot.mkdir()
    git(devroot, "clone", "-q", str(origin), "agent-kaizen")
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(devroot / "agent-kaizen" / ".venv")],
        check=True,
    )

    assert install().returncode == 0 and not (devroot / "agent-kaizen" / ".venv").is_symlink()
    assert not (devroot / ".venv").exists()


def test_install_script_from_pipe_ignores_local_files(devroot, origin, tmp_path):
    (tmp_path / "install_agent_kaizen.py").write_text("raise SystemExit('somebody else')")
    env = {**os.environ, "PYTHON": sys.executable, "DEVROOT": str(devroot), "PIP_NO_INDEX": "1"}
    env.pop("KAIZEN_REPO_URL", None)
    script = (SETUP / "install-agent-kaizen.sh").read_bytes()
    done = subprocess.run(
        ["bash", "-s", "--", "--url", str(origin), "--ref", "v1"],
        input=script,
        cwd=tmp_path,
        env=env,
        capture_output=True,
    )

    assert done.returncode == 0, done.stderr
    assert version(devroot) == "one"


def test_password_in_repository_url_is_not_shown(install, devroot):
    word = "not-a-" + "word"
    address = f"https://somebody:{word}@127.0.0.1:9/kaizen.git"
    door = SETUP / "install-agent-kaizen.sh"
    said = [
        install(*words, door=door, KAIZEN_REPO_URL=address)
        for words in (["--plan-only"], ["--no-network"], [])
    ]

    assert [process.returncode for process in said] == [0, 1, 1]
    log = (devroot / "install.log").read_text()
    assert word not in log + "".join(process.stdout + process.stderr for process in said)


# The doors


@pytest.mark.parametrize("door", sorted(SETUP.glob("*.sh")), ids=lambda door: door.name)
def test_setup_scripts_pass_shellcheck(door):
    done = subprocess.run(
        [find_tool("shellcheck"), "-x", str(door)], cwd=ROOT, capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("door", POWERSHELL)
def test_powershell_script_has_valid_syntax(door):
    tree_sitter = pytest.importorskip(
        "tree_sitter", reason="no PowerShell parser: install requirements-dev.txt"
    )
    grammar = pytest.importorskip(
        "tree_sitter_powershell", reason="no PowerShell parser: install requirements-dev.txt"
    )
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))

    assert parser.parse(b"if (").root_node.has_error  # proof that the parser can fail
    assert not parser.parse(POWERSHELL[door].encode()).root_node.has_error


WORKS = {
    "setup": "bootstrap.py",
    "link-skills": "kaizen.py",
}  # door -> its file


@pytest.mark.parametrize("door", WORKS)
def test_setup_scripts_pass_arguments_and_exit_code(door):
    shell, power, cmd = ((SETUP / f"{door}.{kind}").read_text() for kind in ("sh", "ps1", "cmd"))
    runs = re.findall(r"& \S.*@args.*(?:\n.*)?", power)

    assert WORKS[door] in shell and 'exec "$python"' in shell and '"$@"' in shell
    assert WORKS[door] in power and runs and all("exit $LASTEXITCODE" in run for run in runs)
    assert cmd.endswith(f'-File "%~dp0{door}.ps1" %*\nexit /b %ERRORLEVEL%\n')


@pytest.mark.parametrize("door", POWERSHELL)
def test_powershell_script_passes_arguments(door):
    starts = [line for line in POWERSHELL[door].splitlines() if "& $" in line or "& py" in line]

    assert [line for line in starts if "-c $ask" not in line and "@args" not in line] == []


# On a bare machine

MANAGERS = {  # package manager -> the command that the installer shows
    "apt-get": "apt-get update && apt-get install -y git python3 python3-venv",
    "dnf": "dnf install -y git python3",
    "yum": "yum install -y git python3",
    "zypper": "zypper --non-interactive install git python3",
    "pacman": "pacman -S --noconfirm git python",
    "apk": "apk add git python3",
    "brew": "brew install git python@3.13",
}
TOOLS = ("bash", "dirname", "id", "mkdir", "rm")


@pytest.fixture
def bare_machine(tmp_path, devroot, origin):
    """`bare_machine("dnf", "--yes")`: the installer on a read-only system without git, Python or network.

    The package manager is a script that writes down its words, and puts git and Python on the PATH.
    """
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in TOOLS:
        (tools / name).symlink_to(find_tool(name))
    door = tmp_path / "downloads" / "install-agent-kaizen.sh"
    door.parent.mkdir()
    shutil.copy(SETUP / door.name, door)

    def run(manager, *words, installs=True, answer=None):
        links = {"git": find_tool("git"), "python3": sys.executable} if installs else {}
        lines = [f"#!{find_tool('bash')}", f'echo "{manager} $*" >> "{tmp_path}/called"']
        lines += [
            f'[ -e "{tools}/{name}" ] || {find_tool("ln")} -s "{path}" "{tools}/{name}"'
            for name, path in links.items()
        ]
        if manager:
            (tools / manager).write_text("\n".join(lines) + "\n")
            (tools / manager).chmod(0o755)
        env = {
            "PATH": str(tools), "HOME": str(tmp_path / "home"), "DEVROOT": str(devroot),
            "KAIZEN_REPO_URL": str(origin), "PIP_NO_INDEX": "1",
        }  # fmt: skip
        box = [find_tool("bwrap"), "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        box += ["--bind", str(tmp_path), str(tmp_path), "--unshare-net", "--clearenv"]
        box += [word for name, value in env.items() for word in ("--setenv", name, value)]
        command = [*box, find_tool("bash"), str(door), *words]
        if answer is None:
            return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        typed = [find_tool("script"), "-qec", shlex.join(command), "/dev/null"]
        return subprocess.run(typed, capture_output=True, text=True, input=answer)

    return run


@pytest.mark.parametrize("manager", MANAGERS)
def test_machine_without_tools_is_set_up_after_consent(bare_machine, tmp_path, devroot, manager):
    done = bare_machine(manager, "--yes")

    assert done.returncode == 0, done.stdout + done.stderr
    called = (tmp_path / "called").read_text().splitlines()
    assert MANAGERS[manager] in done.stdout and " && ".join(called) == MANAGERS[manager]
    for path in ("agent-kaizen/kaizen.py", "SKILLS", "Python/venvs/kaizen/bin/python"):
        assert (devroot / path).exists(), path
    workspace = json.loads((devroot / "agent-kaizen.code-workspace").read_text())
    assert [folder["path"] for folder in workspace["folders"]] == ["agent-kaizen", "SKILLS"]
    launched = subprocess.run([devroot / "kaizen", "K1"], capture_output=True, text=True)
    assert (launched.returncode, launched.stderr) == (0, "")


@pytest.mark.parametrize(
    ("answer", "code"), [("y\n", 0), ("n\n", 2), ("\n", 2)], ids=["yes", "no", "nothing"]
)
def test_tools_are_installed_only_with_consent(bare_machine, tmp_path, devroot, answer, code):
    done = bare_machine("apk", answer=answer)

    assert done.returncode == code, done.stdout
    assert (tmp_path / "called").exists() == devroot.exists() == (code == 0)


@pytest.mark.parametrize(
    ("manager", "words", "said"),
    [
        ("dnf", (), "Run it, or run this again with --yes."),
        ("", ("--yes",), "https://git-scm.com/downloads"),
        ("brew", ("--yes",), "There is still no Python 3.11"),
    ],
    ids=["no terminal", "no package manager", "nothing was installed"],
)
def test_installer_explains_missing_tools(bare_machine, devroot, manager, words, said):
    done = bare_machine(manager, *words, installs=False)

    assert (done.returncode, said in done.stderr, devroot.exists()) == (2, True, False)


def test_setup_script_installs_below_given_folder(devroot, origin, tmp_path):
    git(tmp_path, "clone", "-q", str(origin), "a clone")
    env = {name: value for name, value in os.environ.items() if not name.startswith("KAIZEN_")}
    env |= {"PYTHON": sys.executable, "PIP_NO_INDEX": "1"}
    command = [find_tool("bash"), tmp_path / "a clone" / "setup" / "setup.sh", devroot]
    done = subprocess.run(command, env=env, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr
    assert version(devroot) == "two" and (devroot / "SKILLS").is_dir()


def test_installer_needs_only_old_standard_library():
    tree = ast.parse((SETUP / "install_agent_kaizen.py").read_text(), feature_version=(3, 6))
    found = {
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    found |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}

    assert found <= sys.stdlib_module_names
