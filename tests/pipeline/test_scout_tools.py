"""Check that a scout can list, read and search the files of the base, and nothing else."""

import json

import pytest

from kaizen_components.pipeline.ask import scout_tools

TOKEN = "ghp_" + "A1b2C3d4" * 5


class Base:
    """The files of a base commit, in place of a Workspace."""

    def __init__(self, files):
        self.files = files

    def list_paths(self):
        return sorted(self.files)

    def read(self, path):
        return self.files.get(path)


FILES = {
    "app/main.py": b"\n".join(b"line %d" % n for n in range(1, 501)),
    "app/x.py": b"def Health(): ...\n",
    "logo.png": b"\0\1",
    "env": f"token={TOKEN}\nfine\n".encode(),
}


def call(name, base=None, **arguments):
    return scout_tools.call_tool(base or Base(FILES), name, json.dumps(arguments))


def test_scout_can_list_read_and_search_files():
    assert call("list") == "app/main.py\napp/x.py\nenv\nlogo.png"
    assert call("list", folder="./app/") == "app/main.py\napp/x.py"
    assert call("read", path="app/x.py") == "app/x.py, lines 1-1 of 1:\ndef Health(): ..."
    assert (
        call("read", path="app/main.py", start=499)
        == "app/main.py, lines 499-500 of 500:\nline 499\nline 500"
    )
    assert call("grep", text="health", folder="app") == "app/x.py:1: def Health(): ..."


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../../etc/passwd", "app/../env/../../x", "app", "", ".git/config"]
)
def test_scout_cannot_read_files_outside_base(path):
    assert call("read", path=path).startswith("There is no such file.")


def test_long_output_of_scout_tools_is_cut():
    many = Base({f"f{n:04}.py": b"x" * 150 + b"\n" for n in range(900)})

    assert call("list", many).endswith("… and 700 more")
    assert call("grep", many, text="xx").endswith("(cut)")
    assert call("grep", Base({"a": b"xx\n" * 90}), text="xx").endswith("… and more")
    assert "lines 1-200 of 500" in call("read", path="app/main.py")
    assert len(call("read", Base({"a": b"y" * 90_000}), path="a")) < 8_100


def test_scout_tools_redact_secrets():
    for text in (call("read", path="env"), call("grep", text="token")):
        assert TOKEN not in text and "removed" in text


@pytest.mark.parametrize(
    "name, arguments, said",
    [
        ("write", "{}", "There is no such tool"),
        ("read", "{", "not JSON"),
        ("read", "[]", "not a JSON object"),
        ("read", '{"path": 3}', "no such file"),
        ("read", '{"path": "logo.png"}', "not a text file"),
        ("grep", '{"text": " "}', "at least two"),
        ("grep", '{"text": "(a+)+$"}', "No line"),
        ("list", '{"folder": "nowhere"}', "no file below"),
        ("list", "", "app/main.py"),
    ],
)
def test_invalid_scout_tool_call_gets_explanation(name, arguments, said):
    assert said in scout_tools.call_tool(Base(FILES), name, arguments)


def test_every_offered_scout_tool_is_implemented():
    answers = {call(name) for name in scout_tools.NAMES}

    assert len(answers) == len(scout_tools.NAMES)
    assert not any("no such tool" in answer for answer in answers)
