"""Another repository uses this engine: D1. What it stands on is loaded when it runs."""


def adopt(
    *,
    path,
    link=False,
    copy=False,
    hooks=None,
    skills=None,
    vscode=False,
    check=False,
    remove=False,
    apply=False,
):
    """Let another repository use this engine with records of its own; shows the plan unless --apply is given.

    Example: kaizen D1 ../other
    """
    from ..errors import Usage
    from ..projects.adopt import command

    if check and (remove or apply):
        raise Usage(
            "usage",
            f"--check and --{'remove' if remove else 'apply'} exclude each other.",
            "",
            "--check only looks.",
        )
    verb = "check" if check else "remove" if remove else "adopt"
    return command.answer_adoption(path, link, copy, hooks, skills, vscode, verb, apply)
