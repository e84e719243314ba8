from kaizen_components.pipeline.gates.tests import line_coverage, pytest_config

SOURCE = """from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import app

value = call(
    1,
    2,
)


def f(
    x,
):
    if (x
            > 1):
        return 1


if __name__ == "__main__":
    f(1)
"""


def test_line_within_a_statement_counts_where_the_statement_begins(tmp_path):
    (tmp_path / "x.py").write_text(SOURCE)
    first = line_coverage.map_first_lines(str(tmp_path / "x.py"))

    assert [first[line] for line in (6, 7, 8, 9)] == [6] * 4
    assert [first[line] for line in (12, 13, 14, 15, 16, 17)] == [12, 12, 12, 15, 15, 17]


def test_lines_for_type_checkers_and_for_scripts_do_not_count(tmp_path):
    (tmp_path / "x.py").write_text(SOURCE)

    assert line_coverage.list_excluded_lines(str(tmp_path / "x.py")) == {4, 21}


def test_tests_are_no_product(candidate):
    job = candidate({"app/more.py": "a = 1\n", "tests/helper.py": "a = 1\n", "notes.md": "x\n"})

    assert line_coverage.list_product_files(job) == ["app/main.py", "app/more.py"]


def test_configuration_is_found_as_pytest_finds_it(tmp_path):
    found = []
    for files in (
        {},
        {"setup.cfg": "[tool:pytest]\n", "tox.ini": "[tox]\n"},
        {"pyproject.toml": "[tool.pytest.ini_options]\n", "setup.cfg": "[tool:pytest]\n"},
        {"pyproject.toml": "[tool.other]\n"},
        {"pytest.ini": "", "pyproject.toml": "[tool.pytest.ini_options]\n"},
    ):
        base = tmp_path / str(len(found))
        base.mkdir()
        for name, text in files.items():
            (base / name).write_text(text)
        found.append(pytest_config.write_config(str(base), str(base / "config")))

    assert found == ["pytest.ini", "setup.cfg", "pyproject.toml", "pytest.ini", "pytest.ini"]
