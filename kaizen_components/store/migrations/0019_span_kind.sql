-- Spans of an agent gateway: the choice of a model, a spending limit, and the passage of a request.
-- A longer list of kinds changes no stored byte, so the CHECK is replaced in the schema itself. SQLite has no ALTER TABLE for
-- it, and copying the table would take minutes where there are many spans.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, '''gate'', ''human'', ''other''', '''gate'', ''human'', ''other'', ''routing'', ''budget'', ''gateway''')
WHERE type = 'table' AND name = 'span';
PRAGMA writable_schema = RESET;
