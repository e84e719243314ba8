"""A small function, and the answers of an honest agent at each step of codemode."""

import json

REQUEST = "slugify(text) lower-cases and joins words with hyphens; slugify('A b') is 'a-b' and slugify('') is ''."
SOURCE = '''\
def slugify(text):
    """Words joined by hyphens, in small letters."""
    if not isinstance(text, str):
        raise TypeError("text must be a str")
    if len(text) > 100:
        raise ValueError("too long")
    return "-".join(text.lower().split())
'''
BROKEN = SOURCE.replace('"-".join(text.lower()', '"-".join(text')
CODES = [
    "slugify('A b')", "slugify('')", "slugify('  two  words ')", "slugify('Ärger')", "slugify('a-b')",
    "slugify('x' * 100)", "slugify('one')", "slugify('A\\tB\\nC')", "slugify(None)", "slugify(3)",
    "slugify('x' * 101)", "slugify(['a'])",
]  # fmt: skip
ERRORS = {9: "TypeError", 10: "TypeError", 11: "ValueError", 12: "TypeError"}
SNIPPETS = json.dumps({
    "snippets": [
        {"id": f"S{number}", "description": f"try {number}", "code": code,
         "expects": "error" if number in ERRORS else "value"}
        for number, code in enumerate(CODES, 1)
    ]
})  # fmt: skip
ANALYSIS = json.dumps({
    "clusters": [
        {"name": "words", "ids": [f"S{number}" for number in range(1, 9)], "notes": "Small letters, hyphens."},
        {"name": "errors", "ids": ["S9", "S10", "S11", "S12"], "notes": "No text, or too long a one."},
    ],
    "more": False, "questions": [],
})  # fmt: skip
MORE = json.dumps({**json.loads(ANALYSIS), "more": True, "questions": ["What about other blanks?"]})


def case(number, call, end, source):
    return f'  - id: C{number}\n    description: case {number}\n    call: "{call}"\n    {end}\n    from: {source}\n'


SPEC = "function: app.text:slugify\ncases:\n" + "".join([
    case(1, "slugify('A b')", "expect: \"'a-b'\"", "requirement"),
    case(2, "slugify('')", "expect: \"''\"", "requirement"),
    case(3, "slugify('  two  words ')", "expect: \"'two-words'\"", "S3"),
    case(4, "slugify('x' * 100)", "expect: \"" + repr("x" * 100) + '"', "S6"),
    case(5, "slugify(None)", "raises: TypeError", "S9"),
    case(6, "slugify('x' * 101)", "raises: ValueError", "S11"),
])  # fmt: skip
GOOD = {"exploration-plan": SNIPPETS, "execution-analysis": ANALYSIS, "spec-synthesis": SPEC}
