"""Render the templates of questions: ours in this process, those of a user's protocol in another.

A protocol may come from an untrusted repository, and a short template can loop for years or use all
memory. So `python -I prompt.py` reads {"template", "values"} from stdin under limits and writes
{"found"} or {"wrong"}. It imports nothing of ours.
"""

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

PROMPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "prompts")
SECONDS_MAX = 3  # of computing; an ordinary one takes milliseconds
MEMORY_BYTES_MAX = 512 << 20
OUT_OF_MEMORY = 3
TOO_MUCH = (OUT_OF_MEMORY, -24, -9)  # SIGXCPU, or SIGKILL where nothing else helps
TAKES = f"It takes more than {SECONDS_MAX} s or {MEMORY_BYTES_MAX >> 20} MB."


class PromptError(Exception):
    """A user's template cannot be rendered."""


def render_shipped(name: str, values: dict[str, Any]) -> str:
    return create_environment().get_template(f"{name}.md").render(values)


def template_path(name: str) -> str:
    return os.path.join(PROMPTS, f"{name}.md")


def read_template(name: str) -> str:
    """Return the source of a shipped template."""
    with open(template_path(name), encoding="utf-8") as file:
        return file.read()


def render_apart(template: str, values: dict[str, Any]) -> str:
    """Render a user's template; raise PromptError if it cannot be rendered."""
    return _run_apart({"template": template, "values": values})


def list_variables(template: str) -> set[str]:
    """Return the variables of a template; compiling evaluates constants, so it runs apart too."""
    return set(_run_apart({"template": template}))


def _run_apart(given: dict[str, Any]) -> Any:
    import jinja2
    import markupsafe

    from ..errors import Unavailable

    folders = [  # -I does not import from where this process has found Jinja
        os.path.dirname(os.path.dirname(os.path.abspath(str(package.__file__))))
        for package in (jinja2, markupsafe)
    ]
    text = json.dumps({**given, "folders": folders}, default=sorted)  # a set
    words = [sys.executable, "-I", os.path.abspath(__file__)]
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, encoding="utf-8", timeout=10 * SECONDS_MAX
        )
        if done.returncode not in (0, *TOO_MUCH):
            raise ValueError(f"exit code {done.returncode}. {done.stderr.strip()[-200:]}")
        answer = {"wrong": TAKES} if done.returncode else json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        answer = {"wrong": TAKES}
    except (OSError, ValueError) as error:
        raise Unavailable(
            "no_prompt_process",
            "The process that renders a prompt did not answer.",
            f"{type(error).__name__}: {error}",
            "Run `bash setup/setup.sh`, which repairs the environment.",
        ) from None
    if "wrong" in answer:
        raise PromptError(answer["wrong"])
    return answer["found"]


def create_environment() -> "jinja2.Environment":
    """Return an environment in which templates reach their values and nothing else."""
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


def _limit_resources() -> None:
    try:
        import resource
    except ImportError:  # Windows: the timeout of the parent is the only limit
        return
    for kind, most in (
        (resource.RLIMIT_CPU, SECONDS_MAX),
        (resource.RLIMIT_DATA, MEMORY_BYTES_MAX),
    ):
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    given = json.load(sys.stdin)
    sys.path += given["folders"]
    _limit_resources()
    try:
        from jinja2 import meta

        answer: dict[str, Any]
        environment, template = create_environment(), given["template"]
        if "values" in given:
            answer = {"found": environment.from_string(template).render(given["values"])}
        else:
            answer = {"found": sorted(meta.find_undeclared_variables(environment.parse(template)))}
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except Exception as error:
        answer = {"wrong": f"{type(error).__name__}: {error}."}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
