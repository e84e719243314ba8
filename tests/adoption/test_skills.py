"""Check that SK1 lists the skills and that SK2 finds why a host cannot load one."""

import os
import shutil

import pytest

from kaizen_components.errors import NotFound, Refused

from ..conftest import ROOT
from .skills import GOOD, skill


@pytest.fixture
def mine(root):
    return root / ".agents" / "skills"


def says(kaizen, **options):
    """Return the findings of SK2 as `file:line text`."""
    with pytest.raises(Refused) as caught:
        kaizen("SK2", **options)
    return [f"{row['where']} {row['says']}" for row in caught.value.findings]


def test_inventory_names_every_skill(kaizen, mine, root, tmp_path):
    skill(mine, "plain")
    skill(tmp_path / "store", "shared")
    (root / ".claude" / "skills").mkdir(parents=True)
    os.symlink(tmp_path / "store" / "shared", root / ".claude" / "skills" / "shared")
    os.symlink("nowhere", mine / "gone")
    (mine / "notes").mkdir()  # without SKILL.md it is not a skill

    rows = kaizen("SK1", store=str(tmp_path / "store"))["records"]
    assert [(row["name"], row["where"], row["form"], row["problems"]) for row in rows] == [
        ("gone", ".agents/skills", "broken link", 1),
        ("plain", ".agents/skills", "folder", 0),
        ("shared", ".claude/skills", "link", 0),
        ("shared", "store", "folder", 0),
    ]
    assert rows[1]["description"].startswith("Does it well")


def test_project_without_skills_passes(cli):
    assert cli("SK1", "--json").json["records"] == []
    assert cli("skill-validate", "--json").json["skills"] == 0


def test_missing_evals_are_only_a_remark(cli, mine):
    skill(
        mine,
        "good",
        GOOD + "[more](more.md#part) [site](https://example.org) [up](#do-it)",
        more_dot_md="x",
    )

    answer = cli("SK2", "--json")
    assert answer.exit_code == 0 and answer.json["skills"] == 1
    assert "should_trigger" in answer.json["remarks"][0]["says"]


def test_our_own_skills_are_valid(cli, root):
    shutil.copytree(ROOT / ".agents", root / ".agents")

    assert cli("SK2").exit_code == 0


def test_bad_skill_names_file_and_line(cli, mine):
    skill(mine, "bad", "---\nname: other\ndescription: x\n---\n\n[a](gone.md)\n")

    answer = cli("SK2", "--json")
    assert answer.exit_code == 1
    assert [row["where"] for row in answer.error["findings"]] == [
        ".agents/skills/bad/SKILL.md:1",
        ".agents/skills/bad/SKILL.md:6",
    ]


@pytest.mark.parametrize(
    "text, expected",
    [
        ("", "does not begin with front matter"),
        ("# No front matter\n", "does not begin with front matter"),
        ("---\nname: {name}\n", "does not begin with front matter"),
        ("---\nname: [\n---\nx\n", "not YAML"),
        ("---\n- a\n---\nx\n", "names and values"),
        ("---\nx: " + "[" * 5_000 + "\n---\nx\n", "nested too deeply"),
        ("---\nx: 2026-99-99\n---\nx\n", "month must be"),
        ("---\n&a [*a, *a]: x\n---\nx\n", "SKILL.md"),
        ("---\ndescription: d\n---\nx\n", "`name` must be"),
        ("---\nname: 7\ndescription: d\n---\nx\n", "`name` must be"),
        ("---\nname: Bad_Name\ndescription: d\n---\nx\n", "`name` must be"),
        ("---\nname: -a-\ndescription: d\n---\nx\n", "`name` must be"),
        ("---\nname: " + "a" * 65 + "\ndescription: d\n---\nx\n", "`name` must be"),
        ("---\nname: other\ndescription: d\n---\nx\n", "its folder is 'it'"),
        ("---\nname: it\n---\nx\n", "`description` is missing"),
        ("---\nname: it\ndescription: '  '\n---\nx\n", "`description` is missing"),
        ("---\nname: it\ndescription: " + "d" * 1025 + "\n---\nx\n", "1,025 characters"),
        ("---\nname: it\ndescription: d\n---\n", "nothing after the front matter"),
        (
            "---\nname: it\ndescription: d\nshould_trigger: yes please\n---\nx\n",
            "list of sentences",
        ),
        (GOOD + "[a](../other/SKILL.md)", "leads out of the skill"),
        (GOOD + "[a](/etc/hosts)", "leads out of the skill"),
        (GOOD + "![a](<a picture.png> 'title')", "leads nowhere"),
        (GOOD + "[a][b]\n\n[b]: gone.md\n", "leads nowhere"),
        (GOOD + "Run `python scripts/gone.py`.", "names scripts/gone.py"),
        ("x" * 1_000_001, "more than 1,000,000 bytes"),
        (b"---\nname: it\ndescription: \xff\n---\nx\n".decode("latin-1"), "SKILL.md"),
    ],
)
def test_invalid_skill_is_explained(kaizen, mine, text, expected):
    if "\xff" in text:
        place = skill(mine, "it")
        (place / "SKILL.md").write_bytes(text.encode("latin-1"))
        expected = "not UTF-8"
    else:
        skill(mine, "it", text)

    assert any(expected in finding for finding in says(kaizen))


def test_error_names_nul_byte_in_skill_page(kaizen, mine):
    skill(mine, "it", GOOD + "a\0b")

    assert "NUL" in says(kaizen)[0]


def test_error_names_skill_page_that_is_folder(kaizen, mine):
    (mine / "it" / "SKILL.md").mkdir(parents=True)

    assert "is not a file" in says(kaizen)[0]


def test_link_in_code_block_is_ignored(kaizen, mine):
    skill(mine, "it", GOOD + "```\n[a](gone.md)\n```\n`[b](gone.md)`\n~~~\n[c](gone.md)\n")

    assert kaizen("SK2")["valid"] is True


def test_symbolic_link_out_of_skill_is_found(kaizen, mine, tmp_path):
    (tmp_path / "secret.md").write_text("x")
    place = skill(mine, "it", GOOD + "[a](inside.md)")
    os.symlink(tmp_path / "secret.md", place / "inside.md")

    assert "leads out" in says(kaizen)[0]


def test_links_in_skill_resolve_relative_to_page(kaizen, mine):
    skill(
        mine,
        "it",
        reference__a_dot_md="[b](b.md) [up](../SKILL.md) [c](c.md)",
        reference__b_dot_md="x",
    )

    assert says(kaizen) == [".agents/skills/it/reference/a.md:1 The link to c.md leads nowhere."]


def test_scripts_are_found_in_skill_and_project(kaizen, mine, root):
    (root / "scripts").mkdir()
    (root / "scripts" / "b.sh").write_text("")
    skill(
        mine,
        "it",
        GOOD + "scripts/a.py, ./scripts/b.sh and support_scripts/c.py",
        scripts__a_dot_py="",
    )

    assert kaizen("SK2")["valid"] is True


def test_unreadable_eval_is_reported_with_line(kaizen, mine):
    skill(
        mine,
        "it",
        evals__a_dot_json='{"a": 1}',
        evals__b_dot_jsonl='{}\n\n{"b"\n',
        evals__c_dot_yml="a: [",
    )

    assert [finding.split(" It")[0] for finding in says(kaizen)] == [
        ".agents/skills/it/evals/b.jsonl:3",
        ".agents/skills/it/evals/c.yml:1",
    ]


def test_skill_with_trigger_list_needs_no_evals(kaizen, mine):
    skill(mine, "it", GOOD.replace("\n---\n\n", "\nshould_trigger:\n- do it\n---\n\n"))

    assert kaizen("SK2") == {"status": "OK", "valid": True, "skills": 1, "remarks": []}


def test_skill_check_accepts_folder_or_page_path(kaizen, mine):
    skill(mine, "good")
    skill(mine, "bad", "")

    assert kaizen("SK2", path=".agents/skills/good")["skills"] == 1
    assert len(says(kaizen, path=".agents/skills/bad/SKILL.md")) == 1
    with pytest.raises(NotFound):
        kaizen("SK2", path="nothing")


def test_missing_skill_store_exits_with_3(cli):
    assert cli("SK1", "--store", "../nothing").exit_code == 3


def test_error_names_unreadable_skill_folder(as_user, mine):
    skill(mine, "it")
    mine.chmod(0)
    try:
        assert as_user("SK1").returncode == 5
    finally:
        mine.chmod(0o755)
