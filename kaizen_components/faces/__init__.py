"""Derived from the declarations: the click CLI, text, JSON Schema, completion, the reference."""
