"""Both parsers agree, any argv gets a documented answer, the hot path imports little."""

import io
import json
import os
import random
import shlex
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kaizen_components import args, fields
from kaizen_components.errors import EXIT_CODES, KaizenError
from kaizen_components.faces import cli as face
from kaizen_components.index import COMMANDS, Command

from .conftest import LAUNCHER
from .examples import prepare_example

OPTIONS = sorted(
    {
        fields.format_option(name)
        for code in COMMANDS
        for name in (*Command(code).options, *fields.SHARED)
    }
)
words = st.one_of(
    st.sampled_from(
        [
            *OPTIONS,
            *(option + "-file" for option in OPTIONS),
            "--",
            "-",
            "",
            "-x",
            "--titl",
            "--op_id",
        ]
    ),
    st.sampled_from(
        [
            "a",
            "x y",
            "--json=1",
            "--title=t",
            "--summary=",
            "--limit=3",
            "--body-file=f",
            "@last",
            "W1",
            "-1",
        ]
    ),
    st.text(max_size=8),
)
argvs = st.tuples(
    st.sampled_from([*COMMANDS, *COMMANDS.values(), "w1", "TASK-START"]),
    st.lists(words, max_size=7),
)


def plain(parsed):
    """What a parser understood, in a form that compares."""
    command, given_options = parsed
    flat = {
        name: sorted(
            ("file", v.path) if isinstance(v, fields.FromFile) else ("text", v) for v in values
        )
        for name, values in given_options.items()
    }
    return command.code, flat


@settings(max_examples=3000, deadline=None)
@given(argvs)
def test_both_parsers_return_same_values_for_generated_options(argv):
    argv = [argv[0], *argv[1]]
    fast = args.parse_argv(argv)
    if fast is not None:
        assert plain(face.parse_with_click(argv)) == plain(fast)


def likely_argv(chance):
    """An argv that mostly makes sense, so that the fast parser takes most of them."""
    code = chance.choice(list(COMMANDS))
    command = Command(code)
    argv = [chance.choice([code, COMMANDS[code], code.lower()])]
    for name in chance.sample([*command.options, *fields.SHARED], k=chance.randint(0, 4)):
        field = fields.get_field(command, name)
        option = fields.format_option(name)
        value = chance.choice(["x", "--something", "-", "a=b", "two words", "ünï"])
        if field.kind == "flag":
            argv.append(option)
        elif field.kind in fields.TEXT_KINDS and chance.random() < 0.2:
            argv += [option + "-file", value]
        else:
            argv += [f"{option}={value}"] if chance.random() < 0.5 else [option, value]
    return argv


def test_both_parsers_agree_on_likely_command_lines():
    chance = random.Random(1)
    taken = 0
    for _ in range(4000):
        argv = likely_argv(chance)
        fast = args.parse_argv(argv)
        if fast is not None:
            taken += 1
            assert plain(face.parse_with_click(argv)) == plain(fast), argv

    assert taken > 3500


class Captured(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def text(self):
        return self.buffer.getvalue().decode()


@pytest.fixture
def run(monkeypatch, root):
    """main() in this process, with its streams captured: a thousand calls in a few seconds."""
    monkeypatch.setenv("KAIZEN_REPO_ROOT", str(root))

    def call(argv, stdin=b""):
        out, err = Captured(), Captured()
        monkeypatch.chdir(root)
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            return args.main(argv), out.text(), err.text()
        finally:
            monkeypatch.undo()
            monkeypatch.setenv("KAIZEN_REPO_ROOT", str(root))

    return call


strange = st.one_of(
    st.text(max_size=30),
    st.text(
        st.characters(min_codepoint=0xD800, max_codepoint=0xDFFF), min_size=1, max_size=3
    ),  # lone surrogates
    st.sampled_from(
        [
            "\0",
            "a\0b",
            "%",
            "%s",
            "'",
            '"; DROP TABLE task; --',
            "\n",
            "a\nb",
            " ",
            "\u202e",
            "𝕏" * 50,
            "💥",
        ]
    ),
    st.sampled_from(
        [
            "9" * 30,
            "-1",
            "0",
            "1e309",
            "nan",
            "[]",
            "{",
            '{"a":1}',
            "[[[[",
            "task_",
            "@last",
            "@",
            "$1.id",
            "7d",
        ]
    ),
    st.sampled_from([1_000_000, 1_000_001]).map(lambda size: "x" * size),
)
hostile = st.lists(
    st.one_of(
        st.sampled_from(OPTIONS), st.sampled_from(["--json", "--help", "--", "-", "-h"]), strange
    )
)
SLOW = {"--gates"}  # proves every gate, which takes a minute


def likely(code):
    """Mostly options that the command has, with values that it may even like."""
    command = Command(code)
    own = {fields.format_option(name): fields.get_field(command, name) for name in command.options}
    pairs = [
        st.tuples(
            st.just(option),
            st.one_of(strange, st.sampled_from(field.choices)) if field.choices else strange,
        )
        for option, field in own.items()
        if option not in SLOW
    ]
    flags = [
        (option,) for option, field in own.items() if field.kind == "flag" and option not in SLOW
    ]
    one = st.one_of(*pairs, st.sampled_from([*flags, ("--json",), ("--",), ("-",)]))
    return st.lists(one, max_size=8).map(
        lambda chosen: [word for words in chosen for word in words]
    )


LIKELY = {code: likely(code) for code in COMMANDS}


@pytest.mark.parametrize("code", COMMANDS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    data=st.data(), stdin=st.one_of(st.binary(max_size=40), st.just(b'{"command":"W1","args":{}}'))
)
def test_any_arguments_exit_with_documented_code(run, code, data, stdin):
    rest = data.draw(st.one_of(LIKELY[code], hostile))
    exit_code, out, err = run([code, *rest], stdin)

    assert exit_code in EXIT_CODES and exit_code != 70, (rest, err)
    assert "Traceback" not in out + err
    if asks_for_json(rest) and exit_code and not out:
        error = json.loads(err)
        assert error["status"] == "ERROR"
        assert {"code", "what", "why", "next", "retryable"} <= set(error)
    elif asks_for_json(rest):
        answer = json.loads(out)
        assert answer["status"] == "OK"
        assert (answer.get("exit_code") or 0) == exit_code, (
            "a check that failed says so in its answer"
        )


def asks_for_json(argv):
    """Words after `--run --` belong to the command that is run."""
    at = next((at for at in range(len(argv)) if argv[at : at + 2] == ["--run", "--"]), len(argv))
    return "--json" in argv[:at]


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(argv=hostile)
def test_any_first_word_exits_with_documented_code(run, argv):
    exit_code, out, err = run(argv)

    assert exit_code in EXIT_CODES and exit_code != 70
    if asks_for_json(argv):
        assert json.loads(err if exit_code else out)["status"] == ("ERROR" if exit_code else "OK")


@pytest.mark.parametrize(
    "argv",
    [["W1", "--title", b"\xff\xfe", "--summary", "s"], [b"\xff"], ["W1", b"--\xff", "--json"]],
)
def test_non_utf8_command_line_is_refused(cli, argv):
    answer = cli(*argv)

    assert answer.exit_code == 2
    assert "Traceback" not in answer.err


@pytest.mark.parametrize(
    "argv", [["--version"], ["completion", "bash"], ["help"], ["W"], ["W1", "--help"], ["-h"], []]
)
def test_json_works_without_database(run, argv):
    exit_code, out, _ = run([*argv, "--json"])

    assert exit_code == 0 and json.loads(out)["status"] == "OK"


def test_bug_exits_70_with_traceback_on_request(run, monkeypatch):
    def broken(*_):
        raise RuntimeError("inside")

    monkeypatch.setattr(args.Door, "run", broken)
    silent, loud = None, None
    for debug in ("", "1"):
        monkeypatch.setenv("KAIZEN_DEBUG", debug)
        out, err = Captured(), Captured()
        with monkeypatch.context() as streams:
            streams.setattr(sys, "stdout", out)
            streams.setattr(sys, "stderr", err)
            assert args.main(["K2", "--json"]) == 70
        silent, loud = (err.text(), loud) if not debug else (silent, err.text())

    assert json.loads(silent)["code"] == "bug" and "Traceback" not in silent
    assert "Traceback" in loud


def test_each_error_exits_with_its_code():
    kinds = KaizenError.__subclasses__()

    assert sorted(kind.exit_code for kind in kinds) == [1, 2, 3, 4, 5, 6, 7]
    assert set(EXIT_CODES) == {0, 1, 2, 3, 4, 5, 6, 7, 70}


# The hot path

ALLOWED = {
    "_sha2", "_sha256", "binascii", "fcntl", "libsql", "libsql.libsql", "_signal", "kaizen_components", "msvcrt",
    "__future__",
}  # fmt: skip
SLOW = {  # not held to the allow-list, and why
    "K0": "ranks with math", "K1": "migrates", "K3": "copies a database", "K5": "reads JSON", "K6": "hashes files",
    "K7": "now and then", "K8": "reads everything", "K11": "looks at everything", "Q1": "runs a command",
    "Q8": "reads JSON", "Q10": "reads a text", "A1": "hashes files", "A2": "hashes files", "A5": "hashes files",
    "S4": "writes a file", "I5": "a report", "T3": "a report", "O1": "hashes a manifest", "O2": "hashes files",
    "O3": "a report", "M1": "reads files", "M2": "reads files", "M3": "reads files", "M4": "reads files",
    "M5": "a report", "P1": "runs for minutes", "P2": "reads JSON", "P3": "reads JSON", "P7": "runs for minutes",
    "P4": "runs gates", "P5": "reads JSON", "P6": "runs gates", "P8": "a report", "P11": "runs gates",
    "D1": "looks at another repository",
    "D2": "reads files", "D3": "reads JSON", "SK1": "reads files", "SK2": "reads files", "SK3": "reads files",
    **dict.fromkeys((code for code in COMMANDS if code.startswith("R")), "a report"),
}  # fmt: skip


def modules_after(root, argv):
    """Return the modules that a command imports on top of a bare Python."""
    engine, report = str(LAUNCHER.parent), str(root / "modules")
    script = (
        "import sys; before = set(sys.modules); sys.argv = ['kaizen.py', *sys.argv[2:]];"
        f"sys.path.insert(0, {engine!r});"
        "from kaizen_components.args import main; code = main();"
        f"print('\\n'.join(sorted(set(sys.modules) - before)), file=open({report!r}, 'w')); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, "-", *argv],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return (root / "modules").read_text().split()


@pytest.mark.parametrize("code", [code for code in COMMANDS if code not in SLOW])
def test_everyday_command_imports_only_allowed_modules(root, cli, code):
    prepare_example(code, root)
    example = Command(code).example
    if code == "W11":
        cli("W1", "--title", "Another", "--summary", "To be linked.")
    argv = shlex.split(example)[1:]
    if "--payload-json" in argv:  # JSON that is given has to be read
        at = argv.index("--payload-json")
        del argv[at : at + 2]

    for line in (argv, [*argv, "--json"]):
        loaded = modules_after(root, line)
        assert [
            name
            for name in loaded
            if name not in ALLOWED and not name.startswith("kaizen_components.")
        ] == []
        if code in ONCE:
            break


ONCE = (
    "L2",
    "L3",
    "L11",
    "X6",
    "I4",
    "W13",
    "W4",
    "W6",
    "W8",
    "G5",
)  # a second time would be refused


def test_import_test_skips_only_listed_slow_writes():
    often = {code for code in COMMANDS if Command(code).writes} - set(SLOW)

    assert len(often) >= 28 and set(SLOW) < set(COMMANDS)


def test_path_with_nul_is_refused_by_both_parsers(root, monkeypatch, capsys):
    monkeypatch.setenv("KAIZEN_REPO_ROOT", str(root))
    given = ["W1", "--title", "t", "--summary", "s", "--body-file", "a\0b", "--json"]

    assert args.main(given) == args.main([*given, "extra"]) == 2
    assert "bug" not in capsys.readouterr().err
