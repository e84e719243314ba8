-- One full-text index over the texts of all kinds, written in the same transaction as the record. It keeps no text of
-- its own. The rowid is the kind's number (records/kinds.py) times 2^40 plus the record's seq, so that a search in one
-- kind reads one range. Derived: it can be made anew from the records. Nothing newer than SQLite 3.40 knows: a stock
-- sqlite3 must be able to open this file.

CREATE VIRTUAL TABLE search USING fts5(
    title, summary, body, content = '', tokenize = 'porter unicode61 remove_diacritics 2'
);

INSERT INTO search (rowid, title, summary, body)
SELECT (1 << 40) + seq, title, summary, coalesce(body, '') FROM task_current;

INSERT INTO search (rowid, title, summary, body)
SELECT (2 << 40) + seq, title, summary, coalesce(body, '') FROM plan_current;

INSERT INTO search (rowid, title, summary, body)
SELECT (3 << 40) + seq, title, summary, coalesce(body, '') FROM packet;

INSERT INTO search (rowid, title, summary, body)
SELECT (4 << 40) + seq, '', summary, coalesce(body, '') FROM packet_result;
