-- The improvement lab: the case set of a contract, and proposals that say what they change and by how much.

CREATE TABLE lab (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'lab_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    title         TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary       TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    scope         TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    contract      TEXT    NOT NULL CHECK (length(contract) BETWEEN 1 AND 200),
    filters       TEXT    NOT NULL CHECK (json_valid(filters)),
    cases         TEXT    NOT NULL CHECK (json_valid(cases)),
    manifest_hash TEXT    NOT NULL CHECK (length(manifest_hash) = 64)
) STRICT;

CREATE INDEX lab_actor ON lab (actor);
CREATE INDEX lab_contract ON lab (contract, seq);

CREATE TRIGGER lab_no_update BEFORE UPDATE ON lab
BEGIN
    SELECT RAISE(ABORT, 'lab is append-only');
END;

CREATE TRIGGER lab_no_delete BEFORE DELETE ON lab WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'lab is append-only');
END;

CREATE TABLE lab_proposal (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'prop_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    lab_id      TEXT    NOT NULL REFERENCES lab (id),
    title       TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary     TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body        TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    hypothesis  TEXT    NOT NULL CHECK (length(hypothesis) BETWEEN 1 AND 2000),
    metric      TEXT    NOT NULL CHECK (length(metric) BETWEEN 1 AND 200),
    better      TEXT    NOT NULL CHECK (better IN ('higher', 'lower')),
    baseline    REAL    NOT NULL,
    candidate   REAL    NOT NULL,
    artifact_id TEXT    NOT NULL REFERENCES artifact (id),
    evidence    TEXT             CHECK (evidence IS NULL OR json_valid(evidence))
) STRICT;

CREATE INDEX lab_proposal_actor ON lab_proposal (actor);
CREATE INDEX lab_proposal_lab ON lab_proposal (lab_id, seq);
CREATE INDEX lab_proposal_artifact ON lab_proposal (artifact_id) WHERE artifact_id IS NOT NULL;

CREATE TRIGGER lab_proposal_no_update BEFORE UPDATE ON lab_proposal
BEGIN
    SELECT RAISE(ABORT, 'lab_proposal is append-only');
END;

CREATE TRIGGER lab_proposal_no_delete BEFORE DELETE ON lab_proposal WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'lab_proposal is append-only');
END;
