"""Who refers to a record: what names it as evidence, and what is said about it."""

import json
from typing import Any

# The ids are sought in lists of texts, so instr() first: it spares most rows the reading of their JSON.
CITING = """
WITH wanted AS MATERIALIZED (SELECT value AS id FROM json_each(?)),
     citing AS (
    SELECT seq, id, at, 'gotcha' AS kind, title AS text, status AS says, evidence FROM gotcha_current
    WHERE test = 0 AND instr(evidence, ?)
    UNION ALL SELECT seq, id, at, 'learning', title, status, evidence FROM learning_current
    WHERE test = 0 AND instr(evidence, ?)
    UNION ALL SELECT seq, id, at, 'learned', title, status, evidence FROM learned_current
    WHERE test = 0 AND instr(evidence, ?)
    UNION ALL SELECT seq, id, at, 'verification', summary, conclusion, evidence FROM verification
    WHERE test = 0 AND instr(evidence, ?)
    UNION ALL SELECT seq, id, at, 'lab_proposal', title, metric, evidence FROM lab_proposal
    WHERE test = 0 AND instr(evidence, ?)
)
SELECT e.value AS cited_id, 'evidence' AS how, c.seq, c.id, c.at, c.kind, c.text, c.says
FROM citing c JOIN json_each(c.evidence) e WHERE e.value IN (SELECT id FROM wanted)
UNION SELECT w.id, 'about', p.seq, p.id, p.at, 'proof', p.title, p.outcome
FROM wanted w JOIN proof p ON p.about_id = w.id WHERE p.test = 0
UNION SELECT w.id, 'about', v.seq, v.id, v.at, 'verification', v.summary, v.conclusion
FROM wanted w JOIN verification v ON v.about_id = w.id WHERE v.test = 0
UNION SELECT w.id, 'about', s.seq, s.id, s.at, 'score', s.name, CAST(s.value AS TEXT)
FROM wanted w JOIN score s ON s.about_id = w.id WHERE s.test = 0
UNION SELECT w.id, 'about', a.seq, a.id, a.at, 'artifact', coalesce(a.title, a.name), NULL
FROM wanted w JOIN artifact a ON a.about_id = w.id WHERE a.test = 0
ORDER BY 1, 3 DESC, 2"""


def citing(db, prefix: str, ids: list[str]) -> dict[str, list[dict[str, Any]]]:
    """{id: who refers to it, the newest first} for ids of one kind, whose prefix is given; none without any."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in db.rows(CITING, (json.dumps(ids), *[f'"{prefix}_'] * 5)) if ids else ():
        del row["seq"]
        found.setdefault(row.pop("cited_id"), []).append(row)
    return found
