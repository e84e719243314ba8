"""The limits of texts and the choices of options; a test compares both with the schema's CHECKs."""

TITLE_CHARS_MAX = 200
NAME_CHARS_MAX = 200  # scopes, names, versions and ids
ACTOR_CHARS_MAX = 100
SUMMARY_CHARS_MAX = 2_000  # also notes and reasons
PATH_CHARS_MAX = 4_096
COMMAND_CHARS_MAX = 20_000
REQUEST_CHARS_MAX = 20_000  # also the output of a gate
BODY_CHARS_MAX = 1_000_000
BATCH_CHARS_MAX = 200_000_000

TASK_STATUS = ("open", "active", "blocked", "done", "canceled")
PLAN_STATUS = ("draft", "active", "blocked", "completed", "canceled")
PRIORITY = ("critical", "high", "normal", "low")  # lists sort in this order
LINK_KIND = ("blocks", "parent", "discovered-from", "relates-to")
LEASE_ACTION = ("take", "renew", "release", "break")
PACKET_KIND = ("subagent", "diagnostic")
OUTCOME = ("completed", "partial", "failed")
GOTCHA_STATUS = ("active", "resolved", "promoted", "retired", "superseded")
LEARNING_STATUS = ("active", "promoted", "retired", "superseded")
LEARNED_STATUS = ("active", "retired", "superseded")
POLICY_STATUS = ("active", "retired")
PROOF_TIER = ("witnessed", "reported")
PROOF_OUTCOME = ("passed", "failed", "timeout", "unknown")
CONCLUSION = (
    "VERIFIED_ACCEPTABLE",
    "ACCEPTABLE_WITH_CONCERNS",
    "NEEDS_HUMAN_DECISION",
    "STRUCTURAL_REWORK_RECOMMENDED",
    "VERIFICATION_FAILED",
    "PROOF_RECORDED",
)
SEVERITY = ("critical", "high", "medium", "low", "info")
EVAL_CATEGORY = (
    "behavior",
    "should_trigger",
    "should_not_trigger",
    "routing",
    "grounding",
    "proof",
    "security",
    "freshness",
    "learning_regression",
)
EVAL_OUTCOME = ("passed", "failed", "error", "skipped")
# The most authoritative first.
SOURCE_TIER = ("canonical", "primary", "implementation", "secondary")
PREDICTION_OUTCOME = ("happened", "did-not-happen", "void")
SPAN_KIND = (
    *("run", "stage", "agent", "model", "tool", "gate", "human", "other"),
    *("routing", "budget", "gateway"),
)
SPAN_STATUS = ("ok", "error", "unset")
SCORE_SOURCE = ("human", "model", "tool")
BETTER = ("higher", "lower")
DRIVER = ("model", "agent", "replay")
RUN_OUTCOME = ("accepted", "rejected", "failed", "exhausted", "stuck", "blocked", "aborted")
HOOK_EVENT = ("session-start", "stop", "post-tool-use")
HOOK_HOST = ("claude", "codex")
