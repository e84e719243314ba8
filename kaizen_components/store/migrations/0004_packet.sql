-- What a subagent or a diagnostic was asked (packet), and what it brought back (packet_result).

CREATE TABLE packet (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE CHECK (id GLOB 'pack_*'),
    at        TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    test      INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id   TEXT    NOT NULL REFERENCES task (id),
    kind      TEXT    NOT NULL CHECK (kind IN ('subagent', 'diagnostic')),
    recipient TEXT             CHECK (length(recipient) BETWEEN 1 AND 200),
    title     TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary   TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body      TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    payload   TEXT             CHECK (payload IS NULL OR json_valid(payload))
) STRICT;

CREATE INDEX packet_actor ON packet (actor);
CREATE INDEX packet_task ON packet (task_id);

CREATE TABLE packet_result (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE CHECK (id GLOB 'pres_*'),
    at        TEXT    NOT NULL,
    actor     TEXT    NOT NULL,
    test      INTEGER NOT NULL CHECK (test IN (0, 1)),
    packet_id TEXT    NOT NULL REFERENCES packet (id),
    outcome   TEXT    NOT NULL CHECK (outcome IN ('completed', 'partial', 'failed')),
    summary   TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body      TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    payload   TEXT             CHECK (payload IS NULL OR json_valid(payload))
) STRICT;

CREATE INDEX packet_result_packet ON packet_result (packet_id);

CREATE VIEW packet_current AS
SELECT p.*, coalesce((SELECT r.outcome FROM packet_result r WHERE r.packet_id = p.id ORDER BY r.seq DESC LIMIT 1),
                     'open') AS outcome
FROM packet p;

CREATE TRIGGER packet_no_update BEFORE UPDATE ON packet
BEGIN
    SELECT RAISE(ABORT, 'packet is append-only');
END;

CREATE TRIGGER packet_no_delete BEFORE DELETE ON packet WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'packet is append-only');
END;

CREATE TRIGGER packet_result_no_update BEFORE UPDATE ON packet_result
BEGIN
    SELECT RAISE(ABORT, 'packet_result is append-only');
END;

CREATE TRIGGER packet_result_no_delete BEFORE DELETE ON packet_result WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'packet_result is append-only');
END;
