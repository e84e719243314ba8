"""Code that runs in the sandbox under the target's Python.

A parent that never imports the target, and a forked child for each pytest session. It uses only the
standard library, pytest and coverage, and nothing else of Kaizen.
"""
