-- Runs of a pipeline and everything that happened in them. The state after each event is kept with it, so that a run
-- goes on after a crash from its newest row; the numbers of events are unique, so that of two who try at once one wins.

CREATE TABLE run (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'run_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id       TEXT    NOT NULL REFERENCES task (id),
    protocol      TEXT    NOT NULL CHECK (length(protocol) BETWEEN 1 AND 100),
    protocol_hash TEXT    NOT NULL CHECK (length(protocol_hash) = 64),
    definition    TEXT    NOT NULL CHECK (json_valid(definition)),
    driver        TEXT    NOT NULL CHECK (driver IN ('model', 'agent', 'replay')),
    request       TEXT    NOT NULL CHECK (length(request) BETWEEN 1 AND 20000),
    repo          TEXT    NOT NULL CHECK (length(repo) BETWEEN 1 AND 4096),
    base_commit   TEXT             CHECK (length(base_commit) BETWEEN 1 AND 64),
    options       TEXT    NOT NULL CHECK (json_valid(options))
) STRICT;

CREATE INDEX run_actor ON run (actor);
CREATE INDEX run_task ON run (task_id);

CREATE TABLE run_event (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE CHECK (id GLOB 'evt_*'),
    at      TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    test    INTEGER NOT NULL CHECK (test IN (0, 1)),
    run_id  TEXT    NOT NULL REFERENCES run (id),
    n       INTEGER NOT NULL CHECK (n >= 1),
    event   TEXT    NOT NULL CHECK (event IN ('asked', 'answered', 'started', 'judged', 'delivering', 'ended', 'aborted',
                                              'leased', 'released', 'refused')),
    step    TEXT             CHECK (length(step) BETWEEN 1 AND 100),
    attempt INTEGER          CHECK (attempt >= 1),
    reason  TEXT             CHECK (length(reason) BETWEEN 1 AND 100),
    says    TEXT             CHECK (length(says) BETWEEN 1 AND 20000),
    body    TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    payload TEXT             CHECK (payload IS NULL OR json_valid(payload)),
    state   TEXT    NOT NULL CHECK (json_valid(state)),
    phase   TEXT    NOT NULL CHECK (phase IN ('due', 'asked', 'answered', 'started', 'ending', 'delivering', 'ended')),
    outcome TEXT             CHECK (outcome IN ('accepted', 'rejected', 'failed', 'exhausted', 'stuck', 'blocked', 'aborted')),
    UNIQUE (run_id, n)
) STRICT;

CREATE VIEW run_current AS
SELECT r.*, coalesce(e.n, 0) AS events, e.state, coalesce(e.phase, 'due') AS phase, e.outcome, coalesce(e.at, r.at) AS changed_at
FROM run r LEFT JOIN run_event e ON e.run_id = r.id AND e.n = (SELECT max(n) FROM run_event m WHERE m.run_id = r.id);

CREATE TRIGGER run_no_update BEFORE UPDATE ON run
BEGIN
    SELECT RAISE(ABORT, 'run is append-only');
END;

CREATE TRIGGER run_no_delete BEFORE DELETE ON run WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'run is append-only');
END;

CREATE TRIGGER run_event_no_update BEFORE UPDATE ON run_event
BEGIN
    SELECT RAISE(ABORT, 'run_event is append-only');
END;

CREATE TRIGGER run_event_no_delete BEFORE DELETE ON run_event WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'run_event is append-only');
END;
