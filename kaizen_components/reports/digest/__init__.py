"""What a new session must know, within a budget (R0)."""
