"""What the request itself says about values: its examples, such as `slugify('') is ''`, and literals in its sentences.

A case may expect what stands there, and must expect it where the request gives an example. Nothing here guesses: what
cannot be found by reading is not in the requirement.
"""

import ast
import re
from typing import NamedTuple

from .code import normalize_code, parse_code
from .function import Function
from .literals import NO_LITERAL, is_expected_value, is_python_value, parse_literal

QUOTES = str.maketrans("‘’“”", "''\"\"")
BEGINS = re.compile(r"(?<![\w.])(?:[bBrRuU]{0,2}['\"]|[\[({]|[-+]?\d|(?:True|False|None)\b)")
NUMBER = re.compile(r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")
WORD = re.compile(r"True|False|None")
ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Exit|Iteration|Interrupt)\b")
GIVES = re.compile(
    r"[\s`]*(?:(?:must|should|shall|will|has to)\s+)?(?:is|be|returns?|gives?|yields?|becomes?|equals?|produces?|"
    r"raises?|evaluates to|->|→|=>|==?|:)[\s`]*(?:(?:an?|the)\s+)?"
)
DENIES = re.compile(r"\b(?:not|never|no|without|cannot)\b|n't\b")
STRING = r"(?<!\w)(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
SENTENCE = re.compile(rf"(?:{STRING}|\.(?=\S)|[^;\n.])+")
ENDS = {"[": "]", "(": ")", "{": "}"}
REQUEST_CHARS_MAX = 20_000
LITERAL_CHARS_MAX = 2_000
TRIED_MAX = 60
WRAPPERS = ("list", "asyncio.run")  # what a generator or a coroutine is looked at with


class Example(NamedTuple):
    """A call in the request with literal arguments, and the words after it, up to the next call or a sentence's end."""

    call: str
    after: str
    sentence: str

    @property
    def says(self) -> str:
        """The value or the error that follows at once, as it stands there; such an example has to have its case."""
        begins = GIVES.match(self.after)
        rest = self.after[begins.end() :] if begins else ""
        name = ERROR.match(rest)
        return name[0] if name else rest[: _end(rest, 0)] if BEGINS.match(rest) else ""


def find_examples(function: Function, request: str) -> list[Example]:
    """Every example of a call in the request, in order."""
    found = []
    for sentence in split_sentences(request):
        spans = _calls(function, sentence)
        for place, (start, end) in enumerate(spans):
            until = spans[place + 1][0] if place + 1 < len(spans) else len(sentence)
            found.append(
                Example(sentence[start:end], sentence[end:until], _without(sentence, spans))
            )
    return found


def split_sentences(request: str) -> list[str]:
    """The parts between full stops, semicolons and line ends; those inside of quotes divide nothing."""
    return [
        one.strip()
        for one in SENTENCE.findall(request[:REQUEST_CHARS_MAX].translate(QUOTES))
        if one.strip()
    ]


def find_literals(text: str) -> list[str]:
    """Every Python literal in a text, from the left."""
    found, at = [], 0
    while begins := BEGINS.search(text, at):
        end = _end(text, begins.start())
        if end:
            found.append(text[begins.start() : end])
        at = end or begins.end()
    return found


def contains_value(text: str, value: str) -> bool:
    """Whether a value, as a case expects it, stands in a text as a literal; or as it is where no literal can say it."""
    if parse_literal(value) is NO_LITERAL and is_python_value(value):
        return value in text  # Decimal('1.5')
    return any(is_expected_value(value, one) for one in find_literals(text))


def find_call(function: Function, code: str) -> ast.Call | None:
    """The call that a case is about, where it is nothing but that call; imports before it do not count."""
    body = [
        node for node in parse_code(code).body if not isinstance(node, ast.Import | ast.ImportFrom)
    ]
    node = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    if isinstance(node, ast.Call) and ast.unparse(node.func) in WRAPPERS and len(node.args) == 1:
        node = node.args[0]
    name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
    return node if isinstance(node, ast.Call) and name.split(".")[-1] == function.name else None


def explain_unsupported(
    function: Function, request: str, code: str, value: str, is_error: bool
) -> str:
    """Why the request does not say that this call has this end, in words; "" if it does."""
    call = find_call(function, code)
    if call is None:
        return f"a case from the requirement is one call of {function.name}, and nothing round it"
    wanted = normalize_code(function, ast.unparse(call))
    given = [
        one
        for one in find_examples(function, request)
        if normalize_code(function, one.call) == wanted
    ]
    if any(_follows(one, value, is_error) for one in given):
        return ""
    if given:
        said = f"{given[0].call} {given[0].after.strip()[:120]}".strip()
        return f"the requirement says otherwise, or nothing, about this call: {said}"
    for sentence in split_sentences(request):
        plain = _without(sentence, _calls(function, sentence))
        if all(contains_value(sentence, one) for one in _arguments(call)) and _says(
            plain, value, is_error
        ):
            return ""
    return "no sentence of the requirement has both the arguments of this call and this end"


def _follows(example, value, is_error):
    """The value right after the call, if there is one; else any in its words, or in its sentence."""
    if example.says:
        return example.says == value if is_error else is_expected_value(value, example.says)
    told = (
        example.after
        if find_literals(example.after) or ERROR.search(example.after)
        else example.sentence
    )
    return _says(told, value, is_error)


def _says(text, value, is_error):
    if DENIES.search(text):
        return False  # what it is not, is no value to expect
    return (
        bool(re.search(rf"\b{re.escape(value)}\b", text))
        if is_error
        else contains_value(text, value)
    )


def _arguments(call):
    given = [*call.args, *(one.value for one in call.keywords)]
    return [ast.unparse(one) for one in given] or ["()"]


def _calls(function, sentence):
    """Where the calls with literal arguments stand: (start, end) of each."""
    found = []
    for begins in re.finditer(rf"(?<![\w.]){re.escape(function.name)}\(", sentence):
        for end in _closings(sentence, begins.end(), ")"):
            if _is_example(sentence[begins.start() : end]):
                found.append((begins.start(), end))
                break
    return found


def _closings(text, at, mark):
    """The ends to try: after each closing mark, the nearest first."""
    most = min(len(text), at + LITERAL_CHARS_MAX)
    return [place + 1 for place in range(at, most) if text[place] == mark][:TRIED_MAX]


def _is_example(text):
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    if not isinstance(node, ast.Call):
        return False
    return all(
        parse_literal(ast.unparse(one)) is not NO_LITERAL
        for one in (*node.args, *(one.value for one in node.keywords))
    )


def _without(sentence, spans):
    for start, end in reversed(spans):
        sentence = sentence[:start] + "…" + sentence[end:]
    return sentence


def _end(text, start):
    """Where the literal that begins here ends; 0 if there is none."""
    first = text[start:].lstrip("bBrRuU")[:1]
    simple = NUMBER.match(text, start) or WORD.match(text, start)
    if simple:
        return simple.end()
    mark = ENDS.get(first, first)
    skip = text.index(first, start) + 1
    ends = _closings(text, skip, mark)
    return next((end for end in ends if parse_literal(text[start:end]) is not NO_LITERAL), 0)
