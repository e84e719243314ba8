"""Templates of questions. Those that we ship are made here; one of a protocol's own is made in a process of its own.

A protocol may come with somebody else's repository, and a template of three lines can loop for years or ask for all of
the memory. So `python -I prompt.py` reads {"template", "values"} from stdin under limits, and writes {"found"} or
{"wrong"}: it imports nothing of ours.
"""

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
TAKES = f"It takes more than {SECONDS_MAX} s or {MEMORY_BYTES_MAX >> 20} MB."


class PromptError(Exception):
    """What is wrong with a template of a protocol's own."""


def render_shipped(name: str, values: dict[str, Any]) -> str:
    return create_environment().get_template(f"{name}.md").render(values)


def template_path(name: str) -> str:
    return os.path.join(PROMPTS, f"{name}.md")


def read_template(name: str) -> str:
    """The template itself."""
    with open(template_path(name), encoding="utf-8") as file:
        return file.read()


def render_apart(template: str, values: dict[str, Any]) -> str:
    """The text; NotMade where there is none."""
    return _run_apart({"template": template, "values": values})


def list_variables(template: str) -> set[str]:
    """What a template uses. Also apart: to compile `{{ 'x'|center(9999999999) }}` is to do it."""
    return set(_run_apart({"template": template}))


def _run_apart(given: dict[str, Any]) -> Any:
    from ..errors import Unavailable

    text = json.dumps({**given, "folders": _folders()}, default=sorted)  # a set
    words = [sys.executable, "-I", os.path.abspath(__file__)]
    try:
        done = subprocess.run(
            words, input=text, capture_output=True, encoding="utf-8", timeout=10 * SECONDS_MAX
        )
        if done.returncode not in (0, *TOO_MUCH):
            raise ValueError(f"exit code {done.returncode}. {done.stderr.strip()[-200:]}")
        made = {"wrong": TAKES} if done.returncode else json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        made = {"wrong": TAKES}
    except (OSError, ValueError) as error:
        raise Unavailable(
            "no_prompt_process", "The process that makes a prompt did not answer.", f"{type(error).__name__}: {error}",
            "Run `bash setup/setup.sh`, which repairs the environment.",
        ) from None  # fmt: skip
    if "wrong" in made:
        raise PromptError(made["wrong"])
    return made["found"]


def _folders() -> list[str]:
    """Where Jinja lies: -I leaves out what this process may have it from."""
    import jinja2
    import markupsafe

    return [
        os.path.dirname(os.path.dirname(os.path.abspath(str(one.__file__))))
        for one in (jinja2, markupsafe)
    ]


def create_environment():
    """Templates reach values and nothing else."""
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment, SecurityError

    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**"})  # a short line could ask for all of the memory

        def call_binop(self, context, operator, left, right):
            raise SecurityError(f"{operator} is not read in a prompt")

    return Environment(
        loader=jinja2.FileSystemLoader(PROMPTS), undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=False,
    )  # fmt: skip


def _limit_resources():
    try:
        import resource
    except ImportError:  # Windows: the clock of whoever waits is the only limit
        return
    for kind, most in (
        (resource.RLIMIT_CPU, SECONDS_MAX),
        (resource.RLIMIT_DATA, MEMORY_BYTES_MAX),
    ):
        hard = resource.getrlimit(kind)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (least, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _main():
    given = json.load(sys.stdin)
    sys.path += given.pop("folders")
    _limit_resources()
    try:
        made = {"found": _rendered(**given) if "values" in given else _names(**given)}
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)
    except Exception as error:
        made = {"wrong": f"{type(error).__name__}: {error}."}
    json.dump(made, sys.stdout)


def _rendered(template, values):
    return create_environment().from_string(template).render(values)


def _names(template):
    from jinja2 import meta

    return sorted(meta.find_undeclared_variables(create_environment().parse(template)))


if __name__ == "__main__":
    _main()
