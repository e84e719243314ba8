"""Edits as plain text: parse, match, apply, write."""
