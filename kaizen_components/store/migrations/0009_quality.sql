-- Eval cases and their runs, and patterns that harm.

CREATE TABLE eval_case (
    seq      INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE CHECK (id GLOB 'case_*'),
    at       TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    test     INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id  TEXT             REFERENCES task (id),
    title    TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary  TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body     TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope    TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    category TEXT    NOT NULL CHECK (category IN ('behavior', 'should_trigger', 'should_not_trigger', 'routing', 'grounding', 'proof', 'security', 'freshness', 'learning_regression')),
    command  TEXT             CHECK (length(command) BETWEEN 1 AND 20000),
    fixture  TEXT             CHECK (length(fixture) BETWEEN 1 AND 4096),
    payload  TEXT             CHECK (payload IS NULL OR json_valid(payload))
) STRICT;

CREATE INDEX eval_case_actor ON eval_case (actor);
CREATE INDEX eval_case_task ON eval_case (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX eval_case_category ON eval_case (category, seq);

CREATE TRIGGER eval_case_no_update BEFORE UPDATE ON eval_case
BEGIN
    SELECT RAISE(ABORT, 'eval_case is append-only');
END;

CREATE TRIGGER eval_case_no_delete BEFORE DELETE ON eval_case WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'eval_case is append-only');
END;

CREATE TABLE eval_run (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'erun_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    case_id     TEXT    NOT NULL REFERENCES eval_case (id),
    outcome     TEXT    NOT NULL CHECK (outcome IN ('passed', 'failed', 'error', 'skipped')),
    score       REAL             CHECK (score BETWEEN 0 AND 1),
    summary     TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body        TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    payload     TEXT             CHECK (payload IS NULL OR json_valid(payload)),
    duration_ms INTEGER          CHECK (duration_ms >= 0),
    proof_id    TEXT             REFERENCES proof (id)
) STRICT;

CREATE INDEX eval_run_actor ON eval_run (actor);
CREATE INDEX eval_run_case ON eval_run (case_id, seq);
CREATE INDEX eval_run_proof ON eval_run (proof_id) WHERE proof_id IS NOT NULL;

CREATE TRIGGER eval_run_no_update BEFORE UPDATE ON eval_run
BEGIN
    SELECT RAISE(ABORT, 'eval_run is append-only');
END;

CREATE TRIGGER eval_run_no_delete BEFORE DELETE ON eval_run WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'eval_run is append-only');
END;

CREATE TABLE anti_pattern (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE CHECK (id GLOB 'anti_*'),
    at           TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    test         INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id      TEXT             REFERENCES task (id),
    title        TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary      TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body         TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope        TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    symptom      TEXT    NOT NULL CHECK (length(symptom) BETWEEN 1 AND 2000),
    harm         TEXT             CHECK (length(harm) BETWEEN 1 AND 2000),
    trigger      TEXT             CHECK (length(trigger) BETWEEN 1 AND 2000),
    correction   TEXT    NOT NULL CHECK (length(correction) BETWEEN 1 AND 2000),
    exceptions   TEXT             CHECK (length(exceptions) BETWEEN 1 AND 2000),
    verification TEXT             CHECK (length(verification) BETWEEN 1 AND 2000)
) STRICT;

CREATE INDEX anti_pattern_actor ON anti_pattern (actor);
CREATE INDEX anti_pattern_task ON anti_pattern (task_id) WHERE task_id IS NOT NULL;

CREATE TRIGGER anti_pattern_no_update BEFORE UPDATE ON anti_pattern
BEGIN
    SELECT RAISE(ABORT, 'anti_pattern is append-only');
END;

CREATE TRIGGER anti_pattern_no_delete BEFORE DELETE ON anti_pattern WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'anti_pattern is append-only');
END;
