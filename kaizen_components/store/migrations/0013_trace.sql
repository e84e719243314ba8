-- Spans of work, nested, with time, tokens and cost; and scores of anything.
-- `trace_id` is text that all spans of one trace share: the id of its first span unless somebody brought their own.

CREATE TABLE span (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'span_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    trace_id    TEXT    NOT NULL CHECK (length(trace_id) BETWEEN 1 AND 200),
    parent_id   TEXT             REFERENCES span (id),
    task_id     TEXT             REFERENCES task (id),
    name        TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    kind        TEXT    NOT NULL CHECK (kind IN ('run', 'stage', 'agent', 'model', 'tool', 'gate', 'human', 'other')),
    status      TEXT    NOT NULL CHECK (status IN ('ok', 'error', 'unset')),
    started_at  TEXT    NOT NULL,
    duration_ms INTEGER NOT NULL CHECK (duration_ms >= 0),
    model       TEXT             CHECK (length(model) BETWEEN 1 AND 200),
    tokens_in   INTEGER NOT NULL CHECK (tokens_in >= 0),
    tokens_out  INTEGER NOT NULL CHECK (tokens_out >= 0),
    cost_usd    REAL    NOT NULL CHECK (cost_usd >= 0),
    summary     TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    payload     TEXT             CHECK (payload IS NULL OR json_valid(payload))
) STRICT;

CREATE INDEX span_actor ON span (actor);
CREATE INDEX span_trace ON span (trace_id, seq);
CREATE INDEX span_parent ON span (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX span_task ON span (task_id) WHERE task_id IS NOT NULL;

CREATE TRIGGER span_no_update BEFORE UPDATE ON span
BEGIN
    SELECT RAISE(ABORT, 'span is append-only');
END;

CREATE TRIGGER span_no_delete BEFORE DELETE ON span WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'span is append-only');
END;

CREATE TABLE score (
    seq      INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE CHECK (id GLOB 'score_*'),
    at       TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    test     INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id  TEXT             REFERENCES task (id),
    about_id TEXT,
    trace_id TEXT             CHECK (length(trace_id) BETWEEN 1 AND 200),
    name     TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 200),
    value    REAL    NOT NULL,
    unit     TEXT             CHECK (length(unit) BETWEEN 1 AND 50),
    source   TEXT    NOT NULL CHECK (source IN ('human', 'model', 'tool')),
    summary  TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> '')
) STRICT;

CREATE INDEX score_actor ON score (actor);
CREATE INDEX score_name ON score (name, seq);
CREATE INDEX score_about ON score (about_id) WHERE about_id IS NOT NULL;
CREATE INDEX score_trace ON score (trace_id) WHERE trace_id IS NOT NULL;
CREATE INDEX score_task ON score (task_id) WHERE task_id IS NOT NULL;

CREATE TRIGGER score_no_update BEFORE UPDATE ON score
BEGIN
    SELECT RAISE(ABORT, 'score is append-only');
END;

CREATE TRIGGER score_no_delete BEFORE DELETE ON score WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'score is append-only');
END;
