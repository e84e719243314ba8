"""Judge a run again from its records, or reuse its answers (P6)."""
