"""Gotchas, learnings, learned lessons, and Markdown lessons turned into records."""
