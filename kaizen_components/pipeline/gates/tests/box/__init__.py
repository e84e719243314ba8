"""What runs inside the sandbox, under the target's own Python: a parent that never imports the target, and one forked
child for each pytest session. It uses only the standard library, pytest and coverage, and nothing else of Kaizen.
"""
