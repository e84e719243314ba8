-- What a session was told, and up to where: the next digest of the same actor says what has changed since. `upto` is the
-- number of log entries that the text was made from, `sha256` that of the text itself.

CREATE TABLE digest (
    seq    INTEGER PRIMARY KEY,
    id     TEXT    NOT NULL UNIQUE CHECK (id GLOB 'dig_*'),
    at     TEXT    NOT NULL,
    actor  TEXT    NOT NULL,
    test   INTEGER NOT NULL CHECK (test IN (0, 1)),
    upto   INTEGER NOT NULL CHECK (upto >= 0),
    budget INTEGER NOT NULL CHECK (budget >= 1),
    tokens INTEGER NOT NULL CHECK (tokens BETWEEN 0 AND budget),
    sha256 TEXT    NOT NULL CHECK (length(sha256) = 64),
    scope  TEXT             CHECK (length(scope) BETWEEN 1 AND 200),
    query  TEXT             CHECK (length(query) BETWEEN 1 AND 1000)
) STRICT;

CREATE INDEX digest_actor ON digest (actor);

CREATE TRIGGER digest_no_update BEFORE UPDATE ON digest
BEGIN
    SELECT RAISE(ABORT, 'digest is append-only');
END;

CREATE TRIGGER digest_no_delete BEFORE DELETE ON digest WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'digest is append-only');
END;
