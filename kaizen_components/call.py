"""Run a command: its options in, a result out. The CLI, K5, the tests and servers all come here.

Options come as a dict of name to a list of raw values. `bind_options` converts them to typed values;
`Door.run` refuses secrets, opens what the command's signature asks for, and calls it.
"""

from __future__ import annotations

import os

from . import fields
from .errors import Conflict, KaizenError, Refused, Usage
from .index import OUTPUT_DEFAULTS, describe_commands, find_command
from .records.ledger.anchor import AnchorFile
from .records.ledger.canonical import encode_canonical, encode_compact
from .records.ledger.hashing import LogEndCache, sha256
from .records.ledger.transaction import RecordReader, RecordWriter
from .records.secrets.excerpt import make_excerpt
from .records.secrets.scan import find_secret_in
from .store.database import Store
from .store.place import find_root
from .values import read_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from .index import Command
    from .parameters import Row
    from .store.connection import Connection

    Given = dict[str, list[Any]]

DEFAULT_ACTOR = "agent"
PAST_OP = "SELECT payload_hash, result FROM op WHERE op_id = ?"
NOT_IN_BATCH = ("K", "P", "D", "SK")  # slow, or not undone by a rollback


def bind_options(command: Command, given: Given) -> tuple[Row, Row]:
    """Return typed values for the command and for the shared options; raise Usage if one is bad."""
    values, shared = {}, {}
    for name, raw in given.items():
        field = fields.get_field(command, name)
        if field.kind == "time" and "timezone" in given:
            from .records.moment import add_zone

            raw = [add_zone(raw[0], given["timezone"][0]), *raw[1:]]
        try:
            value = read_option(name, field, raw)
        except Usage as error:
            option = fields.format_option(name)
            advice = f"`help {command.code}` says what {option} takes."
            error.next = f"{error.next} {advice}".strip()
            raise
        if name in command.options:
            values[name] = value
        if name in fields.SHARED:
            shared[name] = value
    missing_names = [name for name in command.required if name not in values]
    if missing_names:
        raise explain_missing_options(command, missing_names)
    for name, default in command.defaults.items():
        if default == "-" and name not in values:  # the default of an input option is stdin
            values[name] = read_option(name, fields.get_field(command, name), [default])
    return values, shared


def explain_missing_options(command: Command, names: list[str]) -> Usage:
    options = ", ".join(map(fields.format_option, names))
    return Usage(
        "missing_option",
        f"{command.code} {command.name} needs {options}.",
        "These options are required.",
        f"`help {command.code}` shows all options and an example.",
    )


def read_option(name: str, field: fields.Field, raw: list[Any]) -> Any:
    """Return the typed value of an option from the raw values that were given for it."""
    if field.kind in fields.LIST_KINDS:
        items = [part for item in raw for part in (item if type(item) is list else [item])]
        return read_value(name, field, items)
    if len(raw) > 1:
        what = f"{fields.format_option(name)} is given more than once."
        raise Usage("given_twice", what, "The option takes one value.", "Give the option once.")
    value = raw[0]
    if type(value) is fields.FromFile or field.kind == "input":
        from .input import read_text

        value = read_text(name, field, value.path if type(value) is fields.FromFile else value)
    return read_value(name, field, value)


class Door:
    """Runs commands on one project's database; each thread needs its own door."""

    def __init__(self, root: str | None = None, keep_open: bool = False) -> None:
        self.store = Store(root or find_root())
        self.anchors = AnchorFile(self.store.place.anchors)
        self.end = LogEndCache()
        self.keep_open = keep_open  # a server keeps its connection between calls

    def __call__(self, word: str, **given: Any) -> Row:
        """Run a command from Python: `door("W1", title="…", summary="…")`."""
        command = find_command(word)
        refuse_unknown_options(command, given)
        return self.run(command, {name: [value] for name, value in given.items()})

    def run(self, command: Command, given: Given) -> Row:
        """Check the options, run the command and return its result."""
        values, shared = bind_options(command, given)
        actor = shared.get("actor") or os.environ.get("KAIZEN_ACTOR", "").strip()
        try:
            actor = read_value("actor", fields.SHARED["actor"], actor or DEFAULT_ACTOR)
            refuse_secrets(command, {**values, **shared, "actor": actor})
        except (Refused, Usage) as error:
            if "actor" not in shared:
                error.what = error.what.replace("--actor", "KAIZEN_ACTOR", 1)
            raise
        try:
            if command.writes:
                op_id, test = shared.get("op_id"), shared.get("test", False)
                once = (op_id, hash_call(command, given, values, actor, test)) if op_id else None
                write = self._write if "tx" in command.needs else self._run_slow_write
                result = write(command, values, actor, once, test)
            else:
                result = self._run_read(command, values, actor)
        finally:
            self.store.release_writers()
        return {"status": "OK", **(result if type(result) is dict else {"records": result})}

    def close(self) -> None:
        self.store.close()
        self.anchors.close()

    def _run_read(self, command: Command, values: Row, actor: str) -> Row:
        """Run a command that only reads, in one snapshot of the database."""
        resources = {"store": self.store, **ABOUT_COMMANDS}
        if "db" not in command.needs:
            return call_function(command, values, resources)
        connection = self.store.reader()
        try:
            connection.begin()  # read one snapshot while others write
            resources["db"] = RecordReader(connection, actor)
            return call_function(command, values, resources)
        finally:
            connection.roll_back()

    def _run_slow_write(
        self, command: Command, values: Row, actor: str, once: tuple[str, str] | None, test: bool
    ) -> Row:
        """Run a command that has slow work to do before it calls `write`.

        Other writers do not wait for it. Its connection stays open until the door is closed,
        because a pipeline run writes often.
        """
        if not command.can_be_first:
            self.store.require()
        if "run" in values and self.store.exists():
            self.store.require_not_newer()
        if once and self.store.exists():
            past_result = find_past_result(self._open_migrated(), *once)
            if past_result:
                return past_result
        first = [once]  # a command may write more than once; its op-id belongs to the first write

        def write(record: Callable[[RecordWriter], Row]) -> Row:
            self.store.release_writers()  # our own open reader would block the write
            op = first.pop() if first else None
            return self._write(command, values, actor, op, test, record, keep_open=True)

        def look() -> RecordReader:
            self.store.require()
            return RecordReader(self._open_migrated(), actor)

        resources = {"write": write, "look": look, "store": self.store, **ABOUT_COMMANDS}
        return call_function(command, values, resources)

    def _open_migrated(self) -> Connection:
        """Return a reader for a command that is going to write; migrate an old database first."""
        try:
            return self.store.reader()
        except Refused as error:
            if error.code != "database_is_older":
                raise
        with self.store.begin_write_transaction():
            pass
        return self.store.reader()

    def _write(
        self,
        command: Command,
        values: Row,
        actor: str,
        once: tuple[str, str] | None,
        test: bool,
        record: Callable[[RecordWriter], Row] | None = None,
        keep_open: bool = False,
    ) -> Row:
        """Write in one transaction; return the first result if the op-id was used before."""
        if not command.can_be_first:
            self.store.require()
        writing = self.store.begin_write_transaction()
        writing.keep_open = self.keep_open or keep_open
        with writing as connection:
            tx = RecordWriter(connection, actor, command.code, test, self.end.read(connection))
            result = find_past_result(tx, *once) if once else None
            if result is None:
                result = record(tx) if record else self._call_in_transaction(tx, command, values)
                if once:
                    op = {"op_id": once[0], "payload_hash": once[1]}
                    of = [
                        {"test": tx.wrote_tests_only()}
                    ]  # so that K7 removes the result with the test records
                    tx.add("op", {**op, "result": encode_compact(result)}, of)
            tx.finish()
            self.end.forget()  # until the commit has succeeded
            writing.on_commit = lambda: self._append_anchor(tx)
        return result

    def _append_anchor(self, tx: RecordWriter) -> None:
        """Append a checkpoint after a commit; a failure is only noted."""
        self.end.keep(tx.end())
        if tx.has_changes():
            try:
                warning = self.anchors.append(tx.origin, tx.before, tx.frontier)
                self.store.notes += [warning] if warning else []
            except OSError as error:
                problem = f"the checkpoint file could not be written: {error.strerror}."
                self.store.notes.append(f"Recorded, but {problem}")

    def _call_in_transaction(self, tx: RecordWriter, command: Command, values: Row) -> Row:
        """Call the command's function so that it reads and writes in this transaction."""
        if command.needs == ("tx",) and not command.python_names:  # the case of nearly every write
            return command.function(tx, **values)
        resources = {
            "tx": tx,
            "db": tx,
            "call": lambda word, given, fill: self._call_nested(tx, word, given, fill),
            "store": self.store,
            "write": lambda record: record(tx),
            "look": lambda: tx,
            **ABOUT_COMMANDS,
        }
        return call_function(command, values, resources)

    def _call_nested(
        self, tx: RecordWriter, word: str, given: Row, fill: Callable[[Any], Any]
    ) -> Row:
        """Run another command in this transaction, for K5; `fill` replaces references to lines."""
        command = find_command(word)
        refuse_unknown_options(command, given)
        next_step = f"Run {command.code} outside the batch."
        if command.family in NOT_IN_BATCH:
            what = f"{command.code} cannot run inside a batch."
            why = "It takes minutes, or makes changes that a rollback cannot undo."
            raise Refused("not_in_batch", what, why, next_step)
        kinds = {name: fields.get_field(command, name).kind for name in given}
        if "argv" in kinds.values():
            what = f"{command.code} cannot run a program inside a batch."
            why = "The database would stay locked until the program ends."
            raise Refused("not_in_batch", what, why, next_step)
        texts = (*fields.TEXT_KINDS, "words")
        raw_values = {
            name: [value if kinds[name] in texts else fill(value)] for name, value in given.items()
        }
        values, shared = bind_options(command, raw_values)
        names = [fields.format_option(name) for name in shared if name not in command.options]
        if names:
            raise Usage(
                "shared_option_in_batch",
                f"{', '.join(names)} cannot be set in a line of a batch.",
                "Such an option applies to the whole batch.",
                "Set it for the command that reads the batch.",
            )
        refuse_secrets(command, values)
        outer_code, tx.command = tx.command, command.code
        try:
            result = self._call_in_transaction(tx, command, values)
            tx.connection.flush()  # let the database refuse this line here, not a later one
            return result
        finally:
            tx.command = outer_code


def call_function(command: Command, values: Row, resources: dict[str, Any]) -> Row:
    """Call the command's function with the engine's parameters and the user's values."""
    if command.python_names:
        values = {command.python_names.get(name, name): value for name, value in values.items()}
    if "output" in command.needs:
        from .reports.engine.publish import Output

        how = {name: values.pop(name, command.defaults[name]) for name in OUTPUT_DEFAULTS}
        engine = [resources[name] for name in ("write", "look", "store")]
        return command.function(Output(command, *engine, **how), **values)
    return command.function(*(resources[name] for name in command.needs), **values)


def hash_call(command: Command, given: Given, values: Row, actor: str, test: bool) -> str:
    """Return the hash of a call. A retry with the same op-id must have the same hash.

    An option that is set to its default counts like an omitted one. A relative time such as +7d
    counts as its text, because it means another moment each time.
    """
    texts: Row = {}
    for name in values:
        if name in given and fields.get_field(command, name).kind == "time":
            from .records.moment import is_relative

            texts |= {name: given[name][0]} if is_relative(given[name][0]) else {}
    call = [command.code, actor, test, {**command.defaults, **values, **texts}]
    return sha256(encode_canonical(call).encode(errors="surrogatepass"))  # paths need not be UTF-8


def find_past_result(db: Any, op_id: str, payload_hash: str) -> Row | None:
    """Return the first result of an op-id, or None; raise Conflict if the call was another one."""
    past_op = db.one(PAST_OP, (op_id,))
    if past_op is None:
        return None
    if past_op["payload_hash"] != payload_hash:
        raise Conflict(
            "op_id_reused",
            f"The op-id {make_excerpt(op_id)} was already used for another call.",
            "An op-id identifies one call: the same command, values and actor.",
            "Use a new op-id for a new call.",
        )
    import json

    return {**json.loads(past_op["result"]), "replayed": True}


def find_problems(word: str, given: Row) -> list[tuple[str, KaizenError]]:
    """Return (option, error) for each value that the command would refuse, without running it."""
    command = find_command(word)
    problems: list[tuple[str, KaizenError]] = [
        (name, explain_missing_options(command, [name]))
        for name in command.required
        if name not in given
    ]
    for name, value in given.items():
        try:
            refuse_unknown_options(command, [name])
            field = fields.get_field(command, name)
            if field.kind == "input":  # check only the path: the file is not read
                field = fields.Field("path", field.help)
            refuse_secrets(command, {name: read_option(name, field, [value])})
        except KaizenError as error:
            problems.append((name, error))
    return problems


def load_schema(word: str) -> Row:
    """Return the JSON Schema of a command's options."""
    from .faces.schema import build_schema

    return build_schema(find_command(word))


def refuse_unknown_options(command: Command, given: Iterable[str]) -> None:
    """Raise Usage for an option that the command does not have."""
    for name in given:
        if name not in command.options and name not in fields.SHARED:
            option = fields.format_option(make_excerpt(name))
            options = ", ".join(map(fields.format_option, command.options)) or "none"
            raise Usage(
                "unknown_option",
                f"{command.code} {command.name} has no option {option}.",
                f"The command takes {options}.",
                f"`help {command.code}` explains the options.",
            )


def refuse_secrets(command: Command, values: Row) -> None:
    """Raise Refused if a value looks like a secret."""
    texts = {}
    for name, value in values.items():
        kind = fields.get_field(command, name).kind if name in command.options else ""
        if kind == "argv":  # a command is stored as one line, too: `--password x` is two words
            value = [*value, " ".join(value)]
        if kind != "input":  # K5 checks line by line
            texts[name] = value
    # Scan all values at once, which is much cheaper; scan each only to name its option.
    if not find_secret_in(list(texts.values())):
        return
    for name, value in texts.items():
        secret = find_secret_in(value)
        if secret:
            place, kind = secret
            where = fields.format_option(name) + (f" at {place}" if place else "")
            raise Refused(
                "secret_refused",
                f"{where} seems to hold a secret ({kind}).",
                "Secrets are never recorded; nothing was written.",
                "Remove the secret, or write an obviously fake value (see docs/secrets.md).",
            )


# Engine parameters that describe other commands.
ABOUT_COMMANDS = {"catalog": describe_commands, "check": find_problems, "schema": load_schema}
