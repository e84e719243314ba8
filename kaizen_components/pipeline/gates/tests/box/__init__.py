"""Code that runs in the sandbox under the target's Python.

A parent process that never imports the target forks a child for each pytest session. This package
imports only the standard library, pytest and coverage.
"""
