"""Let the gates of codemode fail closed: one that cannot run ends as `missing`, never `pass`."""

import functools
from collections.abc import Callable
from typing import Any

from ...errors import KaizenError
from ...sandbox import run as sandbox
from ..gates.session_box import SessionBroken
from ..job import Job
from ..verdict import Finding, Verdict

NO_REPORT = "The sandbox left no valid report, so nothing was judged."


def fail_closed(judge: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """Wrap a gate: check the sandbox first, and return `missing` if the gate cannot run."""

    @functools.wraps(judge)
    def judge_or_report(job: Job, *args: Any, **options: Any) -> Verdict:
        try:
            sandbox.require_level(job.settings.minimum_level)
            return judge(job, *args, **options)
        except SessionBroken as broken:
            sandbox_run = broken.sandbox_run
            text = NO_REPORT + (f" {sandbox_run.stopped}." if sandbox_run.stopped else "")
            text += f" The last line was: {broken.last_line}" if broken.last_line else ""
            return Verdict("missing", NO_REPORT, [Finding("sandbox", text)], [sandbox_run])
        except OSError as error:
            says = f"The sandbox could not be set up: {error.strerror or error}."
            text = f"{says} Check the disk and its permissions."
            return Verdict("missing", says, [Finding("sandbox", text)])
        except KaizenError as error:
            text = f"{error.what} {error.why} {error.next}".strip()
            return Verdict("missing", error.what, [Finding(error.code, text)])

    return judge_or_report
