"""The gates that a protocol can name, and what their verdicts rest on."""
