"""Reports on one kind of record each (R1, R3 to R7, R11, L10, O3)."""
