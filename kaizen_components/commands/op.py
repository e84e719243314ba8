"""Finding the right command: K0."""

import math

# What people say -> what our help says.
SAME = {
    "tests": "proof", "nobody": "lease", "tampered": "verify", "tamper": "verify", "audit": "verify", "prove": "verify",
    "changed": "change", "edit": "change", "modify": "change", "rename": "change", "mark": "change", "set": "change",
    "close": "done", "finish": "done", "finished": "done", "complete": "done", "resolve": "done", "reopen": "open",
    "todo": "task", "ticket": "task", "issue": "task", "job": "task", "bug": "task", "work": "task",
    "working": "holder", "begin": "start", "new": "start", "found": "start", "add": "record", "save": "record",
    "log": "record", "note": "record", "passed": "happened", "pass": "happened", "see": "show", "view": "show",
    "display": "show", "read": "show", "next": "ready", "available": "ready", "grab": "take", "lock": "lease",
    "locked": "missing", "stuck": "missing", "broken": "missing", "wrong": "missing", "fix": "missing",
    "problem": "missing", "error": "missing", "reserve": "take", "assign": "take", "give": "release",
    "unclaim": "release", "return": "release", "copy": "backup", "dump": "backup", "snapshot": "backup", "bulk": "many",
    "import": "many", "file": "jsonl", "depend": "link", "depends": "link", "dependency": "link", "needs": "link",
    "child": "part", "subtask": "part", "parent": "part", "delete": "remove", "clean": "remove", "undo": "remove",
    "asked": "ask", "asks": "ask", "delegate": "subagent", "helper": "subagent", "diagnosis": "diagnostic",
    "diagnose": "diagnostic", "setup": "create", "initialize": "create", "init": "create", "upgrade": "migrate",
    "search": "find", "write": "create", "make": "create",
}  # fmt: skip
# What else people say when they want one of these.
HINTS = {
    "Q1": "tests passed prove proven works working ran run pytest command result evidence verify",
    "Q2": "review result verdict approve approved reject code",
    "Q7": "look up proof eval",
    "A5": "file changed since recorded same still modified",
    "S1": "remember read cite citation web page website reference documentation link",
    "I5": "how good accurate calibrated predictions",
    "L10": "lessons file before editing touching know context relevant",
    "M2": "preview migration markdown",
    "M3": "import lessons from markdown files",
    "R0": "what should next do start begin session new know catch happened since last",
    "T3": "where time go went slow waterfall timeline duration how long did run take",
    "Q9": "last results outcome tests failed passed",
    "W2": "undo reopen cancel, add a note, note progress",
    "W9": "list open tasks",
    "W13": "stop working give up hand back task",
    "K8": "nobody nothing changed the database: tampered with, tampering, forged",
    "K11": "wrong broken stuck setup",
    "X5": "rules instructions guidelines must know which apply",
    "R3": "which lessons stale outdated promoted waived",
    "R5": "which evals flaky never run worse better",
    "R6": "outdated sources superseded old versions cited",
    "R11": "everything anything know known recorded about subject overview",
    "P1": "build implement feature change code generate factory model let automatically write program request",
    "P2": "how run went gates attempts cost pipeline",
    "P3": "pipeline runs flaky flakiest stage pass rate",
    "P4": "answer hand submit agent step",
    "P5": "which step legal agent contract turn",
    "P6": "same verdicts again reproduce deterministic judge rerun check run",
    "P7": "continue crashed killed interrupted paused stop abort give up pipeline",
    "P11": "own custom protocol workflow steps yml define list protocols valid write skills",
    "P8": "which model better worse against versus side runs drivers",
    "D1": "use kaizen other another repository project install set up link copy engine hooks vscode uninstall",
    "D2": "before publishing public safe leak personal private push open source secrets machine",
    "D3": "hooks claude code codex settings session start automatically compaction",
    "SK1": "which skills available agents list",
    "SK2": "skill valid front matter description SKILL.md",
    "SK3": "link skills shared store folder into project claude codex symlink",
    "G1": "pitfall trap mistake problem remember avoid write down repeat repeats",
}
STOP = {"a", "an", "and", "the", "that", "to", "of", "for", "in", "is", "it", "i", "my", "me", "want", "how", "do",
        "on", "we", "what", "with", "was", "are", "be", "can", "this", "or", "by", "at", "its", "one", "all",
        "which", "command", "commands", "some", "am", "so", "as", "if"}  # fmt: skip


def find(catalog, *, intent, limit=3):
    """Find the command for what you want to do, in plain words.

    Example: kaizen K0 "record that the tests passed"
    """
    named = [
        command
        for command in catalog()
        if intent.strip().lower() in (command.code.lower(), command.name)
    ]
    documents = [
        (command, _words(_text_of(command))) for command in catalog() if command.code != "K0"
    ]
    wanted = _words(intent)
    scored = [(_score(wanted, words, documents), command) for command, words in documents]
    scored = sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: -pair[0])[:limit]
    chosen = [*named, *(command for _, command in scored if command not in named)][:limit]
    found = [
        {
            "code": command.code,
            "name": command.name,
            "what": command.help,
            "example": command.example,
        }
        for command in chosen
    ]
    return {
        "records": found,
        "count": len(found),
        "hint": None if found else "No match; `--help` lists all commands.",
    }


def _text_of(command):
    """The name counts twice; the options and their choices help a little."""
    options, hints = " ".join([*command.options, *command.choices]), HINTS.get(command.code, "")
    return f"{command.name} {command.name} {command.help} {hints} {options}"


def _words(text):
    plain = "".join(
        c if c.isalnum() else " "
        for c in text.lower().replace("_", " ").replace("back up", "backup")
    )
    words = [word for word in plain.split() if word not in STOP]
    return [_stem(SAME.get(word) or SAME.get(_stem(word)) or word) for word in words]


def _stem(word):
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def _score(wanted, words, documents):
    """BM25 over the few dozen commands; rare words count more, long helps count less."""
    total = 0.0
    for word in set(wanted):
        count = words.count(word)
        if count:
            holders = sum(1 for _, others in documents if word in others)
            rarity = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
            total += rarity * count * 2.2 / (count + 1.2 * (0.5 + len(words) / 60))
    return total
