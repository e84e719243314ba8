-- Proofs (what was run or reported), the files they leave behind, and what was let pass without one.
-- A proof is `witnessed` when the engine itself ran the command, and then knows everything about it.

CREATE TABLE artifact (
    seq      INTEGER PRIMARY KEY,
    id       TEXT    NOT NULL UNIQUE CHECK (id GLOB 'art_*'),
    at       TEXT    NOT NULL,
    actor    TEXT    NOT NULL,
    test     INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id  TEXT             REFERENCES task (id),
    about_id TEXT,
    title    TEXT             CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary  TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    path     TEXT             CHECK (length(path) BETWEEN 1 AND 4096),
    name     TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    kind     TEXT    NOT NULL CHECK (kind IN ('file', 'folder', 'external')),
    sha256   TEXT    NOT NULL CHECK (length(sha256) = 64),
    bytes    INTEGER NOT NULL CHECK (bytes >= 0),
    files    INTEGER          CHECK (files >= 0),
    CHECK ((path IS NULL) = (kind = 'external'))
) STRICT;

CREATE INDEX artifact_actor ON artifact (actor);
CREATE INDEX artifact_task ON artifact (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX artifact_about ON artifact (about_id) WHERE about_id IS NOT NULL;
CREATE INDEX artifact_path_seq ON artifact (path, seq) WHERE path IS NOT NULL;

CREATE TRIGGER artifact_no_update BEFORE UPDATE ON artifact
BEGIN
    SELECT RAISE(ABORT, 'artifact is append-only');
END;

CREATE TRIGGER artifact_no_delete BEFORE DELETE ON artifact WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'artifact is append-only');
END;

CREATE TABLE proof (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE CHECK (id GLOB 'proof_*'),
    at          TEXT    NOT NULL,
    actor       TEXT    NOT NULL,
    test        INTEGER NOT NULL CHECK (test IN (0, 1)),
    task_id     TEXT             REFERENCES task (id),
    about_id    TEXT,
    title       TEXT    NOT NULL CHECK (length(title) BETWEEN 1 AND 200 AND trim(title) <> ''),
    summary     TEXT             CHECK (length(summary) BETWEEN 1 AND 2000 AND trim(summary) <> ''),
    body        TEXT             CHECK (length(body) BETWEEN 1 AND 1000000),
    tier        TEXT    NOT NULL CHECK (tier IN ('witnessed', 'reported')),
    outcome     TEXT    NOT NULL CHECK (outcome IN ('passed', 'failed', 'timeout', 'unknown')),
    command     TEXT             CHECK (length(command) BETWEEN 1 AND 20000),
    argv        TEXT             CHECK (argv IS NULL OR json_valid(argv)),
    exit_code   INTEGER,
    duration_ms INTEGER          CHECK (duration_ms >= 0),
    stdout_hash TEXT             CHECK (length(stdout_hash) = 64),
    stderr_hash TEXT             CHECK (length(stderr_hash) = 64),
    stdout_id   TEXT             REFERENCES artifact (id),
    stderr_id   TEXT             REFERENCES artifact (id),
    commit_hash TEXT             CHECK (length(commit_hash) BETWEEN 1 AND 64),
    tree_hash   TEXT             CHECK (length(tree_hash) = 64),
    tree_after  TEXT             CHECK (length(tree_after) = 64),
    platform    TEXT             CHECK (length(platform) BETWEEN 1 AND 200),
    protection  TEXT             CHECK (length(protection) BETWEEN 1 AND 200),
    CHECK (tier = 'reported' OR (argv IS NOT NULL AND exit_code IS NOT NULL AND tree_hash IS NOT NULL AND
           stdout_hash IS NOT NULL AND stderr_hash IS NOT NULL AND duration_ms IS NOT NULL AND platform IS NOT NULL))
) STRICT;

CREATE INDEX proof_actor ON proof (actor);
CREATE INDEX proof_task ON proof (task_id) WHERE task_id IS NOT NULL;
CREATE INDEX proof_about ON proof (about_id) WHERE about_id IS NOT NULL;
-- Whose output an artifact is: asked by A3, and by the foreign keys when K7 removes artifacts.
CREATE INDEX proof_stdout ON proof (stdout_id) WHERE stdout_id IS NOT NULL;
CREATE INDEX proof_stderr ON proof (stderr_id) WHERE stderr_id IS NOT NULL;
-- Which proof of this command is the newest: asked before a task is closed.
CREATE INDEX proof_command ON proof (command, seq) WHERE tier = 'witnessed';

CREATE TRIGGER proof_no_update BEFORE UPDATE ON proof
BEGIN
    SELECT RAISE(ABORT, 'proof is append-only');
END;

CREATE TRIGGER proof_no_delete BEFORE DELETE ON proof WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'proof is append-only');
END;

CREATE TABLE waiver (
    seq        INTEGER PRIMARY KEY,
    id         TEXT    NOT NULL UNIQUE CHECK (id GLOB 'waiver_*'),
    at         TEXT    NOT NULL,
    actor      TEXT    NOT NULL,
    test       INTEGER NOT NULL CHECK (test IN (0, 1)),
    gate       TEXT    NOT NULL CHECK (gate IN ('done', 'learned')),
    subject_id TEXT    NOT NULL,
    task_id    TEXT             REFERENCES task (id),
    reason     TEXT    NOT NULL CHECK (length(reason) BETWEEN 1 AND 2000),
    missing    TEXT    NOT NULL CHECK (json_valid(missing))
) STRICT;

CREATE INDEX waiver_actor ON waiver (actor);
CREATE INDEX waiver_subject ON waiver (subject_id);
CREATE INDEX waiver_task ON waiver (task_id) WHERE task_id IS NOT NULL;

CREATE TRIGGER waiver_no_update BEFORE UPDATE ON waiver
BEGIN
    SELECT RAISE(ABORT, 'waiver is append-only');
END;

CREATE TRIGGER waiver_no_delete BEFORE DELETE ON waiver WHEN OLD.test = 0
BEGIN
    SELECT RAISE(ABORT, 'waiver is append-only');
END;
