"""Does a command line run tests? By its first words, wherever in the line they stand, and by what a project adds."""

import os
import re
import shlex

SETTINGS = ".kaizen/hooks.toml"
TESTS = tuple(
    tuple(line.split())
    for line in (
        "pytest", "py.test", "tox", "nox", "jest", "vitest", "mocha", "ctest", "phpunit", "rspec", "behave",
        "python -m pytest", "python -m unittest", "python manage.py test", "npm test", "npm t", "npm run test",
        "pnpm test", "pnpm run test", "yarn test", "yarn run test", "bun test", "deno test", "cargo test",
        "cargo nextest", "go test", "dotnet test", "mvn test", "mvn verify", "gradle test", "gradlew test",
        "make test", "make check", "swift test", "mix test", "rake test",
    )
)  # fmt: skip
# What stands before the command itself, and how many words it takes.
BEFORE = {
    "sudo": 1, "env": 1, "time": 1, "nice": 1, "command": 1, "exec": 1, "npx": 1, "bunx": 1, "timeout": 2,
    "uv": 2, "poetry": 2, "pdm": 2, "pipenv": 2, "hatch": 2, "bundle": 2, "coverage": 2,
}  # fmt: skip
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
PYTHON = re.compile(r"(?:python|py)[\d.]*(?:\.exe)?")
REDIRECTS = (">", ">>", "<", ">&", "&>")
OF_THE_TESTS = ("&&", "(", ")", *REDIRECTS)
LINE_CHARS_MAX = 20_000


def runs_tests(line: str, more: list[tuple[str, ...]]) -> bool:
    """Whether any command of the line is a test command."""
    if len(line) > LINE_CHARS_MAX:
        return False
    return any(_is_test(words, more) for words in _commands(line))


def exits_as_its_tests(line: str, more: list[tuple[str, ...]]) -> bool:
    """Whether the line's exit code is that of its tests: nothing follows them but other tests that `&&` joins.

    In `pytest && git push` a failure may be that of the push.
    """
    if not all(word in OF_THE_TESTS for word in _words(line) if _is_operator(word)):
        return False
    are_tests = [_is_test(words, more) for words in _commands(line)]
    return True in are_tests and all(are_tests[are_tests.index(True) :])


def _is_test(words, more):
    return any(_starts(words, test) for test in (*TESTS, *more))


def _commands(line):
    """The words of each simple command of a line."""
    commands: list[list[str]] = [[]]
    for word in _without_redirects(_words(line)):
        if _is_operator(word):
            commands.append([])
        else:
            commands[-1].append(word)
    return [_own(words) for words in commands if words]


def _without_redirects(words):
    """Without `2>&1` and `> file`, which run nothing: neither a `1` nor a file's name is a command."""
    kept: list[str] = []
    is_target = False
    for word in words:
        if word in REDIRECTS:
            kept = kept[:-1] if kept and kept[-1].isdigit() else kept
            is_target = True
        elif is_target:
            is_target = False
        else:
            kept.append(word)
    return kept


def _words(line):
    """Words and operators, as a shell splits them; none where a quote is not closed."""
    reader = shlex.shlex(line.replace("\n", " ; "), posix=True, punctuation_chars=True)
    reader.whitespace_split, reader.commenters = True, ""
    try:
        return list(reader)
    except ValueError:
        return []


def _is_operator(word):
    return word != "" and set(word) <= set("();<>|&")


def _own(words):
    """The command itself: without assignments and wrappers before it, by its plain name."""
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
    if words[:1] == ["-m"]:  # coverage run -m pytest
        return ["python", *words]
    return ["python" if PYTHON.fullmatch(name) else name, *words[1:]]


def _starts(words, test):
    """`npm run test` also begins `npm run test:unit`."""
    head, last = words[: len(test) - 1], words[len(test) - 1 : len(test)]
    return (
        tuple(head) == test[:-1]
        and last != []
        and (last[0] == test[-1] or last[0].startswith(test[-1] + ":"))
    )


def read_test_commands(root: str) -> list[tuple[str, ...]]:
    """`tests = ["bash setup/test.sh"]` in .kaizen/hooks.toml: further lines that a test command begins with."""
    path = os.path.join(root, SETTINGS)
    if not os.path.isfile(path):
        return []
    import tomllib

    with open(path, "rb") as file:
        lines = tomllib.load(file).get("tests", [])
    return [tuple(_own(line.split())) for line in lines if isinstance(line, str) and line.split()]
