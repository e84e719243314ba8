"""What a step answers: kinds, contracts, parsing, checks."""
