"""What every gate of codemode has in common: it says `missing`, and never `pass`, where it could not look."""

import functools
from collections.abc import Callable
from typing import Any

from ...errors import KaizenError
from ...sandbox import run as sandbox
from ..gates.session_box import SessionBroken
from ..job import Job
from ..verdict import Finding, Verdict

NO_REPORT = "The sandbox left no report that can be believed, so nothing was judged."


def fail_closed(judge: Callable[..., Verdict]) -> Callable[..., Verdict]:
    """The gate, behind a look at the sandbox; a tool or a report that is not there ends it with `missing`."""

    @functools.wraps(judge)
    def judged(job: Job, *given: Any, **named: Any) -> Verdict:
        try:
            sandbox.require_level(job.settings.minimum_level)
            return judge(job, *given, **named)
        except SessionBroken as broken:
            why = f" {broken.boxed.stopped}." if broken.boxed.stopped else ""
            line = f" The last line was: {broken.last_line}" if broken.last_line else ""
            says = NO_REPORT + why + line
            return Verdict("missing", NO_REPORT, [Finding("sandbox", says)], [broken.boxed])
        except OSError as error:
            says = f"The sandbox could not be set up: {error.strerror or error}."
            return Verdict(
                "missing", says, [Finding("sandbox", f"{says} Look at the disk and its rights.")]
            )
        except KaizenError as error:
            return Verdict(
                "missing",
                error.what,
                [Finding(error.code, f"{error.what} {error.why} {error.next}".strip())],
            )

    return judged
