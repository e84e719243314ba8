-- Rules that every session must know. A retired one stays, with the reason.

CREATE TABLE policy (
    seq      INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE CHECK (id GLOB 'policy_*'),
    at       TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    test     INTEGER NOT NULL CHECK (test IN (0, 1)),
    title    TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary  TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body     TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope    TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    priority TEXT    NOT NULL CHECK (priority IN ('critical', 'high', 'normal', 'low')),
    trigger  TEXT             CHECK (length(trigger) BETWEEN 1 AND 2000)
) STRICT;

CREATE INDEX policy_actor ON policy (actor);

CREATE TABLE policy_revision (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE CHECK (id GLOB 'porev_*'),
    at        TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    test      INTEGER NOT NULL CHECK (test IN (0, 1)),
    policy_id TEXT    NOT NULL REFERENCES policy (id),
    rev       INTEGER NOT NULL CHECK (rev >= 2),
    status    TEXT    NOT NULL CHECK (status IN ('active', 'retired')),
    note      TEXT    NOT NULL CHECK (length(note) BETWEEN 1 AND 2000),
    UNIQUE (policy_id, rev)
) STRICT;

CREATE VIEW policy_current AS
SELECT p.*,
       coalesce((SELECT max(r.rev) FROM policy_revision r WHERE r.policy_id = p.id), 1) AS rev,
       coalesce((SELECT r.status FROM policy_revision r WHERE r.policy_id = p.id ORDER BY r.rev DESC LIMIT 1), 'active')
           AS status
FROM policy p;

CREATE TRIGGER policy_no_update BEFORE UPDATE ON policy
BEGIN
    SELECT RAISE(ABORT, 'policy is append-only');
END;

CREATE TRIGGER policy_no_delete BEFORE DELETE ON policy WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'policy is append-only');
END;

CREATE TRIGGER policy_revision_no_update BEFORE UPDATE ON policy_revision
BEGIN
    SELECT RAISE(ABORT, 'policy_revision is append-only');
END;

CREATE TRIGGER policy_revision_no_delete BEFORE DELETE ON policy_revision WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'policy_revision is append-only');
END;
