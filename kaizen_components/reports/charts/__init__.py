"""Drawings and plots: axes, bars, lines, areas, waterfalls, calibration."""
