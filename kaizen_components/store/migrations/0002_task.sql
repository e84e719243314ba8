-- Tasks, what became of them, how they hang together, and who holds them.
-- A revision stores only what it changes; NULL means unchanged. `task_fold` computes the present from the records,
-- `task_state` keeps the answer so that lists stay fast at a million tasks; triggers refresh it, K8 compares the two.

-- OR, since SQLite makes a temporary table for an IN of three and more: 4 microseconds each, at every W1.
CREATE TABLE task (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE CHECK (id GLOB 'task_*'),
    at        TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    test      INTEGER NOT NULL CHECK (test IN (0, 1)),
    title     TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary   TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body      TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope     TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    priority  TEXT    NOT NULL CHECK (priority = 'critical' OR priority = 'high' OR priority = 'normal' OR priority = 'low'),
    status    TEXT    NOT NULL CHECK (status = 'open' OR status = 'active' OR status = 'blocked' OR status = 'done' OR status = 'canceled'),
    done_when TEXT             CHECK (done_when IS NULL OR json_valid(done_when))
) STRICT;

CREATE INDEX task_actor ON task (actor);

CREATE TABLE task_revision (
    seq      INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE CHECK (id GLOB 'trev_*'),
    at       TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    test     INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id  TEXT    NOT NULL REFERENCES task (id),
    rev      INTEGER NOT NULL CHECK (rev >= 2),
    title    TEXT             CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary  TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body     TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope    TEXT             CHECK (length(scope) BETWEEN 1 AND 200),
    priority TEXT             CHECK (priority IN ('critical', 'high', 'normal', 'low')),
    status   TEXT             CHECK (status IN ('open', 'active', 'blocked', 'done', 'canceled')),
    note     TEXT             CHECK (length(note) BETWEEN 1 AND 2000),
    CHECK (coalesce(title, summary, body, scope, priority, status, note) IS NOT NULL),
    UNIQUE (task_id, rev)
) STRICT;

-- The newest value of each text, however many revisions only changed the status or noted something.
CREATE INDEX task_revision_title ON task_revision (task_id, rev) WHERE title IS NOT NULL;
CREATE INDEX task_revision_summary ON task_revision (task_id, rev) WHERE summary IS NOT NULL;
CREATE INDEX task_revision_body ON task_revision (task_id, rev) WHERE body IS NOT NULL;

CREATE TABLE task_link (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE CHECK (id GLOB 'link_*'),
    at        TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    test      INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id   TEXT    NOT NULL REFERENCES task (id),
    kind      TEXT    NOT NULL CHECK (kind IN ('blocks', 'parent', 'discovered-from', 'relates-to')),
    target_id TEXT    NOT NULL REFERENCES task (id) CHECK (target_id <> task_id),
    state     TEXT    NOT NULL CHECK (state IN ('added', 'removed'))
) STRICT;

CREATE INDEX task_link_out ON task_link (task_id, kind, target_id);
CREATE INDEX task_link_in ON task_link (target_id, kind, task_id);

CREATE TABLE lease (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE CHECK (id GLOB 'lease_*'),
    at      TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    test    INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id TEXT    NOT NULL REFERENCES task (id),
    token   INTEGER NOT NULL CHECK (token >= 1),
    action  TEXT    NOT NULL CHECK (action IN ('take', 'renew', 'release', 'break')),
    until   TEXT             CHECK ((until IS NOT NULL) = (action IN ('take', 'renew'))),
    note    TEXT             CHECK (length(note) BETWEEN 1 AND 2000)
) STRICT;

CREATE INDEX lease_task ON lease (task_id, seq);
CREATE UNIQUE INDEX lease_winner ON lease (task_id, token) WHERE action = 'take';

CREATE VIEW task_link_current AS
SELECT l.* FROM task_link l
WHERE l.state = 'added'
  AND NOT EXISTS (SELECT 1 FROM task_link n
                  WHERE n.task_id = l.task_id AND n.kind = l.kind AND n.target_id = l.target_id AND n.seq > l.seq);

CREATE VIEW task_fold AS
SELECT t.seq, t.id AS task_id,
       coalesce((SELECT max(r.rev) FROM task_revision r WHERE r.task_id = t.id), 1) AS rev,
       coalesce((SELECT r.at FROM task_revision r WHERE r.task_id = t.id ORDER BY r.rev DESC LIMIT 1), t.at)
           AS changed_at,
       coalesce((SELECT r.status FROM task_revision r WHERE r.task_id = t.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), t.status) AS status,
       CASE coalesce((SELECT r.priority FROM task_revision r WHERE r.task_id = t.id AND r.priority IS NOT NULL
                      ORDER BY r.rev DESC LIMIT 1), t.priority)
           WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 ELSE 3 END AS rank,
       coalesce((SELECT r.scope FROM task_revision r WHERE r.task_id = t.id AND r.scope IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), t.scope) AS scope,
       (SELECT e.token FROM lease e WHERE e.task_id = t.id ORDER BY e.seq DESC LIMIT 1) AS token,
       (SELECT CASE WHEN e.until IS NOT NULL THEN e.actor END FROM lease e WHERE e.task_id = t.id
        ORDER BY e.seq DESC LIMIT 1) AS holder,
       (SELECT e.until FROM lease e WHERE e.task_id = t.id ORDER BY e.seq DESC LIMIT 1) AS lease_until,
       (SELECT count(*) FROM task_link_current l JOIN task b ON b.id = l.task_id
        WHERE l.target_id = t.id AND l.kind = 'blocks'
          AND coalesce((SELECT r.status FROM task_revision r WHERE r.task_id = b.id AND r.status IS NOT NULL
                        ORDER BY r.rev DESC LIMIT 1), b.status) NOT IN ('done', 'canceled')) AS open_blockers
FROM task t;

CREATE TABLE task_state (
    seq           INTEGER PRIMARY KEY REFERENCES task (seq) ON DELETE CASCADE,
    task_id       TEXT    NOT NULL,
    rev           INTEGER NOT NULL,
    changed_at    TEXT    NOT NULL,
    status        TEXT    NOT NULL,
    rank          INTEGER NOT NULL,
    scope         TEXT    NOT NULL,
    token         INTEGER,
    holder        TEXT,
    lease_until   TEXT,
    open_blockers INTEGER NOT NULL
) STRICT;

CREATE INDEX task_state_status ON task_state (status, seq);
-- Tasks of the default scope are found without it.
CREATE INDEX task_state_scope ON task_state (scope, seq) WHERE scope <> 'project';
CREATE INDEX task_state_ready ON task_state (rank, seq) WHERE status = 'open' AND open_blockers = 0;
CREATE INDEX task_state_abandoned ON task_state (rank, seq)
    WHERE status = 'active' AND open_blockers = 0 AND token IS NOT NULL;
CREATE INDEX task_state_holder ON task_state (holder, seq) WHERE holder IS NOT NULL;

CREATE VIEW task_current AS
SELECT t.seq, t.id, t.at, t.actor, t.test, s.rev, s.changed_at, s.status,
       CASE s.rank WHEN 0 THEN 'critical' WHEN 1 THEN 'high' WHEN 2 THEN 'normal' ELSE 'low' END AS priority,
       s.scope,
       coalesce((SELECT r.title FROM task_revision r WHERE r.task_id = t.id AND r.title IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), t.title) AS title,
       coalesce((SELECT r.summary FROM task_revision r WHERE r.task_id = t.id AND r.summary IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), t.summary) AS summary,
       coalesce((SELECT r.body FROM task_revision r WHERE r.task_id = t.id AND r.body IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), t.body) AS body,
       t.done_when, s.token, s.holder, s.lease_until, s.open_blockers
FROM task t JOIN task_state s ON s.seq = t.seq;

-- What is added changes only these columns. Spelled out, because compiling the whole fold took most of a write. A new
-- task's own row comes from `Write.add`: with a trigger here, each table that refers to tasks would cost every W1 time.
CREATE TRIGGER task_revised AFTER INSERT ON task_revision
BEGIN
    UPDATE task_state
    SET rev = NEW.rev, changed_at = NEW.at, status = coalesce(NEW.status, status), scope = coalesce(NEW.scope, scope),
        rank = CASE NEW.priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'normal' THEN 2 WHEN 'low' THEN 3 ELSE rank END
    WHERE seq = (SELECT t.seq FROM task t WHERE t.id = NEW.task_id);
    UPDATE task_state
    SET open_blockers = (SELECT count(*) FROM task_link_current l JOIN task t ON t.id = l.task_id
                                                        JOIN task_state b ON b.seq = t.seq
                         WHERE l.target_id = task_state.task_id AND l.kind = 'blocks' AND b.status NOT IN ('done', 'canceled'))
    WHERE NEW.status IS NOT NULL
      AND seq IN (SELECT t.seq FROM task_link l JOIN task t ON t.id = l.target_id
                  WHERE l.task_id = NEW.task_id AND l.kind = 'blocks');
END;

CREATE TRIGGER task_linked AFTER INSERT ON task_link
BEGIN
    UPDATE task_state
    SET open_blockers = (SELECT count(*) FROM task_link_current l JOIN task t ON t.id = l.task_id
                                                        JOIN task_state b ON b.seq = t.seq
                         WHERE l.target_id = task_state.task_id AND l.kind = 'blocks' AND b.status NOT IN ('done', 'canceled'))
    WHERE seq = (SELECT t.seq FROM task t WHERE t.id = NEW.target_id);
END;

CREATE TRIGGER task_leased AFTER INSERT ON lease
BEGIN
    UPDATE task_state
    SET token = NEW.token, holder = CASE WHEN NEW.until IS NOT NULL THEN NEW.actor END, lease_until = NEW.until
    WHERE seq = (SELECT t.seq FROM task t WHERE t.id = NEW.task_id);
END;

-- What is purged may uncover anything older, so the fold decides.
CREATE TRIGGER task_unlinked AFTER DELETE ON task_link WHEN OLD.kind = 'blocks'
BEGIN
    INSERT OR REPLACE INTO task_state SELECT * FROM task_fold WHERE task_id = OLD.target_id;
END;

CREATE TRIGGER task_unleased AFTER DELETE ON lease
BEGIN
    INSERT OR REPLACE INTO task_state SELECT * FROM task_fold WHERE task_id = OLD.task_id;
END;

CREATE TRIGGER task_unrevised AFTER DELETE ON task_revision
BEGIN
    INSERT OR REPLACE INTO task_state SELECT * FROM task_fold
    WHERE task_id = OLD.task_id
       OR task_id IN (SELECT target_id FROM task_link WHERE task_id = OLD.task_id AND kind = 'blocks');
END;

CREATE TRIGGER task_no_update BEFORE UPDATE ON task
BEGIN
    SELECT RAISE(ABORT, 'task is append-only');
END;

CREATE TRIGGER task_no_delete BEFORE DELETE ON task WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'task is append-only');
END;

CREATE TRIGGER task_revision_no_update BEFORE UPDATE ON task_revision
BEGIN
    SELECT RAISE(ABORT, 'task_revision is append-only');
END;

CREATE TRIGGER task_revision_no_delete BEFORE DELETE ON task_revision WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'task_revision is append-only');
END;

CREATE TRIGGER task_link_no_update BEFORE UPDATE ON task_link
BEGIN
    SELECT RAISE(ABORT, 'task_link is append-only');
END;

CREATE TRIGGER task_link_no_delete BEFORE DELETE ON task_link WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'task_link is append-only');
END;

CREATE TRIGGER lease_no_update BEFORE UPDATE ON lease
BEGIN
    SELECT RAISE(ABORT, 'lease is append-only');
END;

CREATE TRIGGER lease_no_delete BEFORE DELETE ON lease WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'lease is append-only');
END;
