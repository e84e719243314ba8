"""Render the templates of questions: ours in this process, those of other protocols in their own.

A protocol may come with somebody else's repository, and a template of three lines can loop for
years or ask for all of the memory. So `python -I prompt.py` reads {"template", "values"} from stdin
under limits, and writes {"result"} or {"fault"}; it imports nothing of ours.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

PROMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prompts")
SECONDS_MAX = 3  # of computing; an ordinary one takes milliseconds
MEMORY_BYTES_MAX = 512 << 20
OUT_OF_MEMORY = 3
TOO_MUCH = (OUT_OF_MEMORY, -24, -9)  # SIGXCPU, or SIGKILL where nothing else helps
TOO_MUCH_MESSAGE = f"It takes more than {SECONDS_MAX} s or {MEMORY_BYTES_MAX >> 20} MB."


class PromptError(Exception):
    """A template of a protocol's own cannot be used."""


def render_shipped(name: str, values: dict[str, Any]) -> str:
    return create_environment().get_template(f"{name}.md").render(values)


def template_path(name: str) -> str:
    return os.path.join(PROMPTS, f"{name}.md")


def read_template(name: str) -> str:
    with open(template_path(name), encoding="utf-8") as file:
        return file.read()


def render_in_subprocess(template: str, values: dict[str, Any]) -> str:
    """Render a template in a process of its own; raise PromptError if that fails."""
    return _run_in_subprocess({"template": template, "values": values})


def list_variables(template: str) -> set[str]:
    """Return the variables that a template uses.

    It runs apart too: `{{ 'x'|center(9999999999) }}` is computed when it is compiled.
    """
    return set(_run_in_subprocess({"template": template}))


def _run_in_subprocess(given: dict[str, Any]) -> Any:
    import jinja2
    import markupsafe

    from ..errors import Unavailable

    # -I removes the folders that this process may import Jinja from.
    files = (str(module.__file__) for module in (jinja2, markupsafe))
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(file))) for file in files]
    text = json.dumps({**given, "folders": folders}, default=sorted)  # a set
    try:
        process = subprocess.run(
            [sys.executable, "-I", os.path.abspath(__file__)],
            input=text,
            capture_output=True,
            encoding="utf-8",
            timeout=10 * SECONDS_MAX,
        )
        if process.returncode not in (0, *TOO_MUCH):
            raise ValueError(f"exit code {process.returncode}. {process.stderr.strip()[-200:]}")
        answer = {"fault": TOO_MUCH_MESSAGE} if process.returncode else json.loads(process.stdout)
    except subprocess.TimeoutExpired:
        answer = {"fault": TOO_MUCH_MESSAGE}
    except (OSError, ValueError) as error:
        raise Unavailable(
            "no_prompt_process",
            "The process that renders a prompt did not answer.",
            f"{type(error).__name__}: {error}",
            "Run `bash setup/setup.sh`, which repairs the environment.",
        ) from None
    if "fault" in answer:
        raise PromptError(answer["fault"])
    return answer["result"]


def create_environment() -> Any:
    """Return a Jinja environment whose templates reach values and nothing else."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SecurityError

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**"})  # a short line could ask for all of the memory

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            raise SecurityError(f"{operator} is not allowed in a prompt")

    return Environment(
        loader=jinja2.FileSystemLoader(PROMPTS),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def limit_resources() -> None:
    try:
        import resource
    except ImportError:  # Windows: the timeout of the parent is the only limit
        return
    limits = ((resource.RLIMIT_CPU, SECONDS_MAX), (resource.RLIMIT_DATA, MEMORY_BYTES_MAX))
    for kind, most in limits:
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    given = json.load(sys.stdin)
    sys.path += given["folders"]
    limit_resources()
    answer: dict[str, Any]
    try:
        environment = create_environment()
        if "values" in given:
            template = environment.from_string(given["template"])
            answer = {"result": template.render(given["values"])}
        else:
            from jinja2 import meta

            names = meta.find_undeclared_variables(environment.parse(given["template"]))
            answer = {"result": sorted(names)}
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except Exception as error:
        answer = {"fault": f"{type(error).__name__}: {error}."}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
