"""What the pages say in passing is as true as their blocks: inline commands parse, and the quoting table quotes."""

import re
import shlex
import subprocess

import pytest

from kaizen_components import args, fields
from kaizen_components.call import bind_options
from kaizen_components.faces import cli
from kaizen_components.index import join_split_name

from .conftest import ROOT, find_tool
from .shells import cmd, powershell, windows_argv

PAGES = [
    *["AGENTS.md", "CLAUDE.md", "README.md", "setup/SETUP.md", "Kaizen_System.md"],
    *[f"docs/{name}.md" for name in ("README", "hooks", "settings", "comparison", "codemode")],
    *[f"docs/pipeline{name}.md" for name in ("", "-agent", "-replay", "-target")],
    *["docs/proofs.md", "docs/protocols.md", "docs/test-gate.md", "docs/live-model.md"],
    *[f"kaizen_components/projects/adopt/files/{name}.md" for name in ("agents", "evals")],
]  # fmt: skip
SPAN = re.compile(r"``(.+?)``|`([^`\n]+)`")
WHOLE = re.compile(
    r"(?:(?:\.venv/bin/python|python3) )?kaizen(?:\.py)? (.+)"
)  # a command that stands as it is typed
SHORT = re.compile(r"[A-Z]{1,2}\d+ .+")  # one whose other options the sentence leaves out
SHELL = re.compile(
    r"(?:bash|git|apt|export|python|python3|pytest|cd) .+(?<!&)|[A-Z_]+=\S+ .+(?<!&)"
)
MEANT = {
    "CODE": "W12",
    "N": "1",
    "EVENT": "stop",
}  # what stands for something that is not just any text


def spans(text):
    prose = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return list(dict.fromkeys(one or other for one, other in SPAN.findall(prose)))


def of_pages(pattern):
    found = [
        (page, span)
        for page in PAGES
        for span in spans((ROOT / page).read_text())
        if pattern.fullmatch(span)
    ]
    return pytest.mark.parametrize(
        "page, span", found, ids=[f"{page}: {span}" for page, span in found]
    )


def typed(line):
    """Every argv that a line stands for: its options in brackets given, each of its alternatives chosen."""
    words = shlex.split(line.replace("CODE …", "CODE").replace("[", "").replace("]", ""))
    choices = max((len(word.split("|")) for word in words), default=1)
    for number in range(choices):
        yield [
            MEANT.get(one := word.split("|")[number % len(word.split("|"))], one) for word in words
        ]


def parsed(argv):
    """(command, given), or None for help, by the parsers of the command line."""
    argv = join_split_name(argv)
    return args.parse_argv(argv) or cli.parse_with_click(argv)


@of_pages(WHOLE)
def test_kaizen_command_in_docs_parses(page, span, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("plan.md", "FILE"):
        (tmp_path / name).write_text("text")
    for argv in typed(WHOLE.fullmatch(span)[1]):
        if argv[0] == "relink":  # a word of the adopted launcher, which has only this option
            assert argv[1:2] in ([], ["--engine"]) and len(argv) in (1, 3)
            continue
        found = parsed(argv)
        assert found is None or bind_options(*found)


@of_pages(SHORT)
def test_code_with_options_in_docs_parses(page, span):
    for argv in typed(span):
        assert parsed(argv) or "--help" in argv


@of_pages(SHELL)
def test_shell_line_in_docs_is_valid_shell(page, span):
    done = subprocess.run(["bash", "-n", "-c", span], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr


def test_wrong_option_in_docs_is_reported():
    assert len(spans((ROOT / "AGENTS.md").read_text())) > 50
    assert list(typed("W2 --status open|done [--token N]")) == [
        ["W2", "--status", "open", "--token", "1"], ["W2", "--status", "done", "--token", "1"],
    ]  # fmt: skip
    with pytest.raises(Exception, match="has no option"):
        parsed(["W2", "--stats", "open"])


@pytest.mark.parametrize("page", [page for page in PAGES if page.endswith(".md")])
def test_every_code_block_in_docs_names_its_language(page):
    fences = re.findall(r"^```(.*)$", (ROOT / page).read_text(), re.M)

    assert set(fences[::2]) <= {"sh", "json", "toml", "yaml", "mermaid"}
    assert set(fences[1::2]) <= {""}


# The quoting table

VALUES = {
    "two words": ("title", "two words"),
    "literal `$HOME`": ("title", "costs $HOME"),
    "literal `%PATH%`": ("title", "uses %PATH%"),
    "a quotation mark": ("title", 'say "no"'),
    "an apostrophe": ("title", "it's"),
    "a newline": ("body", "one\ntwo"),
    "JSON": ("payload_json", '{"a": 1}'),
    "a leading `-`": ("title", "-x"),
}


def table():
    page = (ROOT / "setup" / "SETUP.md").read_text().split("\n## Quoting\n")[1].split("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in page.splitlines()
        if line[:1] == "|"
    ]
    return {row[0].strip(): row[1:] for row in rows[2:]}


def cells(column):
    """(value's name, span, the words behind it) of each line in a column."""
    for name, row in table().items():
        for found in SPAN.finditer(row[column]):
            yield (
                name,
                found[1] or found[2],
                re.split(r"[`,]", row[column][found.end() :])[0].strip(),
            )


def means(name, argv):
    """The real parser finds the row's value, or that it is to be read from a file or from standard input."""
    option, value = VALUES[name]
    command, given = args.parse_argv(["W5", *argv])
    assert list(given) == [option] and command.code == "W5"
    (found,) = given[option]
    assert type(found) is fields.FromFile or found in (value, "-"), found


def test_quoting_table_has_one_row_per_test_value():
    assert list(table()) == list(VALUES) and {len(row) for row in table().values()} == {3}


@pytest.mark.parametrize("shell", ["bash", "zsh", "sh"])
def test_quoting_for_unix_shells_passes_value_unchanged(shell):
    for name, span, _ in cells(0):
        if shell == "sh" and "$'" in span:
            continue  # as the table says
        said = subprocess.run(
            [find_tool(shell), "-c", f"printf '%s\\0' {span}"], capture_output=True, check=True
        )
        means(name, said.stdout.decode().split("\0")[:-1])


def test_quoting_for_powershell_passes_value_unchanged():
    for name, span, note in cells(1):
        for before_7_3 in {"before 7.3": [True], "from 7.3": [False]}.get(note, [True, False]):
            means(name, powershell(span, before_7_3))


def test_quoting_for_powershell_parses_without_error():
    tree_sitter = pytest.importorskip(
        "tree_sitter", reason="no PowerShell parser: install requirements-dev.txt"
    )
    grammar = pytest.importorskip(
        "tree_sitter_powershell", reason="no PowerShell parser: install requirements-dev.txt"
    )
    parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    for span in [
        span for _, span, _ in cells(1) if "=" not in span
    ]:  # this grammar knows no --name=value
        assert not parser.parse(f"& kaizen W5 {span}\n".encode()).root_node.has_error, span


def test_quoting_for_cmd_passes_value_unchanged():
    for name, span, note in cells(2):
        for batch in [True] if note == "in a batch file" else [True, False]:
            means(name, cmd(span, batch))


@pytest.mark.parametrize(
    "line, argv",
    [
        (r'a "b c" d', ["a", "b c", "d"]),
        (r'"say \"no\""', ['say "no"']),
        (r'"ends in \\" x', ["ends in \\", "x"]),
        (r"c:\a\b", [r"c:\a\b"]),
        (r'"a\\b"', [r"a\\b"]),
    ],
)
def test_windows_splits_command_lines_as_documented(line, argv):
    assert windows_argv(line) == argv


def test_badly_quoted_line_fails_shell_check():
    assert powershell("--title 'say \"no\"'", before_7_3=True) != ["--title", 'say "no"']
    for shell, line in (
        (powershell, '--title "costs $HOME"'),
        (cmd, '--title "uses %PATH%"'),
        (cmd, "--title a&b"),
    ):
        with pytest.raises(AssertionError):
            shell(line, False)
    assert cmd('--title "uses %PATH%"', batch=True) != ["--title", "uses %PATH%"]
