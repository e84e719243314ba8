"""The log and a task as stories (R1, R2)."""
