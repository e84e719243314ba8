-- Lessons: a gotcha (a pitfall somebody met) becomes a learning, and a learning that is proven becomes learned.
-- `gotcha_id` and `learning_id` are UNIQUE: a lesson is promoted once. `paths_hash` is that of the files named by `paths`
-- when the lesson was written, so that a lesson about changed files can be shown as stale. `source_*` say where a lesson
-- was that came from a Markdown file. `superseded_by` belongs to the status: a lesson that is active again has none.

CREATE TABLE gotcha (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'gotcha_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id     TEXT             REFERENCES task (id),
    title       TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary     TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body        TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope       TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    evidence    TEXT             CHECK (evidence IS NULL OR json_valid(evidence)),
    paths       TEXT             CHECK (paths IS NULL OR json_valid(paths)),
    paths_hash  TEXT             CHECK (length(paths_hash) = 64),
    source_path TEXT             CHECK (length(source_path) BETWEEN 1 AND 4096),
    source_line INTEGER          CHECK (source_line >= 1),
    source_hash TEXT             CHECK (length(source_hash) = 64)
) STRICT;

CREATE INDEX gotcha_actor ON gotcha (actor);
CREATE INDEX gotcha_task ON gotcha (task_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX gotcha_source ON gotcha (source_hash) WHERE source_hash IS NOT NULL;

CREATE TABLE gotcha_revision (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'grev_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    gotcha_id     TEXT    NOT NULL REFERENCES gotcha (id),
    rev           INTEGER NOT NULL CHECK (rev >= 2),
    status        TEXT             CHECK (status IN ('active', 'resolved', 'promoted', 'retired', 'superseded')),
    title         TEXT             CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary       TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body          TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    evidence      TEXT             CHECK (evidence IS NULL OR json_valid(evidence)),
    paths         TEXT             CHECK (paths IS NULL OR json_valid(paths)),
    paths_hash    TEXT             CHECK (length(paths_hash) = 64),
    note          TEXT             CHECK (length(note) BETWEEN 1 AND 2000),
    superseded_by TEXT             REFERENCES gotcha (id) CHECK (superseded_by <> gotcha_id),
    CHECK (coalesce(status, title, summary, body, evidence, paths, note) IS NOT NULL),
    CHECK ((status IS 'superseded') = (superseded_by IS NOT NULL)),
    UNIQUE (gotcha_id, rev)
) STRICT;

CREATE INDEX gotcha_revision_superseded_by ON gotcha_revision (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE VIEW gotcha_current AS
SELECT l.seq, l.id, l.at, l.actor, l.test, l.task_id, l.scope,
       coalesce((SELECT max(r.rev) FROM gotcha_revision r WHERE r.gotcha_id = l.id), 1) AS rev,
       coalesce((SELECT r.at FROM gotcha_revision r WHERE r.gotcha_id = l.id ORDER BY r.rev DESC LIMIT 1), l.at)
           AS changed_at,
       coalesce((SELECT r.status FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), 'active') AS status,
       coalesce((SELECT r.title FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.title IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.title) AS title,
       coalesce((SELECT r.summary FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.summary IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.summary) AS summary,
       coalesce((SELECT r.body FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.body IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.body) AS body,
       coalesce((SELECT r.evidence FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.evidence IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.evidence) AS evidence,
       coalesce((SELECT r.paths FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.paths IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.paths) AS paths,
       coalesce((SELECT r.paths_hash FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.paths_hash IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.paths_hash) AS paths_hash,
       (SELECT r.superseded_by FROM gotcha_revision r WHERE r.gotcha_id = l.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1) AS superseded_by,
       l.source_path, l.source_line
FROM gotcha l;

CREATE TRIGGER gotcha_no_update BEFORE UPDATE ON gotcha
BEGIN
    SELECT RAISE(ABORT, 'gotcha is append-only');
END;

CREATE TRIGGER gotcha_no_delete BEFORE DELETE ON gotcha WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'gotcha is append-only');
END;

CREATE TRIGGER gotcha_revision_no_update BEFORE UPDATE ON gotcha_revision
BEGIN
    SELECT RAISE(ABORT, 'gotcha_revision is append-only');
END;

CREATE TRIGGER gotcha_revision_no_delete BEFORE DELETE ON gotcha_revision WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'gotcha_revision is append-only');
END;

CREATE TABLE learning (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'learning_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    gotcha_id   TEXT             UNIQUE REFERENCES gotcha (id),
    task_id     TEXT             REFERENCES task (id),
    title       TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary     TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body        TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope       TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    evidence    TEXT             CHECK (evidence IS NULL OR json_valid(evidence)),
    paths       TEXT             CHECK (paths IS NULL OR json_valid(paths)),
    paths_hash  TEXT             CHECK (length(paths_hash) = 64),
    source_path TEXT             CHECK (length(source_path) BETWEEN 1 AND 4096),
    source_line INTEGER          CHECK (source_line >= 1),
    source_hash TEXT             CHECK (length(source_hash) = 64)
) STRICT;

CREATE INDEX learning_actor ON learning (actor);
CREATE INDEX learning_task ON learning (task_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX learning_source ON learning (source_hash) WHERE source_hash IS NOT NULL;

CREATE TABLE learning_revision (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'lrev_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    learning_id   TEXT    NOT NULL REFERENCES learning (id),
    rev           INTEGER NOT NULL CHECK (rev >= 2),
    status        TEXT             CHECK (status IN ('active', 'promoted', 'retired', 'superseded')),
    title         TEXT             CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary       TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body          TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    evidence      TEXT             CHECK (evidence IS NULL OR json_valid(evidence)),
    paths         TEXT             CHECK (paths IS NULL OR json_valid(paths)),
    paths_hash    TEXT             CHECK (length(paths_hash) = 64),
    note          TEXT             CHECK (length(note) BETWEEN 1 AND 2000),
    superseded_by TEXT             REFERENCES learning (id) CHECK (superseded_by <> learning_id),
    CHECK (coalesce(status, title, summary, body, evidence, paths, note) IS NOT NULL),
    CHECK ((status IS 'superseded') = (superseded_by IS NOT NULL)),
    UNIQUE (learning_id, rev)
) STRICT;

CREATE INDEX learning_revision_superseded_by ON learning_revision (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE VIEW learning_current AS
SELECT l.seq, l.id, l.at, l.actor, l.test, l.gotcha_id, l.task_id, l.scope,
       coalesce((SELECT max(r.rev) FROM learning_revision r WHERE r.learning_id = l.id), 1) AS rev,
       coalesce((SELECT r.at FROM learning_revision r WHERE r.learning_id = l.id ORDER BY r.rev DESC LIMIT 1), l.at)
           AS changed_at,
       coalesce((SELECT r.status FROM learning_revision r WHERE r.learning_id = l.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), 'active') AS status,
       coalesce((SELECT r.title FROM learning_revision r WHERE r.learning_id = l.id AND r.title IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.title) AS title,
       coalesce((SELECT r.summary FROM learning_revision r WHERE r.learning_id = l.id AND r.summary IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.summary) AS summary,
       coalesce((SELECT r.body FROM learning_revision r WHERE r.learning_id = l.id AND r.body IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.body) AS body,
       coalesce((SELECT r.evidence FROM learning_revision r WHERE r.learning_id = l.id AND r.evidence IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.evidence) AS evidence,
       coalesce((SELECT r.paths FROM learning_revision r WHERE r.learning_id = l.id AND r.paths IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.paths) AS paths,
       coalesce((SELECT r.paths_hash FROM learning_revision r WHERE r.learning_id = l.id AND r.paths_hash IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.paths_hash) AS paths_hash,
       (SELECT r.superseded_by FROM learning_revision r WHERE r.learning_id = l.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1) AS superseded_by,
       l.source_path, l.source_line
FROM learning l;

CREATE TRIGGER learning_no_update BEFORE UPDATE ON learning
BEGIN
    SELECT RAISE(ABORT, 'learning is append-only');
END;

CREATE TRIGGER learning_no_delete BEFORE DELETE ON learning WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'learning is append-only');
END;

CREATE TRIGGER learning_revision_no_update BEFORE UPDATE ON learning_revision
BEGIN
    SELECT RAISE(ABORT, 'learning_revision is append-only');
END;

CREATE TRIGGER learning_revision_no_delete BEFORE DELETE ON learning_revision WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'learning_revision is append-only');
END;

CREATE TABLE learned (
    seq             INTEGER PRIMARY KEY,
    id              TEXT    NOT NULL UNIQUE CHECK (id GLOB 'learned_*'),
    at              TEXT    NOT NULL,
    actor           TEXT    NOT NULL,
    test            INTEGER NOT NULL CHECK (test IN (0, 1)),
    learning_id     TEXT             UNIQUE REFERENCES learning (id),
    proof_id        TEXT             REFERENCES proof (id),
    verification_id TEXT             REFERENCES verification (id),
    waiver_id       TEXT             REFERENCES waiver (id),
    task_id         TEXT             REFERENCES task (id),
    title           TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary         TEXT    NOT NULL CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body            TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    scope           TEXT    NOT NULL CHECK (length(scope) BETWEEN 1 AND 200),
    evidence        TEXT             CHECK (evidence IS NULL OR json_valid(evidence)),
    paths           TEXT             CHECK (paths IS NULL OR json_valid(paths)),
    paths_hash      TEXT             CHECK (length(paths_hash) = 64),
    source_path     TEXT             CHECK (length(source_path) BETWEEN 1 AND 4096),
    source_line     INTEGER          CHECK (source_line >= 1),
    source_hash     TEXT             CHECK (length(source_hash) = 64)
) STRICT;

CREATE INDEX learned_actor ON learned (actor);
CREATE INDEX learned_task ON learned (task_id) WHERE task_id IS NOT NULL;
CREATE UNIQUE INDEX learned_source ON learned (source_hash) WHERE source_hash IS NOT NULL;

CREATE TABLE learned_revision (
    seq           INTEGER PRIMARY KEY,
    id            TEXT    NOT NULL UNIQUE CHECK (id GLOB 'ldrev_*'),
    at            TEXT    NOT NULL,
    actor         TEXT    NOT NULL,
    test          INTEGER NOT NULL CHECK (test IN (0, 1)),
    learned_id    TEXT    NOT NULL REFERENCES learned (id),
    rev           INTEGER NOT NULL CHECK (rev >= 2),
    status        TEXT             CHECK (status IN ('active', 'retired', 'superseded')),
    title         TEXT             CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary       TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body          TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    evidence      TEXT             CHECK (evidence IS NULL OR json_valid(evidence)),
    paths         TEXT             CHECK (paths IS NULL OR json_valid(paths)),
    paths_hash    TEXT             CHECK (length(paths_hash) = 64),
    note          TEXT             CHECK (length(note) BETWEEN 1 AND 2000),
    superseded_by TEXT             REFERENCES learned (id) CHECK (superseded_by <> learned_id),
    CHECK (coalesce(status, title, summary, body, evidence, paths, note) IS NOT NULL),
    CHECK ((status IS 'superseded') = (superseded_by IS NOT NULL)),
    UNIQUE (learned_id, rev)
) STRICT;

CREATE INDEX learned_revision_superseded_by ON learned_revision (superseded_by) WHERE superseded_by IS NOT NULL;

CREATE VIEW learned_current AS
SELECT l.seq, l.id, l.at, l.actor, l.test, l.learning_id, l.proof_id, l.verification_id, l.waiver_id, l.task_id, l.scope,
       coalesce((SELECT max(r.rev) FROM learned_revision r WHERE r.learned_id = l.id), 1) AS rev,
       coalesce((SELECT r.at FROM learned_revision r WHERE r.learned_id = l.id ORDER BY r.rev DESC LIMIT 1), l.at)
           AS changed_at,
       coalesce((SELECT r.status FROM learned_revision r WHERE r.learned_id = l.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), 'active') AS status,
       coalesce((SELECT r.title FROM learned_revision r WHERE r.learned_id = l.id AND r.title IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.title) AS title,
       coalesce((SELECT r.summary FROM learned_revision r WHERE r.learned_id = l.id AND r.summary IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.summary) AS summary,
       coalesce((SELECT r.body FROM learned_revision r WHERE r.learned_id = l.id AND r.body IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.body) AS body,
       coalesce((SELECT r.evidence FROM learned_revision r WHERE r.learned_id = l.id AND r.evidence IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.evidence) AS evidence,
       coalesce((SELECT r.paths FROM learned_revision r WHERE r.learned_id = l.id AND r.paths IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.paths) AS paths,
       coalesce((SELECT r.paths_hash FROM learned_revision r WHERE r.learned_id = l.id AND r.paths_hash IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1), l.paths_hash) AS paths_hash,
       (SELECT r.superseded_by FROM learned_revision r WHERE r.learned_id = l.id AND r.status IS NOT NULL
                 ORDER BY r.rev DESC LIMIT 1) AS superseded_by,
       l.source_path, l.source_line
FROM learned l;

CREATE TRIGGER learned_no_update BEFORE UPDATE ON learned
BEGIN
    SELECT RAISE(ABORT, 'learned is append-only');
END;

CREATE TRIGGER learned_no_delete BEFORE DELETE ON learned WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'learned is append-only');
END;

CREATE TRIGGER learned_revision_no_update BEFORE UPDATE ON learned_revision
BEGIN
    SELECT RAISE(ABORT, 'learned_revision is append-only');
END;

CREATE TRIGGER learned_revision_no_delete BEFORE DELETE ON learned_revision WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'learned_revision is append-only');
END;

CREATE TABLE lesson_import (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'limp_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    path        TEXT    NOT NULL CHECK (length(path) BETWEEN 1 AND 4096),
    sha256      TEXT    NOT NULL CHECK (length(sha256) = 64),
    backup      TEXT    NOT NULL CHECK (length(backup) BETWEEN 1 AND 4096),
    stub_sha256 TEXT    NOT NULL CHECK (length(stub_sha256) = 64),
    entries     INTEGER NOT NULL CHECK (entries >= 0),
    added       INTEGER NOT NULL CHECK (added >= 0)
) STRICT;

CREATE INDEX lesson_import_path ON lesson_import (path, seq);

CREATE TRIGGER lesson_import_no_update BEFORE UPDATE ON lesson_import
BEGIN
    SELECT RAISE(ABORT, 'lesson_import is append-only');
END;

CREATE TRIGGER lesson_import_no_delete BEFORE DELETE ON lesson_import WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'lesson_import is append-only');
END;
