"""Render the templates of questions: ours in this process, those of user protocols in another.

A user protocol may come from a stranger's repository, and a template of three lines can loop for
years or use all memory. So `python -I prompt.py` reads {"template", "values"} from stdin, renders
under limits, and writes {"result"} or {"fault"}. It imports nothing from this package.
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
    """A template of a user protocol cannot be rendered."""


def render_shipped(name: str, values: dict[str, Any]) -> str:
    """Render one of our own templates in this process."""
    return create_environment().get_template(f"{name}.md").render(values)


def template_path(name: str) -> str:
    return os.path.join(PROMPTS, f"{name}.md")


def read_template(name: str) -> str:
    with open(template_path(name), encoding="utf-8") as file:
        return file.read()


def render_in_subprocess(template: str, values: dict[str, Any]) -> str:
    """Render a template in a subprocess; raise PromptError if that fails."""
    return _run_in_subprocess({"template": template, "values": values})


def list_variables(template: str) -> set[str]:
    """Return the variables that a template uses.

    It needs a subprocess too: `{{ 'x'|center(9999999999) }}` is computed at compile time.
    """
    return set(_run_in_subprocess({"template": template}))


def _run_in_subprocess(request: dict[str, Any]) -> Any:
    """Run `main` of this file in another process and return its result."""
    import jinja2
    import markupsafe

    from ..errors import Unavailable

    # -I ignores PYTHONPATH, so the subprocess is told where Jinja is.
    files = (str(module.__file__) for module in (jinja2, markupsafe))
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(file))) for file in files]
    text = json.dumps({**request, "folders": folders}, default=sorted)  # sets as lists
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
    """Return a Jinja environment whose templates can read only the values they are given."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SecurityError

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**"})  # one short line could use all memory

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
    """Limit the CPU time and the memory of this process, and forbid core dumps."""
    try:
        import resource
    except ImportError:  # Windows: the timeout of the parent is the only limit
        return
    limits = ((resource.RLIMIT_CPU, SECONDS_MAX), (resource.RLIMIT_DATA, MEMORY_BYTES_MAX))
    for kind, limit in limits:
        hard = resource.getrlimit(kind)[1]
        soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (soft, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    """Read a request from stdin; write the rendered text or the names of its variables."""
    request = json.load(sys.stdin)
    sys.path += request["folders"]
    limit_resources()
    answer: dict[str, Any]
    try:
        environment = create_environment()
        if "values" in request:
            template = environment.from_string(request["template"])
            answer = {"result": template.render(request["values"])}
        else:
            from jinja2 import meta

            names = meta.find_undeclared_variables(environment.parse(request["template"]))
            answer = {"result": sorted(names)}
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except Exception as error:
        answer = {"fault": f"{type(error).__name__}: {error}."}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
