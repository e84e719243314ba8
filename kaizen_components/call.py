"""The one door: a command and what was given in, a result out. The CLI, K5, the tests and servers all come here.

What is given is a dict of option name to a list of raw values. `bind` makes typed values of them, `Door.run` checks
them for secrets, opens what the command's signature asks for, and calls it.
"""

import os

from . import fields
from .errors import Conflict, KaizenError, Refused, Usage
from .index import OUTPUT_DEFAULTS, find_command, load_commands
from .records.ledger.anchor import AnchorFile
from .records.ledger.canonical import encode_canonical, encode_compact
from .records.ledger.hashing import LogEndCache, sha256
from .records.ledger.transaction import RecordReader, RecordWriter
from .records.secrets.excerpt import make_excerpt
from .records.secrets.scan import find_secret_in
from .store.database import Store
from .store.place import find_root as project_root
from .values import read_value

DEFAULT_ACTOR = "agent"
PAST_OP = "SELECT payload_hash, result FROM op WHERE op_id = ?"


def bind_options(command, given):
    """Typed values for the command and for the shared options, or a Usage error that says what is wrong."""
    values, shared = {}, {}
    if "timezone" in given:
        given = _apply_timezone(command, given)
    for name, raw in given.items():
        field = fields.get_field(command, name)
        try:
            value = _read_option(name, field, raw)
        except Usage as error:
            error.next = (
                error.next or f"`help {command.code}` says what {fields.format_option(name)} takes."
            )
            raise
        if name in command.options:
            values[name] = value
        if name in fields.SHARED:
            shared[name] = value
    absent = [name for name in command.required if name not in values]
    if absent:
        raise explain_missing_options(command, absent)
    for (
        name,
        default,
    ) in command.defaults.items():  # an input's default is stdin, read here like any other text
        if default == "-" and name not in values:
            values[name] = _read_option(name, fields.get_field(command, name), [default])
    return values, shared


def _apply_timezone(command, given):
    """Times without a zone of their own are meant in the one that is asked for."""
    times = [
        name
        for name in given
        if name in command.options and fields.get_field(command, name).kind == "time"
    ]
    if not times:
        return given
    from .records.moment import add_zone

    return {
        name: [add_zone(raw[0], given["timezone"][0]), *raw[1:]] if name in times else raw
        for name, raw in given.items()
    }


def explain_missing_options(command, names):
    return Usage(
        "missing_option",
        f"{command.code} {command.name} needs "
        + ", ".join(fields.format_option(name) for name in names)
        + ".",
        "",
        f"`help {command.code}` shows all options and an example.",
    )


def _read_option(name, field, raw):
    if field.kind in fields.LIST_KINDS:
        flat = [one for item in raw for one in (item if type(item) is list else [item])]
        return read_value(name, field, flat)
    if len(raw) > 1:
        raise Usage(
            "given_twice",
            f"{fields.format_option(name)} is given more than once.",
            "",
            "Give it once.",
        )
    value = raw[0]
    if type(value) is fields.FromFile or field.kind == "input":
        from .input import read_text

        value = read_text(name, field, value.path if type(value) is fields.FromFile else value)
    return read_value(name, field, value)


class Door:
    """Runs commands on one project's database, for one thread; another thread has a door of its own."""

    def __init__(self, root=None, keep_open=False):
        self.store = Store(root or project_root())
        self.anchors = AnchorFile(self.store.place.anchors)
        self.end = LogEndCache()
        self.keep_open = keep_open  # a server keeps its connection between calls

    def __call__(self, word, **given):
        """For Python callers: `door("W1", title="…", summary="…")`."""
        command = find_command(word)
        refuse_unknown_options(command, given)
        return self.run(command, {name: [value] for name, value in given.items()})

    def run(self, command, given):
        values, shared = bind_options(command, given)
        actor = shared.get("actor") or _read_environment_actor()
        try:
            _refuse_secrets(command, {**values, **shared, "actor": actor})
        except Refused as error:
            error.what = (
                error.what
                if "actor" in shared
                else error.what.replace("--actor", "KAIZEN_ACTOR", 1)
            )
            raise
        try:
            if command.writes:
                op_id, test = shared.get("op_id"), shared.get("test", False)
                said = {**values, **_find_relative_times(command, given)} if op_id else values
                once = (op_id, self._hash_call(command, said, actor, test)) if op_id else None
                prepare = self._write if "tx" in command.needs else self._run_slow_write
                result = prepare(command, values, actor, once, test)
            else:
                result = self._run_read(command, values, actor)
        finally:
            self.store.release_writers()
        return {"status": "OK", **(result if type(result) is dict else {"records": result})}

    def close(self):
        self.store.close()
        self.anchors.close()

    def _run_read(self, command, values, actor):
        resources = {"store": self.store, **ABOUT_COMMANDS}
        if "db" not in command.needs:
            return self._call_function(command, values, resources.__getitem__)
        connection = self.store.reader()
        try:
            connection.begin()  # all of one answer is of one moment, whatever others write meanwhile
            resources["db"] = RecordReader(connection, actor)
            return self._call_function(command, values, resources.__getitem__)
        finally:
            connection.roll_back()

    def _run_slow_write(self, command, values, actor, once, test):
        """A command that has slow work to do first (running a command, hashing a file) writes when it calls `write`:
        nobody else waits for it meanwhile. Its connection stays until the door is closed: a run writes often."""
        if not command.can_be_first:
            self.store.require()
        if "run" in values and self.store.exists():
            self.store.require_not_newer()
        if once and self.store.exists():
            past = self._find_past_result(self._migrated_reader(), *once)
            if past:
                return past

        first = [once]  # a command that writes more than once is named by what it wrote first

        def write(do):
            self.store.release_writers()  # or our own reader would keep us out
            return self._write(
                command, values, actor, first.pop() if first else None, test, do, keep_open=True
            )

        def look():
            self.store.require()
            return RecordReader(self._migrated_reader(), actor)

        resources = {"write": write, "look": look, "store": self.store, **ABOUT_COMMANDS}
        return self._call_function(command, values, resources.__getitem__)

    def _migrated_reader(self):
        """A reader for a command that is going to write, and would migrate an old database then."""
        try:
            return self.store.reader()
        except Refused as error:
            if error.code != "database_is_older":
                raise
        with self.store.begin_write_transaction():
            pass
        return self.store.reader()

    def _write(self, command, values, actor, once, test, do=None, keep_open=False):
        if not command.can_be_first:
            self.store.require()
        writing = self.store.begin_write_transaction()
        writing.keep_open = self.keep_open or keep_open
        with writing as connection:
            tx = RecordWriter(connection, actor, command.code, test, self.end.read(connection))
            result = self._run_once(
                tx, once, do or (lambda tx: self._call_in_transaction(tx, command, values))
            )
            tx.finish()
            self.end.forget()  # until COMMIT has told
            writing.on_commit = lambda: self._committed(tx)
        return result

    def _run_once(self, tx, once, do):
        """Perform the command, or give the first answer again when this op-id has been here before."""
        if not once:
            return do(tx)
        op_id, payload = once
        past = self._find_past_result(tx, op_id, payload)
        if past:
            return past
        result = do(tx)
        of = [{"test": tx.wrote_tests_only()}]  # then K7 removes the answer too
        tx.add(
            "op", {"op_id": op_id, "payload_hash": payload, "result": encode_compact(result)}, of
        )
        return result

    def _hash_call(self, command, values, actor, test):
        every_value = {**command.defaults, **values}  # a default spelled out is the same call
        text = encode_canonical([command.code, actor, test, every_value])
        return sha256(text.encode(errors="surrogatepass"))  # a path need not be UTF-8

    def _find_past_result(self, db, op_id, payload):
        past = db.one(PAST_OP, (op_id,))
        if past is None:
            return None
        if past["payload_hash"] != payload:
            raise Conflict(
                "op_id_reused",
                "This op-id was used before, for something else.",
                "An op-id stands for one call: the same command, values and actor.",
                "Use a new op-id for a new call.",
            )
        import json

        return {**json.loads(past["result"]), "replayed": True}

    def _call_in_transaction(self, tx, command, values):
        if command.needs == ("tx",) and not command.python_names:  # nearly every write
            return command.function(tx, **values)

        def inner(word, given, fill):
            """Another command inside the same transaction, for K5; `fill` replaces references outside of texts."""
            nested = find_command(word)
            refuse_unknown_options(nested, given)
            if nested.family in (
                "K",
                "P",
                "D",
                "SK",
            ):  # they take minutes, or change what no rollback takes back
                raise Refused(
                    "not_in_batch",
                    f"{nested.code} cannot run inside a batch.",
                    "",
                    "Call it by itself.",
                )
            if any(fields.get_field(nested, name).kind == "argv" for name in given):
                raise Refused(
                    "not_in_batch",
                    "A command cannot be run inside a batch.",
                    "All others would wait for it.",
                    f"Call {nested.code} by itself.",
                )
            raw = {
                name: [value if _is_text_option(nested, name) else fill(value)]
                for name, value in given.items()
            }
            nested_values, shared = bind_options(nested, raw)
            shared = [name for name in shared if name not in nested.options]
            if shared:
                raise Usage(
                    "shared_option_in_batch",
                    ", ".join(map(fields.format_option, shared)) + " belongs to the whole batch.",
                    "",
                    "Give it to the command that reads the lines.",
                )
            _refuse_secrets(nested, nested_values)
            before, tx.command = tx.command, nested.code
            try:
                result = self._call_in_transaction(tx, nested, nested_values)
                tx.connection.flush()  # what the database refuses is this command's fault, and no later one's
                return result
            finally:
                tx.command = before

        resources = {
            "tx": tx, "db": tx, "call": inner, "store": self.store, "write": lambda do: do(tx), "look": lambda: tx,
            **ABOUT_COMMANDS,
        }  # fmt: skip
        return self._call_function(command, values, resources.__getitem__)

    def _call_function(self, command, values, resource):
        if command.python_names:
            values = {command.python_names.get(name, name): value for name, value in values.items()}
        if "output" in command.needs:
            from .reports.engine.publish import Output

            how = {name: values.pop(name, command.defaults[name]) for name in OUTPUT_DEFAULTS}
            resources = [resource(name) for name in ("write", "look", "store")]
            return command.function(Output(command, *resources, **how), **values)
        return command.function(*(resource(name) for name in command.needs), **values)

    def _committed(self, tx):
        self.end.keep(tx.end())
        if tx.changed():
            try:
                warning = self.anchors.append(tx.origin, tx.before, tx.frontier)
                self.store.notes += [warning] if warning else []
            except OSError as error:
                self.store.notes.append(
                    f"Recorded, but the checkpoint file could not be written: {error.strerror}."
                )


def _find_relative_times(command, given):
    """Times such as +7d as they were said: the same call, said again, means another moment."""
    times = [
        name
        for name in given
        if name in command.options and fields.get_field(command, name).kind == "time"
    ]
    if not times:
        return {}
    from .records.moment import is_relative

    return {name: given[name][0] for name in times if is_relative(given[name][0])}


def find_problems(word, given):
    """(option, error) for everything the command would refuse in these values; nothing is looked up or written."""
    command = find_command(word)
    problems = [
        (name, explain_missing_options(command, [name]))
        for name in command.required
        if name not in given
    ]
    for name, value in given.items():
        try:
            refuse_unknown_options(command, [name])
            field = fields.get_field(command, name)
            if field.kind == "input":  # the file is not read
                field = fields.Field("path", field.help)
            _refuse_secrets(command, {name: _read_option(name, field, [value])})
        except KaizenError as error:
            problems.append((name, error))
    return problems


def load_schema(word):
    """The JSON Schema of what a command takes."""
    from .faces.schema import build_schema

    return build_schema(find_command(word))


def describe_commands():
    """Every command with the words its options choose from: what K0 searches."""
    commands = load_commands()
    for command in commands:
        command.choices = [
            choice for name in command.options for choice in fields.get_field(command, name).choices
        ]
    return commands


def _is_text_option(command, name):
    return fields.get_field(command, name).kind in (*fields.TEXT_KINDS, "words")


def refuse_unknown_options(command, given):
    """Refuse option names that the command does not have (for callers that are not a shell)."""
    for name in given:
        if name not in command.options and name not in fields.SHARED:
            raise Usage(
                "unknown_option",
                f"{command.code} {command.name} has no option {fields.format_option(make_excerpt(name))}.",
                "It takes "
                + (", ".join(fields.format_option(one) for one in command.options) or "none")
                + ".",
                f"`help {command.code}` explains them.",
            )


def _read_environment_actor():
    given = os.environ.get("KAIZEN_ACTOR", "").strip()
    try:
        return read_value("actor", fields.SHARED["actor"], given) if given else DEFAULT_ACTOR
    except Usage as error:
        error.what = error.what.replace("--actor", "KAIZEN_ACTOR", 1)
        raise


def _refuse_secrets(command, values):
    """One look at all values together, which is much cheaper; field by field only to say where."""
    texts = {}
    for name, value in values.items():
        kind = fields.get_field(command, name).kind if name in command.options else ""
        if kind == "argv":  # a command is kept as one line, too: `--password x` is two words
            value = [*value, " ".join(value)]
        if kind != "input":  # K5 checks line by line
            texts[name] = value
    if not find_secret_in(list(texts.values())):
        return
    for name, value in texts.items():
        found = find_secret_in(value)
        if found:
            place, kind = found
            raise Refused(
                "secret_refused",
                f"{fields.format_option(name)}{' at ' + place if place else ''} seems to hold a secret ({kind}).",
                "Secrets are never recorded; nothing was written.",
                "Take it out, or write an obviously fake value instead (docs/secrets.md says which pass).",
            )


ABOUT_COMMANDS = {
    "catalog": describe_commands,
    "check": find_problems,
    "schema": load_schema,
}  # what a command may ask about the others
