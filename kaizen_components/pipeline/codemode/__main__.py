"""Run an eval fixture: python -m kaizen_components.pipeline.codemode FIXTURE --repo ../app

Exit codes: 0 if every case passes, 1 if a case fails, 2 if the cases cannot be run.
"""

import argparse
import json
import sys

from ...errors import KaizenError, Unavailable
from ..edits.format import quote_text

CALL_CHARS, END_CHARS = 100, 200


def main(words: list[str] | None = None) -> int:
    """Run the cases, print a line for each, and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m kaizen_components.pipeline.codemode", description="Run an eval fixture."
    )
    parser.add_argument("fixture", help="a file that a codemode run created")
    parser.add_argument(
        "--repo", required=True, help="the repository with the function; its current files are used"
    )
    parser.add_argument(
        "--python", help="the interpreter of the repository, if it is not found automatically"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(words)
    try:
        try:
            from . import fixture
        except ImportError as error:  # exit code 2: no case has run, so none has failed
            next_step = "Use the Python that Kaizen runs with, such as the one in .venv."
            why = "Without this package no case can run."
            raise Unavailable("no_packages", f"{error}.", why, next_step) from None
        spec = fixture.read_fixture(options.fixture)
        answer = fixture.run_fixture(spec, options.repo, options.python)
    except KaizenError as error:
        text = f"{error.what} {error.why} {error.next}".strip()
        sys.stderr.write((json.dumps(error.as_dict()) if options.json else text) + "\n")
        return 2
    if options.json:
        sys.stdout.write(json.dumps(answer, ensure_ascii=False) + "\n")
        return 1 if answer["failed"] else 0
    lines = []
    for case in answer["cases"]:
        verdict, end = "pass", case["expected"]
        if not case["ok"]:
            verdict, end = "FAIL", f"{end}, but it {case['got']}"
        call = quote_text(case["call"], CALL_CHARS)
        lines.append(f"{case['id']} {verdict}  {call} {quote_text(end, END_CHARS)}")
    counts = f"{answer['passed']} passed, {answer['failed']} failed"
    sys.stdout.write("\n".join([*lines, f"{counts}: {answer['function']}"]) + "\n")
    return 1 if answer["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
