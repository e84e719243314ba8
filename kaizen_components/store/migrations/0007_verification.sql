-- Verdicts. History stays; `verification_current` says which later acceptable verdict supersedes a blocking one: the
-- first of the same scope on the same task, or about the same record where not both name a task. A test verdict
-- supersedes only test verdicts, because K7 will remove it.

CREATE TABLE verification (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE CHECK (id GLOB 'verif_*'),
    at           TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    test         INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id      TEXT             REFERENCES task (id),
    about_id     TEXT,
    scope        TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    conclusion   TEXT    NOT NULL CHECK (conclusion IN ('VERIFIED_ACCEPTABLE', 'ACCEPTABLE_WITH_CONCERNS', 'NEEDS_HUMAN_DECISION', 'STRUCTURAL_REWORK_RECOMMENDED', 'VERIFICATION_FAILED', 'PROOF_RECORDED')),
    severity     TEXT             CHECK (severity IN ('critical', 'high', 'medium', 'low', 'info')),
    summary      TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body         TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    evidence     TEXT             CHECK (evidence IS NULL OR json_valid(evidence)),
    findings     TEXT             CHECK (findings IS NULL OR json_valid(findings)),
    remedies     TEXT             CHECK (remedies IS NULL OR json_valid(remedies)),
    artifact_ids TEXT             CHECK (artifact_ids IS NULL OR json_valid(artifact_ids)),
    proof_id     TEXT             REFERENCES proof (id)
) STRICT;

CREATE INDEX verification_actor ON verification (actor);
CREATE INDEX verification_task_id_scope ON verification (task_id, scope) WHERE task_id IS NOT NULL;
CREATE INDEX verification_about ON verification (about_id) WHERE about_id IS NOT NULL;
CREATE INDEX verification_proof ON verification (proof_id) WHERE proof_id IS NOT NULL;
CREATE INDEX verification_conclusion ON verification (conclusion, seq);

-- The + keeps the planner on the indexes of the task and of the record: without it, it reads every later acceptable verdict.
CREATE VIEW verification_current AS
SELECT v.*,
       v.conclusion IN ('NEEDS_HUMAN_DECISION', 'STRUCTURAL_REWORK_RECOMMENDED', 'VERIFICATION_FAILED') AS blocking,
       CASE WHEN v.conclusion IN ('NEEDS_HUMAN_DECISION', 'STRUCTURAL_REWORK_RECOMMENDED', 'VERIFICATION_FAILED')
            THEN (SELECT n.id FROM verification n
                  WHERE (n.task_id = v.task_id
                         OR (n.about_id = v.about_id AND (n.task_id IS NULL OR v.task_id IS NULL)))
                    AND n.scope = v.scope AND +n.seq > v.seq AND n.test <= v.test
                    AND +n.conclusion IN ('VERIFIED_ACCEPTABLE', 'ACCEPTABLE_WITH_CONCERNS')
                  ORDER BY n.seq LIMIT 1) END AS superseded_by
FROM verification v;

CREATE TRIGGER verification_no_update BEFORE UPDATE ON verification
BEGIN
    SELECT RAISE(ABORT, 'verification is append-only');
END;

CREATE TRIGGER verification_no_delete BEFORE DELETE ON verification WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'verification is append-only');
END;
