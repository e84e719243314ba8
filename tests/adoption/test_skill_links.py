"""Check that SK3 applies exactly the plan that was shown, and changes nothing of others."""

import os
import shutil
import subprocess
import sys

import pytest

from kaizen_components.errors import Conflict
from kaizen_components.projects.skills import links as skill_links

from ..conftest import ROOT
from .skills import skill

HERE = (".agents/skills", ".claude/skills")


@pytest.fixture
def store(tmp_path):
    skill(tmp_path / "store", "one")
    skill(tmp_path / "store", "two")
    return str(tmp_path / "store")


def planned(kaizen, **options):
    answer = kaizen("SK3", **options)
    return {row["path"]: row["action"] for row in answer["records"]}, answer["plan"]


def tree(root):
    return sorted(
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    )


def test_skill_link_plan_is_applied_by_hash(cli, root, store):
    plan = cli("SK3", "--store", store, "--json").json
    assert (
        plan["to_do"] == 4 and not (root / ".agents").exists() and not (root / ".claude").exists()
    )

    done = cli("SK3", "--store", store, "--apply", plan["plan"], "--json")
    assert done.exit_code == 0 and done.json["done"] == 4
    for folder in HERE:
        assert os.readlink(root / folder / "one") == os.path.realpath(os.path.join(store, "one"))
        assert (root / folder / "two" / "SKILL.md").is_file()


def test_linking_twice_changes_nothing_until_removal(kaizen, root, store, tmp_path):
    kaizen("SK3", store=store, apply=planned(kaizen, store=store)[1])
    assert set(planned(kaizen, store=store)[0].values()) == {"keep"}
    before = tree(tmp_path / "store")

    steps, plan = planned(kaizen, store=store, remove=True)
    assert set(steps.values()) == {"unlink"}
    kaizen("SK3", store=store, remove=True, apply=plan)
    assert tree(root) == [] and tree(tmp_path / "store") == before


def test_outdated_skill_link_plan_is_refused(cli, root, store, tmp_path):
    plan = cli("SK3", "--store", store, "--json").json["plan"]
    skill(tmp_path / "store", "three")

    answer = cli("SK3", "--store", store, "--apply", plan)
    assert answer.exit_code == 4 and "Run SK3 without --apply" in answer.err
    assert not (root / ".agents").exists()


@pytest.mark.parametrize("wrong", ["0" * 16, "x", "'; rm -rf"])
def test_unknown_plan_hash_is_refused(kaizen, store, wrong):
    with pytest.raises(Conflict):
        kaizen("SK3", store=store, apply=wrong)


def test_existing_folder_and_foreign_link_are_kept(kaizen, root, store, tmp_path):
    mine = skill(root / ".agents" / "skills", "one")
    other = skill(tmp_path / "other", "two")
    os.symlink(other, root / ".agents" / "skills" / "two")

    steps, plan = planned(kaizen, store=store)
    assert [steps[f".agents/skills/{name}"] for name in ("one", "two")] == ["conflict", "conflict"]
    kaizen("SK3", store=store, apply=plan)
    assert mine.is_dir() and not mine.is_symlink()
    assert os.readlink(root / ".agents" / "skills" / "two") == str(other)
    assert (root / ".claude" / "skills" / "one").is_symlink()

    kaizen("SK3", store=store, remove=True, apply=planned(kaizen, store=store, remove=True)[1])
    assert mine.is_dir() and (root / ".agents" / "skills" / "two").is_symlink()
    assert not (root / ".claude" / "skills" / "one").is_symlink()


def test_only_our_broken_links_are_removed(kaizen, root, store):
    folder = root / ".agents" / "skills"
    folder.mkdir(parents=True)
    os.symlink("/nowhere/at/all", folder / "foreign")
    os.symlink(os.path.join(store, "gone"), folder / "gone")

    steps, _ = planned(kaizen, store=store)
    assert steps[".agents/skills/foreign"] == steps[".agents/skills/gone"] == "broken"
    kaizen("SK3", store=store, remove=True, apply=planned(kaizen, store=store, remove=True)[1])
    assert os.listdir(folder) == ["foreign"]


def test_skill_with_problems_is_not_linked(kaizen, store, tmp_path):
    skill(tmp_path / "store", "Bad Name")

    assert planned(kaizen, store=store)[0][".agents/skills/Bad Name"] == "skip"


def test_own_skills_get_relative_links(kaizen, root):
    skill(root / ".agents" / "skills", "mine")
    steps, plan = planned(kaizen)
    assert steps == {".claude/skills/mine": "link"}
    kaizen("SK3", apply=plan)

    assert os.readlink(root / ".claude" / "skills" / "mine") == os.path.join(
        "..", "..", ".agents", "skills", "mine"
    )
    assert (root / ".claude" / "skills" / "mine" / "SKILL.md").is_file()


def test_host_folders_linked_together_get_one_link(kaizen, root, store):
    (root / ".agents" / "skills").mkdir(parents=True)
    (root / ".claude").mkdir()
    os.symlink("../.agents/skills", root / ".claude" / "skills")

    assert list(planned(kaizen, store=store)[0]) == [".agents/skills/one", ".agents/skills/two"]


def test_skills_folder_linked_outside_project_is_skipped(kaizen, root, store, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", root / ".claude")

    steps, plan = planned(kaizen, store=store)
    assert steps[".claude/skills"] == "conflict"
    kaizen("SK3", store=store, apply=plan)
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_file_in_place_of_skills_folder_is_kept(kaizen, root, store):
    (root / ".claude").write_text("mine")

    steps, plan = planned(kaizen, store=store)
    assert steps[".claude/skills"] == "conflict"
    assert kaizen("SK3", store=store, apply=plan)["done"] == 2
    assert (root / ".claude").read_text() == "mine"


def test_failed_link_step_undoes_earlier_steps(root, store, monkeypatch):
    plan = skill_links.plan_links(str(root), store, False)
    (root / ".claude" / "skills").mkdir(parents=True)
    (root / ".claude" / "skills" / "one").write_text("it came just now")

    with pytest.raises(Conflict):
        skill_links.apply_links(plan)
    assert tree(root) == [".claude/skills/one"]


def test_read_only_skills_folder_changes_nothing(kaizen, root, store, as_user):
    (root / ".claude" / "skills").mkdir(parents=True)
    (root / ".claude" / "skills").chmod(0o555)
    try:
        done = as_user("SK3", "--store", store, "--apply", planned(kaizen, store=store)[1])
        assert (done.returncode, "cannot_link" in done.stderr) == (5, True), done.stderr
        assert tree(root / ".agents") == []
    finally:
        (root / ".claude" / "skills").chmod(0o755)


def test_only_one_of_two_concurrent_plans_is_applied(cli, root, store):
    plan = cli("SK3", "--store", store, "--json").json["plan"]
    argv = [sys.executable, str(ROOT / "kaizen.py"), "SK3", "--store", store, "--apply", plan]
    env = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
    both = [
        subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    codes = sorted(process.wait() for process in both)
    for process in both:
        process.communicate()

    assert codes == [0, 4]
    cli("SK3", "--store", store, "--apply", cli("SK3", "--store", store, "--json").json["plan"])
    assert len(tree(root)) == 4


@pytest.mark.skipif(os.name == "nt", reason="this is the bash door")
def test_skill_link_script_calls_the_command(root, store, tmp_path):
    env = {**os.environ, "KAIZEN_REPO_ROOT": str(root), "PYTHON": sys.executable}
    argv = ["bash", str(ROOT / "setup" / "link-skills.sh"), "--store", store]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, cwd=tmp_path)

    assert done.returncode == 0 and ".agents/skills/one" in done.stdout, done.stderr
    assert subprocess.run([*argv, "--apply", "0"], env=env, capture_output=True).returncode == 4


@pytest.mark.skipif(os.name == "nt", reason="this is the bash door")
@pytest.mark.parametrize("python", [None, "/no/such/python"])
def test_skill_link_script_without_setup_explains_remedy(tmp_path, python):
    (tmp_path / "setup").mkdir()
    shutil.copy(ROOT / "setup" / "link-skills.sh", tmp_path / "setup")
    env = {name: value for name, value in os.environ.items() if name != "PYTHON"} | (
        {"PYTHON": python} if python else {}
    )
    done = subprocess.run(
        ["bash", "setup/link-skills.sh"], env=env, capture_output=True, text=True, cwd=tmp_path
    )

    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "run `bash setup/setup.sh` first" in done.stderr
