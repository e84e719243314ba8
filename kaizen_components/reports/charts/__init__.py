"""Drawings and plots: axes, waterfalls, calibration, spread over time."""
