"""Kaizen: the local system of record for AI coding agents."""

__version__ = "0.1.0"
