"""Run an eval fixture: python -m kaizen_components.pipeline.codemode evals/codemode/app_text_slugify.yml --repo ../app

Exit codes: 0 every case holds, 1 a case does not, 2 it could not be decided.
"""

import argparse
import json
import sys
from typing import Any

from ...errors import KaizenError, Unavailable
from ..edits.format import quote_text

SHOWN = 100


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m kaizen_components.pipeline.codemode", description="Run an eval fixture."
    )
    parser.add_argument("fixture", help="the file that a codemode run made")
    parser.add_argument(
        "--repo", required=True, help="the repository with the function, as it is on disk now"
    )
    parser.add_argument("--python", help="the interpreter of the target, where it is not found")
    parser.add_argument("--json", action="store_true", help="the answer as data")
    given = parser.parse_args(words)
    try:
        found = _run(given)
    except KaizenError as error:
        said = (
            json.dumps(error.as_dict())
            if given.json
            else f"{error.what} {error.why} {error.next}".strip()
        )
        sys.stderr.write(said + "\n")
        return 2
    sys.stdout.write(json.dumps(found, ensure_ascii=False) + "\n" if given.json else _lines(found))
    return 1 if found["failed"] else 0


def _run(given) -> dict[str, Any]:
    try:
        from . import fixture, later
    except ImportError as error:  # who has not our packages has seen no case fail
        next_step = "Use the Python that Kaizen runs with, such as the one in .venv."
        raise Unavailable("no_packages", f"{error}.", "No case was run.", next_step) from None
    return later.run_fixture(fixture.read_fixture(given.fixture), given.repo, given.python)


def _lines(found: dict[str, Any]) -> str:
    lines = [_line(case) for case in found["cases"]]
    return (
        "\n".join(
            [*lines, f"{found['passed']} passed, {found['failed']} failed: {found['function']}"]
        )
        + "\n"
    )


def _line(case):
    end = case["expected"] if case["ok"] else f"{case['expected']}: not so, it {case['got']}"
    return f"{case['id']} {'pass' if case['ok'] else 'FAIL'}  {quote_text(case['call'], SHOWN)} {quote_text(end, 2 * SHOWN)}"


if __name__ == "__main__":
    sys.exit(main())
