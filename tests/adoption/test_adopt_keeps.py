"""D1 and what was there before it: an identical file, a link made by hand, settings that went on being written."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from kaizen_components.errors import Refused
from kaizen_components.projects.adopt import engine as adoption_engine
from kaizen_components.projects.adopt import shape
from kaizen_components.projects.hooks import files as hook_files

from ..conftest import ROOT, git
from .conftest import seen
from .skills import skill
from .test_adopt import kill

FILES = ROOT / "kaizen_components" / "projects" / "adopt" / "files"
SETTINGS = ".claude/settings.json"
LINKS = (".agents/skills/tidy", ".claude/skills/tidy")


@pytest.fixture
def adopt(kaizen, repo):
    """`adopt(apply=True)`: D1 on the repository, through the same door as the command line."""
    return lambda **given: kaizen("D1", path=str(repo), **given)


@pytest.fixture
def settings(repo):
    """Settings of theirs, in a form that nobody's JSON writer has."""
    path = repo / SETTINGS
    path.parent.mkdir()
    path.write_text('{"model":"x"}')
    return path


@pytest.fixture
def store(tmp_path):
    skill(tmp_path / "store", "tidy")
    return tmp_path / "store"


def change(path, **more):
    """As a person does it: more in the settings, and one of our events gone."""
    known = json.loads(path.read_text())
    del known["hooks"]["Stop"]
    path.write_text(json.dumps({**known, **more}))


def commit_and_clone(repo, to):
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "adopted")
    git(to.parent, "clone", "-q", str(repo), to.name)
    return to


def rows(answer):
    return {row["path"]: row["action"] for row in answer["steps"]}


# Settings


def test_what_they_added_to_their_settings_outlives_a_repair_and_a_removal(adopt, settings):
    adopt(apply=True, hooks="claude")
    change(settings, permissions={"allow": ["Bash"]})
    assert adopt(apply=True)["applied"]
    adopt(remove=True, apply=True)

    assert json.loads(settings.read_text()) == {"model": "x", "permissions": {"allow": ["Bash"]}}


def test_what_they_added_outlives_a_lost_state_file_too(adopt, repo, settings):
    adopt(apply=True, hooks="claude")
    known = json.loads(settings.read_text())
    settings.write_text(json.dumps({**known, "permissions": {}}))
    (repo / ".kaizen" / "adopted.json").unlink()
    adopt(apply=True, hooks="claude")
    adopt(remove=True, apply=True)

    assert json.loads(settings.read_text()) == {"model": "x", "permissions": {}}


@pytest.mark.parametrize("theirs", [{}, {"permissions": {}}], ids=["untouched", "changed"])
def test_settings_with_our_line_of_an_older_engine_are_given_back(adopt, settings, monkeypatch, theirs):
    with monkeypatch.context() as older:
        older.setattr(hook_files, "TIMEOUT_S", 5)
        adopt(apply=True, hooks="claude")
    if theirs:
        settings.write_text(json.dumps({**json.loads(settings.read_text()), **theirs}))
    assert rows(adopt(apply=True)) == {SETTINGS: "update"}
    adopt(remove=True, apply=True)

    if theirs:
        assert json.loads(settings.read_text()) == {"model": "x", **theirs}
    else:
        assert settings.read_text() == '{"model":"x"}'  # nobody but us wrote to it: to the byte


def test_settings_that_they_deleted_do_not_come_back(adopt, settings):
    adopt(apply=True, hooks="claude")
    settings.unlink()
    adopt(apply=True)
    adopt(remove=True, apply=True)

    assert not settings.exists()


def test_an_original_of_another_time_is_not_put_in_place_of_settings_that_somebody_else_committed(
    adopt, kaizen, repo, settings, tmp_path
):
    adopt(apply=True, hooks="claude")
    clone = commit_and_clone(repo, tmp_path / "clone")
    (clone / SETTINGS).write_text('{"model": "x", "permissions": {}}')  # ours went, and come again over more of theirs
    kaizen("D1", path=str(clone), apply=True)
    git(clone, "commit", "-qam", "more")
    git(repo, "pull", "-q", str(clone), "HEAD")
    adopt(remove=True, apply=True)

    assert json.loads(settings.read_text()) == {"model": "x", "permissions": {}}


def test_hooks_that_they_wrote_by_hand_stay(adopt, repo, settings):
    settings.write_text(hook_files.merged('{"model":"x"}', "claude", hook_files.HOOK_COMMAND))
    before = seen(repo)
    adopt(apply=True, hooks="claude")
    assert adopt(check=True)["steps"] == [] and adopt(apply=True)["applied"] is False
    adopt(remove=True, apply=True)

    assert seen(repo) == before


# What was there, identical or replaced


def by_hand(repo, launcher):
    """A repository that was linked by hand, to this engine."""
    shutil.copy(launcher, repo / "kaizen.py")
    shutil.copy(ROOT / "requirements-kaizen.txt", repo)
    os.symlink(ROOT / "kaizen_components", repo / "kaizen_components")


@pytest.mark.parametrize("launcher", [ROOT / "kaizen.py", FILES / "kaizen.py"], ids=["of the engine", "identical"])
def test_what_was_linked_by_hand_to_this_engine_stays_when_the_adoption_goes(adopt, repo, launcher):
    by_hand(repo, launcher)
    before = seen(repo)
    adopt(apply=True)
    assert adopt(apply=True)["applied"] is False and adopt(check=True)["steps"] == []
    left = rows(adopt(remove=True, apply=True))

    assert seen(repo) == before
    assert left["kaizen_components"] == left["requirements-kaizen.txt"] == "leave"


def test_a_link_made_by_hand_comes_back_after_a_copy_took_its_place(adopt, repo):
    by_hand(repo, ROOT / "kaizen.py")
    before = seen(repo)
    adopt(apply=True, copy=True)
    assert not (repo / "kaizen_components").is_symlink()
    adopt(remove=True, apply=True)

    assert seen(repo) == before


def test_an_identical_file_that_an_update_replaces_is_given_back(adopt, repo, monkeypatch):
    by_hand(repo, FILES / "kaizen.py")
    before = seen(repo)
    adopt(apply=True)
    shipped = shape.engine.shipped
    monkeypatch.setattr(shape.engine, "shipped", lambda name: shipped(name) + b"\n")
    adopt(apply=True)
    assert (repo / "kaizen.py").read_bytes() == (FILES / "kaizen.py").read_bytes() + b"\n"
    adopt(remove=True, apply=True)

    assert seen(repo) == before


def test_a_file_of_theirs_that_a_later_choice_finds_identical_stays(adopt, repo):
    adopt(apply=True)
    (repo / ".vscode").mkdir()
    shutil.copy(FILES / "kaizen.code-snippets", repo / ".vscode")
    adopt(apply=True, vscode=True)
    adopt(remove=True, apply=True)

    assert [one.name for one in (repo / ".vscode").iterdir()] == ["kaizen.code-snippets"]


def test_a_clone_has_no_original_so_the_launcher_that_was_replaced_stays(adopt, kaizen, repo, tmp_path):
    shutil.copy(ROOT / "kaizen.py", repo)
    adopt(apply=True)
    clone = commit_and_clone(repo, tmp_path / "clone")
    planned = kaizen("D1", path=str(clone), remove=True)
    assert "git" in next(row["says"] for row in planned["steps"] if row["path"] == "kaizen.py")
    removed = rows(kaizen("D1", path=str(clone), remove=True, apply=True))

    assert removed["kaizen.py"] == "leave" and removed["requirements-kaizen.txt"] == "remove"
    assert (clone / "kaizen.py").read_bytes() == (FILES / "kaizen.py").read_bytes()


# Skills


def test_a_skill_that_was_linked_before_is_theirs_and_stays(adopt, repo, store):
    (repo / ".claude" / "skills").mkdir(parents=True)
    os.symlink(store / "tidy", repo / LINKS[1])
    before = seen(repo)
    adopt(apply=True, skills=str(store))
    after = seen(repo)
    assert adopt(check=True)["steps"] == []
    for given in ({}, {"skills": str(store)}):
        assert adopt(apply=True, **given)["applied"] is False and seen(repo) == after
    adopt(remove=True, apply=True)

    assert seen(repo) == before


def test_a_link_to_a_skill_that_went_away_is_missed_and_made_again(adopt, repo, store):
    adopt(apply=True, skills=str(store))
    (repo / LINKS[0]).unlink()
    checked = adopt(check=True)
    assert checked["exit_code"] == 1 and rows(checked) == {LINKS[0]: "missing"}
    assert checked["text"].endswith("\n--skills STORE --apply makes the links to skills again.")
    unable = adopt(apply=True)
    assert unable["applied"] is False and rows(unable) == {LINKS[0]: "leave"}  # which store it was, nobody wrote down
    adopt(apply=True, skills=str(store))

    assert adopt(check=True)["steps"] == [] and (repo / LINKS[0]).exists()


@pytest.fixture
def junctions(monkeypatch):
    """What mklink is asked for, as (link, target), on what passes for Windows as long as a link is made."""
    asked = []

    def mklink(words, **_):
        asked.append((words[4], words[5]))
        return subprocess.CompletedProcess(words, 0, "", "")

    make = adoption_engine.make_link

    def make_there(*words):
        with monkeypatch.context() as windows:
            windows.setattr(os, "name", "nt")
            windows.setattr(subprocess, "run", mklink)
            make(*words)
        os.symlink(asked[-1][1], asked[-1][0])

    monkeypatch.setattr(adoption_engine, "make_link", make_there)
    return asked


def test_a_junction_to_a_skill_of_the_repository_itself_has_an_absolute_target(adopt, repo, junctions):
    skill(repo / "skills", "tidy")
    adopt(apply=True, skills=str(repo / "skills"))

    assert dict(junctions)[str(repo / LINKS[0])] == dict(junctions)[str(repo / LINKS[1])] == str(repo / "skills/tidy")
    assert all(os.path.isabs(target) for _, target in junctions)
    assert adopt(check=True)["steps"] == [] and rows(adopt(remove=True, apply=True))[LINKS[0]] == "remove"


def test_a_relative_link_made_by_hand_is_put_back_as_a_junction_to_where_it_led(adopt, repo, tmp_path, junctions):
    os.symlink("../gone/kaizen_components", repo / "kaizen_components")
    adopt(apply=True)
    adopt(remove=True, apply=True)

    assert junctions[-1][1] == str(tmp_path / "gone" / "kaizen_components")


def test_a_check_ends_with_what_repairs_each_kind_of_fault(adopt, repo, store):
    adopt(apply=True, skills=str(store))
    (repo / "requirements-kaizen.txt").unlink()
    only_apply = adopt(check=True)["text"].splitlines()[-1]
    (repo / LINKS[0]).unlink()
    (repo / "kaizen.py").write_text("# mine\n")
    every = adopt(check=True)["text"].splitlines()[-1]

    assert only_apply.startswith("--apply repairs it")
    assert "--skills STORE --apply" in every and "delete it" in every and "--apply repairs the rest" in every
    (repo / LINKS[0]).symlink_to(store / "tidy")
    adopt(apply=True)
    assert "--apply repairs" not in adopt(check=True)["text"]


def test_a_skill_of_their_own_in_the_place_of_a_link_is_no_fault(adopt, repo, store):
    adopt(apply=True, skills=str(store))
    (repo / LINKS[0]).unlink()
    skill(repo / ".agents" / "skills", "tidy")
    assert adopt(check=True).get("exit_code") is None
    adopt(remove=True, apply=True)

    assert (repo / LINKS[0] / "SKILL.md").exists() and not (repo / LINKS[1]).is_symlink()


def test_a_link_to_a_skill_that_they_pointed_elsewhere_stays(adopt, repo, store, tmp_path):
    adopt(apply=True, skills=str(store))
    mine = skill(tmp_path / "mine", "tidy")
    (repo / LINKS[0]).unlink()
    os.symlink(mine, repo / LINKS[0])
    removed = rows(adopt(remove=True, apply=True))

    assert (removed[LINKS[0]], removed[LINKS[1]]) == ("leave", "remove")
    assert os.readlink(repo / LINKS[0]) == str(mine) and not os.path.lexists(repo / LINKS[1])


def test_a_folder_of_skills_that_became_a_link_is_not_reached_into(adopt, repo, store, tmp_path):
    adopt(apply=True, skills=str(store))
    os.rename(repo / ".agents" / "skills", tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", repo / ".agents" / "skills")
    removed = rows(adopt(remove=True, apply=True))

    assert removed[LINKS[0]] == "leave" and (tmp_path / "elsewhere" / "tidy").is_symlink()


# A removal that is killed


@pytest.mark.parametrize(
    "linked_to, mode", [("this engine", "link"), ("another", "link"), ("another", "copy"), (None, "copy")]
)
def test_a_removal_that_is_killed_anywhere_is_finished_by_the_next(
    adopt, repo, settings, store, tmp_path, monkeypatch, linked_to, mode
):
    small = tmp_path / "small" / "kaizen_components"
    small.mkdir(parents=True)
    (small / "args.py").write_text("")
    monkeypatch.setattr(shape.engine, "PACKAGE", str(small))  # a whole one takes a second to be copied
    (repo / "AGENTS.md").write_text("Theirs.")
    if linked_to:
        shutil.copy(ROOT / "kaizen.py", repo)
        os.symlink(small if linked_to == "this engine" else tmp_path / "gone", repo / "kaizen_components")
    before = seen(repo)
    for after in range(100):
        adopt(apply=True, hooks="claude,codex", vscode=True, skills=str(store), **{mode: True})
        was_killed = kill(monkeypatch, lambda: adopt(remove=True, apply=True), after)
        adopt(remove=True, apply=True)
        assert seen(repo) == before, f"killed before step {after}"
        if not was_killed:
            break

    assert after > 20 and not was_killed


@pytest.mark.parametrize("then", ["apply", "remove"])
def test_what_a_removal_leaves_that_was_killed_at_its_very_end_goes_with_the_next_call(adopt, repo, monkeypatch, then):
    before = seen(repo)
    for after in range(100):
        adopt(apply=True)
        was_killed = kill(monkeypatch, lambda: adopt(remove=True, apply=True), after)
        if was_killed and not (repo / ".kaizen" / "adopted.json").exists():
            assert seen(repo) != before, "nothing was left to do"
            adopt(apply=True) if then == "apply" else None
            assert (repo / ".kaizen.removing").exists() == (then == "remove")
        adopt(remove=True, apply=True)
        assert seen(repo) == before, f"killed before step {after}"
        if not was_killed:
            break

    assert not was_killed


# Without PyYAML


@pytest.fixture
def without_yaml(root, tmp_path):
    """The command line on a Python that has no PyYAML."""
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "yaml.py").write_text("raise ModuleNotFoundError(\"No module named 'yaml'\", name='yaml')\n")

    def run(*words):
        env = {**os.environ, "PYTHONPATH": str(tmp_path / "bare"), "KAIZEN_REPO_ROOT": str(root)}
        argv = [sys.executable, str(ROOT / "kaizen.py"), *words, "--json"]
        return subprocess.run(argv, capture_output=True, text=True, cwd=root, env=env, timeout=60)

    return run


@pytest.mark.parametrize("words", [["SK1"], ["SK2"], ["SK3"], ["adopt"]], ids=lambda words: words[0])
def test_skills_without_pyyaml_are_refused_with_the_install_line(without_yaml, repo, store, words):
    named = [str(repo), "--skills", str(store)] if words == ["adopt"] else ["--store", str(store)]
    done = without_yaml(*words, *named)
    refusal = json.loads(done.stderr)

    assert done.returncode == 5 and refusal["code"] == "package_missing"
    assert "pip install -r requirements-kaizen.txt" in refusal["next"]


def test_adoption_without_skills_needs_no_pyyaml(without_yaml, repo):
    for words in (["--apply"], ["--check"], ["--remove", "--apply"]):
        done = without_yaml("adopt", str(repo), *words)
        assert done.returncode == 0, done.stderr


# A damaged state


def damaged(path, **entry):
    return {"parts": {path: entry}}


DAMAGED = {
    "an empty entry": damaged("kaizen.py"),
    "an unknown kind": damaged("kaizen.py", kind="rubbish"),
    "a kind that is a list": damaged("kaizen.py", kind=[]),
    "a file without its hash": damaged("kaizen.py", kind="file", created=True),
    "a hash that is a number": damaged("kaizen.py", kind="file", created=True, sha256=1),
    "lines without their comment": damaged("AGENTS.md", kind="lines", created=True, glue="", before_sha256=""),
    "lines of an unknown comment": damaged(
        "AGENTS.md", kind="lines", created=True, glue="", before_sha256="", comment="c"
    ),
    "glue that is text": damaged(
        "AGENTS.md", kind="lines", created=True, glue="x", before_sha256="", comment="md"
    ),
    "hooks of an unknown host": damaged(SETTINGS, kind="hooks", created=True, sha256="", host="emacs"),
    "hooks in another file": damaged("AGENTS.md", kind="hooks", created=True, sha256="", host="claude"),
    "a copy without its digest": damaged("kaizen_components", kind="copy"),
    "a file that is the engine": damaged("AGENTS.md", kind="link"),
    "a skill in another place": damaged("kaizen.py", kind="skill"),
    "half a character": damaged("kaizen.py", kind="file", created=True, sha256="\ud800"),
    "hooks that are a number": {"hooks": 5},
    "hooks for a number": {"hooks": [5]},
    "a mode that is a number": {"mode": 5},
    "an unknown mode": {"mode": "rubbish"},
    "vscode as text": {"vscode": "yes"},
    "parts that are a list": {"parts": []},
    "a part outside of the project": damaged("../x", kind="file"),
    "a part that is a number": {"parts": {"kaizen.py": 3}},
    "a folder that nobody made": {"folders": ["src"]},
    "folders that are a text": {"folders": "evals"},
    "folders of folders": {"folders": [["evals"]]},
    "a field of another version": {"more": 1},
}  # fmt: skip


TEXTS = {
    **{name: json.dumps({"version": 1, "parts": {}, "folders": [], **given}) for name, given in DAMAGED.items()},
    "nothing": "", "half of it": "{", "a list": "[]", "a version below the first": '{"version": 0}',
    "half a version": '{"version": 2.5}', "a version as text": '{"version": "2"}',
}  # fmt: skip


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_damaged_state_file_is_refused_in_words_and_nothing_is_touched(adopt, repo, text):
    adopt(apply=True)
    (repo / ".kaizen" / "adopted.json").write_text(text)
    before = seen(repo)
    for words in ({"remove": True, "apply": True}, {"apply": True}, {"check": True}):
        with pytest.raises(Refused) as caught:
            adopt(**words)
        assert caught.value.code == "state_unreadable"
    assert seen(repo) == before


def test_a_state_file_that_is_nested_without_end_is_refused_in_words(adopt, repo):
    adopt(apply=True)
    (repo / ".kaizen" / "adopted.json").write_text("[" * 200_000)
    with pytest.raises(Refused) as caught:
        adopt(check=True)

    assert caught.value.code == "state_unreadable"
