"""Show records about quality: Q7."""

from __future__ import annotations

from ..records.kinds import KINDS
from ..records.quality.evaluation import summarize_runs
from ..records.quality.verification import list_superseded
from ..records.search.listing import inspect_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..parameters import Reader, Row


SHOWN = tuple(kind.name for kind in KINDS.values() if kind.shows == "Q7")


def inspect(db: Reader, *, id: str) -> Row:
    """Show any proof, verification, eval case, eval run or anti-pattern with its place in the log.

    Example: kaizen Q7 --id @last
    """
    kind, record = db.find_any(SHOWN, id)
    facts = {}
    if kind == "eval_case":
        facts = summarize_runs(db, record)
    if kind == "eval_run":
        case = db.find("eval_case", record["case_id"])
        facts = {
            "case": {
                name: case[name]
                for name in ("id", "title", "category", "summary", "command", "fixture")
            }
        }
    if kind == "verification":
        record = {**record, "blocking": bool(record["blocking"])}
        facts = {"supersedes": list_superseded(db, record)}
    return inspect_record(db, kind, record, **facts)
