"""Find the records that refer to a record in their `evidence` or their `about_id`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ...records.kinds import KINDS

if TYPE_CHECKING:
    from ...parameters import Reader, Row

CITING_KINDS = [kind for kind in KINDS.values() if "evidence" in kind.refers]
# `evidence` is a JSON list. instr() comes first because it is cheaper than parsing every list.
AS_EVIDENCE = " UNION ALL ".join(
    f"SELECT seq, id, at, '{kind.name}' AS kind, {kind.title} AS text, {kind.state} AS says, "
    f"evidence FROM {kind.view} WHERE test = 0 AND instr(evidence, ?)"
    for kind in CITING_KINDS
)
ABOUT = " ".join(
    f"UNION SELECT w.id, 'about', r.seq, r.id, r.at, '{kind.name}', {kind.title}, {kind.state} "
    f"FROM wanted w JOIN {kind.name} r ON r.about_id = w.id WHERE r.test = 0"
    for kind in KINDS.values()
    if "about_id" in kind.refers
)
CITING = f"""
WITH wanted AS MATERIALIZED (SELECT value AS id FROM json_each(?)), citing AS ({AS_EVIDENCE})
SELECT e.value AS cited_id, 'evidence' AS how, c.seq, c.id, c.at, c.kind, c.text, c.says
FROM citing c JOIN json_each(c.evidence) e WHERE e.value IN (SELECT id FROM wanted)
{ABOUT} ORDER BY 1, 3 DESC, 2"""


def find_citations(db: Reader, prefix: str, ids: list[str]) -> dict[str, list[Row]]:
    """Return {id: [records that refer to it, the newest first]}.

    All `ids` begin with `prefix`. An id without references is not in the result.
    """
    citations: dict[str, list[Row]] = {}
    if not ids:
        return citations
    for row in db.rows(CITING, (json.dumps(ids), *[f'"{prefix}_'] * len(CITING_KINDS))):
        del row["seq"]
        citations.setdefault(row.pop("cited_id"), []).append(row)
    return citations
