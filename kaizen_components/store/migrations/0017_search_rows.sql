-- Rows of the search index that fit a page. With FTS5's own 4,050 bytes each went over to further pages, and a commit
-- that put a small one between them moved its neighbours: four pages of the index in every W1 instead of two, at 15
-- microseconds each.

INSERT INTO search (search, rank) VALUES ('pgsz', 1000);
