"""A user protocol: one JSON answer, and a script that checks it."""

import copy
import json

import yaml

NOTES = yaml.safe_load("""
name: release-notes
version: "1"
about: Write the release notes of a version.
start: notes
budget: {asks: 6, seconds: 1800}
steps:
  notes:
    kind: ask
    about: Say what changed, for people who use it.
    answer: json
    schema:
      type: object
      additionalProperties: false
      required: [title, lines]
      properties:
        title: {type: string, minLength: 3}
        lines: {type: array, minItems: 1, items: {type: string, maxLength: 120}}
    prompt: |
      Answer with one JSON object that keeps to this schema:
      {{ form }}
      -----
      {{ request }}
      {% if feedback %}{{ feedback }}{% endif %}
    attempts: 3
    next: {pass: check, malformed: notes}
  check:
    kind: gate
    about: Every line says something.
    gate: command
    command: [python, .kaizen/check_notes.py]
    fixtures:
      good: [{answers: {notes: {title: One, lines: [Adds /health.]}}}]
      bad: [{answers: {notes: {title: One, lines: [Various fixes.]}}}]
    next: {pass: accepted, check: notes}
""")
SCRIPT = """\
import json, os, sys
notes = json.load(open(os.path.join(os.environ["KAIZEN_ANSWERS"], "notes.json")))
empty = [line for line in notes["lines"] if "various" in line.lower()]
for line in empty:
    print("says nothing:", line)
sys.exit(bool(empty))
"""

GOOD_NOTES = json.dumps({"title": "Two", "lines": ["Adds /health."]})
EMPTY_NOTES = json.dumps({"title": "Two", "lines": ["Various fixes."]})


def changed(change, given=NOTES):
    """Return a copy of the protocol after `change(copy)`."""
    made = copy.deepcopy(given)
    change(made)
    return made


def put(folder, given, name=None, **files):
    """Write the protocol and more files into the .kaizen folder of a project."""
    place = folder / ".kaizen" / "protocols"
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{name or given['name']}.yml"
    path.write_text(given if isinstance(given, str) else yaml.safe_dump(given, sort_keys=False))
    for file, text in files.items():
        (folder / ".kaizen" / file.replace("__", ".")).write_text(text)
    return path
