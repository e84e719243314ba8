import pytest

from kaizen_components.pipeline.gates.tests import mutants


def describe_mutants(source, lines=range(1, 99)):
    return [str(mutant) for mutant in mutants.make_mutants("x.py", source, set(lines))]


@pytest.mark.parametrize(
    ("source", "change"),
    [
        ("a = b < c\n", "b < c  ->  b <= c"),
        ("a = b + c\n", "b + c  ->  b - c"),
        ("a = b and c\n", "b and c  ->  b or c"),
        ("a = not b\n", "not b  ->  b"),
        ("a = 5\n", "5  ->  6"),
        ("a = 'x'\n", "'x'  ->  ''"),
        ("a = True\n", "True  ->  False"),
        ("def f(x):\n    return x\n", "return x  ->  return None"),
        ("if a:\n    b()\n", "a  ->  not a"),
        ("while a:\n    b()\n", "a  ->  not a"),
        ("if a:\n    b()\n", "b()  ->  pass"),
        ("a += b\n", "a += b  ->  pass"),
        ("for a in range(b):\n    c()\n", "range(b)  ->  (range(b - 1))"),
        ("a = b[:c]\n", ":c  ->  :c - 1"),
    ],
)
def test_each_kind_of_code_has_its_mutant(source, change):
    assert change in describe_mutants(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""Text."""\n', "def f():\n    '''Text.'''\n", "import a\n", "logger.info('x', 1)\n",
        "logging.getLogger('x').info(1)\n",
        "__all__ = ['a', 'b']\n", "a: list[3] = b\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    a = 5\n",
        "if __name__ == '__main__':\n    a = 5\n", "print(1 + 1)\n", "a = None\n",
    ],
)  # fmt: skip
def test_docstrings_logging_and_imports_have_no_mutants(source):
    assert describe_mutants(source) == []


@pytest.mark.parametrize(
    ("source", "number"),
    [
        ("def f():\n    return True\n", 1),
        ("a = b[:-1]\n", 1),
        ("a = b[2:]\n", 1),
        ("a = b < 3\n", 1),
        ("a = [1, 2, 3]\n", 1),
    ],
)
def test_overlapping_mutations_yield_one_mutant(source, number):
    assert len(describe_mutants(source)) == number


def test_mutants_change_only_the_given_lines():
    source = "a = 'ä' + b  # ö\nc = 1 if d else 2\n"

    assert {mutant.line for mutant in mutants.make_mutants("x.py", source, {2})} == {2}
    assert all(
        mutant.text.startswith("a = 'ä' + b  # ö\n")
        for mutant in mutants.make_mutants("x.py", source, {2})
    )
    assert "a = ('ä' - b)  # ö\n" not in {
        mutant.text.splitlines(True)[0] for mutant in mutants.make_mutants("x.py", source, {1})
    }


def test_all_mutants_differ_and_compile():
    source = "def f(x, *, y=3):\n    z = [i for i in x if i > y]\n    return {'a': z, 'b': -len(z)} if z else f'{y + 1}'\n"
    texts = [mutant.text for mutant in mutants.make_mutants("x.py", source, {1, 2, 3})]

    assert len(texts) == len({*texts, source}) - 1 >= 7
    for text in texts:
        compile(text, "x.py", "exec")


def test_only_changed_functions_lose_their_bodies():
    source = "def kept():\n    return 1\n\n\ndef changed():\n    return 2\n"
    scope: dict = {}
    exec(mutants.gut_functions("x.py", source, {6}).text, scope)

    assert scope["kept"]() == 1
    with pytest.raises(SystemError):
        scope["changed"]()
    assert mutants.gut_functions("x.py", "a = 1\n", {1}) is None


def test_invalid_source_has_no_mutants():
    assert describe_mutants("a = = 1\n") == []
