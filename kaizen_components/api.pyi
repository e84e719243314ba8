"""Generated from the declarations by `make docs`; a test compares it."""

from typing import Any, Literal, Self

def render_stub() -> str: ...

class Kaizen:
    def __init__(self, root: str | None = None, actor: str | None = None) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...
    def close(self) -> None: ...
    def op_find(self, *, intent: str, limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K0: Find the command for what you want to do, in plain words."""
    def db_check(self, *, integrity: bool = ..., reindex: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K1: Create the database if there is none, migrate it if it is old, and check it."""
    def schema_status(self, *, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K2: Show the schema version, the migrations that made it, and the engine's version."""
    def db_backup(self, *, out: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K3: Make a consistent, verified copy with a manifest; others can go on writing."""
    def db_batch(self, *, file: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K5: Run many commands from JSONL in one transaction; `$N.id` names the result of line N."""
    def db_manifest(self, *, out: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K6: Write the row counts, the schema's hash, the log's size and root, and the file's hash to a manifest; --out - only prints them."""
    def purge_test(self, *, dry_run: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K7: Remove the records made with --test and what refers to them; the log keeps their entries and records the purge."""
    def ledger_verify(self, *, file: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K8: Recompute every hash and the Merkle root, compare with the anchors, and name the first bad record."""
    def doctor(self, *, gates: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """K11: Report what works here, what is missing and what to do, even if the database cannot be opened."""
    def task_start(self, *, title: str, summary: str, body: str | None = ..., scope: str | None = ..., priority: Literal['critical', 'high', 'normal', 'low'] | None = ..., parent: str | None = ..., depends_on: list[str] | None = ..., done_when: list[str] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W1: Start a task: what is to be done, and how to check it."""
    def task_update(self, *, id: str, status: Literal['open', 'active', 'blocked', 'done', 'canceled'] | None = ..., title: str | None = ..., summary: str | None = ..., body: str | None = ..., scope: str | None = ..., priority: Literal['critical', 'high', 'normal', 'low'] | None = ..., note: str | None = ..., token: int | None = ..., waive: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W2: Change a task, or note what happened to it; the history keeps every version, and `done` needs its proofs."""
    def plan_create(self, *, task_id: str, title: str, summary: str, body: str | None = ..., status: Literal['draft', 'active', 'blocked', 'completed', 'canceled'] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W3: Record a plan for a task."""
    def plan_revise(self, *, id: str, status: Literal['draft', 'active', 'blocked', 'completed', 'canceled'] | None = ..., title: str | None = ..., summary: str | None = ..., body: str | None = ..., note: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W4: Revise a plan or change its status; the history keeps every version."""
    def subagent_packet_create(self, *, task_id: str, title: str, summary: str, body: str | None = ..., recipient: str | None = ..., payload_json: Any = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W5: Record what a subagent is asked to do for a task."""
    def subagent_packet_ingest(self, *, id: str, summary: str, outcome: Literal['completed', 'partial', 'failed'] | None = ..., body: str | None = ..., payload_json: Any = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W6: Record what a subagent brought back for its packet."""
    def diagnostic_packet_create(self, *, task_id: str, title: str, summary: str, body: str | None = ..., recipient: str | None = ..., payload_json: Any = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W7: Record what a diagnostic should find out for a task."""
    def diagnostic_result_ingest(self, *, id: str, summary: str, outcome: Literal['completed', 'partial', 'failed'] | None = ..., body: str | None = ..., payload_json: Any = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W8: Record what a diagnostic found."""
    def task_list(self, *, query: str | None = ..., status: Literal['open', 'active', 'blocked', 'done', 'canceled'] | None = ..., actor: str | None = ..., scope: str | None = ..., priority: Literal['critical', 'high', 'normal', 'low'] | None = ..., holder: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W9: List tasks, the newest first, by status, actor, scope, priority, holder or age; or by words, the best first."""
    def task_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W10: Show everything about one task: revisions, plans, proofs, verdicts, traces, links, its place in the log."""
    def task_link(self, *, id: str, kind: Literal['blocks', 'parent', 'discovered-from', 'relates-to'], target_id: str, remove: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W11: Link two tasks, or remove a link: --id blocks, is part of, was discovered from or relates to --target-id."""
    def task_ready(self, *, scope: str | None = ..., limit: int | None = ..., test: bool = ..., actor: str | None = ..., op_id: str | None = ...) -> dict[str, Any]:
        """W12: List what can be started now: open, not blocked, not claimed; the most urgent first."""
    def task_claim(self, *, id: str, action: Literal['take', 'renew', 'release', 'break'] | None = ..., ttl_s: int | None = ..., token: int | None = ..., note: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W13: Take, renew, release or break the lease on a task; of many who try at once, only one succeeds."""
    def plan_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W14: Show one plan with its revisions and its place in the log."""
    def packet_list(self, *, query: str | None = ..., task_id: str | None = ..., kind: Literal['subagent', 'diagnostic'] | None = ..., open: bool = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """W15: List packets, the newest first: all, of one task, or only those without a result; W10 shows them in full."""
    def gotcha_add(self, *, title: str, summary: str, body: str, evidence: list[str] | None = ..., paths: list[str] | None = ..., task_id: str | None = ..., scope: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """G1: Record a pitfall so that the next session avoids it."""
    def gotcha_list(self, *, query: str | None = ..., status: Literal['active', 'resolved', 'promoted', 'retired', 'superseded'] | None = ..., scope: str | None = ..., task_id: str | None = ..., actor: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """G2: List gotchas, the newest first."""
    def gotcha_query(self, *, query: str, status: Literal['active', 'resolved', 'promoted', 'retired', 'superseded'] | None = ..., scope: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """G3: Find gotchas by their words."""
    def gotcha_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """G4: Show one gotcha with its revisions, its lineage and its place in the log."""
    def gotcha_update(self, *, id: str, status: Literal['active', 'resolved', 'promoted', 'retired', 'superseded'] | None = ..., title: str | None = ..., summary: str | None = ..., body: str | None = ..., evidence: list[str] | None = ..., paths: list[str] | None = ..., note: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """G5: Revise a gotcha or change its status; the history keeps every version."""
    def learning_add(self, *, title: str, summary: str, body: str | None = ..., evidence: list[str] | None = ..., paths: list[str] | None = ..., task_id: str | None = ..., scope: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L1: Record what was learned, with its evidence."""
    def promote_gotcha_learning(self, *, id: str, title: str | None = ..., summary: str | None = ..., body: str | None = ..., evidence: list[str] | None = ..., paths: list[str] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L2: Promote an active gotcha to a learning, once. Without evidence the learning is listed as unproven."""
    def promote_learning_learned(self, *, id: str, title: str | None = ..., summary: str | None = ..., body: str | None = ..., proof_id: str | None = ..., verification_id: str | None = ..., waive: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L3: Promote a learning to learned, once: it needs a passing verification, a witnessed proof, or a waiver."""
    def learning_list(self, *, query: str | None = ..., status: Literal['active', 'promoted', 'retired', 'superseded'] | None = ..., scope: str | None = ..., task_id: str | None = ..., actor: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L4: List learnings, the newest first."""
    def learning_query(self, *, query: str, status: Literal['active', 'promoted', 'retired', 'superseded'] | None = ..., scope: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L5: Find learnings by their words."""
    def learning_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L6: Show one learning with its revisions, its lineage and its place in the log."""
    def learned_list(self, *, query: str | None = ..., status: Literal['active', 'retired', 'superseded'] | None = ..., scope: str | None = ..., task_id: str | None = ..., actor: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L7: List proven lessons, the newest first."""
    def learned_query(self, *, query: str, status: Literal['active', 'retired', 'superseded'] | None = ..., scope: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L8: Find proven lessons by their words."""
    def learned_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L9: Show one proven lesson with its revisions, its lineage and its place in the log."""
    def learned_context(self, *, query: str | None = ..., path: list[str] | None = ..., scope: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L10: Show the lessons for a query or for the files you work on, with their whole lineage; stale ones are marked."""
    def lesson_retire(self, *, id: str, reason: str, superseded_by: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """L11: Retire a gotcha, learning or proven lesson, or supersede it by another; it stays in the record with the reason."""
    def proof_add(self, *, title: str | None = ..., summary: str | None = ..., body: str | None = ..., task_id: str | None = ..., about: str | None = ..., command: str | None = ..., exit_code: int | None = ..., timeout_s: int | None = ..., run: list[str] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q1: Record a proof: witnessed when --run runs the command (and exits with its code), reported when you only state the result."""
    def verification_add(self, *, conclusion: Literal['VERIFIED_ACCEPTABLE', 'ACCEPTABLE_WITH_CONCERNS', 'NEEDS_HUMAN_DECISION', 'STRUCTURAL_REWORK_RECOMMENDED', 'VERIFICATION_FAILED', 'PROOF_RECORDED'], summary: str, body: str | None = ..., task_id: str | None = ..., about: str | None = ..., scope: str | None = ..., severity: Literal['critical', 'high', 'medium', 'low', 'info'] | None = ..., evidence: list[str] | None = ..., findings: list[str] | None = ..., remedies: list[str] | None = ..., artifact_id: list[str] | None = ..., proof_id: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q2: Record a verdict on a task or on any other record."""
    def eval_case_add(self, *, title: str, summary: str, category: Literal['behavior', 'should_trigger', 'should_not_trigger', 'routing', 'grounding', 'proof', 'security', 'freshness', 'learning_regression'], body: str | None = ..., command: str | None = ..., fixture: str | None = ..., payload_json: Any = ..., task_id: str | None = ..., scope: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q3: Record an eval case: what must or must not happen, and how that is decided."""
    def eval_run_add(self, *, case_id: str, outcome: Literal['passed', 'failed', 'error', 'skipped'], score: float | None = ..., summary: str | None = ..., body: str | None = ..., payload_json: Any = ..., duration_ms: int | None = ..., proof_id: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q4: Record how a run of an eval case ended."""
    def anti_pattern_add(self, *, title: str, symptom: str, correction: str, summary: str | None = ..., body: str | None = ..., harm: str | None = ..., trigger: str | None = ..., exceptions: str | None = ..., verification: str | None = ..., task_id: str | None = ..., scope: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q5: Record a harmful pattern, its symptoms, and what to do instead."""
    def anti_pattern_query(self, *, query: str | None = ..., scope: str | None = ..., task_id: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q6: Find anti-patterns by their words, or list the newest."""
    def quality_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q7: Show any proof, verification, eval case, eval run or anti-pattern with its place in the log."""
    def output_validate(self, *, kind: str | None = ..., payload_json: Any = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q8: Check a payload against the schema of a command; without a payload, show the schema; without --kind, list them."""
    def verify_query(self, *, task_id: str | None = ..., conclusion: Literal['VERIFIED_ACCEPTABLE', 'ACCEPTABLE_WITH_CONCERNS', 'NEEDS_HUMAN_DECISION', 'STRUCTURAL_REWORK_RECOMMENDED', 'VERIFICATION_FAILED', 'PROOF_RECORDED'] | None = ..., severity: Literal['critical', 'high', 'medium', 'low', 'info'] | None = ..., scope: str | None = ..., query: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q9: Find verdicts by task, conclusion, severity or words, with what superseded them."""
    def contract_lint(self, *, body: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """Q10: Check a spec or contract for vague words, placeholders, repetition and criteria that cannot be tested."""
    def policy_add(self, *, title: str, summary: str, body: str | None = ..., priority: Literal['critical', 'high', 'normal', 'low'] | None = ..., trigger: str | None = ..., scope: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """X1: Record a rule that sessions must follow: --summary is the rule, --trigger says when it applies."""
    def policy_list(self, *, status: Literal['active', 'retired'] | None = ..., priority: Literal['critical', 'high', 'normal', 'low'] | None = ..., scope: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """X2: List the rules, the most important first, then the newest."""
    def policy_query(self, *, query: str, status: Literal['active', 'retired'] | None = ..., scope: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """X3: Find rules by their words, the best match first; retired ones too unless --status says otherwise."""
    def policy_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """X4: Show one rule with its history and its place in the log."""
    def policy_session_context(self, *, budget: int | None = ..., scope: str | None = ..., query: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """X5: Print the rules a session must know, the most important first, within a budget of tokens."""
    def policy_retire(self, *, id: str, reason: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """X6: Retire a rule; it stays in the record with the reason."""
    def artifact_add(self, *, path: str, title: str | None = ..., summary: str | None = ..., task_id: str | None = ..., about: str | None = ..., allow_external: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """A1: Record a file or a folder by its hash."""
    def artifact_hash(self, *, path: str, allow_external: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """A2: Show the hash of a file or a folder without recording anything."""
    def artifact_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """A3: Show one artifact with what it belongs to and its place in the log."""
    def artifact_list(self, *, query: str | None = ..., task_id: str | None = ..., path: str | None = ..., actor: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """A4: List artifacts, the newest first; --path also finds what is below a folder."""
    def artifact_verify(self, *, id: str | None = ..., path: str | None = ..., all: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """A5: Hash an artifact again, or the newest of every path, and compare; a mismatch exits 7."""
    def source_add(self, *, title: str, tier: Literal['canonical', 'primary', 'implementation', 'secondary'], url: str | None = ..., path: str | None = ..., summary: str | None = ..., body: str | None = ..., version: str | None = ..., commit_hash: str | None = ..., retrieved_at: str | None = ..., content_hash: str | None = ..., license: str | None = ..., supersedes: str | None = ..., task_id: str | None = ..., scope: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """S1: Record a source: what was read, in which version, when, and its hash."""
    def source_query(self, *, query: str | None = ..., tier: Literal['canonical', 'primary', 'implementation', 'secondary'] | None = ..., scope: str | None = ..., task_id: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """S2: Find sources by their words, or list the newest."""
    def source_inspect(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """S3: Show one source, what it supersedes and what superseded it, and its place in the log."""
    def source_export(self, *, format: Literal['json', 'md'] | None = ..., scope: str | None = ..., out: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """S4: Write all sources to a file; the same sources always give the same bytes."""
    def irl_create(self, *, title: str, summary: str, body: str | None = ..., task_id: str | None = ..., scope: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """I1: Begin a review of how things went in reality."""
    def irl_prediction_add(self, *, irl_id: str, summary: str, probability: float, deadline: str, body: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """I2: Record a prediction with its probability and when its outcome will be known."""
    def irl_correction_add(self, *, irl_id: str, summary: str, prediction_id: str | None = ..., body: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """I3: Record what a person had to correct."""
    def irl_outcome_add(self, *, prediction_id: str, outcome: Literal['happened', 'did-not-happen', 'void'], summary: str, body: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """I4: Close a prediction with what came of it; this is possible only once."""
    def irl_report(self, *, id: str | None = ..., format: Literal['text', 'html', 'json'] | None = ..., out: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """I5: Show how well predictions were calibrated: Brier score, table, plot, what is open and overdue."""
    def trace_add(self, *, name: str | None = ..., kind: Literal['run', 'stage', 'agent', 'model', 'tool', 'gate', 'human', 'other', 'routing', 'budget', 'gateway'] | None = ..., status: Literal['ok', 'error', 'unset'] | None = ..., trace_id: str | None = ..., parent: str | None = ..., task_id: str | None = ..., started_at: str | None = ..., duration_ms: int | None = ..., model: str | None = ..., tokens_in: int | None = ..., tokens_out: int | None = ..., cost_usd: float | None = ..., summary: str | None = ..., payload_json: Any = ..., jsonl: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """T1: Record a span of work, or many of them from JSONL."""
    def score_add(self, *, name: str, value: float, about: str | None = ..., trace_id: str | None = ..., task_id: str | None = ..., source: Literal['human', 'model', 'tool'] | None = ..., unit: str | None = ..., summary: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """T2: Record a score: of a record, of a trace or of a task."""
    def trace_report(self, *, trace_id: str | None = ..., task_id: str | None = ..., format: Literal['text', 'html', 'json'] | None = ..., out: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """T3: Show a trace as a waterfall, with totals per kind and the critical path."""
    def score_query(self, *, name: str | None = ..., about: str | None = ..., trace_id: str | None = ..., task_id: str | None = ..., source: Literal['human', 'model', 'tool'] | None = ..., query: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., test: bool = ..., actor: str | None = ..., op_id: str | None = ...) -> dict[str, Any]:
        """T4: Show the scores that match, with their count, mean, spread and trend."""
    def lab_assemble(self, *, contract: str, title: str | None = ..., summary: str | None = ..., query: str | None = ..., category: Literal['behavior', 'should_trigger', 'should_not_trigger', 'routing', 'grounding', 'proof', 'security', 'freshness', 'learning_regression'] | None = ..., scope: str | None = ..., task_id: str | None = ..., since: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """O1: Assemble the cases of a contract: eval cases, failed verdicts, open gotchas, corrections by people."""
    def lab_propose(self, *, lab_id: str, title: str, hypothesis: str, metric: str, baseline: float, candidate: float, better: Literal['higher', 'lower'] | None = ..., patch: str | None = ..., body: str | None = ..., summary: str | None = ..., evidence: list[str] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """O2: Record a proposal with its hypothesis, its scores before and after, and the change itself."""
    def lab_report(self, *, id: str | None = ..., contract: str | None = ..., limit: int | None = ..., test: bool = ..., actor: str | None = ..., op_id: str | None = ...) -> dict[str, Any]:
        """O3: Rank the proposals: measured ones first, then reported ones, then mere claims; each group by gain."""
    def migration_scan(self, *, roots: list[str] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """M1: Find GOTCHA.md, LEARNING.md and LEARNED.md and count what is in them."""
    def migration_dry_run(self, *, roots: list[str] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """M2: Show exactly what M3 would record and change, and change nothing."""
    def migration_apply(self, *, roots: list[str] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """M3: Record every entry, back the files up and leave stubs; a second run adds nothing."""
    def migration_verify(self, *, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """M4: Prove that every entry of every migrated file is in the database."""
    def migration_report(self, *, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """M5: Show which files were migrated, when, and where their entries are."""
    def session_digest(self, *, budget: int | None = ..., scope: str | None = ..., query: str | None = ..., since: str | None = ..., format: Literal['md', 'json', 'hook'] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R0: Print what a new session must know within a budget of tokens, and what changed since this actor's last digest."""
    def task_report(self, *, id: str | None = ..., scope: str | None = ..., since: str | None = ..., until: str | None = ..., query: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R1: Report one task (--id) as a story, from its first words to its proofs, verdicts, traces and cost; or all tasks."""
    def ledger_report(self, *, since: str | None = ..., until: str | None = ..., query: str | None = ..., limit: int | None = ..., verify: bool = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R2: Report what was recorded by day and actor, as a story in words; --verify checks every hash first."""
    def learning_report(self, *, scope: str | None = ..., since: str | None = ..., until: str | None = ..., query: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R3: Report the lessons with their lineage, what backs them, and which are stale because their files changed."""
    def proof_report(self, *, scope: str | None = ..., since: str | None = ..., until: str | None = ..., query: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R4: Report the proofs by tier with their pass rates, and which commands fail."""
    def eval_report(self, *, scope: str | None = ..., category: Literal['behavior', 'should_trigger', 'should_not_trigger', 'routing', 'grounding', 'proof', 'security', 'freshness', 'learning_regression'] | None = ..., since: str | None = ..., until: str | None = ..., query: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R5: Report the eval cases with their runs, scores and trends: which fail, which are flaky, which were never run."""
    def source_report(self, *, scope: str | None = ..., tier: Literal['canonical', 'primary', 'implementation', 'secondary'] | None = ..., since: str | None = ..., until: str | None = ..., query: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R6: Report the sources by tier, their versions, and which records still cite a superseded one."""
    def anti_pattern_report(self, *, scope: str | None = ..., since: str | None = ..., until: str | None = ..., query: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R7: Report the anti-patterns: how each shows, what it costs, what to do instead, and which records refer to it."""
    def weekly_report(self, *, week: str | None = ..., last: bool = ..., days: int | None = ..., until: str | None = ..., so_far: bool = ..., scope: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R8: Report a calendar week by days, or the last N days, compared with the period before, and what to look at next."""
    def monthly_report(self, *, month: str | None = ..., last: bool = ..., days: int | None = ..., until: str | None = ..., so_far: bool = ..., scope: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R9: Report a calendar month by days, or the last N days, compared with the period before, and what to look at next."""
    def yearly_report(self, *, year: int | None = ..., last: bool = ..., days: int | None = ..., until: str | None = ..., so_far: bool = ..., scope: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R10: Report a calendar year by months, or the last N days, compared with the period before, and what to look at next."""
    def topic_report(self, *, query: str, scope: str | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., format: Literal['html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """R11: Report everything about a topic over all kinds of records, the best first."""
    def pipeline_run(self, *, request: str | None = ..., repo: str | None = ..., protocol: str | None = ..., driver: Literal['model', 'agent', 'replay'] | None = ..., function: str | None = ..., from_: str | None = ..., task_id: str | None = ..., python: str | None = ..., budget_json: Any = ..., apply: bool = ..., allow_failing_baseline: bool = ..., strict: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P1: Take a request through a protocol's steps and gates, and end in a reviewed diff or a recorded failure."""
    def pipeline_inspect(self, *, id: str, format: Literal['text', 'html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P2: Show a run: how it ended and why, its gates, attempts and cost; as a card, or with --format as a page."""
    def pipeline_list(self, *, protocol: str | None = ..., outcome: Literal['accepted', 'rejected', 'failed', 'exhausted', 'stuck', 'blocked', 'aborted'] | None = ..., since: str | None = ..., until: str | None = ..., limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P3: List runs, the newest first, and how often each stage passes."""
    def pipeline_submit(self, *, lease: str, file: str, step: str | None = ..., base: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P4: Hand in the answer to the present step; it is checked, the gates run, and the run takes its next step."""
    def pipeline_next(self, *, id: str, ttl_s: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P5: Show the present step of an agent's run with a lease on it: its contract, its inputs, its budget."""
    def pipeline_replay(self, *, id: str, actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P6: Replay a run from its records, judge every answer again and report each verdict that changes."""
    def pipeline_resume(self, *, id: str, abort: bool = ..., reason: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P7: Go on with a run after a crash or a pause; --abort ends it."""
    def pipeline_compare(self, *, left: str, right: str, format: Literal['text', 'html', 'md', 'json'] | None = ..., out: str | None = ..., open: bool = ..., timezone: str | None = ..., as_of: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P8: Compare two drivers, models, protocols or sets of runs on the requests that both had: success, catches, cost."""
    def protocol_check(self, *, name: str | None = ..., repo: str | None = ..., python: str | None = ..., write_skills: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """P11: Check a protocol and its gates on their fixtures, and say what is wrong; without --name list all protocols."""
    def project_adopt(self, *, path: str, link: bool = ..., copy: bool = ..., hooks: str | None = ..., skills: str | None = ..., vscode: bool = ..., check: bool = ..., remove: bool = ..., apply: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """D1: Let another repository use this engine with its own records; shows the plan unless --apply is given."""
    def publish_check(self, *, limit: int | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """D2: Look for secrets, personal paths, machine names and internal addresses in what could be published; exits 1 if it finds any."""
    def hook(self, *, event: Literal['session-start', 'stop', 'post-tool-use'], host: Literal['claude', 'codex'] | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """D3: Answer a hook of Claude Code or Codex, whose JSON is on stdin: load the digest, block an unproven stop, note a test run."""
    def skill_inventory(self, *, store: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """SK1: List the skills in .agents/skills and .claude/skills, and with --store those in another folder."""
    def skill_validate(self, *, store: str | None = ..., path: str | None = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """SK2: Check skills as a host would load them: front matter, name, description, links, scripts, evals; exit 1 on a problem."""
    def skill_links(self, *, store: str | None = ..., apply: str | None = ..., remove: bool = ..., actor: str | None = ..., op_id: str | None = ..., test: bool = ...) -> dict[str, Any]:
        """SK3: Plan the links from .agents/skills and .claude/skills to the skills of a store; --apply HASH makes them."""
