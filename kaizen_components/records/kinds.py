"""Declare every kind of record once, for ids, search, lists, reports and inspection.

Every command imports this module, so it is plain data to load quickly. A test checks it against the
schema and the commands.
"""

from ..limits import PRIORITY

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..parameters import Row

OWN = "scope = ?"
TASKS = "task_id IN (SELECT t.id FROM task_current t WHERE t.scope = ?)"


class Kind:
    """One kind of record. The defaults fit a kind with a title and a summary.

    `name` is the table; ids start with `prefix`. `view` has the current rows. `derive` makes the
    row of a new record in a derived table.
    Search: `number` is the number of the kind in the index and never changes; 0 means not searched.
    `texts` are the indexed columns besides title, summary and body. A `remark` is only about
    another record, so @last skips it where any kind fits. `refers` are the columns with ids of any
    kind.
    Show: `title`, `text` and `state` are SQL on the view; `scope` is an SQL condition that selects
    the records of a scope. The command `lists` lists the kind. The command `shows` shows the record
    with the id `shown_by` (SQL); without `shows`, `shown_by` is the id of a record of another kind.
    `plural` is set if it is irregular.
    Ledger report: `sentence` has columns in braces, and leaves out a part in brackets if one of its
    columns is NULL. `sentences` stands for `{n}` records in a row. `note` (SQL) is printed below,
    `about` (SQL) is the id of a related record.
    """

    __slots__ = (
        "about", "derive", "lists", "name", "note", "number", "plural", "prefix", "refers", "remark", "scope",
        "sentence", "sentences", "shown_by", "shows", "state", "text", "texts", "title", "view",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        prefix: str,
        number: int = 0,
        texts: "tuple[str, ...]" = (),
        *,
        current: bool = False,
        derive: "Callable[[int, Row], tuple[str, Row]] | None" = None,
        refers: "tuple[str, ...]" = (),
        remark: bool = False,
        title: str = "title",
        text: str = "summary",
        state: str = "NULL",
        scope: str = "0",
        lists: "Any" = None,
        shows: "Any" = None,
        shown_by: str = "id",
        plural: "Any" = None,
        sentence: "Any" = None,
        sentences: "Any" = None,
        note: str = "summary",
        about: str = "NULL",
    ) -> None:
        self.name, self.prefix = name, prefix
        self.view = name + "_current" if current else name
        self.derive, self.refers, self.remark = derive, refers, remark
        self.number, self.texts = number, texts
        self.title, self.text, self.state, self.scope = title, text, state, scope
        self.lists, self.shows, self.shown_by, self.plural = lists, shows, shown_by, plural
        self.sentence, self.sentences, self.note, self.about = sentence, sentences, note, about


def make_task_state(seq: int, row: "Row") -> "tuple[str, Row]":
    """Return the row of `task_state` for a new task. Triggers keep it current.

    Making the row with a SELECT would take 28 microseconds instead of 19.
    """
    values = {"seq": seq, "task_id": row["id"], "changed_at": row["at"], "status": row["status"]}
    values |= {"scope": row["scope"], "rank": PRIORITY.index(row["priority"])}
    return "task_state", values | {"rev": 1, "open_blockers": 0}


_KINDS = (
    Kind(
        "op", "op",
        sentence="kept the answer for an op-id", sentences="kept {n} answers for op-ids", note="NULL",
    ),
    Kind("purge", "purge", sentences="removed test records {n} times"),
    Kind(
        "task", "task", 1, current=True, derive=make_task_state, state="status", scope=OWN, lists="W9", shows="W10",
        sentence='opened task "{title}"', sentences="opened {n} tasks",
    ),
    Kind("task_revision", "trev", sentences="changed tasks {n} times"),
    Kind("task_link", "link", sentences="changed {n} links between tasks"),
    Kind("lease", "lease", sentences="claimed, renewed or released tasks {n} times"),
    Kind(
        "plan", "plan", 2, current=True, state="status", scope=TASKS, lists="W10 --id TASK", shows="W14",
        sentence='planned "{title}"', sentences="made {n} plans", about="task_id",
    ),
    Kind("plan_revision", "prev", sentences="revised plans {n} times"),
    Kind(
        "packet", "pack", 3, current=True, scope=TASKS, lists="W15", shown_by="task_id",
        sentence='sent the {kind} packet "{title}"[ to {recipient}]', sentences="sent {n} packets", about="task_id",
    ),
    Kind(
        "packet_result", "pres", 4, remark=True, title="summary", text="body", state="outcome",
        shown_by="(SELECT p.task_id FROM packet p WHERE p.id = packet_id)",
        sentence='brought back "{title}": {outcome}', sentences="brought back {n} results",
    ),
    Kind(
        "waiver", "waiver", 5, ("reason",), remark=True, title="reason", text="NULL", state="'waived'", scope=TASKS,
        shown_by="subject_id", sentence="waived the proof for `{gate}`", sentences="waived proofs {n} times",
        note="reason", about="subject_id",
    ),
    Kind(
        "artifact", "art", 6, ("path", "name"), refers=("about_id",), remark=True, title="coalesce(title, name)",
        scope=TASKS, lists="A4", shows="A3", sentences="recorded {n} artifacts",
    ),
    Kind(
        "proof", "proof", 7, ("command",), refers=("about_id",), remark=True, state="outcome", scope=TASKS,
        lists="R4", shows="Q7", sentences="recorded {n} proofs",
    ),
    Kind(
        "verification", "verif", 8, ("conclusion", "evidence", "findings", "remedies"), current=True,
        refers=("evidence", "about_id"), remark=True, title="summary", text="body", state="conclusion", scope=OWN,
        lists="Q9", shows="Q7",
        sentence="gave the verdict {conclusion} ([severity {severity}, ]scope {scope})"
        "[; superseded by {superseded_by}]", sentences="gave {n} verdicts",
    ),
    Kind(
        "gotcha", "gotcha", 9, ("evidence", "paths"), current=True, refers=("evidence",), state="status", scope=OWN,
        lists="G2", shows="G4",
        sentence='met the gotcha "{title}"', sentences="met {n} gotchas", about="task_id",
    ),
    Kind(
        "gotcha_revision", "grev",
        sentence='revised gotcha "{title}"[: status {status}]', sentences="revised gotchas {n} times",
    ),
    Kind(
        "learning", "learning", 10, ("evidence", "paths"), current=True, refers=("evidence",), state="status",
        scope=OWN, lists="L4", shows="L6", sentence='noted the learning "{title}"', sentences="noted {n} learnings",
        about="coalesce(gotcha_id, task_id)",
    ),
    Kind(
        "learning_revision", "lrev",
        sentence='revised learning "{title}"[: status {status}]', sentences="revised learnings {n} times",
    ),
    Kind(
        "learned", "learned", 11, ("evidence", "paths"), current=True, refers=("evidence",), state="status",
        scope=OWN, lists="L7", shows="L9", plural="proven lessons",
        sentence='proved the lesson "{title}"', sentences="proved {n} lessons", about="coalesce(learning_id, task_id)",
    ),
    Kind(
        "learned_revision", "ldrev",
        sentence='revised lesson "{title}"[: status {status}]', sentences="revised lessons {n} times",
    ),
    Kind(
        "lesson_import", "limp", sentence="took {added} of {entries} lessons from {path}",
        sentences="took lessons from {n} files", note="NULL",
    ),
    Kind(
        "eval_case", "case", 12, ("category", "command"), state="category", scope=OWN, lists="R5", shows="Q7",
        sentence='added the eval case "{title}" ({category})', sentences="added {n} eval cases", about="task_id",
    ),
    Kind(
        "eval_run", "erun", 13, ("outcome",), remark=True, title="coalesce(summary, outcome)", text="body",
        state="outcome", shows="Q7",
        sentence='ran the eval case "{title}": {outcome}[, score {score}]', sentences="ran {n} eval cases",
    ),
    Kind(
        "anti_pattern", "anti", 14, ("symptom", "harm", "trigger", "correction", "exceptions", "verification"),
        text="symptom", scope=OWN, lists="Q6", shows="Q7",
        sentence='named the anti-pattern "{title}"', sentences="named {n} anti-patterns", note="symptom",
        about="task_id",
    ),
    Kind(
        "policy", "policy", 15, ("trigger",), current=True, state="status", scope=OWN, lists="X2", shows="X4",
        plural="rules", sentence='set the rule "{title}" ({priority})', sentences="set {n} rules",
    ),
    Kind(
        "policy_revision", "porev", plural="rule changes",
        sentence='made the rule "{title}" {status}', sentences="changed rules {n} times",
    ),
    Kind(
        "source", "src", 16, ("url", "path", "version", "license"), current=True, scope=OWN, lists="S2", shows="S3",
        state="CASE WHEN superseded_by IS NULL THEN tier ELSE 'superseded' END",
        sentence='read the source "{title}" ({tier})', sentences="read {n} sources", note="coalesce(url, path)",
        about="task_id",
    ),
    Kind(
        "irl", "irl", 17, scope=OWN, lists="I5", shows="I5", plural="reviews",
        sentence='opened the review "{title}"', sentences="opened {n} reviews", about="task_id",
    ),
    Kind(
        "irl_prediction", "pred", 18, current=True, title="summary", text="body", state="coalesce(outcome, 'open')",
        lists="I5", shown_by="irl_id",
        sentence="predicted with {probability}, to be known by {deadline:.10}", sentences="made {n} predictions",
        about="irl_id",
    ),
    Kind(
        "irl_correction", "corr", 19, title="summary", text="body", shown_by="irl_id",
        sentence="corrected a prediction or a review", sentences="made {n} corrections",
        about="coalesce(prediction_id, irl_id)",
    ),
    Kind(
        "irl_outcome", "outc", 20, remark=True, title="summary", text="body", state="outcome",
        shown_by="(SELECT p.irl_id FROM irl_prediction p WHERE p.id = prediction_id)",
        sentence="closed a prediction: {outcome}", sentences="closed {n} predictions", about="prediction_id",
    ),
    Kind(
        "span", "span", 21, ("name", "model"), title="name", state="status", scope=TASKS, lists="T3",
        shows="T3 --trace-id", shown_by="trace_id",
        sentence='recorded the span "{name}" ({kind}, {status}, {duration_ms})', sentences="recorded {n} spans",
        about="task_id",
    ),
    Kind(
        "score", "score", 22, ("name",), refers=("about_id",), remark=True, title="name", state="CAST(value AS TEXT)",
        scope=TASKS, shows="T4 --name", shown_by="name",
        sentence="scored {name}: {value}[ {unit}] (by a {source})", sentences="recorded {n} scores",
        about="coalesce(about_id, task_id)",
    ),
    Kind(
        "lab", "lab", 23, ("contract",), scope=OWN, lists="O3", shows="O3",
        sentence='assembled the case set "{title}" for {contract}', sentences="assembled {n} case sets",
    ),
    Kind(
        "lab_proposal", "prop", 24, ("hypothesis", "metric"), refers=("evidence",), state="metric", shown_by="lab_id",
        sentence='proposed "{title}": {metric} {baseline} → {candidate}', sentences="made {n} proposals",
        note="hypothesis", about="lab_id",
    ),
    Kind(
        "digest", "dig", sentence="read a digest of {tokens} tokens", sentences="read {n} digests", note="NULL",
    ),
    Kind(
        "run", "run", 25, ("protocol", "request", "repo"), current=True, title="request", text="NULL",
        state="coalesce(outcome, phase)", scope=TASKS, lists="P3", shows="P2",
        sentence="began a run of {protocol}", sentences="began {n} runs", note="request", about="task_id",
    ),
    Kind("run_event", "evt", sentences="recorded {n} events of runs"),
)  # fmt: skip

KINDS = {kind.name: kind for kind in _KINDS}
SEARCHABLE = tuple(kind.name for kind in _KINDS if kind.number)
