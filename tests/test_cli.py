"""What a person and a shell see: help, typos, tables, cards, colour, pipes, completion."""

import json
import os
import pty
import re
import shutil
import subprocess
import sys
import time
import unicodedata
import zipfile

import pytest

from kaizen_components import __version__
from kaizen_components.errors import Usage
from kaizen_components.index import COMMANDS, FAMILIES, load_commands

from .conftest import LAUNCHER, ROOT

TASK = ("--title", "README polish", "--summary", "Make it a strong entry point.")


def test_new_user_can_record_list_and_verify(cli):
    started = cli("W1", *TASK, "--json")
    moved = cli("W2", "--id", "@last", "--status", "active", "--summary", "Started.")
    listed = cli("task-list")
    verified = cli("K8")
    found = cli("K0", "record that the tests passed")

    assert [answer.exit_code for answer in (started, moved, listed, verified, found)] == [0] * 5
    assert started.json["status"] == "OK" and started.json["id"].startswith("task_")
    assert "Created the database AI/db/kaizen.db." in started.json["notes"]
    assert "active" in moved.out
    assert started.json["id"] in listed.out and "README polish" in listed.out
    assert "verified" in verified.out and "yes" in verified.out
    assert "Q1" in found.out


def test_codes_and_names_ignore_case(cli):
    for word in ("W1", "w1", "task-start", "Task-Start"):
        assert cli(word, *TASK).exit_code == 0

    assert len(cli("W9", "--json").json["records"]) == 4


def test_help_shows_every_command_grouped_by_family(cli):
    for argv in ((), ("--help",), ("help",), ("-h",)):
        answer = cli(*argv)
        assert answer.exit_code == 0
        assert all(name in answer.out for name in COMMANDS.values())
        assert all(title in answer.out for title in FAMILIES.values())


def test_every_way_to_ask_help_prints_same_page(cli):
    pages = {
        cli(*argv).out
        for argv in (("W1", "--help"), ("help", "W1"), ("help", "task-start"), ("w1", "--help"))
    }

    assert len(pages) == 1
    page = pages.pop()
    assert "--priority" in page and "critical, high, normal, low" in page and "--done-when" in page
    assert "--ttl-s" not in page


def test_family_letter_lists_its_commands(cli):
    answer = cli("W")

    assert answer.exit_code == 0
    assert "task-claim" in answer.out and "db-check" not in answer.out


def test_help_with_json_prints_json_schema(cli):
    answer = cli("help", "W13", "--json")

    assert answer.json["commands"][0]["properties"]["action"]["enum"] == [
        "take",
        "renew",
        "release",
        "break",
    ]


@pytest.mark.parametrize(
    "typo, meant",
    [("task-strat", "task-start"), ("W99", "W9"), ("dcotor", "doctor"), ("halp", "help")],
)
def test_mistyped_command_gets_suggestion(cli, typo, meant):
    answer = cli(typo, "--json")

    assert answer.exit_code == 2
    assert meant in answer.error["why"]


def test_mistyped_option_gets_suggestion(cli):
    answer = cli("W1", "--titel", "x")

    assert answer.exit_code == 2
    assert "--title" in answer.err and "Traceback" not in answer.err


def test_option_given_twice_is_refused(cli):
    answer = cli("W1", *TASK, "--title", "Another", "--json")

    assert answer.exit_code == 2
    assert answer.error["code"] == "given_twice"


def test_json_option_before_command_is_accepted(cli):
    assert cli("--json", "W1", *TASK).json["status"] == "OK"


def test_errors_are_json_only_with_json_option(cli):
    cli("K1")
    machine, person = cli("W10", "--id", "task_nope", "--json"), cli("W10", "--id", "task_nope")

    assert machine.exit_code == person.exit_code == 3
    assert machine.out == person.out == ""
    assert machine.error["code"] == "unknown_id" and machine.error["retryable"] is False
    assert person.err.startswith("error: There is no task 'task_nope'.")
    assert "next:" in person.err


@pytest.mark.parametrize(
    "argv",
    [
        ("W13", "--id", "@last", "--ttl-s", "0"), ("W13", "--id", "@last", "--ttl-s", "1h"), ("W9", "--limit", "0"),
        ("W9", "--since", "yesterday"), ("W5", "--payload-json", "{bad"), ("W1", "--priority", "urgent"),
    ],
)  # fmt: skip
def test_bad_value_error_names_help_command(cli, argv):
    refused = cli(*argv, "--json")

    assert (
        refused.exit_code == 2
        and refused.error["code"] == "bad_value"
        and f"help {argv[0]}" in refused.error["next"]
    )


def test_mistyped_choice_gets_suggestion(cli):
    assert cli("W11", "--kind", "block", "--json").error["why"] == "Did you mean blocks?"
    assert (
        cli("Q2", "--conclusion", "verified", "--json").error["why"]
        == "Did you mean VERIFIED_ACCEPTABLE?"
    )


def test_missing_file_error_repeats_path_as_typed(cli, root):
    refused = cli("W1", "--title", "t", "--summary", "s", "--body-file", "docs/missing/dir.md")

    assert refused.exit_code == 3 and "'docs/missing/dir.md'" in refused.err


def test_missing_package_error_names_setup_or_existing_venv(root):
    shutil.copytree(ROOT / "kaizen_components", root / "kaizen_components")
    shutil.copy(LAUNCHER, root)
    argv = [sys.executable, "-S", "-E", str(root / "kaizen.py"), "W9"]
    environ = {name: value for name, value in os.environ.items() if name != "KAIZEN_REPO_ROOT"}
    (root / "AI" / "db").mkdir(parents=True)
    (root / "AI" / "db" / "kaizen.db").write_bytes(b"x" * 100)
    bare = subprocess.run(argv, env=environ, capture_output=True, text=True)
    (root / ".venv").mkdir()
    set_up = subprocess.run(argv, env=environ, capture_output=True, text=True)

    assert bare.returncode == set_up.returncode == 5
    assert "bash setup/setup.sh" in bare.stderr and ".venv" not in bare.stderr
    assert ".venv/bin/python" in set_up.stderr and "setup.sh" not in set_up.stderr


def test_table_is_aligned_and_ids_stay_whole(cli):
    ids = [
        cli("W1", "--title", title, "--summary", "s", "--json").json["id"]
        for title in ("short", "a much longer title")
    ]
    lines = cli("W9", env={"COLUMNS": "120"}).out.splitlines()

    assert all(any(one in line for line in lines) for one in ids)
    header = lines[0]
    rows = [line for line in lines[1:] if line.startswith("task_")]
    assert all(row[header.index("status") :].startswith("open") for row in rows)


@pytest.mark.parametrize("code", ["W9", "W12", "W15"])
def test_list_is_aligned_table_in_eighty_columns(cli, kaizen, code):
    for actor, packet, priority in (
        ("ada", "W5", "low"),
        ("bob", "W7", "critical"),
        ("eve-of-the-long-name", "W7", "high"),
    ):
        words = {"title": f"A title of some length by {actor}", "summary": "s", "actor": actor}
        task = kaizen("W1", **words, scope=actor, priority=priority)["id"]
        kaizen(packet, **words, task_id=task)
    kaizen.close()
    lines = cli(code, env={"COLUMNS": "80"}).out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("id "))
    rows = [line for line in lines if re.match("(task|pack)_", line)]

    starts = [found.end() for found in re.finditer(" {2,}", lines[at])]
    assert len(rows) == 3 and len(starts) >= 2
    assert all(
        row[start - 2 : start] == "  " and row[start] != " " for row in rows for start in starts
    )
    assert lines[at + 1].startswith("  ") and lines[at + 1].endswith("title")
    assert sum("A title of some" in line for line in lines) == 3


@pytest.fixture
def tasks_of_three(kaizen):
    """A task with a packet by each of three actors."""
    for actor in ("ada", "bob", "agent"):
        words = {"title": "A title of some length, as titles are", "summary": "s", "actor": actor}
        task = kaizen("W1", **words, scope=actor)["id"]
        kaizen("W5", **words, task_id=task)
    kaizen.close()


@pytest.mark.parametrize("argv", ["W9", "W12", "W15", "K0 start", "K11", "W10 --id @last", "K2"])
def test_output_fits_terminal_except_ids(cli, tasks_of_three, argv):
    for width in (40, 60, 80, 100):
        lines = cli(*argv.split(), env={"COLUMNS": str(width)}).out.splitlines()

        assert all(len(line) <= width or "_" in line for line in lines)
        assert width < 60 or all(len(line) <= width for line in lines)


def test_option_in_place_of_value_is_refused(cli):
    cli("W1", *TASK)
    forgotten = cli("W2", "--id", "@last", "--note", "--json")
    meant = cli("W2", "--id", "@last", "--note=--json")

    assert forgotten.exit_code == 2 and "--note=--json" in forgotten.error["next"]
    assert meant.exit_code == 0
    assert cli("W10", "--id", "@last", "--json").json["revisions"][0]["note"] == "--json"


def test_inspect_card_wraps_long_text(cli):
    cli("W1", "--title", "t", "--summary", "word " * 200)
    for width in (60, 120):
        lines = cli("W10", "--id", "@last", env={"COLUMNS": str(width)}).out.splitlines()
        assert max(map(len, lines)) <= width
        assert sum("word word" in line for line in lines) >= 5


def test_wide_characters_keep_columns_aligned(cli):
    cli("W1", "--title", "日本語のタイトル", "--summary", "s", "--scope", "東京")
    cli("W1", "--title", "plain", "--summary", "s", "--scope", "x")
    rows = [line for line in cli("W9").out.splitlines() if line.startswith("task_")]
    before = [row.split("agent")[0] for row in rows]

    assert len({len(part) + sum(ord(c) > 0x2E80 for c in part) for part in before}) == 1


@pytest.mark.parametrize(
    "scope", ["x⌚⏰✅⚡x", "שָׁלוֹם", "ไทยนี้", "ｆｕｌｌ", "cafe\u0301", "👩‍👧x", "한글"]
)
def test_combining_marks_take_no_width_in_tables(cli, scope):
    cli("W1", "--title", "t", "--summary", "s", "--scope", scope)
    cli("W1", "--title", "t", "--summary", "s", "--scope", "x")
    rows = [
        line.split("agent")[0] for line in cli("W9").out.splitlines() if line.startswith("task_")
    ]
    kinds = [(unicodedata.category(c), unicodedata.east_asian_width(c)) for c in rows[1]]
    broad = sum(0 if kind in ("Mn", "Cf") else 2 if width in "WF" else 1 for kind, width in kinds)

    assert len(rows) == 2 and len(rows[0]) == broad


@pytest.mark.parametrize(
    "argv, says",
    [
        (("help", "W1", "W2"), "takes one command"), (("W", "nope"), "takes one command"),
        (("--actor", "bob", "W9"), "The command must come before --actor."),
        (("completion",), "one of bash, zsh, fish"), (("completion", "bash", "zsh"), "one of bash, zsh, fish"),
        (("W10", "--id", "a\nb"), "--id must be one line"),
    ],
)  # fmt: skip
def test_misplaced_word_exits_2_with_explanation(cli, argv, says):
    answer = cli(*argv)

    assert answer.exit_code == 2 and says in answer.err
    assert cli("help", "help").out == cli("--help").out


def test_invalid_kaizen_actor_is_named_in_error(cli):
    answer = cli("W1", *TASK, env={"KAIZEN_ACTOR": "x\ny"})

    assert answer.exit_code == 2 and "error: KAIZEN_ACTOR must be one line." in answer.err


def test_secret_in_environment_names_variable(cli):
    answer = cli("W1", *TASK, env={"KAIZEN_ACTOR": SECRET_WORD})

    assert answer.exit_code == 1 and "error: KAIZEN_ACTOR seems to hold a secret" in answer.err


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_final_newline_of_text_file_is_dropped(cli, root, end):
    (root / "title").write_bytes(("\ufeff" + "\U0001f600" * 200 + end).encode())
    (root / "summary").write_bytes(("x" * 2_000 + end).encode())
    cli("W1", "--title-file", str(root / "title"), "--summary-file", str(root / "summary"))
    record = cli("W10", "--id", "@last", "--json").json["record"]

    assert len(record["title"]) == 200 and record["summary"] == "x" * 2_000


def test_json_option_works_in_any_position(cli):
    assert cli("--json", "W1", *TASK, "--json").json["status"] == "OK"


def test_run_without_two_dashes_before_command_is_refused(cli):
    for argv in (("--run=echo", "--run", "--", "hi"), ("--run=echo",)):
        refused = cli("Q1", *argv)
        assert refused.exit_code == 2 and "--run needs -- and then a command" in refused.err


@pytest.mark.parametrize(
    "argv", [("K3", "--out", "b.db"), ("S4", "--out", "b.json"), ("R2", "--out", "b.html")]
)
def test_relative_path_in_deleted_folder_is_explained(cli, root, argv):
    cli("W1", *TASK)
    script = f'mkdir gone && cd gone && rmdir ../gone && exec "{sys.executable}" "{LAUNCHER}" "$@"'
    environ = {**os.environ, "KAIZEN_REPO_ROOT": str(root)}
    done = subprocess.run(
        ["bash", "-c", script, "-", *argv], cwd=root, env=environ, capture_output=True, text=True
    )

    assert done.returncode == 3 and "The working directory was removed." in done.stderr


@pytest.mark.parametrize(
    "text, says", [("x" * 5_000, "200"), ("€" * 5_001, "200"), ("x" * 201, "201")]
)
def test_too_long_text_is_refused_with_its_limit(cli, root, text, says):
    (root / "long").write_text(text)
    answer = cli("W1", "--title-file", str(root / "long"), "--summary", "s")

    counted = {"200": "more than 200 characters", "201": "has 201 characters"}
    assert answer.exit_code == 2 and counted[says] in answer.err


def test_unprintable_answer_warns_against_repeating_only_after_writes(cli, root):
    cli("K1")
    for argv, says in (
        (("W9",), "The answer could not be printed"),
        (("W1", *TASK), "Do not repeat the command"),
    ):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [sys.executable, str(LAUNCHER), *argv],
                stdout=full,
                stderr=subprocess.PIPE,
                env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
            )
        assert done.returncode == 5 and says in done.stderr.decode()


def test_family_help_fits_80_columns_and_24_lines(cli):
    commands = load_commands()
    for family in FAMILIES:
        lines = cli(family, env={"COLUMNS": "80"}).out.splitlines()
        codes = [command.code for command in commands if command.family == family]

        assert len(lines) <= 24 and max(map(len, lines)) <= 80
        assert [line.split()[0] for line in lines[1:-2]] == codes


@pytest.mark.parametrize("width", [60, 80, 100])
def test_help_fits_terminal_except_examples(cli, width):
    for argv in (("--help",), ("W1", "--help"), ("W",), ("Q1", "--help")):
        lines = cli(*argv, env={"COLUMNS": str(width)}).out.partition("example:")[0].splitlines()
        assert max(map(len, lines)) <= width


def test_stored_escape_sequences_are_printed_as_text(cli):
    cli("W1", "--title", "red \x1b[31m alert \u202e abc", "--summary", "bell \x07")
    answer = cli("W10", "--id", "@last")

    assert "\x1b" not in answer.out and "\x07" not in answer.out and "\u202e" not in answer.out
    assert "\\x1b[31m" in answer.out


@pytest.mark.parametrize("word", ["a" * 300, "語" * 200, "ж" * 200, "x" * 90 + " end"])
def test_overlong_word_is_wrapped_without_added_blanks(cli, word):
    cli("W1", *TASK, "--body", word)
    shown = cli("W10", "--id", "@last", env={"COLUMNS": "60"}).out
    body = shown[shown.index("body ") + 5 :].split("\nrev ")[0]

    assert "".join(word.split()) in "".join(line.strip() for line in body.split("\n")).replace(
        " ", ""
    )
    assert word[0] + " " + word[0] not in body


SECRET_WORD = "gh" + "p_" + "a7Bq" * 9


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_secret_in_any_argument_is_never_repeated(cli, form):
    cli("K1")
    line = f'{{"command": "{SECRET_WORD}", "{SECRET_WORD}": 1}}\n'
    for argv in (
        (SECRET_WORD,),
        ("W1", "--" + SECRET_WORD, "x"),
        ("help", SECRET_WORD),
        ("W10", "--id", SECRET_WORD),
        ("W1", *TASK, "--body-file", SECRET_WORD),
        ("W1", SECRET_WORD),
        ("W1", *TASK, "--priority", SECRET_WORD),
        ("K5", "--file", SECRET_WORD),
        ("K5",),
        ("W9", "--limit", SECRET_WORD),
        ("completion", SECRET_WORD),
    ):
        answer = cli(*argv, *form, stdin=line.encode())
        assert answer.exit_code in (1, 2, 3) and SECRET_WORD not in answer.out + answer.err


VALUE = "Zx8" + "kQ3wRt7" * 9
LONG_SECRETS = [
    "AWS_SECRET_ACCESS_KEY=" + VALUE[:40],
    "Authorization: Bearer " + VALUE[:40],
    "gh" + "p_" + VALUE[:36],
]
LONG_SECRETS.append("ey" + "JhbGciOiJIUzI1NiJ9.ey" + "JzdWIiOiIxMjM0In0." + VALUE[:43])


@pytest.mark.parametrize("secret", LONG_SECRETS, ids=["named", "header", "prefix", "jwt"])
def test_error_never_repeats_part_of_secret(cli, secret):
    cli("K1")
    lines = json.dumps({"command": "W1", "args": {secret: "t"}}), json.dumps({"command": secret})
    asked = [
        *(
            (secret,),
            ("help", secret),
            ("W", secret),
            ("W1", secret),
            ("W1", "--" + secret),
            ("W10", "--id", secret),
        ),
        *(
            ("W1", *TASK, "--body-file", secret),
            ("-" + secret, "W1"),
            ("T3", "--trace-id", secret),
            ("K5",),
        ),
    ]
    said = [
        cli(*argv, stdin=one.encode())
        for argv in asked
        for one in (lines if argv == ("K5",) else ("",))
    ]

    assert all(answer.exit_code in (1, 2, 3) for answer in said)
    assert not [answer.err for answer in said if VALUE[:8] in answer.err.replace("-", "_")]


def test_secret_as_unknown_word_is_masked(cli):
    assert "[GitHub token]" in cli(SECRET_WORD).err


def on_a_terminal(argv, root, **env):
    """What a command prints when stdout and stderr are a real terminal."""
    master, slave = pty.openpty()
    environment = {**os.environ, "KAIZEN_REPO_ROOT": str(root), "TERM": "xterm", **env}
    child = subprocess.Popen(
        [sys.executable, str(LAUNCHER), *argv], stdout=slave, stderr=slave, env=environment
    )
    os.close(slave)
    output = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        output += piece
    child.wait()
    os.close(master)
    return output.decode()


def test_colour_is_printed_only_to_terminal_without_no_color(cli, root):
    cli("W1", *TASK, "--priority", "high")

    assert "\x1b[" in on_a_terminal(["W9"], root)
    assert "\x1b[" in on_a_terminal(["W99"], root)
    assert "\x1b[" not in on_a_terminal(["W9"], root, NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(["W99"], root, NO_COLOR="")
    assert "\x1b[" not in cli("W9").out


def test_colour_does_not_affect_wrapping(root):
    argv = ["W10", "--id", "task_" + "9" * 60]
    plain = on_a_terminal(argv, root, NO_COLOR="1", COLUMNS="50")
    coloured = on_a_terminal(argv, root, COLUMNS="50")

    assert len(plain.splitlines()) > 3 and re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_closed_pipe_does_not_fail_command(cli, root):
    for _ in range(40):
        cli("W1", *TASK)
    script = f'"{sys.executable}" "{LAUNCHER}" W9 | head -1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
        capture_output=True,
        text=True,
    )

    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_slow_pipe_reader_gets_whole_answer(cli, root):
    body = "".join(f"line {number}\n" for number in range(60_000))
    cli("W1", *TASK, "--body", "-", stdin=body.encode())

    reader = subprocess.Popen(
        [sys.executable, str(LAUNCHER), "W10", "--id", "@last", "--json"], stdout=subprocess.PIPE,
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
    )  # fmt: skip
    time.sleep(0.5)  # the pipe is full by now, and the command would like to end

    assert json.loads(reader.communicate()[0])["record"]["body"] == body
    assert reader.returncode == 0


def test_registered_exit_handlers_run_when_command_ends(root):
    script = (
        "import atexit, sys; atexit.register(print, 'called'); from kaizen_components.args import entry;"
        "sys.argv = ['kaizen', 'W9', '--json']; entry()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=LAUNCHER.parent, env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
        capture_output=True, text=True,
    )  # fmt: skip

    assert (done.stdout, done.returncode, json.loads(done.stderr)["code"]) == (
        "called\n",
        3,
        "no_database",
    )


def test_profile_of_command_is_printed(root, cli):
    cli("K1")
    done = subprocess.run(
        [sys.executable, "-m", "cProfile", str(LAUNCHER), "W9"], env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
        capture_output=True, text=True,
    )  # fmt: skip

    assert "function calls" in done.stdout


def test_full_disk_error_after_write_says_command_succeeded(cli, root):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, str(LAUNCHER), "W1", *TASK, "--json"], stdout=full, stderr=subprocess.PIPE,
            env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
        )  # fmt: skip

    assert done.returncode == 5
    assert json.loads(done.stderr)["code"] == "output_failed"
    assert len(cli("W9", "--json").json["records"]) == 1


@pytest.mark.parametrize(
    "argv", [("--help",), ("W1", "--help"), ("W",), ("completion", "bash"), ("W9",)]
)
def test_full_disk_error_after_read_claims_no_change(cli, root, argv):
    cli("W1", *TASK)
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, str(LAUNCHER), *argv], stdout=full, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "KAIZEN_REPO_ROOT": str(root)},
        )  # fmt: skip

    assert (
        done.returncode == 5
        and "carried out" not in done.stderr
        and "could not be printed" in done.stderr
    )


def test_closed_stdout_does_not_fail_command(root, cli):
    done = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" "{LAUNCHER}" W1 --title t --summary s >&-'],
        env={**os.environ, "KAIZEN_REPO_ROOT": str(root)}, capture_output=True,
    )  # fmt: skip

    assert done.returncode == 0 and b"Traceback" not in done.stderr


def test_text_is_read_from_file_or_stdin(cli, root):
    (root / "body.md").write_text("# A body\nwith ünïcode\n")
    (root / "title.txt").write_text("A title from a file\n")
    cli(
        "W1",
        "--title-file",
        "title.txt",
        "--summary",
        "-",
        "--body-file",
        "body.md",
        stdin=b"From stdin.",
    )
    record = cli("W10", "--id", "@last", "--json").json["record"]

    assert record["title"] == "A title from a file"
    assert record["summary"] == "From stdin."
    assert record["body"] == "# A body\nwith ünïcode\n"


@pytest.mark.parametrize(
    "argv, stdin, code",
    [
        (("--body-file", "nope.md"), b"", "file_not_found"),
        (("--body-file", "."), b"", "not_a_file"),
        (("--body", "-"), b"", "empty_stdin"),
        (("--body", "-"), b"\xff\xfe", "not_utf8"),
        (("--body", "-"), b"a\0b", "bad_value"),
        (("--body", "-"), b"x" * 1_000_001, "bad_value"),
        (("--body", "-"), "é".encode() * 3_000_000, "bad_value"),
        (("--body", "a", "--body-file", "b"), b"", "given_twice"),
    ],
)
def test_unreadable_text_is_refused_with_reason(cli, argv, stdin, code):
    answer = cli("W1", "--title", "t", "--summary", "s", *argv, "--json", stdin=stdin)

    assert answer.exit_code in (2, 3)
    assert answer.error["code"] == code
    assert cli("K2").exit_code == 3, "nothing was written, so there is no database either"


@pytest.mark.parametrize(
    "option, most", [("--title", 200), ("--summary", 2000), ("--body", 1_000_000)]
)
def test_text_limits_count_characters_not_bytes(cli, root, option, most):
    values = {"--title": "t", "--summary": "s"}
    for size, expected in ((most, 0), (most + 1, 2)):
        (root / "text").write_text("é" * size)
        argv = [word for name, value in values.items() if name != option for word in (name, value)]
        answer = cli("W1", *argv, f"{option}-file", "text", "--json")
        assert answer.exit_code == expected, answer.err


@pytest.mark.parametrize(
    "option", ["title", "summary", "body", "scope", "done_when", "actor", "op_id"]
)
def test_blank_text_is_refused(kaizen, option):
    for blank in ("", " ", "\t", "\n", "\u00a0", "\u200b", "\u3164 \u2800", "\x07"):
        with pytest.raises(Usage):
            kaizen("W1", **{"title": "t", "summary": "s", option: blank})


@pytest.mark.parametrize(
    "seen", ["\U00018cd6", "\ue000", "\U0010ffff", "\u200b.", "\u0301", "\u2800 \u2801"]
)
def test_title_with_unassigned_or_private_characters_is_accepted(kaizen, seen):
    assert kaizen("W1", title=seen, summary="s")["title"] == seen


def test_version_option_prints_version(cli):
    assert cli("--version").out == f"kaizen {__version__}\n"


def test_python_module_finds_project_above_working_folder(cli, root):
    (root / ".git").mkdir()
    deeper = root / "src" / "deep"
    deeper.mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-m", "kaizen_components", "W1", *TASK], cwd=deeper, capture_output=True,
        env={**{k: v for k, v in os.environ.items() if k != "KAIZEN_REPO_ROOT"}, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert (root / "AI" / "db" / "kaizen.db").exists()
    assert not (deeper / "AI").exists()


def test_wheel_has_script_and_every_data_file(tmp_path):
    wheel_folder, source = tmp_path / "wheel", tmp_path / "source"
    shutil.copytree(ROOT / "kaizen_components", source / "kaizen_components")
    for name in ("pyproject.toml", "README.md", "LICENSE", "requirements-kaizen.txt"):
        shutil.copy(ROOT / name, source)
    build = [
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "-q",
        "-w",
        str(wheel_folder),
        str(source),
    ]
    done = subprocess.run([sys.executable, "-m", *build], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    wheel = next(wheel_folder.glob("*.whl"))
    names = zipfile.ZipFile(wheel).namelist()
    points = (
        zipfile.ZipFile(wheel)
        .read(next(name for name in names if name.endswith("entry_points.txt")))
        .decode()
    )

    assert "kaizen = kaizen_components.args:entry" in points
    packaged = subprocess.run(
        ["git", "ls-files", "kaizen_components"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(packaged.stdout.split()) <= set(names)
    assert not any(name.startswith(("tests", "support_scripts", "AI")) for name in names)
    target = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(target)
    (tmp_path / "elsewhere").mkdir()
    for code in ("K1", "R8", "P11", "SK1"):
        ran = subprocess.run(
            [sys.executable, "-c", "from kaizen_components.args import entry; entry()", code],
            cwd=tmp_path / "elsewhere", env={**os.environ, "PYTHONPATH": str(target)},
            capture_output=True, text=True,
        )  # fmt: skip
        assert ran.returncode == 0, (code, ran.stderr)


# Completion, in the real shells


@pytest.fixture
def path_with_kaizen(tmp_path):
    """A PATH on which `kaizen` is a real command, as after installing the package."""
    script = tmp_path / "bin" / "kaizen"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{LAUNCHER}" "$@"\n')
    script.chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{script.parent}:{os.environ['PATH']}",
        "KAIZEN_REPO_ROOT": str(tmp_path),
    }


def bash_completions(line, env):
    script = f"""
        eval "$(kaizen completion bash)"
        COMP_LINE={line!r}; COMP_POINT=${{#COMP_LINE}}; COMP_WORDS=({line}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
        [ "${{COMP_LINE: -1}}" = " " ] && {{ COMP_WORDS+=(""); COMP_CWORD=$((COMP_CWORD + 1)); }}
        _kaizen_completion kaizen
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def completed(cli, shell, line):
    """What `kaizen` answers when this shell asks for the end of the line."""
    words = line.split(" ")
    asks = {"COMP_WORDS": line, "COMP_CWORD": words[-1] if shell == "fish" else str(len(words) - 1)}
    return (
        cli(env={"_KAIZEN_COMPLETE": f"{shell}_complete", **asks})
        .out.replace(",", "\n")
        .replace("\t", "\n")
        .split("\n")
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_ignores_case_and_accepts_equals_sign(cli, shell):
    for_one_word = {
        "bash": "kaizen W1 --priority = H",
        "zsh": "kaizen W1 --priority=H",
        "fish": "kaizen W1 --priority=H",
    }

    assert {"W1", "W10", "W15"} <= set(completed(cli, shell, "kaizen w1"))
    assert "high" in completed(cli, shell, "kaizen W1 --priority H")
    assert ("high" if shell == "bash" else "--priority=high") in completed(
        cli, shell, for_one_word[shell]
    )
    assert {"--body", "--body-file"} <= set(completed(cli, shell, "kaizen W1 --body"))
    assert "--body-file" not in completed(cli, shell, "kaizen W1 --b")
    assert "--priority" in completed(cli, shell, "kaizen --json task start --pri")
    assert "--version" in completed(cli, shell, "kaizen --v")


def test_zsh_completion_script_works_before_compinit(tool, path_with_kaizen):
    script = 'eval "$(kaizen completion zsh)" && print -r -- $_comps[kaizen]'
    done = subprocess.run(
        [tool("zsh"), "-f", "-c", script], env=path_with_kaizen, capture_output=True, text=True
    )

    assert done.stdout.strip() == "_kaizen_completion", done.stderr


def test_help_completion_prints_lines_for_shell_startup(cli):
    assert cli("help", "completion").out == cli("completion", "--help").out
    assert 'eval "$(kaizen completion zsh)"' in cli("help", "completion").out


def test_bash_completes_commands_options_and_choices(path_with_kaizen):
    assert "task-start" in bash_completions("kaizen task-s", path_with_kaizen)
    assert "--priority" in bash_completions("kaizen W1 --pri", path_with_kaizen)
    assert bash_completions("kaizen W1 --priority h", path_with_kaizen) == ["high"]
    assert "bash" in bash_completions("kaizen completion b", path_with_kaizen)


@pytest.mark.parametrize(
    "shell, check", [("zsh", ["-n"]), ("fish", ["--no-execute"]), ("bash", ["-n"])]
)
def test_completion_script_is_valid_in_its_shell(cli, tool, tmp_path, shell, check):
    script = tmp_path / "completion"
    script.write_text(cli("completion", shell).out)

    done = subprocess.run([tool(shell), *check, str(script)], capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    assert "kaizen" in script.read_text()


def test_fish_completes_commands(tool, path_with_kaizen):
    script = 'kaizen completion fish | source; complete -C "kaizen task-cl"'
    done = subprocess.run(
        [tool("fish"), "-c", script], env=path_with_kaizen, capture_output=True, text=True
    )

    assert "task-claim" in done.stdout, done.stderr


def test_zsh_and_fish_get_their_own_completion_format(cli):
    zsh = cli(
        env={"_KAIZEN_COMPLETE": "zsh_complete", "COMP_WORDS": "kaizen W1 --pr", "COMP_CWORD": "2"}
    )
    fish = cli(
        env={"_KAIZEN_COMPLETE": "fish_complete", "COMP_WORDS": "kaizen W1", "COMP_CWORD": "--pr"}
    )

    assert "--priority" in zsh.out
    assert "--priority" in fish.out


def test_unknown_shell_is_refused(cli):
    assert cli("completion", "tcsh").exit_code == 2


def test_command_name_works_as_two_words(cli):
    cli("task", "start", "--title", "One", "--summary", "A task.")

    assert cli("task", "list").out == cli("W9").out
    assert cli("--json", "task", "list").json["records"] == cli("W9", "--json").json["records"]
    assert cli("help", "task", "list").out == cli("help", "W9").out
    assert cli("task", "nothing").exit_code == 2
