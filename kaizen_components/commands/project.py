"""Adopt another repository: D1. It loads its modules when it runs."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Row


def adopt(
    *,
    path: str,
    link: bool = False,
    copy: bool = False,
    hooks: str | None = None,
    skills: str | None = None,
    vscode: bool = False,
    check: bool = False,
    remove: bool = False,
    apply: bool = False,
) -> Row:
    """Let another repository use this engine with its own records; shows the plan unless
    --apply is given.

    Example: kaizen D1 ../other
    """
    from ..errors import Usage
    from ..projects.adopt import command

    if check and (remove or apply):
        raise Usage(
            "usage",
            f"--check and --{'remove' if remove else 'apply'} cannot be combined.",
            "--check changes nothing.",
            "Omit one of these options.",
        )
    verb = "check" if check else "remove" if remove else "adopt"
    return command.answer_adoption(path, link, copy, hooks, skills, vscode, verb, apply)
