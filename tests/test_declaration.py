"""One command, declared once: what derives from the declarations agrees with them and with the database."""

import ast
import re
import shlex
import sqlite3

import pytest

from kaizen_components import fields
from kaizen_components.call import Door
from kaizen_components.faces import cli as face
from kaizen_components.faces import docs
from kaizen_components.faces.schema import schema_of
from kaizen_components.index import COMMANDS, FAMILIES, Command, catalog
from kaizen_components.records.kinds import PREFIXES, REVISED
from support_scripts import layers

from .conftest import ROOT
from .examples import prepare, ran_example

PACKAGE = ROOT / "kaizen_components"
every_command = pytest.mark.parametrize("code", list(COMMANDS))

CHOICE_COLUMNS = {
    "task.priority": fields.PRIORITY,
    "task.status": fields.TASK_STATUS,
    "task_revision.priority": fields.PRIORITY,
    "task_revision.status": fields.TASK_STATUS,
    "task_link.kind": fields.LINK_KIND,
    "lease.action": fields.LEASE_ACTION,
    "plan.status": fields.PLAN_STATUS,
    "plan_revision.status": fields.PLAN_STATUS,
    "packet.kind": fields.PACKET_KIND,
    "packet_result.outcome": fields.OUTCOME,
    "gotcha_revision.status": fields.GOTCHA_STATUS,
    "learning_revision.status": fields.LEARNING_STATUS,
    "learned_revision.status": fields.LEARNED_STATUS,
    "verification.conclusion": fields.CONCLUSION,
    "verification.severity": fields.SEVERITY,
    "eval_case.category": fields.EVAL_CATEGORY,
    "eval_run.outcome": fields.EVAL_OUTCOME,
    "policy.priority": fields.PRIORITY,
    "policy_revision.status": fields.POLICY_STATUS,
    "source.tier": fields.AUTHORITY,
    "irl_outcome.outcome": fields.PREDICTION_OUTCOME,
    "span.kind": fields.SPAN_KIND,
    "span.status": fields.SPAN_STATUS,
    "score.source": fields.SCORE_SOURCE,
    "lab_proposal.better": fields.BETTER,
    "run.driver": fields.DRIVER,
    "run_event.outcome": fields.RUN_OUTCOME,
}
COMPUTED = {  # no option says these
    "task_link.state", "artifact.kind", "proof.tier", "proof.outcome", "waiver.gate", "run_event.event",
    "run_event.phase",
}  # fmt: skip
TEXT_LIMITS = {
    "title": fields.TITLE_CHARS_MAX,
    "summary": fields.SUMMARY_CHARS_MAX,
    "body": fields.BODY_CHARS_MAX,
}
STORED_AS = {
    "payload_json": "payload",
    "ttl_s": "until",
    "about": "about_id",
    "artifact_id": "artifact_ids",
    "run": "argv",
    "supersedes": "supersedes_id",
    "parent": "parent_id",
    "reason": "note",
    "waive": "waiver_id",
}  # options whose column has another name
WRITES = {  # command -> the tables that its options are stored in
    "W1": ["task", "task_link"], "W2": ["task_revision"], "W3": ["plan"], "W4": ["plan_revision"], "W5": ["packet"],
    "W6": ["packet_result"], "W7": ["packet"], "W8": ["packet_result"], "W11": ["task_link"], "W13": ["lease"],
    "G1": ["gotcha"], "G5": ["gotcha_revision"], "L1": ["learning"], "L2": ["learning"], "L3": ["learned"],
    "L11": ["learning_revision"],
    "Q1": ["proof"], "Q2": ["verification"], "Q3": ["eval_case"], "Q4": ["eval_run"], "Q5": ["anti_pattern"],
    "X1": ["policy"], "X6": ["policy_revision"], "A1": ["artifact"], "S1": ["source"], "I1": ["irl"],
    "I2": ["irl_prediction"], "I3": ["irl_correction"], "I4": ["irl_outcome"], "T1": ["span"], "T2": ["score"],
    "O1": ["lab"], "O2": ["lab_proposal"], "P1": ["run"], "P4": ["run_event"], "P5": ["run_event"],
    "P6": ["artifact", "proof"], "P7": ["run_event"], "D3": ["proof"],
}  # fmt: skip
NOT_STORED = {"W1": {"parent", "depends_on"}, "W2": {"id", "token", "waive"}, "W4": {"id"}, "W6": {"id"}, "W8": {"id"},
              "W11": {"id", "remove"}, "W13": {"id"}, "G5": {"id"}, "L2": {"id"}, "L3": {"id"}, "L11": {"id"},
              "Q1": {"timeout_s"}, "X6": {"id"}, "A1": {"allow_external"}, "T1": {"jsonl"}, "O2": {"patch"},
              "O1": {"query", "category", "task_id", "since"},
              # in the run's JSON columns
              "P1": {"from", "function", "python", "budget_json", "apply", "allow_failing_baseline"},
              "P4": {"lease", "file", "base"}, "P5": {"id", "ttl_s"}, "P6": {"id"},
              "P7": {"id", "abort", "reason"}, "D3": {"event", "host"}}  # fmt: skip


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    """The schema of a new database, read by plain sqlite3."""
    root = tmp_path_factory.mktemp("schema")
    door = Door(str(root))
    door("K1")
    door.close()
    return sqlite3.connect(root / "AI" / "db" / "kaizen.db")


def columns_of(schema, table):
    return [row[1] for row in schema.execute(f"PRAGMA table_info({table})")]


def sql_of(schema, name):
    return schema.execute("SELECT sql FROM sqlite_master WHERE name = ?", (name,)).fetchone()[0]


@every_command
def test_a_command_has_help_an_example_and_known_options(code):
    command = Command(code)

    assert command.help and command.help.endswith(".") and len(command.help) <= 140
    assert "kaizen " + code in command.example
    assert all(fields.field(command, name).help for name in command.options)
    assert set(command.needs) <= {"tx", "db", "store", "call", "catalog", "write", "look", "check", "schema"}


@every_command
def test_the_example_of_a_command_runs(code, cli, root):
    prepare(code, root)
    example = Command(code).example
    if code == "W11":
        cli("W1", "--title", "Another", "--summary", "To be linked.")
    done = ran_example(code, root, example)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() not in ("", "OK")


@every_command
def test_the_reference_and_the_readme_name_a_command(code):
    name = COMMANDS[code]

    assert f"### {code} {name}" in (ROOT / "docs" / "commands.md").read_text()
    assert f"| `{code}` | `{name}` |" in (ROOT / "README.md").read_text()


def test_generated_documents_are_up_to_date():
    readme = (ROOT / "README.md").read_text()

    assert (ROOT / "docs" / "commands.md").read_text() == docs.reference(), "run `make docs`"
    assert docs.with_table(readme) == readme, "run `make docs`"


@every_command
def test_the_help_of_a_command_shows_its_own_options_and_no_others(code):
    command = Command(code)
    shown = set(re.findall(r"^  (--[a-z-]+)", face.help_of(command), re.M))

    assert shown == {fields.option(name) for name in (*command.options, *fields.SHARED)}
    assert command.example in face.help_of(command)
    for name in command.options:
        for choice in fields.field(command, name).choices:
            assert choice in face.help_of(command)


def test_each_family_fits_a_screen():
    for family in FAMILIES:
        assert len(face.family_help(family).splitlines()) <= 40


@every_command
def test_the_json_schema_of_a_command_lists_the_same_options(code):
    command = Command(code)
    schema = schema_of(command)

    assert set(schema["properties"]) == set(command.options) | set(fields.SHARED) - {"json"}
    assert schema["required"] == command.required


@pytest.mark.parametrize("column", CHOICE_COLUMNS)
def test_a_column_allows_exactly_the_choices_of_its_field(schema, column):
    table, name = column.split(".")
    choices = [f"'{choice}'" for choice in CHOICE_COLUMNS[column]]
    as_list, as_alternatives = f"{name} IN ({', '.join(choices)})", " OR ".join(f"{name} = {one}" for one in choices)

    sql = sql_of(schema, table)
    assert f"CHECK ({as_list})" in sql or f"CHECK ({as_alternatives})" in sql


def test_no_other_column_has_choices_that_no_field_knows(schema):
    found = set()
    for kind in PREFIXES:
        found |= {f"{kind}.{name}" for name in re.findall(r"CHECK \((\w+) (?:IN \(|= )'", sql_of(schema, kind))}

    assert found - COMPUTED == set(CHOICE_COLUMNS)


def test_text_limits_in_the_database_are_those_of_the_fields(schema):
    checked = 0
    for kind in PREFIXES:
        for name, most in TEXT_LIMITS.items():
            if name in columns_of(schema, kind):
                assert f"length({name}) BETWEEN 1 AND {most}" in sql_of(schema, kind)
                checked += 1

    assert checked >= 12


@pytest.mark.parametrize("code", WRITES)
def test_every_option_of_a_write_is_stored_in_a_column(schema, code):
    stored = {name for table in WRITES[code] for name in columns_of(schema, table)}
    options = set(Command(code).options) - NOT_STORED.get(code, set())

    assert {STORED_AS.get(name, name) for name in options} <= stored


def test_every_write_command_is_checked_against_columns():
    reports = {"P2", "P8", *(code for code in COMMANDS if code[0] == "R")}  # their options say what to read

    assert {command.code for command in catalog() if command.writes} - reports == {*WRITES, "K5", "K7", "M3"}


@pytest.mark.parametrize("kind", PREFIXES)
def test_a_kind_has_its_common_columns_and_is_append_only(schema, kind):
    assert columns_of(schema, kind)[:5] == ["seq", "id", "at", "actor", "test"]
    assert f"GLOB '{PREFIXES[kind]}_*'" in sql_of(schema, kind)
    assert sql_of(schema, kind).endswith("STRICT")
    assert f"RAISE(ABORT, '{kind} is append-only')" in sql_of(schema, f"{kind}_no_update")
    assert f"RAISE(ABORT, '{kind} is append-only')" in sql_of(schema, f"{kind}_no_delete")


def test_no_two_kinds_share_a_prefix_and_every_table_of_records_is_a_kind(schema):
    tables = [row[0] for row in schema.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    records = {name for name in tables if {"seq", "id", "at", "actor", "test"} <= set(columns_of(schema, name))}

    assert len(set(PREFIXES.values())) == len(PREFIXES)
    assert records == set(PREFIXES)
    assert all(
        view in {row[0] for row in schema.execute("SELECT name FROM sqlite_master")} for view in REVISED.values()
    )


def test_imports_only_point_downwards():
    assert layers.find_wrong_imports() == []
    assert {"args", "commands", "records", "store"} <= set(layers.find_edges())  # it looks at something


@pytest.mark.parametrize("depth", [2, 9], ids=["sub-packages", "modules"])
def test_imports_have_no_cycle(depth):
    assert layers.find_cycle(depth) == []


def test_every_document_link_in_the_repository_leads_somewhere():
    broken = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("setup/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.name} -> {target}")

    assert broken == []


def test_examples_are_words_that_a_shell_reads():
    for command in catalog():
        assert shlex.split(command.example)


def test_the_package_has_no_module_over_400_lines_and_no_function_over_60():
    long = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        if path.read_text().count("\n") > 400:
            long.append(path.name)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno > 60:
                long.append(f"{path.name}:{node.name}")

    assert long == [], "something wants a home of its own"
