"""The set-up as a user meets it: real doors, real virtual environments, folders with a space in their names.

Most tests use a small stand-in project and wheels made here, so they need no network; the last one opens the
real door on a copy of this repository and installs the real packages.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
OLD_PYTHONS = [
    path
    for version in ("3.6", "3.8", "3.10")
    for path in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
]
pytestmark = pytest.mark.skipif(os.name == "nt", reason="these are the bash doors")

# Keeps tasks in a file of the project the launcher is pinned to, and refuses when told to.
STAND_IN = """
import json, os, pathlib, sys
root = pathlib.Path(os.environ.setdefault("KAIZEN_REPO_ROOT", os.path.dirname(os.path.abspath(__file__))))
tasks, code = root / "tasks", sys.argv[1]
if os.environ.get("REFUSE") == code:
    sys.exit(print("the ledger does not match", file=sys.stderr) or 7)
if code == "W1":
    tasks.write_text("task_1")
answer = {"status": "OK", "records": tasks.read_text().split() if tasks.exists() else []}
print(json.dumps(answer) if "--json" in sys.argv else f"answer to {sys.argv[1:]}")
"""
DEMO = """
import pathlib, sys
folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True)
launcher = pathlib.Path("kaizen.py").read_text()
pinned = launcher.replace("environ.setdefault(", "environ.__setitem__(")
pinned = pinned.replace("pathlib.Path(os", "pathlib.Path(__file__).parent or (os")
(folder / "kaizen.py").write_text(pinned)
(folder / "weekly.html").write_text("")
"""
STAND_IN_PYTEST = "import sys; print('pytest got', sys.argv[1:]); sys.exit(5)"


def make_project(root, requirements=(), dev=()):
    (root / "kaizen_components").mkdir(parents=True)
    (root / "kaizen_components" / "__init__.py").write_text("")
    (root / "kaizen.py").write_text(STAND_IN)
    (root / "support_scripts").mkdir()
    (root / "support_scripts" / "demo.py").write_text(DEMO)
    (root / "requirements-kaizen.txt").write_text("\n".join(["# why: docs", *requirements]))
    (root / "requirements-dev.txt").write_text("\n".join(["-r requirements-kaizen.txt", *dev]))
    shutil.copytree(REPO / "setup", root / "setup", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def make_wheel(folder, name, version, tag="py3-none-any", main=""):
    folder.mkdir(exist_ok=True)
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(f"{name}/__main__.py", main)
        wheel.writestr(
            f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        wheel.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        wheel.writestr(f"{info}/RECORD", "")


def open_door(root, *arguments, door="setup.sh", cwd=None, **environment):
    """Run a door from another folder, knowing no package index but what the test names."""
    personal = (
        "PIP_",
        "PYTHON",
        "KAIZEN_",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "http_proxy",
        "https_proxy",
        "LC_",
    )
    env = {key: value for key, value in os.environ.items() if not key.startswith(personal)}
    env |= {
        "PYTHON": sys.executable,
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
    } | environment
    return subprocess.run(
        ["bash", str(root / "setup" / door), *arguments],
        cwd=cwd or root.parent,
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )


def assert_stopped_with_one_line(run, *words, code=1):
    """A sentence naming the thing; what a failed tool said may precede it, set in, and never a traceback."""
    lines = [line for line in run.stderr.splitlines() if not line.startswith("    ")]
    assert (run.returncode, len(lines)) == (code, 1), run.stdout + run.stderr
    assert all(word in lines[0] for word in words), run.stderr
    assert "Traceback" not in run.stdout + run.stderr


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheels")  # no space: PIP_FIND_LINKS is a list of words
    for name in ("libsql", "click"):
        make_wheel(folder, name, "9.9.9")
    make_wheel(folder, "pytest", "99.9", main=STAND_IN_PYTEST)
    return str(folder)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory, wheels):
    """A project that was set up once, and what that first run said."""
    root = make_project(
        tmp_path_factory.mktemp("fresh") / "a new project",
        ["libsql==9.9.9", "click==9.9.9  # the faces"],
        ["pytest==99.9"],
    )
    return root, open_door(root, PIP_FIND_LINKS=wheels)


@pytest.fixture(scope="module")
def unmet(tmp_path_factory):
    """A project whose packages are nowhere to be found."""
    root = make_project(tmp_path_factory.mktemp("unmet") / "an offline project", ["libsql==9.9.9"])
    return root, open_door(root)


@pytest.fixture
def bare(tmp_path):
    """A project that needs no packages, so its .venv is made in a moment."""
    return make_project(tmp_path / "a bare project")


def test_first_setup_installs_packages_and_runs_demo(fresh):
    root, run = fresh
    assert (run.returncode, run.stderr) == (0, "")
    assert "[1/7] virtual environment … created" in run.stdout
    assert "[2/7] packages … installing … libsql==9.9.9, click==9.9.9" in run.stdout
    assert (root / "AI/work/demo/tasks").read_text() == "task_1"
    assert not (root / "tasks").exists()
    assert [
        line.split("kaizen.py ")[1].split()[0]
        for line in run.stdout.splitlines()
        if line.startswith("$ ")
    ] == [
        "W1",
        "W2",
        "W2",
        "W9",
        "K8",
    ]
    assert str(root) not in run.stdout


def test_every_command_printed_by_setup_works(fresh):
    root, run = fresh
    typed = [line.strip()[2:] for line in run.stdout.splitlines() if line.strip().startswith("$ ")]
    assert f'cd "{root.name}"' in typed
    for command in typed:
        if "test.sh" not in command and not command.startswith("cd "):
            assert subprocess.run(["bash", "-c", command], cwd=root, check=False).returncode == 0, (
                command
            )


def test_second_setup_run_changes_nothing(fresh):
    root, _ = fresh
    run = open_door(root, cwd="/")
    assert run.returncode == 0
    assert "[1/7] virtual environment … ready" in run.stdout
    assert "already there" in run.stdout and "first loop … there already" in run.stdout
    assert "$ .venv/bin/python AI/work/demo/kaizen.py W1" not in run.stdout


@pytest.mark.parametrize(
    "demo", [None, "raise ValueError('no room')", "import sys; sys.exit('no room')"]
)
def test_failed_demo_does_not_fail_the_setup(bare, demo):
    script = bare / "support_scripts" / "demo.py"
    script.write_text(demo) if demo else script.unlink()
    run = open_door(bare)
    assert (run.returncode, run.stderr) == (0, "")
    assert (
        "[6/7] demo … left out, nothing depends on it: " in run.stdout
        and "Traceback" not in run.stdout
    )
    assert "Ready. Next:" in run.stdout and not (bare / "AI").exists()


def test_test_script_passes_arguments_and_exit_code(fresh, wheels):
    root, _ = fresh
    run = open_door(root, "-k", "two words", door="test.sh", PIP_FIND_LINKS=wheels)
    assert run.returncode == 5
    assert "pytest got ['-k', 'two words']" in run.stdout
    assert "first loop" not in run.stdout


def test_unknown_setup_argument_is_refused_with_help(tmp_path):
    root = make_project(tmp_path / "not set up")
    assert "bash setup/setup.sh" in open_door(root, "--help").stdout
    refused = open_door(root, "--fast")
    assert refused.returncode == 2 and refused.stderr.startswith("Unknown argument: --fast\n")
    assert not (root / ".venv").exists()


def remove_python(venv):
    (venv / "bin" / "python").unlink()


def break_python(venv):
    replace_python(venv, "#!/nowhere/python\n")


def age_python(venv):
    replace_python(venv, """#!/bin/sh\necho '{"python": [3, 9], "packages": {}}'\n""")


def replace_python(venv, script):
    remove_python(venv)
    (venv / "bin" / "python").write_text(script)
    (venv / "bin" / "python").chmod(0o755)


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (remove_python, "its Python does not run"),
        (break_python, "its Python does not run"),
        (age_python, "it holds Python 3.9"),
    ],
)
def test_broken_venv_is_replaced_with_reason(bare, harm, reason):
    assert open_door(bare).returncode == 0
    harm(bare / ".venv")
    run = open_door(bare)
    assert run.returncode == 0
    assert f"[1/7] virtual environment … made anew, because {reason}" in run.stdout
    assert subprocess.run([bare / ".venv/bin/python", "-c", ""], check=False).returncode == 0


def test_moved_folder_gets_a_new_venv(bare):
    assert open_door(bare).returncode == 0
    moved = bare.rename(bare.parent / "moved away")
    run = open_door(moved)
    assert "made anew, because its folder was moved" in run.stdout
    assert "first loop … there already" in run.stdout
    assert "virtual environment … ready" in open_door(moved).stdout


def test_folder_that_is_not_venv_is_kept(bare):
    (bare / ".venv").mkdir()
    (bare / ".venv" / "thesis.txt").write_text("ten years of work")
    assert_stopped_with_one_line(
        open_door(bare), ".venv", "not a virtual environment", "move it away"
    )
    assert (bare / ".venv" / "thesis.txt").exists()


def test_broken_venv_link_is_replaced(bare):
    elsewhere = bare.parent / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "pyvenv.cfg").write_text("home = /nowhere\n")
    (bare / ".venv").symlink_to(elsewhere)
    assert open_door(bare).returncode == 0
    assert not (bare / ".venv").is_symlink() and (elsewhere / "pyvenv.cfg").exists()


def test_setup_compiles_linked_engine_in_its_folder(bare):
    engine = bare.parent / "engine"
    (bare / "kaizen_components").rename(engine)
    (bare / "kaizen_components").symlink_to(engine)
    assert "bytecode … compiled" in open_door(bare).stdout
    assert list(engine.glob("__pycache__/*.pyc"))


def test_demo_data_goes_to_the_configured_project(bare):
    project = bare.parent / "my project"
    project.mkdir()
    assert "in KAIZEN_REPO_ROOT" in open_door(bare, KAIZEN_REPO_ROOT=str(project)).stdout
    assert (project / "AI/work/demo/tasks").exists() and not (bare / "AI").exists()


@pytest.mark.parametrize("code", ["K1", "W9", "K8"])
def test_setup_passes_on_engine_error_and_exit_code(bare, code):
    run = open_door(bare, REFUSE=code)
    assert run.returncode == 7
    assert "the ledger does not match" in run.stderr and "Traceback" not in run.stderr
    assert code in run.stderr.splitlines()[-1] and "exit code 7" in run.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["kaizen.py", "kaizen_components", "requirements-kaizen.txt"])
def test_setup_error_names_missing_part_of_repository(bare, name):
    (bare / name).rename(bare / "gone")
    assert_stopped_with_one_line(open_door(bare), name, "missing")


def test_setup_error_names_package_that_pip_cannot_find(unmet):
    assert_stopped_with_one_line(
        unmet[1], "pip could not install libsql==9.9.9", "network", "PIP_FIND_LINKS"
    )
    assert "    ERROR: No matching distribution found for libsql==9.9.9\n" in unmet[1].stderr


def without_ensurepip(root):
    """What Debian does to a Python whose python3-venv package is not installed."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / ".venv"], check=True)
    packages = next((root / ".venv").glob("lib/python3*/site-packages"))
    (packages / "no_ensurepip.pth").write_text("import sys; sys.modules['ensurepip'] = None\n")


@pytest.mark.skipif(
    not find_spec("pip"), reason="the Python that runs the tests has no pip of its own"
)
def test_setup_without_ensurepip_uses_the_outer_pip(tmp_path, wheels):
    root = make_project(tmp_path / "on debian", ["click==9.9.9"])
    without_ensurepip(root)
    run = open_door(root, PIP_FIND_LINKS=wheels)
    assert run.returncode == 0, run.stderr
    assert list(root.glob(".venv/lib/python3*/site-packages/click"))


def test_error_for_missing_ensurepip_names_debian_package(tmp_path, wheels):
    root = make_project(tmp_path / "on bare debian", ["click==9.9.9"])
    without_ensurepip(root)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "no pip"], check=True)
    run = open_door(root, PIP_FIND_LINKS=wheels, PYTHON=str(tmp_path / "no pip/bin/python"))
    assert_stopped_with_one_line(run, "ensurepip", "apt install python3-venv")


def test_setup_error_names_missing_write_permission():
    """Root may write anywhere, so root becomes nobody, who must be able to run a Python."""
    with tempfile.TemporaryDirectory() as folder:
        root = make_project(Path(folder) / "not mine")
        os.chmod(folder, 0o755)
        root.chmod(0o555)
        if os.geteuid() == 0:
            run = subprocess.run(
                ["bash", root / "setup/setup.sh"],
                env={"PATH": "/usr/bin:/bin"},
                user=65534,
                group=65534,
                extra_groups=[],
                cwd="/",
                text=True,
                capture_output=True,
                check=False,
            )
            if run.returncode == 2:
                pytest.skip("no system Python 3.11 that another user can run")
        else:
            run = open_door(root)
        assert_stopped_with_one_line(run, "No virtual environment", "may you write here")
        assert "Permission denied" in run.stderr
        root.chmod(0o755)


def test_setup_error_names_full_disk(tmp_path):
    """A file system of one megabyte, in a mount namespace of its own."""
    disk = tmp_path / "a small disk"
    disk.mkdir()
    root = make_project(tmp_path / "a project", ["click==9.9.9"])
    mount = 'unshare --mount --map-root-user bash -c \'mount -t tmpfs -o size=1m tmpfs "$0" && '
    trial = subprocess.run(
        ["bash", "-c", mount + 'true\' "$0"', disk], capture_output=True, check=False
    )
    if trial.returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    script = mount + 'cp -r "$1/." "$0" && bash "$0/setup/setup.sh"\' "$0" "$1"'
    run = subprocess.run(
        ["bash", "-c", script, disk, root],
        env={**os.environ, "PYTHON": sys.executable},
        text=True,
        capture_output=True,
        check=False,
    )
    assert_stopped_with_one_line(run, "is the disk full?")


@pytest.mark.skipif(not OLD_PYTHONS, reason="no Python older than 3.11 under ~/.pyenv/versions")
@pytest.mark.parametrize("python", OLD_PYTHONS, ids=lambda path: path.parts[-3])
def test_old_python_is_refused(bare, python):
    version = subprocess.run(
        [python, "-c", "import platform; print(platform.python_version())"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()
    direct = subprocess.run(
        [python, bare / "setup/bootstrap.py", "setup"], text=True, capture_output=True, check=False
    )
    door = open_door(bare, PYTHON=str(python))
    assert_stopped_with_one_line(
        door, f"needs Python 3.11 or newer; this is {version}. ", "PYTHON=", code=2
    )
    assert (direct.returncode, direct.stderr) == (door.returncode, door.stderr)


def test_setup_script_skips_broken_python(bare):
    folder = bare.parent / "shims"
    folder.mkdir()
    (folder / "python3.13").write_text("#!/bin/sh\necho 'pyenv: command not found' >&2\nexit 127\n")
    (folder / "python3.12").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    for shim in folder.iterdir():
        shim.chmod(0o755)
    run = open_door(bare, PYTHON="", PATH=f"{folder}:{os.environ['PATH']}")
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize(
    ("python", "words"), [("", "none was found"), ("/no/python", "does not run")]
)
def test_setup_without_python_prints_one_error_line(bare, python, words):
    tools = bare.parent / "tools"
    tools.mkdir()
    for tool in ("bash", "dirname"):
        (tools / tool).symlink_to(shutil.which(tool))
    run = open_door(bare, PYTHON=python, PATH=str(tools))
    assert_stopped_with_one_line(run, "Kaizen needs Python 3.11 or newer", words, code=2)


@pytest.mark.parametrize(
    "name",
    [
        "setup/bootstrap.py",
        "setup/setup.sh",
        "setup/test.sh",
        "setup/setup.ps1",
        "setup/setup.cmd",
        ".ci/run",
    ],
)
def test_setup_files_name_no_registry_or_machine(name):
    text = (REPO / name).read_text(encoding="utf-8")
    assert not [word for word in ("http:", "https:", "/home/", "/root/", "/opt/") if word in text]


def test_setup_script_sets_up_a_real_copy(tmp_path):
    """The one test that may use the network: pip, as it is configured here, installs the real pins."""
    root = tmp_path / "a real copy"
    for name in (".agents", "kaizen_components", "setup", "support_scripts"):
        shutil.copytree(REPO / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("kaizen.py", "requirements-kaizen.txt"):
        shutil.copy(REPO / name, root / name)
    bubblewrap = root / "kaizen_components/sandbox/bubblewrap.py"
    hidden = bubblewrap.read_text().replace('PLACES = "', 'PLACES = "/nowhere" or "')
    bubblewrap.write_text(hidden)
    env = {key: value for key, value in os.environ.items() if not key.startswith("KAIZEN_")}
    first, second = [
        subprocess.run(
            ["bash", root / "setup/setup.sh"],
            cwd=tmp_path,
            env=env | {"PYTHON": sys.executable},
            text=True,
            capture_output=True,
            check=False,
        )
        for _ in range(2)
    ]
    assert (first.returncode, first.stderr) == (0, ""), first.stdout + first.stderr
    assert (second.returncode, second.stderr) == (0, ""), second.stdout + second.stderr
    assert "Try Kaizen" in first.stdout.split("kaizen.py W9")[1]
    assert "weaker sandbox here. For level L3 install bubblewrap: apt install" in first.stdout
    assert "first loop … there already" in second.stdout
    assert "$ .venv/bin/python AI/work/demo/kaizen.py W9\n" in first.stdout
    assert "demo … already there: AI/work/demo" in second.stdout
    look = [
        "bash",
        "-c",
        ".venv/bin/python AI/work/demo/kaizen.py W9 --json; .venv/bin/python kaizen.py W9 --json",
    ]
    demo, own = subprocess.run(
        look, cwd=root, env=env, text=True, capture_output=True, check=True
    ).stdout.splitlines()
    assert demo.count('"id"') == 25 and own.count('"id"') == 0
    assert (root / "AI/db/kaizen.db").exists()
    assert (root / ".claude/skills").resolve() == root / ".agents/skills"
    assert list(root.glob("kaizen_components/__pycache__/*.pyc"))
