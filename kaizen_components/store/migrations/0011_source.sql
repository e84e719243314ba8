-- Source locks: what was read, in which version, when, and what it said (its hash).

CREATE TABLE source (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'src_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id       TEXT             REFERENCES task (id),
    title         TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary       TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body          TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope         TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    tier          TEXT    NOT NULL CHECK (tier IN ('canonical', 'primary', 'implementation', 'secondary')),
    url           TEXT             CHECK (length(url) BETWEEN 1 AND 4096),
    path          TEXT             CHECK (length(path) BETWEEN 1 AND 4096),
    version       TEXT             CHECK (length(version) BETWEEN 1 AND 200),
    commit_hash   TEXT             CHECK (length(commit_hash) BETWEEN 1 AND 64),
    retrieved_at  TEXT    NOT NULL,
    content_hash  TEXT             CHECK (length(content_hash) = 64),
    license       TEXT             CHECK (length(license) BETWEEN 1 AND 200),
    supersedes_id TEXT             REFERENCES source (id),
    CHECK (url IS NOT NULL OR path IS NOT NULL)
) STRICT;

CREATE INDEX source_actor ON source (actor);
CREATE INDEX source_task ON source (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX source_supersedes ON source (supersedes_id) WHERE supersedes_id IS NOT NULL;

-- A test source supersedes only test sources, because K7 will remove it. Two sources may supersede the same one where two
-- databases were merged; S1 itself refuses the second.
CREATE VIEW source_current AS
SELECT s.*, (SELECT n.id FROM source n WHERE n.supersedes_id = s.id AND n.test <= s.test
             ORDER BY n.seq DESC LIMIT 1) AS superseded_by
FROM source s;

CREATE TRIGGER source_no_update BEFORE UPDATE ON source
BEGIN
    SELECT RAISE(ABORT, 'source is append-only');
END;

CREATE TRIGGER source_no_delete BEFORE DELETE ON source WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'source is append-only');
END;
