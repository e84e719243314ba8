"""The question of a step: its messages, its feedback, and the scout's tools."""
