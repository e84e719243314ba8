"""Proofs, verdicts, evals, scores, spans, predictions, and the lint of specs."""
