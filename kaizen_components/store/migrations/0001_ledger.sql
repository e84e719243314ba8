-- The ledger: every record in any table has exactly one entry here, and `seq` of the record is `seq` of the entry.
-- `leaf` is the RFC 6962 leaf hash of the entry; `frontier` holds the Merkle tree's peaks so that an append costs
-- O(log n). docs/format.md says how each hash is made.

CREATE TABLE log (
    seq          INTEGER PRIMARY KEY,
    origin       TEXT    NOT NULL,
    idx          INTEGER NOT NULL CHECK (idx >= 0),
    at           TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    command      TEXT    NOT NULL,
    kind         TEXT    NOT NULL,
    record_id    TEXT    NOT NULL,
    test         INTEGER NOT NULL CHECK (test IN (0, 1)),
    content_hash TEXT    NOT NULL CHECK (length(content_hash) = 64),
    leaf         TEXT    NOT NULL CHECK (length(leaf) = 64)
) STRICT;

CREATE INDEX log_test ON log (seq) WHERE test = 1;

CREATE TRIGGER log_no_update BEFORE UPDATE ON log
BEGIN
    SELECT RAISE(ABORT, 'log is append-only');
END;

CREATE TRIGGER log_no_delete BEFORE DELETE ON log
BEGIN
    SELECT RAISE(ABORT, 'log is append-only');
END;

-- One row for this database (local = 1); databases merged in later bring their own.
CREATE TABLE frontier (
    origin TEXT    PRIMARY KEY,
    local  INTEGER NOT NULL CHECK (local IN (0, 1)),
    size   INTEGER NOT NULL CHECK (size >= 0),
    peaks  TEXT    NOT NULL
) STRICT;

CREATE UNIQUE INDEX frontier_local ON frontier (local) WHERE local = 1;

INSERT INTO frontier VALUES ('kaizen.local/' || lower(hex(randomblob(8))), 1, 0, '');

-- Which migrations made this file what it is.
CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name    TEXT NOT NULL,
    sha256  TEXT NOT NULL,
    at      TEXT NOT NULL,
    engine  TEXT NOT NULL
) STRICT;

-- What `--op-id` answered, so that a retried call gets the first answer and not a second record.
CREATE TABLE op (
    seq          INTEGER PRIMARY KEY,
    id           TEXT    NOT NULL UNIQUE CHECK (id GLOB 'op_*'),
    at           TEXT    NOT NULL,
    actor        TEXT    NOT NULL,
    test         INTEGER NOT NULL CHECK (test IN (0, 1)),
    op_id        TEXT    NOT NULL UNIQUE CHECK (length(op_id) BETWEEN 1 AND 200),
    payload_hash TEXT    NOT NULL CHECK (length(payload_hash) = 64),
    result       TEXT    NOT NULL CHECK (json_valid(result))
) STRICT;

CREATE TRIGGER op_no_update BEFORE UPDATE ON op
BEGIN
    SELECT RAISE(ABORT, 'op is append-only');
END;

CREATE TRIGGER op_no_delete BEFORE DELETE ON op WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'op is append-only');
END;

-- Which `--test` records were removed; their log entries stay, and this row explains the missing records.
CREATE TABLE purge (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE CHECK (id GLOB 'purge_*'),
    at      TEXT    NOT NULL,
    actor   TEXT    NOT NULL,
    test    INTEGER NOT NULL CHECK (test = 0),
    records TEXT    NOT NULL CHECK (json_valid(records))
) STRICT;

CREATE TRIGGER purge_no_update BEFORE UPDATE ON purge
BEGIN
    SELECT RAISE(ABORT, 'purge is append-only');
END;

CREATE TRIGGER purge_no_delete BEFORE DELETE ON purge
BEGIN
    SELECT RAISE(ABORT, 'purge is append-only');
END;
