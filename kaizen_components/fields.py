"""The vocabulary: each option name means one thing in every command.

`FIELDS` says for each name its kind, its help, its choices and its bounds. A name that a noun uses with other
choices stands as `noun.name`, or as `verb.name` for one command. `read` turns what was given (text from a shell,
values from JSON) into the value that a command gets, or explains what is wrong with it.

Kinds: line (one line of text), prose, id, ids, words (a repeatable line), int, float, flag, choice, json, time, path,
input (the text of a file or of stdin).
"""

from .errors import Usage

TASK_STATUS = ("open", "active", "blocked", "done", "canceled")
PLAN_STATUS = ("draft", "active", "blocked", "completed", "canceled")
PRIORITY = ("critical", "high", "normal", "low")
LINK_KIND = ("blocks", "parent", "discovered-from", "relates-to")
LEASE_ACTION = ("take", "renew", "release", "break")
PACKET_KIND = ("subagent", "diagnostic")
OUTCOME = ("completed", "partial", "failed")

TITLE_CHARS_MAX = 200
SUMMARY_CHARS_MAX = 2_000
BODY_CHARS_MAX = 1_000_000
PATH_CHARS_MAX = 4_096
JSON_DEPTH_MAX = 100
BATCH_CHARS_MAX = 200_000_000


class Field:
    def __init__(self, kind, help, choices=(), least=None, most=None, bare=False):
        self.kind = kind
        self.help = help
        self.choices = choices
        self.least = least
        self.most = most  # the largest number, or the most characters of a text
        self.bare = bare  # may also be given without its option name


SHARED = {
    "json": Field("flag", "Print one JSON object; errors too"),
    "actor": Field("line", "Who is calling; KAIZEN_ACTOR, or else 'agent'", most=100),
    "op_id": Field("line", "The same op-id again returns the first result; a read ignores it", most=200),
    "test": Field("flag", "Mark what is written as removable by K7; a read ignores it"),
}

FIELDS = {
    "title": Field("line", "One line that names it", most=TITLE_CHARS_MAX),
    "summary": Field("prose", "What it is about, in a few sentences", most=SUMMARY_CHARS_MAX),
    "body": Field("prose", "The whole text", most=BODY_CHARS_MAX),
    "note": Field("prose", "What happened, without changing the text", most=SUMMARY_CHARS_MAX),
    "scope": Field("line", "The part of the project it belongs to", most=200),
    "priority": Field("choice", "How urgent it is", PRIORITY),
    "status": Field("choice", "The state of the task", TASK_STATUS),
    "plan.status": Field("choice", "The state of the plan", PLAN_STATUS),
    "id": Field("id", "The record: its id, a unique prefix of it, or @last", most=200),
    "task_id": Field("id", "The task: its id, a unique prefix of it, or @last", most=200),
    "target_id": Field("id", "The other task: its id, a unique prefix of it, or @last", most=200),
    "parent": Field("id", "The task that this one is a part of", most=200),
    "depends_on": Field("ids", "A task that must be closed first; repeatable", most=200),
    "done_when": Field("words", "A command that must be witnessed before `done`; repeatable", most=1_000),
    "kind": Field("choice", "How the two tasks hang together", LINK_KIND),
    "packet.kind": Field("choice", "Which sort of packet", PACKET_KIND),
    "remove": Field("flag", "Remove the link instead of adding it"),
    "action": Field("choice", "What to do with the lease", LEASE_ACTION),
    "ttl_s": Field("int", "How many seconds the lease lasts", least=1, most=604_800),
    "token": Field("int", "The fencing token that `take` returned", least=1, most=2**53),
    "recipient": Field("line", "Who the packet is for", most=200),
    "outcome": Field("choice", "How it ended", OUTCOME),
    "payload_json": Field("json", "Structured data as JSON", most=BODY_CHARS_MAX),
    "limit": Field("int", "The most rows to show", least=1, most=10_000),
    "since": Field("time", "Not before: a date, a time, or an age such as 7d, 12h, 30m"),
    "until": Field("time", "Before: a date, a time, or an age such as 7d, 12h, 30m"),
    "task.actor": Field("line", "Only tasks of this actor", most=100),
    "task.test": Field("flag", "Also tasks made with --test"),
    "holder": Field("line", "Only tasks that this actor holds a lease on", most=100),
    "open": Field("flag", "Only those without a result yet"),
    "integrity": Field("flag", "Also check every page, foreign key and derived row"),
    "dry_run": Field("flag", "Only list what would be removed"),
    "verify.file": Field("path", "Another database file, such as a backup"),
    "batch.file": Field("input", "The JSONL file; stdin unless told", most=BATCH_CHARS_MAX),
    "out": Field("path", "Where to write it; a dated file below AI/db unless told"),
    "intent": Field("prose", "What you want to do, in plain words", most=SUMMARY_CHARS_MAX, bare=True),
}

TEXT_KINDS = ("line", "prose", "json")  # these can also come from a file (--x-file) or from stdin (-)
LIST_KINDS = ("ids", "words")


def field(command, name):
    """What `name` means in this command: the verb's own meaning first, then the noun's, then everybody's."""
    if name in SHARED and name not in command.options:
        return SHARED[name]
    for owner in (command.name.rpartition("-")[2], command.noun):
        if f"{owner}.{name}" in FIELDS:
            return FIELDS[f"{owner}.{name}"]
    return SHARED.get(name) or FIELDS[name]


class FromFile:
    """A value that still has to be read: the path of a file, or - for stdin."""

    def __init__(self, path):
        self.path = path


def known_option(command, word):
    """(field name, is it the --x-file form) for the word after `--`, or (None, False)."""
    name = word.replace("-", "_")
    if "_" in word:
        return None, False
    if name in command.options or name in SHARED:
        return name, False
    base = name[:-5]
    if name[-5:] == "_file" and base in command.options and field(command, base).kind in TEXT_KINDS:
        return base, True
    return None, False


def is_option(command, word):
    """Is this word an option of the command, so that it can hardly be the value of the option before it?"""
    return word[:2] == "--" and known_option(command, word[2:])[0] is not None


def shell_value(command, name, value, from_file):
    """What a shell gave: - means stdin where text is wanted."""
    stdin = value == "-" and field(command, name).kind in TEXT_KINDS
    return FromFile(value) if from_file or stdin else value


def take_bare(command, given, bare):
    """Words without an option name go to the one field that takes them; False if there is none."""
    if not bare:
        return True
    for name in command.options:
        if field(command, name).bare and name not in given:
            given[name] = [" ".join(bare)]
            return True
    return False


def option(name):
    return "--" + name.replace("_", "-")


def read(name, field, given):
    """The value for a command, from what the user gave."""
    if field.kind == "flag":
        return _flag(name, given)
    if field.kind in LIST_KINDS:
        return [_line(name, field, one) for one in (given if type(given) is list else [given])]
    return _READERS[field.kind](name, field, given)


def _flag(name, given):
    if given is not True and given is not False:
        raise _wrong(name, "must be true or false.")
    return given


def _text(name, field, given):
    if type(given) is not str:
        raise _wrong(name, "must be text.")
    if len(given) > field.most:
        raise _wrong(name, f"has {len(given):,} characters; at most {field.most:,} fit.", "Shorten it.")
    if not given.strip():
        raise _wrong(name, "is blank.", "Give it some text, or leave the option out if it is optional.")
    if "\0" in given:
        raise _wrong(name, "contains a NUL byte.", "Remove it; records are text.")
    if not given.isascii():
        try:
            given.encode()
        except UnicodeEncodeError:
            raise _wrong(name, "is not valid UTF-8.", "Convert the text to UTF-8.") from None
    return given


def _line(name, field, given):
    text = _text(name, field, given)
    if len(text.splitlines()) > 1 or text[-1] in "\r\n":
        raise _wrong(name, "must be one line.", "Put longer text into --body.")
    return text


def _path(name, field, given):
    if type(given) is not str or not given.strip() or "\0" in given or len(given) > PATH_CHARS_MAX:
        raise _wrong(name, "must be the path of a file.")
    return given


def _choice(name, field, given):
    lowered = given.lower() if type(given) is str else given
    for choice in field.choices:
        if choice.lower() == lowered:
            return choice
    raise _wrong(name, "must be one of " + ", ".join(field.choices) + ".")


def _int(name, field, given):
    if type(given) is str:
        digits = given[1:] if given[:1] == "-" else given
        if not (digits.isascii() and digits.isdecimal() and len(digits) <= 20):
            raise _wrong(name, "must be a whole number.")
        given = int(given)
    elif type(given) is not int:
        raise _wrong(name, "must be a whole number.")
    return _bounded(name, field, given)


def _float(name, field, given):
    try:
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        number = float("nan")
    if type(given) is bool or number - number != 0:
        raise _wrong(name, "must be a finite number.")
    return _bounded(name, field, number)


def _bounded(name, field, number):
    if (field.least is not None and number < field.least) or (field.most is not None and number > field.most):
        raise _wrong(name, f"must lie between {field.least} and {field.most}.")
    return number


def _json(name, field, given):
    import json

    def no_constant(word):
        raise ValueError(f"{word} is not JSON")

    try:
        if type(given) is not str:  # from K5 or another program: a value already, but the same limits hold
            given = json.dumps(given, ensure_ascii=False, allow_nan=False)
        value = json.loads(_text(name, field, given), parse_constant=no_constant)
        if _depth(value) > JSON_DEPTH_MAX:
            raise ValueError(f"nested deeper than {JSON_DEPTH_MAX} levels")
        again = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        _text(name, field, again.replace("\\u0000", "\0"))
    except (ValueError, RecursionError) as error:
        raise _wrong(name, f"is not valid JSON: {str(error) or 'nested too deeply'}.") from None
    return value


def _depth(value):
    """How deeply lists and objects are nested; level by level, because recursion is what a hostile depth breaks."""
    depth, level = 0, [value]
    while level:
        containers = [item.values() if type(item) is dict else item for item in level if type(item) in (list, dict)]
        level = [one for container in containers for one in container]
        depth += 1
    return depth


def _time(name, field, given):
    from .records.moment import read_moment

    try:
        return read_moment(given)
    except (ValueError, TypeError, OverflowError):
        raise _wrong(name, "must be a date (2026-11-16), a time (2026-11-16T08:00) or an age (7d, 12h, 30m).") from None


_READERS = {
    "line": _line, "prose": _text, "input": _text, "id": _line, "path": _path, "choice": _choice,
    "int": _int, "float": _float, "json": _json, "time": _time,
}  # fmt: skip


def _wrong(name, problem, next_step=""):
    return Usage("bad_value", f"{option(name)} {problem}", "", next_step)
