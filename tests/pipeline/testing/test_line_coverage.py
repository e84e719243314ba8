from kaizen_components.pipeline.gates.tests import line_coverage

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


def test_lines_of_a_statement_map_to_its_first(tmp_path):
    (tmp_path / "x.py").write_text(SOURCE)
    first = line_coverage.map_first_lines(str(tmp_path / "x.py"))

    assert [first[line] for line in (6, 7, 8, 9)] == [6] * 4
    assert [first[line] for line in (12, 13, 14, 15, 16, 17)] == [12, 12, 12, 15, 15, 17]
    excluded = line_coverage.list_excluded_lines(str(tmp_path / "x.py"))
    assert excluded == {4, 21}  # for type checkers and for scripts


def test_changed_product_files_exclude_tests(candidate):
    job = candidate({"app/more.py": "a = 1\n", "tests/helper.py": "a = 1\n", "notes.md": "x\n"})

    assert line_coverage.list_product_files(job) == ["app/main.py", "app/more.py"]
