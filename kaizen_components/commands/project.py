"""Another repository uses this engine: D1. What it stands on is loaded when it runs."""


def adopt(
    *, path, link=False, copy=False, hooks=None, skills=None, vscode=False, check=False, remove=False, apply=False
):
    """Let another repository use this engine with records of its own; shows the plan unless --apply is given.

    Example: kaizen D1 ../other
    """
    from ..projects.adopt import command

    wishes = command.Wishes(
        mode=command.mode(link, copy), hooks=command.hosts(hooks), vscode=vscode, skills=skills, apply=apply
    )
    if check:
        command.refuse_together(check=check, remove=remove, apply=apply)
        return command.check(path, wishes)
    return command.remove(path, apply) if remove else command.adopt(path, wishes)
