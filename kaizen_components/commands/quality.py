"""Whatever was recorded about quality: Q7."""

from ..records.kinds import KINDS
from ..records.quality.evaluation import runs_of
from ..records.quality.verification import superseded_by
from ..records.search.listing import inspected

SHOWN = tuple(kind.name for kind in KINDS.values() if kind.shows == "Q7")


def inspect(db, *, id):
    """Show any proof, verification, eval case, eval run or anti-pattern with its place in the log.

    Example: kaizen Q7 --id @last
    """
    kind, record = db.find_any(SHOWN, id)
    more = {}
    if kind == "eval_case":
        more = runs_of(db, record)
    if kind == "eval_run":
        case = db.find("eval_case", record["case_id"])
        more = {
            "case": {
                name: case[name]
                for name in ("id", "title", "category", "summary", "command", "fixture")
            }
        }
    if kind == "verification":
        record = {**record, "blocking": bool(record["blocking"])}
        more = {"supersedes": superseded_by(db, record)}
    return inspected(db, kind, record, **more)
