"""Replay a run from its records (P6), or use its answers in a new run."""
