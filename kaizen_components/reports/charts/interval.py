"""Compute 95 % confidence intervals of a share and of a mean of few values."""

from math import sqrt
from statistics import mean, stdev

Z = 1.96
# Student's t, 95 % two-sided, for 1 to 30 degrees of freedom. Above 30, Z is close enough.
T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def compute_share_interval(hits: int, total: int) -> tuple[float, float] | None:
    """Return the Wilson interval of hits / total, good for small totals too; None if total is 0."""
    if not total:
        return None
    share, square = hits / total, Z * Z / total
    middle = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * sqrt(share * (1 - share) / total + square / (4 * total))
    return max(0.0, middle - half), min(1.0, middle + half)


def compute_mean_interval(values: list[float]) -> tuple[float, float] | None:
    """Return the Student interval of the mean; None for fewer than two values."""
    if len(values) < 2:
        return None
    t = T[len(values) - 2] if len(values) <= len(T) + 1 else Z
    half = t * stdev(values) / sqrt(len(values))
    return mean(values) - half, mean(values) + half
