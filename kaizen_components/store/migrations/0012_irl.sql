-- IRL reviews: what was predicted, with a probability and a deadline, what was corrected, and what came of it.

CREATE TABLE irl (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE CHECK (id GLOB 'irl_*'),
    at      TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    test    INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id TEXT             REFERENCES task (id),
    title   TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body    TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope   TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200)
) STRICT;

CREATE INDEX irl_actor ON irl (actor);
CREATE INDEX irl_task ON irl (task_id) WHERE task_id IS NOT NULL;

CREATE TRIGGER irl_no_update BEFORE UPDATE ON irl
BEGIN
    SELECT RAISE(ABORT, 'irl is append-only');
END;

CREATE TRIGGER irl_no_delete BEFORE DELETE ON irl WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'irl is append-only');
END;

CREATE TABLE irl_prediction (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'pred_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    irl_id      TEXT    NOT NULL REFERENCES irl (id),
    summary     TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body        TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    probability REAL    NOT NULL CHECK (probability BETWEEN 0 AND 1),
    deadline    TEXT    NOT NULL
) STRICT;

CREATE INDEX irl_prediction_actor ON irl_prediction (actor);
CREATE INDEX irl_prediction_irl ON irl_prediction (irl_id);

CREATE TRIGGER irl_prediction_no_update BEFORE UPDATE ON irl_prediction
BEGIN
    SELECT RAISE(ABORT, 'irl_prediction is append-only');
END;

CREATE TRIGGER irl_prediction_no_delete BEFORE DELETE ON irl_prediction WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'irl_prediction is append-only');
END;

CREATE TABLE irl_correction (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'corr_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    irl_id        TEXT    NOT NULL REFERENCES irl (id),
    prediction_id TEXT             REFERENCES irl_prediction (id),
    summary       TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body          TEXT             CHECK (length(body) BETWEEN 1 AND 1000000)
) STRICT;

CREATE INDEX irl_correction_actor ON irl_correction (actor);
CREATE INDEX irl_correction_irl ON irl_correction (irl_id);
CREATE INDEX irl_correction_prediction ON irl_correction (prediction_id) WHERE prediction_id IS NOT NULL;

CREATE TRIGGER irl_correction_no_update BEFORE UPDATE ON irl_correction
BEGIN
    SELECT RAISE(ABORT, 'irl_correction is append-only');
END;

CREATE TRIGGER irl_correction_no_delete BEFORE DELETE ON irl_correction WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'irl_correction is append-only');
END;

CREATE TABLE irl_outcome (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'outc_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    prediction_id TEXT    NOT NULL UNIQUE REFERENCES irl_prediction (id),
    outcome       TEXT    NOT NULL CHECK (outcome IN ('happened', 'did-not-happen', 'void')),
    summary       TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body          TEXT             CHECK (length(body) BETWEEN 1 AND 1000000)
) STRICT;

CREATE INDEX irl_outcome_actor ON irl_outcome (actor);

CREATE TRIGGER irl_outcome_no_update BEFORE UPDATE ON irl_outcome
BEGIN
    SELECT RAISE(ABORT, 'irl_outcome is append-only');
END;

CREATE TRIGGER irl_outcome_no_delete BEFORE DELETE ON irl_outcome WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'irl_outcome is append-only');
END;

CREATE VIEW irl_prediction_current AS
SELECT p.*, o.id AS outcome_id, o.outcome, o.at AS closed_at
FROM irl_prediction p LEFT JOIN irl_outcome o ON o.prediction_id = p.id;
