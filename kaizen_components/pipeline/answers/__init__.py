"""The answer of a step: kinds, contracts, parsing, checks."""
