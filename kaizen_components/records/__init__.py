"""Every kind of record: what it is, how it is written, found and verified."""
