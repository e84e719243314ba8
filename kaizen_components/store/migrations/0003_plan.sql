-- Plans of a task. A revision stores only what it changes; NULL means unchanged.

CREATE TABLE plan (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE CHECK (id GLOB 'plan_*'),
    at      TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    test    INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id TEXT    NOT NULL REFERENCES task (id),
    title   TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body    TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    status  TEXT    NOT NULL CHECK (status IN ('draft', 'active', 'blocked', 'completed', 'canceled'))
) STRICT;

CREATE INDEX plan_actor ON plan (actor);
CREATE INDEX plan_task ON plan (task_id);

CREATE TABLE plan_revision (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE CHECK (id GLOB 'prev_*'),
    at      TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    test    INTEGER NOT NULL CHECK (test IN (0, 1)),
    plan_id TEXT    NOT NULL REFERENCES plan (id),
    rev     INTEGER NOT NULL CHECK (rev >= 2),
    title   TEXT             CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body    TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    status  TEXT             CHECK (status IN ('draft', 'active', 'blocked', 'completed', 'canceled')),
    note    TEXT             CHECK (length(note) BETWEEN 1 AND 2000),
    CHECK (coalesce(title, summary, body, status, note) IS NOT NULL),
    UNIQUE (plan_id, rev)
) STRICT;

CREATE VIEW plan_current AS
SELECT p.seq, p.id, p.at, p.actor, p.test, p.task_id,
       coalesce((SELECT max(r.rev) FROM plan_revision r WHERE r.plan_id = p.id), 1) AS rev,
       coalesce((SELECT r.at FROM plan_revision r WHERE r.plan_id = p.id ORDER BY r.rev DESC LIMIT 1), p.at)
           AS changed_at,
       coalesce((SELECT r.status FROM plan_revision r WHERE r.plan_id = p.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), p.status) AS status,
       coalesce((SELECT r.title FROM plan_revision r WHERE r.plan_id = p.id AND r.title IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), p.title) AS title,
       coalesce((SELECT r.summary FROM plan_revision r WHERE r.plan_id = p.id AND r.summary IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), p.summary) AS summary,
       coalesce((SELECT r.body FROM plan_revision r WHERE r.plan_id = p.id AND r.body IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), p.body) AS body
FROM plan p;

CREATE TRIGGER plan_no_update BEFORE UPDATE ON plan
BEGIN
    SELECT RAISE(ABORT, 'plan is append-only');
END;

CREATE TRIGGER plan_no_delete BEFORE DELETE ON plan WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'plan is append-only');
END;

CREATE TRIGGER plan_revision_no_update BEFORE UPDATE ON plan_revision
BEGIN
    SELECT RAISE(ABORT, 'plan_revision is append-only');
END;

CREATE TRIGGER plan_revision_no_delete BEFORE DELETE ON plan_revision WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'plan_revision is append-only');
END;
