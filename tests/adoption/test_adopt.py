"""Check D1: plan, apply, use, check and remove an adoption; what users changed stays."""

import json
import os
import re
import shutil
import subprocess
import sys
from hashlib import sha256

import pytest

from kaizen_components import fields
from kaizen_components.errors import Conflict, KaizenError, NotFound, Refused, Unavailable, Usage
from kaizen_components.index import COMMANDS
from kaizen_components.projects.adopt import engine
from kaizen_components.projects.adopt.adoption import plan_steps
from kaizen_components.projects.adopt.engine import hash_engine
from kaizen_components.projects.adopt.folder import Folder
from kaizen_components.projects.adopt.state import PLACES, SKILL, VERSION, State
from kaizen_components.projects.hooks import host_file as hook_files

from ..conftest import ROOT, git
from .conftest import read_all
from .skills import skill

SHAPE = [
    ".gitignore", "requirements-kaizen.txt", "Kaizen_System.md", "setup/SETUP.md",
    "evals/README.md", "evals/GOTCHA.md", "evals/LEARNING.md", "evals/LEARNED.md",
    "AGENTS.md", "CLAUDE.md", "kaizen_components", "kaizen.py",
]  # fmt: skip
FILES = ROOT / "kaizen_components" / "projects" / "adopt" / "files"
STUBS = [
    path
    for path in SHAPE
    if path in {f"evals/{kind}.md" for kind in ("GOTCHA", "LEARNING", "LEARNED")}
]
ALL = {"hooks": "claude,codex", "vscode": True}
SETTINGS = ".claude/settings.json"
LINKS = (".agents/skills/tidy", ".claude/skills/tidy")


@pytest.fixture
def adopt(kaizen, repo):
    """Return a function that calls D1 on the repository with options."""
    return lambda **options: kaizen("D1", path=str(repo), **options)


@pytest.fixture
def store(tmp_path):
    skill(tmp_path / "store", "tidy")
    return tmp_path / "store"


@pytest.fixture
def small_engine(tmp_path, monkeypatch):
    """Let adoption use a tiny engine, because copying the real one takes a second."""
    package = tmp_path / "small" / "kaizen_components"
    package.mkdir(parents=True)
    (package / "args.py").write_text("")
    monkeypatch.setattr(engine, "PACKAGE", str(package))
    return package


def commit(repo, **files):
    """Write these files, then commit everything."""
    for name, content in files.items():
        path = repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "theirs")


def rows(answer):
    return {row["path"]: row["action"] for row in answer["steps"]}


def run(repo, *words, python=sys.executable, stdin="", **env):
    """Run the launcher of the adopted repository."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KAIZEN_")}
    command = [python, "kaizen.py", *words]
    return subprocess.run(
        command,
        cwd=repo,
        env={**clean, **env},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )


def status(repo, *words):
    listed = subprocess.run(
        ["git", "status", "--porcelain", *words],
        cwd=repo,
        capture_output=True,
        text=True,
        check=True,
    )
    return listed.stdout.splitlines()


def test_adoption_is_planned_applied_and_removed(cli, repo):
    before = read_all(repo)
    planned = cli("adopt", str(repo))
    assert (
        planned.exit_code == 0 and "nothing was changed" in planned.out and read_all(repo) == before
    )
    assert cli("adopt", str(repo), "--check").exit_code == 1

    assert cli("adopt", str(repo), "--apply").exit_code == 0
    assert cli("adopt", str(repo), "--check").exit_code == 0
    assert run(repo, "W1", "--title", "t", "--summary", "s").returncode == 0
    assert (repo / "AI" / "db" / "kaizen.db").exists() and not any(
        "AI" in line for line in status(repo)
    )

    assert cli("adopt", str(repo), "--remove").exit_code == 0 and (repo / "kaizen.py").exists()
    removed = cli("adopt", str(repo), "--remove", "--apply")
    assert removed.exit_code == 0 and "AI/ stay" in removed.out
    assert read_all(repo) == before and (repo / "AI" / "db" / "kaizen.db").exists()


def test_applying_adoption_twice_changes_nothing(adopt, repo):
    assert [step["path"] for step in adopt()["steps"]] == SHAPE
    assert [step["path"] for step in adopt(apply=True)["steps"]] == SHAPE
    after = read_all(repo)
    again = adopt(apply=True)

    assert again["applied"] is False and again["steps"] == [] and "nothing to do" in again["text"]
    assert read_all(repo) == after


def test_git_ignores_only_engine_link_and_records(adopt, repo):
    adopt(apply=True, **ALL)
    run(repo, "K1")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "adopted")
    listed = subprocess.run(
        ["git", "ls-files"], cwd=repo, capture_output=True, text=True, check=True
    ).stdout.split()

    assert (
        "kaizen.py" in listed
        and ".kaizen/adopted.json" in listed
        and ".claude/settings.json" in listed
    )
    assert not [name for name in listed if name.startswith(("kaizen_components", "AI"))]
    committed = subprocess.run(
        ["git", "grep", "-l", str(ROOT)], cwd=repo, capture_output=True, text=True
    )
    assert committed.stdout == ""  # no path of this machine


@pytest.fixture
def clone(adopt, repo, tmp_path):
    """Return a fresh clone of an adopted repository."""
    adopt(apply=True)
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "adopted")
    git(tmp_path, "clone", "-q", str(repo), "around/a clone")
    return tmp_path / "around" / "a clone"


@pytest.mark.parametrize("way", ["option", "environment", "sibling"])
def test_fresh_clone_relinks_its_engine(clone, way):
    env = {"KAIZEN_ENGINE": str(ROOT)} if way == "environment" else {}
    if way == "sibling":
        (clone.parent / "agent-kaizen").symlink_to(ROOT)
    refused = run(clone, "K1", **env)
    assert (refused.returncode, "kaizen.py relink" in refused.stderr) == (5, True)

    linked = run(clone, "relink", *(["--engine", str(ROOT)] if way == "option" else []), **env)

    assert linked.returncode == 0, linked.stderr
    assert run(clone, "K1").returncode == 0 and status(clone) == []


@pytest.mark.parametrize("words", [[], ["--engine", "nowhere"], ["--engine"], ["--motor", "x"]])
def test_relink_without_engine_fails_with_advice(clone, words):
    refused = run(clone, "relink", *words)

    assert refused.returncode == (3 if words in ([], ["--engine", "nowhere"]) else 2)
    assert "relink --engine" in refused.stderr and not (clone / "kaizen_components").exists()


def test_fresh_clone_lacks_only_the_engine_link(kaizen, clone):
    assert [step["path"] for step in kaizen("D1", path=str(clone), check=True)["steps"]] == [
        "kaizen_components"
    ]
    assert [step["path"] for step in kaizen("D1", path=str(clone), apply=True)["steps"]] == [
        "kaizen_components"
    ]
    assert run(clone, "K1").returncode == 0 and status(clone) == []


# Files of the user


AGENTS = {
    "no newline at the end": b"Do this.",
    "ordinary": b"# Agents\n\nDo this.\n",
    "windows": b"# Agents\r\n\r\nDo this.\r\n",
    "broken UTF-8": b"\xef\xbb\xbfcaf\xe9 \xff\xfe\n",
}


@pytest.mark.parametrize("content", AGENTS.values(), ids=AGENTS)
def test_block_in_agents_file_is_added_and_removed(adopt, repo, content):
    commit(repo, **{"AGENTS.md": content, "CLAUDE.md": content, ".gitignore": content})
    (repo / "AGENTS.md").chmod(0o600)
    adopt(apply=True)
    written = (repo / "AGENTS.md").read_bytes()

    assert (
        written.startswith(content)
        and b"kaizen:begin" in written
        and read_all(repo)["AGENTS.md"][0] == 0o600
    )
    assert b"\r\n" not in content or b"\n" not in written.replace(b"\r\n", b"")
    assert adopt(apply=True)["applied"] is False
    adopt(remove=True, apply=True)
    for name in ("AGENTS.md", "CLAUDE.md", ".gitignore"):
        assert (repo / name).read_bytes().removesuffix(b"\n") == content.removesuffix(b"\n")


def test_removal_keeps_user_text_around_block(adopt, repo):
    adopt(apply=True)
    ours = (repo / "AGENTS.md").read_bytes()
    (repo / "AGENTS.md").write_bytes(b"First of all.\n" + ours + b"Last of all.\n")
    assert adopt(check=True).get("exit_code") is None
    adopt(remove=True, apply=True)

    assert (repo / "AGENTS.md").read_bytes() == b"First of all.\nLast of all.\n"


def test_edited_or_older_block_is_reported_outdated(adopt, repo):
    adopt(apply=True)
    text = (repo / "AGENTS.md").read_text()
    marker = text.splitlines()[0].replace(text.split()[2], "0123456789ab")
    commit(repo, **{"AGENTS.md": f"Above.\n{marker}\nOld lines.\n<!-- kaizen:end -->\nBelow.\n"})

    assert rows(adopt(check=True)) == {"AGENTS.md": "outdated"}
    adopt(apply=True)
    assert (repo / "AGENTS.md").read_text() == f"Above.\n{text}Below.\n"


@pytest.mark.parametrize(
    "text", ["<!-- kaizen:begin 0123456789ab -->\nno end\n", "<!-- kaizen:end -->\n"]
)
def test_agents_file_with_unpaired_markers_is_refused(adopt, repo, text):
    (repo / "CLAUDE.md").write_text(text)
    before = read_all(repo)
    with pytest.raises(Conflict) as caught:
        adopt(apply=True)

    assert caught.value.code == "block_broken" and read_all(repo) == before


def test_changed_launcher_is_reported_and_kept(adopt, repo):
    adopt(apply=True)
    (repo / "kaizen.py").write_text("# mine now\n")
    assert [row["action"] for row in adopt(check=True)["steps"]] == ["changed"]
    adopt(apply=True)
    left = adopt(remove=True, apply=True)

    assert ("leave", "kaizen.py") in [(row["action"], row["path"]) for row in left["steps"]]
    assert (repo / "kaizen.py").read_text() == "# mine now\n"


@pytest.mark.parametrize("name", ["kaizen.py", "kaizen_components"])
def test_adopting_over_file_of_another_program_is_refused(adopt, repo, name):
    (repo / name).mkdir() if name == "kaizen_components" else (repo / name).write_text(
        "print('another program')\n"
    )
    before = read_all(repo)
    with pytest.raises(Conflict) as caught:
        adopt(apply=True)

    assert caught.value.code == "name_taken" and caught.value.next and read_all(repo) == before


# Undo with git


CHANGES = {
    "changed": lambda repo: (repo / "AGENTS.md").write_text("Changed.\n"),
    "untracked": lambda repo: git(repo, "rm", "-q", "--cached", "AGENTS.md"),
    "no repository": lambda repo: shutil.rmtree(repo / ".git"),
    "no git": lambda repo: os.environ.update(PATH=str(repo)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_adopting_over_uncommitted_change_is_refused(adopt, repo, monkeypatch, change):
    monkeypatch.setenv("PATH", os.environ["PATH"])
    commit(repo, **{"AGENTS.md": "Theirs.\n"})
    change(repo)
    before = read_all(repo)
    assert "First commit or stash AGENTS.md, so that git can restore them." in adopt()["text"]
    with pytest.raises(Refused) as caught:
        adopt(apply=True)

    assert (
        caught.value.code == "not_committed"
        and "AGENTS.md" in caught.value.what
        and read_all(repo) == before
    )


def test_uncommitted_changes_in_other_files_allow_adoption(adopt, repo):
    commit(repo, **{"AGENTS.md": "Theirs.\n"})
    (repo / "README.md").write_text("At work on this.\n")
    (repo / "new.txt").write_text("New.\n")

    assert adopt(apply=True)["applied"]


def test_adopting_again_before_a_commit_is_allowed(adopt, repo, store):
    commit(repo, **{".gitignore": "build/\n"})
    adopt(apply=True)
    assert adopt(apply=True, skills=str(store))["applied"]
    with open(repo / ".gitignore", "a") as file:
        file.write("more\n")
    skill(store, "other")
    with pytest.raises(Refused):
        adopt(apply=True, skills=str(store))


def test_file_checked_out_with_crlf_is_accepted(adopt, repo):
    commit(repo, **{"AGENTS.md": "Theirs.\n"})
    (repo / "AGENTS.md").write_bytes(b"Theirs.\r\n")

    assert adopt(apply=True)["applied"]


def test_folder_without_git_can_adopt(kaizen, tmp_path):
    (tmp_path / "plain").mkdir()
    kaizen("D1", path=str(tmp_path / "plain"), apply=True)

    assert run(tmp_path / "plain", "K1").returncode == 0
    assert kaizen("D1", path=str(tmp_path / "plain"), check=True)["steps"] == []
    shutil.rmtree(tmp_path / "plain" / "AI")
    kaizen("D1", path=str(tmp_path / "plain"), remove=True, apply=True)
    assert read_all(tmp_path / "plain") == {}


def test_repository_linked_by_hand_is_adopted(adopt, repo, tmp_path):
    shutil.copy(ROOT / "kaizen.py", repo)
    os.symlink(tmp_path / "an engine that went away", repo / "kaizen_components")
    commit(repo, **{".gitignore": "kaizen_components\n"})
    planned = {row["path"]: row["says"] for row in adopt()["steps"]}
    assert (
        "an engine that went away" in planned["kaizen_components"]
        and "git's history" in planned["kaizen.py"]
    )
    adopt(apply=True)
    assert run(repo, "K1").returncode == 0 and adopt(apply=True)["applied"] is False
    removed = rows(adopt(remove=True, apply=True))

    assert (removed["kaizen.py"], removed["kaizen_components"]) == ("leave", "remove")


def test_changed_starter_files_survive_repair_and_removal(adopt, repo):
    commit(repo, **{STUBS[0]: "- Mine.\n"})
    adopt(apply=True)
    (repo / "evals" / "README.md").write_text("Rewritten.\n")
    (repo / STUBS[1]).unlink()

    assert adopt(check=True)["steps"] == [] and adopt(apply=True)["applied"] is False
    removed = rows(adopt(remove=True, apply=True))
    assert (
        removed["evals/README.md"] == "leave"
        and STUBS[0] not in removed
        and removed[STUBS[2]] == "remove"
    )
    assert (repo / STUBS[0]).read_text() == "- Mine.\n" and (repo / "evals" / "README.md").exists()


def test_lesson_added_to_starter_file_becomes_record(adopt, repo):
    adopt(apply=True)
    scanned = json.loads(run(repo, "M1", "--json").stdout)["records"]
    assert {(row["file"], row["state"]) for row in scanned} == {(path, "stub") for path in STUBS}

    with open(repo / STUBS[0], "a") as file:
        file.write("\n- A reader pins the checkpoint.\n")
    assert adopt(check=True)["steps"] == [] and adopt(apply=True)["applied"] is False
    assert run(repo, "M3").returncode == 0
    assert (
        "A reader pins" in run(repo, "G2").stdout
        and "A reader pins" not in (repo / STUBS[0]).read_text()
    )
    adopt(remove=True, apply=True)
    assert (repo / STUBS[0]).exists() and not (repo / STUBS[1]).exists()


# Links to places outside


@pytest.mark.parametrize(
    "name", ["AGENTS.md", ".gitignore", "evals", ".kaizen", ".claude", "requirements-kaizen.txt"]
)
@pytest.mark.parametrize("leads", ["outside", "nowhere", "inside"])
def test_adopting_over_link_to_elsewhere_is_refused(adopt, repo, tmp_path, name, leads):
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "file").write_text("Somebody else's.\n")
    target = {
        "outside": outside / ("file" if "." in name[1:] else "deep"),
        "nowhere": tmp_path / "none",
    }
    (repo / "docs").mkdir()
    os.symlink(target.get(leads, repo / "docs"), repo / name)
    before, theirs = read_all(repo), read_all(outside)
    with pytest.raises(Refused) as caught:
        adopt(apply=True, hooks="claude")

    assert caught.value.code == "leads_elsewhere" and name in caught.value.what
    assert read_all(repo) == before and read_all(outside) == theirs


def test_link_named_as_temporary_file_is_not_followed(adopt, repo, tmp_path):
    (tmp_path / "outside").write_text("Somebody else's.\n")
    os.symlink(tmp_path / "outside", repo / "AGENTS.md.part")
    adopt(apply=True)

    assert (tmp_path / "outside").read_text() == "Somebody else's.\n" and "kaizen:begin" in (
        repo / "AGENTS.md"
    ).read_text()


@pytest.mark.parametrize("link, file", [("CLAUDE.md", "AGENTS.md"), ("AGENTS.md", "CLAUDE.md")])
def test_agents_file_linked_to_other_gets_one_block(adopt, repo, link, file):
    os.symlink(file, repo / link)
    commit(repo, **{file: "Both.\n"})
    before = read_all(repo)
    adopt(apply=True)
    assert (repo / file).read_text().count("kaizen:begin") == 1 and (repo / link).is_symlink()
    assert adopt(apply=True)["applied"] is False
    adopt(remove=True, apply=True)

    assert read_all(repo) == before


def test_repository_is_found_through_link(kaizen, repo, tmp_path):
    os.symlink(repo, tmp_path / "short")
    kaizen("D1", path=str(tmp_path / "short"), apply=True)

    assert (repo / "kaizen.py").exists() and run(repo, "K1").returncode == 0


@pytest.mark.parametrize(
    "path, kind, code",
    [
        ("nowhere", NotFound, "no_folder"),
        (str(ROOT), Refused, "engine_itself"),
        ("a\0b", Usage, "bad_value"),
        (" ", Usage, "bad_value"),
        ("x" * 5000, Usage, "bad_value"),
    ],
)
def test_adopting_an_unsuitable_path_is_refused(kaizen, tmp_path, monkeypatch, path, kind, code):
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind) as caught:
        kaizen("D1", path=path, apply=True)

    assert caught.value.code == code and not any((tmp_path / "plain").iterdir())


@pytest.mark.parametrize(
    "options", [{"link": True, "copy": True}, {"check": True, "apply": True}, {"check": True, "remove": True},
              {"hooks": "emacs"}, {"hooks": ","}]
)  # fmt: skip
def test_conflicting_adopt_options_are_refused(adopt, repo, options):
    before = read_all(repo)
    with pytest.raises(Usage):
        adopt(**options)

    assert read_all(repo) == before


@pytest.mark.skipif(
    os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may write everywhere"
)
def test_adopting_an_unwritable_folder_raises_unavailable(repo, tmp_path):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from kaizen_components.call import Door\n"
        "from kaizen_components.errors import KaizenError\n"
        "try: Door(sys.argv[2])('D1', path=sys.argv[2], apply=True)\n"
        "except KaizenError as error: print(error.code, error.exit_code)\n"
    )
    before = read_all(repo)
    os.chmod(repo, 0o555)
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    try:
        command = [*drop, sys.executable, "-c", script, str(ROOT), str(repo)]
        done = subprocess.run(command, capture_output=True, text=True)
    finally:
        os.chmod(repo, 0o755)
    assert done.stdout.split() == ["cannot_write", "5"], done.stderr
    assert read_all(repo) == before


@pytest.mark.parametrize("name", ["AGENTS.md", "kaizen.py", ".gitignore"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_adopting_over_a_special_file_is_refused(adopt, repo, name, make):
    make(repo / name)
    with pytest.raises(Conflict) as caught:
        adopt(apply=True)

    assert caught.value.code == "not_a_file" and not (repo / ".kaizen").exists()


def test_adopting_path_that_is_not_utf8_is_refused(cli, repo):
    strange = os.path.join(os.fsencode(repo.parent), b"caf\xe9")
    os.rename(repo, strange)
    done = cli("adopt", strange, "--apply", "--json")

    assert done.exit_code == 1 and done.error["code"] == "path_not_utf8"
    assert not os.path.exists(os.path.join(strange, b"kaizen.py"))


def test_adopted_files_with_crlf_count_as_unchanged(adopt, repo):
    before = read_all(repo)
    adopt(apply=True, copy=True, vscode=True)
    for path in [
        *repo.glob("*.*"),
        *repo.glob("kaizen_components/**/*.py"),
        *repo.glob(".vscode/*"),
    ]:
        if path.is_file() and path.name != "README.md":
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert adopt(check=True)["steps"] == [] and adopt(apply=True)["applied"] is False
    adopt(remove=True, apply=True)

    assert read_all(repo) == before


# Link and copy


def test_engine_link_works_after_both_folders_move(tmp_path):
    home, other = tmp_path / "here" / "kaizen", tmp_path / "here" / "other"
    home.mkdir(parents=True)
    for name in ("kaizen.py", "requirements-kaizen.txt", "Kaizen_System.md"):
        shutil.copy(ROOT / name, home)
    shutil.copytree(
        ROOT / "kaizen_components",
        home / "kaizen_components",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    other.mkdir()
    git(other, "init", "-q")
    adopted = subprocess.run(
        [sys.executable, str(home / "kaizen.py"), "adopt", "../other", "--apply"],
        cwd=home,
        capture_output=True,
        text=True,
    )
    assert (
        adopted.returncode == 0
        and os.readlink(other / "kaizen_components") == "../kaizen/kaizen_components"
    )
    os.rename(tmp_path / "here", tmp_path / "there")
    assert run(tmp_path / "there" / "other", "K1").returncode == 0

    os.rename(tmp_path / "there" / "kaizen", tmp_path / "there" / "moved")
    for words in (["K1"], ["K1", "--json"]):
        gone = run(tmp_path / "there" / "other", *words)
        assert (
            gone.returncode == 5
            and "Traceback" not in gone.stderr
            and "kaizen.py relink" in gone.stderr
        )
    assert json.loads(gone.stderr)["code"] == "engine_missing"
    for words in (["hook", "stop"], ["D3", "stop"], ["hook", "session-start", "--json"]):
        quiet = run(tmp_path / "there" / "other", *words)
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (
            0,
            "",
            "",
        )  # a hook never fails its host


def test_engine_copy_works_and_can_be_committed(adopt, repo):
    before = read_all(repo)
    adopt(apply=True, copy=True)
    git(repo, "add", "-A")
    assert any("kaizen_components/args.py" in line for line in status(repo))
    assert run(repo, "K1").returncode == 0
    assert adopt(apply=True)["applied"] is False  # it stays a copy
    own = run(repo, "adopt", ".", "--check")
    assert own.returncode == 0, own.stdout + own.stderr
    git(repo, "reset", "-q")
    adopt(remove=True, apply=True)

    assert read_all(repo) == before


def test_changed_engine_copy_is_kept_and_older_updated(adopt, repo, kaizen):
    adopt(apply=True, copy=True)
    mine = repo / "kaizen_components" / "mine.py"
    mine.write_text("")
    assert [row["action"] for row in adopt(check=True)["steps"]] == ["changed"]
    adopt(remove=True, apply=True)
    assert mine.exists() and not (repo / "kaizen.py").exists()

    shutil.rmtree(repo / "kaizen_components")
    adopt(apply=True, copy=True)
    use_older_engine(repo)
    assert [row["action"] for row in adopt()["steps"]] == ["update", "copy anew", "update"]
    adopt(apply=True)
    assert adopt(check=True)["steps"] == [] and run(repo, "K1").returncode == 0


def use_older_engine(repo):
    """Change the files and the state file as if an older version had been adopted."""
    state = repo / ".kaizen" / "adopted.json"
    known = json.loads(state.read_text())
    for name in ("requirements-kaizen.txt", "kaizen.py"):
        (repo / name).write_text("# older\n")
        known["parts"][name]["sha256"] = sha256(b"# older\n").hexdigest()
    (repo / "kaizen_components" / "index.py").write_text("# older\n")
    known["parts"]["kaizen_components"]["sha256"] = hash_engine(str(repo / "kaizen_components"))
    state.write_text(json.dumps(known))


def test_engine_link_and_copy_can_replace_each_other(adopt, repo):
    before = read_all(repo)
    adopt(apply=True)
    adopt(apply=True, copy=True)
    assert not (repo / "kaizen_components").is_symlink() and adopt(check=True)["steps"] == []
    adopt(apply=True, link=True)
    assert (repo / "kaizen_components").is_symlink() and adopt(check=True)["steps"] == []
    adopt(remove=True, apply=True)

    assert read_all(repo) == before


def test_link_tracked_by_git_is_reported_with_command(adopt, repo):
    os.symlink(ROOT / "kaizen_components", repo / "kaizen_components")
    git(repo, "add", "-f", "kaizen_components")

    assert "git rm --cached kaizen_components" in adopt(apply=True)["text"]
    assert [row["action"] for row in adopt(check=True)["steps"]] == ["tracked"]


# Hooks, VS Code, skills


def test_hooks_and_vscode_are_added_and_removed(adopt, repo):
    commit(repo, **{SETTINGS: '{"model":"x",  "hooks": {"Stop": []}}'})
    before = read_all(repo)
    adopt(apply=True, **ALL)
    settings = json.loads((repo / SETTINGS).read_text())
    assert settings["model"] == "x" and list(settings["hooks"]) == [
        "Stop",
        *list(hook_files.EVENTS)[:3],
    ]
    assert json.loads((repo / ".vscode" / "tasks.json").read_text())["version"] == "2.0.0"
    assert json.loads((repo / ".vscode" / "kaizen.code-snippets").read_text())
    assert adopt(apply=True)["applied"] is False and adopt(check=True)["steps"] == []
    adopt(remove=True, apply=True)

    assert json.loads((repo / SETTINGS).read_text()) == {"model": "x"}
    assert {**read_all(repo), SETTINGS: before[SETTINGS]} == before


def test_changed_settings_survive_repair_and_removal(adopt, repo):
    adopt(apply=True, hooks="claude")
    known = json.loads((repo / SETTINGS).read_text())
    del known["hooks"]["Stop"]
    commit(repo, **{SETTINGS: json.dumps({**known, "model": "y"})})
    assert rows(adopt(apply=True)) == {SETTINGS: "update"}
    adopt(remove=True, apply=True)

    assert json.loads((repo / SETTINGS).read_text()) == {"model": "y"}


def test_removal_keeps_settings_with_invalid_json(adopt, repo):
    adopt(apply=True, hooks="claude")
    path = repo / ".claude" / "settings.json"
    path.write_text("{ // mine now\n")
    removed = adopt(remove=True, apply=True)

    assert ("leave", ".claude/settings.json") in [
        (row["action"], row["path"]) for row in removed["steps"]
    ]
    assert path.read_text() == "{ // mine now\n" and not (repo / "kaizen.py").exists()


@pytest.mark.parametrize(
    "text", ["{ // a comment\n}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "\udcff"]
)
def test_settings_with_invalid_json_are_refused(adopt, repo, text):
    (repo / ".claude").mkdir()
    (repo / ".claude" / "settings.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    before = read_all(repo)
    with pytest.raises(Conflict):
        adopt(apply=True, hooks="claude")

    assert read_all(repo) == before


def test_existing_vscode_tasks_are_kept(adopt, repo):
    (repo / ".vscode").mkdir()
    (repo / ".vscode" / "tasks.json").write_text("{ // mine\n}")
    answer = adopt(apply=True, vscode=True)

    assert "R0" in next(
        row["says"] for row in answer["steps"] if row["path"] == ".vscode/tasks.json"
    )
    assert (repo / ".vscode" / "tasks.json").read_text() == "{ // mine\n}"
    assert adopt(check=True).get("exit_code") is None


def test_missing_skill_store_is_refused(adopt, tmp_path):
    with pytest.raises(NotFound):
        adopt(skills=str(tmp_path / "none"))


def test_skills_are_linked_ignored_and_removed(adopt, repo, tmp_path):
    for name, page in (
        ("tidy", "---\nname: tidy\ndescription: Tidies.\n---\nTidy up.\n"),
        ("broken", "no front matter\n"),
    ):
        (tmp_path / "store" / name).mkdir(parents=True)
        (tmp_path / "store" / name / "SKILL.md").write_text(page)
    before, store = read_all(repo), str(tmp_path / "store")
    plan = {(row["action"], row["path"]) for row in adopt(skills=store)["steps"]}
    assert {("link", ".agents/skills/tidy"), ("leave", ".agents/skills/broken")} <= plan
    assert read_all(repo) == before

    adopt(skills=store, apply=True)
    assert (repo / ".claude" / "skills" / "tidy" / "SKILL.md").read_text().startswith("---")
    listed = subprocess.run(
        ["git", "status", "--porcelain", "-uall"], cwd=repo, capture_output=True, text=True
    ).stdout
    assert "kaizen.py" in listed and "skills" not in listed  # links are for this machine alone
    assert adopt(apply=True)["applied"] is False  # without --skills the links and their lines stay
    adopt(remove=True, apply=True)
    assert read_all(repo) == before
    assert (tmp_path / "store" / "tidy" / "SKILL.md").exists()


def test_existing_skill_link_is_kept(adopt, repo, store):
    (repo / ".claude" / "skills").mkdir(parents=True)
    os.symlink(store / "tidy", repo / LINKS[1])
    before = read_all(repo)
    adopt(apply=True, skills=str(store))
    after = read_all(repo)
    assert adopt(check=True)["steps"] == []
    for options in ({}, {"skills": str(store)}):
        assert adopt(apply=True, **options)["applied"] is False and read_all(repo) == after
    adopt(remove=True, apply=True)

    assert read_all(repo) == before


def test_lost_skill_link_is_reported_and_restored(adopt, repo, store):
    adopt(apply=True, skills=str(store))
    (repo / LINKS[0]).unlink()
    checked = adopt(check=True)
    assert checked["exit_code"] == 1 and rows(checked) == {LINKS[0]: "missing"}
    assert checked["text"].endswith("\n--skills STORE --apply creates the links to skills again.")
    unable = adopt(apply=True)
    assert unable["applied"] is False and rows(unable) == {
        LINKS[0]: "leave"
    }  # the state file does not name the store
    adopt(apply=True, skills=str(store))

    assert adopt(check=True)["steps"] == [] and (repo / LINKS[0]).exists()


def test_adopt_check_names_repair_of_each_fault(adopt, repo, store):
    adopt(apply=True, skills=str(store))
    (repo / "requirements-kaizen.txt").unlink()
    only_apply = adopt(check=True)["text"].splitlines()[-1]
    (repo / LINKS[0]).unlink()
    (repo / "kaizen.py").write_text("# mine\n")
    every = adopt(check=True)["text"].splitlines()[-1]

    assert only_apply.startswith("--apply repairs it")
    assert (
        "--skills STORE --apply" in every
        and "delete it" in every
        and "--apply repairs the rest" in every
    )
    (repo / LINKS[0]).symlink_to(store / "tidy")
    adopt(apply=True)
    assert "--apply repairs" not in adopt(check=True)["text"]


def test_own_skill_instead_of_link_passes_check(adopt, repo, store):
    adopt(apply=True, skills=str(store))
    (repo / LINKS[0]).unlink()
    skill(repo / ".agents" / "skills", "tidy")
    assert adopt(check=True).get("exit_code") is None
    adopt(remove=True, apply=True)

    assert (repo / LINKS[0] / "SKILL.md").exists() and not (repo / LINKS[1]).is_symlink()


def test_linked_skill_folder_is_not_followed(adopt, repo, store, tmp_path):
    adopt(apply=True, skills=str(store))
    os.rename(repo / ".agents" / "skills", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", repo / ".agents" / "skills")
    removed = rows(adopt(remove=True, apply=True))

    assert removed[LINKS[0]] == "leave" and (tmp_path / "elsewhere" / "tidy").is_symlink()


@pytest.fixture
def without_yaml(root, tmp_path):
    """Return a function that runs the command line on a Python without PyYAML."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "yaml.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'yaml'\", name='yaml')\n"
    )

    def run(*words):
        env = {**os.environ, "PYTHONPATH": str(tmp_path / "bare"), "KAIZEN_REPO_ROOT": str(root)}
        argv = [sys.executable, str(ROOT / "kaizen.py"), *words, "--json"]
        return subprocess.run(argv, capture_output=True, text=True, cwd=root, env=env, timeout=60)

    return run


@pytest.mark.parametrize(
    "words", [["SK1"], ["SK2"], ["SK3"], ["adopt"]], ids=lambda words: words[0]
)
def test_skills_without_pyyaml_name_install_line(without_yaml, repo, store, words):
    named = [str(repo), "--skills", str(store)] if words == ["adopt"] else ["--store", str(store)]
    done = without_yaml(*words, *named)
    refusal = json.loads(done.stderr)

    assert done.returncode == 5 and refusal["code"] == "package_missing"
    assert "pip install -r requirements-kaizen.txt" in refusal["next"]


def test_adoption_without_skills_needs_no_pyyaml(without_yaml, repo):
    for words in (["--apply"], ["--check"], ["--remove", "--apply"]):
        done = without_yaml("adopt", str(repo), *words)
        assert done.returncode == 0, done.stderr


# The state file


def test_lost_adoption_state_file_is_rebuilt(adopt, repo):
    before = read_all(repo)
    adopt(apply=True, **ALL)
    (repo / ".kaizen" / "adopted.json").unlink()
    assert rows(adopt(check=True, **ALL)) == {".kaizen/adopted.json": "missing"}
    assert adopt(remove=True, apply=True)["steps"] == []
    adopt(apply=True, **ALL)
    adopt(remove=True, apply=True)

    assert read_all(repo) == before


def use_first_version(repo):
    """Write the state file of version 1, and the originals that it kept."""
    path = repo / ".kaizen" / "adopted.json"
    known = json.loads(path.read_text())
    for name, entry in known["parts"].items():
        if entry["kind"] == "lines":
            entry = {
                "kind": "lines",
                "comment": "md",
                "created": True,
                "glue": "",
                "before_sha256": "0" * 64,
            }
        if entry["kind"] in ("link", "skill", "copy"):
            entry = {
                "kind": entry["kind"],
                **({"digest": entry["sha256"]} if entry["sha256"] else {}),
            }
        known["parts"][name] = entry
    known["parts"]["kaizen.py"].update(created=False, before_sha256="0" * 64)
    path.write_text(json.dumps({**known, "version": 1, "folders": ["evals", ".kaizen"]}))
    (repo / ".kaizen" / "before").mkdir()
    (repo / ".kaizen" / "before" / "kaizen.py").write_text("# theirs\n")


@pytest.mark.parametrize("mode", ["link", "copy"])
def test_adoption_of_version_1_is_updated_and_removed(adopt, repo, store, small_engine, mode):
    adopt(apply=True, skills=str(store), **ALL, **{mode: True})
    use_first_version(repo)
    assert adopt(check=True)["steps"] == []
    (small_engine / "args.py").write_text("# newer")
    assert rows(adopt(apply=True)) == ({"kaizen_components": "copy anew"} if mode == "copy" else {})
    assert adopt(apply=True)["applied"] is False
    removed = rows(adopt(remove=True, apply=True))

    assert {path for path, action in removed.items() if action == "leave"} == {
        "kaizen.py",
        ".kaizen/before",
    }
    assert set(read_all(repo)) == {
        "README.md",
        "kaizen.py",
        ".kaizen",
        ".kaizen/before",
        ".kaizen/before/kaizen.py",
    }


def test_adoption_state_of_newer_version_is_refused(adopt, repo):
    adopt(apply=True)
    path = repo / ".kaizen" / "adopted.json"
    known = json.loads(path.read_text())
    path.write_text(
        json.dumps({**known, "version": VERSION + 1, "parts": {"new.md": {"kind": "new"}}})
    )
    before = read_all(repo)
    for options in ({"remove": True, "apply": True}, {"apply": True}, {"check": True}):
        with pytest.raises(Refused) as caught:
            adopt(**options)
        assert caught.value.code == "state_newer" and "Update" in caught.value.next
    assert read_all(repo) == before


def test_state_version_matches_its_format():
    """If this fails, increase VERSION, then put the new number and hash here."""
    content = json.dumps([sorted(PLACES.items()), SKILL.pattern])

    assert (VERSION, sha256(content.encode()).hexdigest()[:12]) == (3, "f921b930dda8")


FILE = {"kind": "file", "created": True, "sha256": ""}
SOUND = {"version": 2, "mode": "link", "hooks": [], "vscode": False, "parts": {}}
DAMAGED = {
    "an empty entry": {"parts": {"kaizen.py": {}}},
    "an unknown kind": {"parts": {"kaizen.py": {**FILE, "kind": "rubbish"}}},
    "a kind that is a list": {"parts": {"kaizen.py": {**FILE, "kind": []}}},
    "a hash that is a number": {"parts": {"kaizen.py": {**FILE, "sha256": 1}}},
    "a file that is the engine": {"parts": {"AGENTS.md": {"kind": "link"}}},
    "a skill in another place": {"parts": {"kaizen.py": {"kind": "skill"}}},
    "a part outside of the project": {"parts": {"../x": FILE}},
    "a skill outside of the project": {"parts": {".claude/skills/../../x": {"kind": "skill"}}},
    "parts that are a list": {"parts": []},
    "hooks for a number": {"hooks": [5]},
    "an unknown mode": {"mode": "rubbish"},
    "vscode as text": {"vscode": "yes"},
}  # fmt: skip
TEXTS = {
    **{name: json.dumps({**SOUND, **damage}) for name, damage in DAMAGED.items()},
    "nothing": "", "half of it": "{", "a list": "[]", "a version below the first": '{"version": 0}',
    "half a version": '{"version": 2.5}', "nested without end": "[" * 200_000,
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_damaged_adoption_state_file_is_refused(adopt, repo, text):
    adopt(apply=True)
    (repo / ".kaizen" / "adopted.json").write_text(text)
    before = read_all(repo)
    for words in ({"remove": True, "apply": True}, {"apply": True}, {"check": True}):
        with pytest.raises(Refused) as caught:
            adopt(**words)
        assert caught.value.code == "state_unreadable"
    assert read_all(repo) == before


def test_removal_without_adoption_does_nothing(adopt, repo):
    before = read_all(repo)

    assert adopt(remove=True, apply=True)["applied"] is False and read_all(repo) == before


def test_adoption_inside_batch_is_refused(kaizen, repo):
    with pytest.raises(KaizenError) as caught:
        (repo.parent / "lines").write_text(
            json.dumps({"command": "D1", "args": {"path": str(repo), "apply": True}})
        )
        kaizen("K5", file=str(repo.parent / "lines"))

    assert "batch" in str(caught.value.as_dict()) and not (repo / "kaizen.py").exists()


# The files that it adds


def test_agents_block_names_only_existing_commands():
    text = (FILES / "agents.md").read_text()
    options = {
        fields.format_option(name)
        for name in (*fields.SHARED, *(key.split(".")[-1] for key in fields.FIELDS))
    }

    assert set(re.findall(r"\b[A-Z]{1,2}\d+\b", text)) <= set(COMMANDS)
    assert set(re.findall(r"--[a-z-]+", text)) <= options


def test_agents_block_explains_gated_builds():
    text = (FILES / "agents.md").read_text()

    assert "P1 --driver agent" in text and "P5 --id" in text and "P4 --lease" in text


@pytest.mark.parametrize("name", ["tasks.json", "kaizen.code-snippets"])
def test_vscode_files_name_only_existing_commands(name):
    text = (FILES / name).read_text()

    assert json.loads(text)
    assert set(re.findall(r"\b[A-Z]\d+\b", text)) <= set(COMMANDS)


def test_plan_with_all_options_covers_every_known_path(repo):
    steps = plan_steps(Folder(str(repo)), None, State("link", ["claude", "codex"], True), {})

    assert {step.path for step in steps} == set(PLACES)


# The launcher


def test_python_without_packages_restarts_in_virtual_environment(adopt, repo, tmp_path, tool):
    adopt(apply=True)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    chosen = repo / ".venv" / "bin" / "python"
    chosen.parent.mkdir(parents=True)
    chosen.write_text(f'#!/bin/sh\necho chosen >&2\nexec "{sys.executable}" "$@"\n')
    chosen.chmod(0o755)
    done = run(
        repo, "W1", "--title", "two words", "--summary", "s", python=str(bare / "bin" / "python")
    )

    assert (
        done.returncode == 0 and "chosen" in done.stderr and "two words" in run(repo, "W9").stdout
    )


def test_launcher_error_names_missing_package(adopt, repo, tmp_path):
    adopt(apply=True, copy=True)  # the engine's own .venv is not beside a copy
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    done = run(repo, "W1", "--title", "t", "--summary", "s", python=str(bare / "bin" / "python"))

    assert done.returncode == 5 and "libsql" in done.stderr and "Traceback" not in done.stderr


OLD = (
    "import runpy, sys; sys.version_info = (3, 9, 0); sys.argv = sys.argv[1:]\n"
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


@pytest.mark.parametrize(
    "launcher", [ROOT / "kaizen.py", FILES / "kaizen.py"], ids=["of the engine", "adopted"]
)
def test_old_python_is_refused_except_for_hooks(repo, launcher):
    shutil.copy(launcher, repo / "kaizen.py")
    os.symlink(ROOT / "kaizen_components", repo / "kaizen_components")
    env = {**os.environ, "KAIZEN_PYTHON_CHOSEN": "1"}
    command, hook = (
        subprocess.run(
            [sys.executable, "-c", OLD, "kaizen.py", *words], cwd=repo, env=env, capture_output=True
        )
        for words in (["K1"], ["hook", "stop"])
    )

    assert command.returncode and b"3.11 or newer" in command.stderr
    assert (hook.returncode, hook.stdout, hook.stderr) == (0, b"", b"")


def test_hook_without_packages_is_silent(adopt, repo, tmp_path):
    adopt(apply=True, copy=True)
    run(repo, "K1")
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    for event in ("session-start", "stop", "post-tool-use"):
        quiet = run(repo, "hook", event, python=str(bare / "bin" / "python"), stdin="{}")
        assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")


def test_root_variable_overrides_launcher_folder(adopt, repo, tmp_path):
    adopt(apply=True)
    (tmp_path / "shared").mkdir()
    run(repo, "K1", KAIZEN_REPO_ROOT=str(tmp_path / "shared"))

    assert (tmp_path / "shared" / "AI" / "db" / "kaizen.db").exists()
    assert list((repo / "AI" / "db").iterdir()) == []


def test_adopted_repository_removes_itself(adopt, repo):
    before = read_all(repo)
    adopt(apply=True)
    done = run(repo, "adopt", ".", "--remove", "--apply")

    assert done.returncode == 0, done.stderr
    assert read_all(repo) == before


def test_adoption_continues_after_full_disk(adopt, repo, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    before = read_all(repo)
    with monkeypatch.context() as patched:
        patched.setattr(shutil, "copytree", full)
        with pytest.raises(Unavailable):
            adopt(apply=True, copy=True)
    adopt(apply=True)
    adopt(remove=True, apply=True)
    assert read_all(repo) == before
