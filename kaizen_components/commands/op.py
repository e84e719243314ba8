"""Find the right command: K0."""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..index import Command
    from ..parameters import Row


# A word of our help -> synonyms that people type.
SYNONYMS = {
    "proof": "tests",
    "lease": "nobody lock",
    "verify": "tampered tamper audit prove",
    "change": "changed edit modify rename mark set",
    "done": "close finish finished complete resolve",
    "open": "reopen",
    "task": "todo ticket issue job bug work",
    "holder": "working",
    "start": "begin new found",
    "record": "add save log note",
    "happened": "passed pass",
    "show": "see view display read",
    "ready": "next available",
    "take": "grab reserve assign",
    "missing": "locked stuck broken wrong fix problem error",
    "release": "give unclaim return",
    "backup": "copy dump snapshot",
    "many": "bulk import",
    "jsonl": "file",
    "link": "depend depends dependency needs",
    "part": "child subtask parent",
    "remove": "delete clean undo",
    "ask": "asked asks",
    "subagent": "delegate helper",
    "diagnostic": "diagnosis diagnose",
    "create": "setup initialize init write make",
    "migrate": "upgrade",
    "find": "search",
}
OWN_WORDS = {word: own for own, words in SYNONYMS.items() for word in words.split()}
# More words with which people look for a command.
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
    "P1": "build implement feature change code generate factory model let automatically write "
    "program request",
    "P2": "how run went gates attempts cost pipeline",
    "P3": "pipeline runs flaky flakiest stage pass rate",
    "P4": "answer hand submit agent step",
    "P5": "which step legal agent contract turn",
    "P6": "same verdicts again reproduce deterministic judge rerun check run",
    "P7": "continue crashed killed interrupted paused stop abort give up pipeline",
    "P11": "own custom protocol workflow steps yml define list protocols valid write skills",
    "P8": "which model better worse against versus side runs drivers",
    "D1": "use kaizen other another repository project install set up link copy engine hooks "
    "vscode uninstall",
    "D2": "before publishing public safe leak personal private push open source secrets machine",
    "D3": "hooks claude code codex settings session start automatically compaction",
    "SK1": "which skills available agents list",
    "SK2": "skill valid front matter description SKILL.md",
    "SK3": "link skills shared store folder into project claude codex symlink",
    "G1": "pitfall trap mistake problem remember avoid write down repeat repeats",
}
STOP_WORDS = (
    "a an and the that to of for in is it i my me want how do on we what with was are be can "
    "this or by at its one all which command commands some am so as if"
)


def find(catalog: Callable[[], list[Command]], *, intent: str, limit: int = 3) -> Row:
    """Find the command for what you want to do, in plain words.

    Example: kaizen K0 "record that the tests passed"
    """
    commands = catalog()
    word = intent.strip().lower()
    matches = [command for command in commands if word in (command.code.lower(), command.name)]
    documents = []
    for command in commands:
        if command.code != "K0":  # the name counts twice
            options, hints = [*command.options, *command.choices], HINTS.get(command.code, "")
            text = f"{command.name} {command.name} {command.help} {hints} {' '.join(options)}"
            documents.append((command, split_into_stems(text)))
    scores = score_documents(set(split_into_stems(intent)), [stems for _, stems in documents])
    ranking = sorted(zip(scores, documents, strict=True), key=lambda pair: -pair[0])
    matches += [command for score, (command, _) in ranking if score > 0 and command not in matches]
    rows = [
        {
            "code": command.code,
            "name": command.name,
            "what": command.help,
            "example": command.example,
        }
        for command in matches[:limit]
    ]
    hint = None if rows else "No match; `--help` lists all commands."
    return {"records": rows, "count": len(rows), "hint": hint}


def split_into_stems(text: str) -> list[str]:
    """Return the stems of the words in our own vocabulary, without stop words."""
    text = text.lower().replace("_", " ").replace("back up", "backup")
    words = "".join(char if char.isalnum() else " " for char in text).split()
    stop_words = STOP_WORDS.split()
    return [
        cut_ending(OWN_WORDS.get(word) or OWN_WORDS.get(cut_ending(word)) or word)
        for word in words
        if word not in stop_words
    ]


def cut_ending(word: str) -> str:
    for ending in ("ing", "ies", "es", "ed", "s"):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def score_documents(query: set[str], documents: list[list[str]]) -> list[float]:
    """Return the BM25 score of each: rare words count more, long help counts less."""
    scores = [0.0] * len(documents)
    for word in query:
        holders = sum(word in words for words in documents)
        rarity = math.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5))
        for at, words in enumerate(documents):
            count = words.count(word)
            scores[at] += rarity * count * 2.2 / (count + 1.2 * (0.5 + len(words) / 60))
    return scores
