"""Another repository uses this engine: the few files it needs, put there, compared, and taken away again."""
