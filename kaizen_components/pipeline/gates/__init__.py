"""The gates that a protocol can name, and the conditions recorded with their verdicts."""
