-- Which session of an agent host took a lease, and which one was told a digest: two sessions under one actor's name are
-- not held by each other's tasks. NULL where no host named its session, and then the actor's name decides alone.

ALTER TABLE lease ADD COLUMN session TEXT CHECK (length(session) BETWEEN 1 AND 64);
ALTER TABLE digest ADD COLUMN session TEXT CHECK (length(session) BETWEEN 1 AND 64);

CREATE INDEX digest_session ON digest (session) WHERE session IS NOT NULL;
