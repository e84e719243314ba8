"""Run a command in the strongest sandbox that works here."""
