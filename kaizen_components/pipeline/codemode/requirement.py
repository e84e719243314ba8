"""Find what a request says about values: examples such as `slugify('') is ''`, and literals.

A case may expect what the request says. If the request gives an example, the spec must have a case
for it. A value counts only if it is written in the request.
"""

import ast
import re
from typing import NamedTuple

from .code import normalize_code, parse_code
from .function import Function
from .literals import NO_LITERAL, is_expected_value, is_python_value, parse_literal

QUOTES = str.maketrans("‘’“”", "''\"\"")
LITERAL = re.compile(r"(?<![\w.])(?:[bBrRuU]{0,2}['\"]|[\[({]|[-+]?\d|(?:True|False|None)\b)")
NUMBER = re.compile(r"[-+]?\d[\d_]*(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")
WORD = re.compile(r"True|False|None")
ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Warning|Exit|Iteration|Interrupt)\b")
GIVES = re.compile(
    r"[\s`]*(?:(?:must|should|shall|will|has to)\s+)?(?:is|be|returns?|gives?|yields?|becomes?|"
    r"equals?|produces?|raises?|evaluates to|->|→|=>|==?|:)[\s`]*(?:(?:an?|the)\s+)?"
)
DENIES = re.compile(r"\b(?:not|never|no|without|cannot)\b|n't\b")
STRING = r"(?<!\w)(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
SENTENCE = re.compile(rf"(?:{STRING}|\.(?=\S)|[^;\n.])+")
CLOSING = {"[": "]", "(": ")", "{": "}"}
REQUEST_CHARS_MAX = 20_000
LITERAL_CHARS_MAX = 2_000
ENDS_MAX = 60
WRAPPERS = ("list", "asyncio.run")  # wrappers with which a case reads a generator or a coroutine


class Example(NamedTuple):
    """A call with literal arguments, and the text after it up to the next call or sentence end."""

    call: str
    after: str
    sentence: str  # without its calls

    @property
    def stated_end(self) -> str:
        """The value or error stated right after the call, or "". A stated end needs a case."""
        gives = GIVES.match(self.after)
        text = self.after[gives.end() :] if gives else ""
        name = ERROR.match(text)
        if name:
            return name[0]
        return text[: _find_literal_end(text, 0)] if LITERAL.match(text) else ""


def find_examples(function: Function, request: str) -> list[Example]:
    """Return every example of a call in the request, in order."""
    examples = []
    for sentence in split_sentences(request):
        spans = _find_calls(function, sentence)
        text_around = _cut_spans(sentence, spans)
        ends = [*(start for start, _ in spans[1:]), len(sentence)]
        for (start, end), next_start in zip(spans, ends, strict=False):
            examples.append(Example(sentence[start:end], sentence[end:next_start], text_around))
    return examples


def split_sentences(request: str) -> list[str]:
    """Split at full stops, semicolons and line ends, except inside quotes."""
    text = request[:REQUEST_CHARS_MAX].translate(QUOTES)
    return [sentence.strip() for sentence in SENTENCE.findall(text) if sentence.strip()]


def find_literals(text: str) -> list[str]:
    """Return every Python literal in a text, from the left."""
    literals, position = [], 0
    while start := LITERAL.search(text, position):
        end = _find_literal_end(text, start.start())
        if end:
            literals.append(text[start.start() : end])
        position = end or start.end()
    return literals


def contains_value(text: str, value: str) -> bool:
    """Return whether a text contains a value: as a literal, or verbatim if it is not one."""
    if parse_literal(value) is NO_LITERAL and is_python_value(value):
        return value in text  # Decimal('1.5')
    return any(is_expected_value(value, literal) for literal in find_literals(text))


def find_call(function: Function, code: str) -> ast.Call | None:
    """Return the call of the function; None if the code has more than imports and wrappers."""
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
    """Return why the request does not state this result for this call; "" if it does."""
    call = find_call(function, code)
    if call is None:
        return f"a case from the requirement must be one call of {function.name} and nothing else"
    key = normalize_code(function, ast.unparse(call))
    same_call = [
        example
        for example in find_examples(function, request)
        if normalize_code(function, example.call) == key
    ]
    if any(_states_end(example, value, is_error) for example in same_call):
        return ""
    if same_call:
        quote = f"{same_call[0].call} {same_call[0].after.strip()[:120]}".strip()
        return f"the requirement says otherwise, or nothing, about this call: {quote}"
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    words = [ast.unparse(argument) for argument in arguments] or ["()"]
    for sentence in split_sentences(request):
        text_around = _cut_spans(sentence, _find_calls(function, sentence))
        if all(contains_value(sentence, word) for word in words) and _states(
            text_around, value, is_error
        ):
            return ""
    return "no sentence of the requirement has both the arguments and the result of this call"


def _states_end(example: Example, value: str, is_error: bool) -> bool:
    """Return whether an example states the value, after the call or elsewhere in the sentence."""
    stated_end = example.stated_end
    if stated_end:
        return stated_end == value if is_error else is_expected_value(value, stated_end)
    has_value = find_literals(example.after) or ERROR.search(example.after)
    return _states(example.after if has_value else example.sentence, value, is_error)


def _states(text: str, value: str, is_error: bool) -> bool:
    """Return whether a text without a negation contains the value or the name of the error."""
    if DENIES.search(text):
        return False  # "is not 'y'" states no expected value
    if is_error:
        return bool(re.search(rf"\b{re.escape(value)}\b", text))
    return contains_value(text, value)


def _find_calls(function: Function, sentence: str) -> list[tuple[int, int]]:
    """Return (start, end) of each call with literal arguments."""
    spans = []
    for start in re.finditer(rf"(?<![\w.]){re.escape(function.name)}\(", sentence):
        for end in _closing_positions(sentence, start.end(), ")"):
            if _has_literal_arguments(sentence[start.start() : end]):
                spans.append((start.start(), end))
                break
    return spans


def _closing_positions(text: str, start: int, mark: str) -> list[int]:
    """Return the positions after the next closing marks: the call may end at any of them."""
    stop = min(len(text), start + LITERAL_CHARS_MAX)
    return [at + 1 for at in range(start, stop) if text[at] == mark][:ENDS_MAX]


def _has_literal_arguments(text: str) -> bool:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return isinstance(node, ast.Call) and all(
        parse_literal(ast.unparse(argument)) is not NO_LITERAL
        for argument in (*node.args, *(keyword.value for keyword in node.keywords))
    )


def _cut_spans(sentence: str, spans: list[tuple[int, int]]) -> str:
    for start, end in reversed(spans):
        sentence = sentence[:start] + "…" + sentence[end:]
    return sentence


def _find_literal_end(text: str, start: int) -> int:
    """Return where the literal at `start` ends, or 0 without a literal."""
    simple = NUMBER.match(text, start) or WORD.match(text, start)
    if simple:
        return simple.end()
    first = text[start:].lstrip("bBrRuU")[:1]
    ends = _closing_positions(text, text.index(first, start) + 1, CLOSING.get(first, first))
    return next((end for end in ends if parse_literal(text[start:end]) is not NO_LITERAL), 0)
