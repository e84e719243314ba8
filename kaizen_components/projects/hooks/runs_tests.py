"""Recognize command lines that run tests, by the first words of each command.

A project can add its own test commands.
"""

import os
import re
import shlex

SETTINGS = ".kaizen/hooks.toml"
TESTS = tuple(
    tuple(line.split())
    for line in (
        "pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ctest", "phpunit", "rspec",
        "behave", "python -m pytest", "python -m unittest", "python manage.py test", "npm test",
        "npm t", "npm run test", "pnpm test", "pnpm run test", "yarn test", "yarn run test",
        "bun test", "deno test", "cargo test", "cargo nextest", "go test", "dotnet test",
        "mvn test", "mvn verify", "gradle test", "gradlew test", "make test", "make check",
        "swift test", "mix test", "rake test",
    )
)  # fmt: skip
# Wrappers before the command itself, and how many words each takes.
BEFORE = {
    "sudo": 1, "env": 1, "time": 1, "nice": 1, "command": 1, "exec": 1, "npx": 1, "bunx": 1,
    "timeout": 2, "uv": 2, "poetry": 2, "pdm": 2, "pipenv": 2, "hatch": 2, "bundle": 2,
    "coverage": 2,
}  # fmt: skip
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
PYTHON = re.compile(r"(?:python|py)[\d.]*(?:\.exe)?")
REDIRECTS = (">", ">>", "<", ">&", "&>")
JOINERS = ("&&", "(", ")", *REDIRECTS)
LINE_CHARS_MAX = 20_000


Words = list[str]
TestCommands = list[tuple[str, ...]]


def runs_tests(line: str, project_commands: TestCommands) -> bool:
    """Return whether any command in the line is a test command."""
    if len(line) > LINE_CHARS_MAX:
        return False
    return any(_is_test(words, project_commands) for words in _split_commands(line))


def exits_as_its_tests(line: str, project_commands: TestCommands) -> bool:
    """Return whether the exit code of the line tells how its tests ended.

    This holds if only tests follow the first test, joined by `&&`. In `pytest && git push` the
    failure may come from the push.
    """
    if not all(word in JOINERS for word in _split_words(line) if _is_operator(word)):
        return False
    are_tests = [_is_test(words, project_commands) for words in _split_commands(line)]
    return True in are_tests and all(are_tests[are_tests.index(True) :])


def _is_test(words: Words, project_commands: TestCommands) -> bool:
    """Return whether a command begins with the words of a test command."""
    for *head, last in (*TESTS, *project_commands):
        if words[: len(head)] == head and len(words) > len(head):
            word = words[len(head)]
            if word == last or word.startswith(last + ":"):  # `npm run test:unit`
                return True
    return False


def _split_commands(line: str) -> list[Words]:
    """Return the words of each simple command, without redirects such as `2>&1` and `> file`."""
    commands: list[Words] = [[]]
    is_target = False
    for word in _split_words(line):
        if word in REDIRECTS:
            if commands[-1] and commands[-1][-1].isdigit():
                commands[-1].pop()
            is_target = True
        elif is_target:
            is_target = False
        elif _is_operator(word):
            commands.append([])
        else:
            commands[-1].append(word)
    return [_strip_wrappers(words) for words in commands if words]


def _split_words(line: str) -> Words:
    """Split the line into words and operators as a shell does; [] if a quote is not closed."""
    reader = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return list(reader)
    except ValueError:
        return []


def _is_operator(word: str) -> bool:
    return word != "" and set(word) <= set("();<>|&")


def _strip_wrappers(words: Words) -> Words:
    """Return the command without assignments and wrappers such as sudo, and without its folder."""
    while words:
        if ASSIGNMENT.match(words[0]):
            words = words[1:]
        elif words[0] in BEFORE and len(words) > BEFORE[words[0]]:
            words = words[BEFORE[words[0]] :]
        else:
            break
    if not words:
        return []
    name = words[0].replace("\\", "/").rsplit("/", 1)[-1]
    if words[0] == "-m":  # coverage run -m pytest
        return ["python", *words]
    return ["python" if PYTHON.fullmatch(name) else name, *words[1:]]


def read_test_commands(root: str) -> TestCommands:
    """Read the first words of further test commands, such as `tests = ["bash setup/test.sh"]`,
    from .kaizen/hooks.toml."""
    path = os.path.join(root, SETTINGS)
    if not os.path.isfile(path):
        return []
    import tomllib

    with open(path, "rb") as file:
        lines = tomllib.load(file).get("tests", [])
    commands = [line.split() for line in lines if isinstance(line, str) and line.split()]
    return [tuple(_strip_wrappers(words)) for words in commands]
