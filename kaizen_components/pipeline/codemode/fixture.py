"""An accepted spec as a file that can be run later: its expected values are in it, and are never made anew."""

from typing import Any

from pydantic import Field

from ...errors import NotFound, Refused
from ..answers.parse import AnswerRefused
from .cases import Spec, load_yaml, validate_model
from .function import Function

FOLDER = "evals/codemode"
FORM = "1"
HEAD = """\
# What {function} does, as cases that were seen or asked for. Made by codemode; its values change by a new run only.
# python -m kaizen_components.pipeline.codemode {path} --repo REPOSITORY
"""


class Fixture(Spec):
    form: str = Field(pattern=f"^{FORM}$")
    run: str = Field(max_length=100)
    request: str = Field(max_length=1_000_000)
    base_commit: str = Field(max_length=64)


def fixture_path(function: Function) -> str:
    """Where the fixture of a function lies, from the root of the project."""
    return f"{FOLDER}/{function.module.replace('.', '_')}_{function.name}.yml"


def render_fixture(
    spec: Spec, function: Function, run_id: str, request: str, base_commit: str
) -> str:
    """The file as it is written; the same spec gives the same bytes."""
    import yaml

    given: dict[str, Any] = {
        "form": FORM, "function": str(function), "request": request, "run": run_id, "base_commit": base_commit,
        "cases": [case.as_dict() for case in spec.cases],
    }  # fmt: skip
    body = yaml.safe_dump(given, sort_keys=False, allow_unicode=True, width=110)
    return HEAD.format(function=function, path=fixture_path(function)) + body


def read_fixture(file_path: str) -> Fixture:
    """A fixture of our own; NotFound without the file, Refused where it is something else."""
    try:
        with open(file_path, encoding="utf-8") as file:
            return validate_model(load_yaml(file.read()), Fixture)
    except OSError as error:
        raise NotFound(
            "no_fixture",
            f"{file_path[-80:]!r} cannot be read.",
            f"{error.strerror}.",
            "Name a fixture that a codemode run made.",
        ) from None
    except UnicodeDecodeError:
        raise Refused(
            "bad_fixture",
            f"{file_path[-80:]!r} is no text in UTF-8.",
            "",
            "Take it from git again.",
        ) from None
    except AnswerRefused as error:
        raise Refused(
            "bad_fixture",
            f"{file_path[-80:]!r} is no fixture.",
            f"{error}",
            "Take it from git again.",
        ) from None
