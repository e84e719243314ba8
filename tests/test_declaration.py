"""What derives from the declarations agrees with them and with the database."""

import ast
import re
import shlex
import sqlite3

import pytest

from kaizen_components import fields, limits
from kaizen_components.call import Door
from kaizen_components.faces import cli as face
from kaizen_components.faces import docs
from kaizen_components.faces.schema import build_schema
from kaizen_components.index import COMMANDS, FAMILIES, Command, load_commands
from kaizen_components.records.kinds import KINDS, SEARCHABLE
from kaizen_components.reports.ledger import event_words
from support_scripts import layers

from .conftest import ROOT
from .examples import prepare_example, run_example

PACKAGE = ROOT / "kaizen_components"
every_command = pytest.mark.parametrize("code", list(COMMANDS))

COMPUTED = {
    "task_link.state",
    "artifact.kind",
    "waiver.gate",
    "run_event.event",
    "run_event.phase",
}  # by the engine
TEXT_LIMITS = {
    "title": limits.TITLE_CHARS_MAX,
    "summary": limits.SUMMARY_CHARS_MAX,
    "body": limits.BODY_CHARS_MAX,
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
              "P1": {"from", "function", "python", "budget_json", "apply", "allow_failing_baseline", "strict"},
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
def test_command_has_help_example_and_known_options(code):
    command = Command(code)

    assert command.help and command.help.endswith(".") and len(command.help) <= 140
    assert "kaizen " + code in command.example
    assert all(fields.get_field(command, name).help for name in command.options)
    assert set(command.needs) <= {
        "tx",
        "db",
        "store",
        "call",
        "catalog",
        "write",
        "look",
        "output",
        "check",
        "schema",
    }


@every_command
def test_documented_example_of_each_command_runs(code, cli, root):
    prepare_example(code, root)
    example = Command(code).example
    if code == "W11":
        cli("W1", "--title", "Another", "--summary", "To be linked.")
    done = run_example(code, root, example)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() not in ("", "OK")


@every_command
def test_reference_names_every_command(code):
    name = COMMANDS[code]

    assert f"### {code} {name}" in (ROOT / "docs" / "commands.md").read_text()


def test_generated_documents_are_up_to_date():
    assert (ROOT / "docs" / "commands.md").read_text() == docs.render_reference(), "run `make docs`"


@every_command
def test_help_shows_exactly_options(code):
    command = Command(code)
    shown = set(re.findall(r"^  (--[a-z-]+)", face.render_command_help(command), re.M))

    assert shown == {fields.format_option(name) for name in (*command.options, *fields.SHARED)}
    assert command.example in face.render_command_help(command)
    for name in command.options:
        for choice in fields.get_field(command, name).choices:
            assert choice in face.render_command_help(command)


def test_each_family_help_fits_screen():
    for family in FAMILIES:
        assert len(face.render_family_help(family).splitlines()) <= 40


@every_command
def test_json_schema_of_command_lists_same_options(code):
    command = Command(code)
    schema = build_schema(command)

    assert set(schema["properties"]) == set(command.options) | set(fields.SHARED) - {"json"}
    assert schema["required"] == command.required


def choices_of(schema, kind):
    """Column -> the words that its CHECK allows."""
    checks = re.findall(r"CHECK \((\w+) (?:IN \(|= )('[^()]*)\)", sql_of(schema, kind))
    return {name: tuple(re.findall(r"'([^']*)'", words)) for name, words in checks}


def lengths_of(schema, kind):
    """Column -> the most characters that its CHECK allows."""
    return {
        name: int(most)
        for name, most in re.findall(r"length\((\w+)\) BETWEEN 1 AND (\d+)", sql_of(schema, kind))
    }


@pytest.mark.parametrize("kind", KINDS)
def test_schema_checks_have_choices_and_lengths_of_limits(schema, kind):
    lists = {value for value in vars(limits).values() if isinstance(value, tuple)}
    found = {f"{kind}.{name}": words for name, words in choices_of(schema, kind).items()}
    texts = TEXT_LIMITS.keys() & columns_of(schema, kind)

    assert {name for name, words in found.items() if words not in lists} <= COMPUTED
    assert {(name, lengths_of(schema, kind)[name]) for name in texts} <= TEXT_LIMITS.items()


def test_every_choice_list_is_checked_by_schema(schema):
    lists = {
        name: value
        for name, value in vars(limits).items()
        if isinstance(value, tuple) and name[:4] != "HOOK"
    }
    found = {words for kind in KINDS for words in choices_of(schema, kind).values()}

    assert {name for name, words in lists.items() if words not in found} == set()


@pytest.mark.parametrize("code", WRITES)
def test_option_has_choices_and_length_of_its_column(schema, code):
    command = Command(code)
    for name in set(command.options) - NOT_STORED.get(code, set()):
        field, column = fields.get_field(command, name), STORED_AS.get(name, name)
        for kind in WRITES[code]:
            if field.choices and column in columns_of(schema, kind):
                assert choices_of(schema, kind)[column] == field.choices, (kind, name)
            if field.kind in ("line", "prose") and column in lengths_of(schema, kind):
                assert lengths_of(schema, kind)[column] == field.most, (kind, name)


@pytest.mark.parametrize("code", WRITES)
def test_every_option_of_write_is_stored_in_column(schema, code):
    stored = {name for table in WRITES[code] for name in columns_of(schema, table)}
    options = set(Command(code).options) - NOT_STORED.get(code, set())

    assert {STORED_AS.get(name, name) for name in options} <= stored


def test_every_write_command_is_checked_against_columns():
    reports = {
        "P2",
        "P8",
        *(code for code in COMMANDS if code[0] == "R"),
    }  # their options say what to read

    assert {command.code for command in load_commands() if command.writes} - reports == {
        *WRITES,
        "K5",
        "K7",
        "M3",
    }


@pytest.mark.parametrize("kind", KINDS)
def test_kind_has_its_common_columns_and_is_append_only(schema, kind):
    assert columns_of(schema, kind)[:5] == ["seq", "id", "at", "actor", "test"]
    assert f"GLOB '{KINDS[kind].prefix}_*'" in sql_of(schema, kind)
    assert sql_of(schema, kind).endswith("STRICT")
    assert f"RAISE(ABORT, '{kind} is append-only')" in sql_of(schema, f"{kind}_no_update")
    assert f"RAISE(ABORT, '{kind} is append-only')" in sql_of(schema, f"{kind}_no_delete")


def test_tables_and_declared_kinds_match(schema):
    names = [
        row[0]
        for row in schema.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    ]
    tables = {
        name
        for name in names
        if {"seq", "id", "at", "actor", "test"} <= set(columns_of(schema, name))
    }

    assert tables - {f"{kind}_current" for kind in KINDS} == set(KINDS)
    assert {kind.view for kind in KINDS.values()} <= set(names)
    assert all(kind.view != name for name, kind in KINDS.items() if f"{name}_revision" in KINDS)
    assert len({kind.prefix for kind in KINDS.values()}) == len(KINDS)
    assert [KINDS[kind].number for kind in SEARCHABLE] == list(range(1, len(SEARCHABLE) + 1))


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_declared_kind_names_only_existing_columns_and_commands(schema, kind):
    columns = columns_of(schema, kind.name)
    commands = {words.split()[0] for words in (kind.lists, kind.shows) if words}

    schema.execute(event_words.build_query(kind.name).format(condition="0"))
    assert commands <= set(COMMANDS)
    assert [name for name in ("evidence", "about_id") if name in columns] == [
        *kind.refers, *(["evidence"] if kind.name.endswith("_revision") and "evidence" in columns else [])
    ]  # fmt: skip
    if kind.number:
        schema.execute(
            f"SELECT {kind.title}, {kind.text}, {kind.state}, {kind.shown_by} FROM {kind.view}"
        )
        schema.execute(
            f"SELECT 1 FROM {kind.view} WHERE {kind.scope}", ("project",) * kind.scope.count("?")
        )
        scope = "scope = ?" if "scope" in columns else "task_id" if "task_id" in columns else "0"
        assert set(kind.texts) <= set(columns) and kind.scope.startswith(scope)
        assert kind.shows or kind.shown_by != "id"


def test_imports_only_point_downwards():
    assert layers.find_wrong_imports() == []
    assert {"args", "commands", "records", "store"} <= set(
        layers.find_edges()
    )  # it looks at something


@pytest.mark.parametrize("depth", [2, 9], ids=["sub-packages", "modules"])
def test_imports_have_no_cycle(depth):
    assert layers.find_cycle(depth) == []


def test_every_document_link_resolves():
    broken = []
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("setup/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.name} -> {target}")

    assert broken == []


def test_every_command_example_splits_as_shell_words():
    for command in load_commands():
        assert shlex.split(command.example)


def test_module_and_function_lengths_stay_within_limits():
    long = []
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        if path.read_text().count("\n") > 400:
            long.append(path.name)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno > 60:
                long.append(f"{path.name}:{node.name}")

    assert long == [], "split these modules and functions"
