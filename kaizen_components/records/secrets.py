"""Refuse secrets: the one check on every text and payload before it is recorded.

Three tables say what a secret looks like: PREFIXED by how it begins, SHAPES by its form, NAMED by the name
it is assigned to. Each match is judged by its own value only, so a fake beside a real one hides nothing.

Nothing is imported until a prefix, a trigger or an assigned name is really there: `import re` costs more
than scanning a clean text. Patterns are bounded, or begin only where the run before them ended, so a
hostile text costs linear time. docs/secrets.md tells users what is refused and what passes.
"""

# kind, prefixes (at the start of a word; the more specific first), what must follow.
PREFIXED = (
    ("Anthropic key", "sk-ant-", r"[\w-]{20,}"),
    ("OpenRouter key", "sk-or-", r"v1-[0-9a-f]{40,}"),
    ("OpenAI key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{20,}"),
    ("OpenAI key", "sk-", r"[A-Za-z0-9]{20,}"),
    ("Google API key", "AIz", r"a[\w-]{35}"),
    ("Google OAuth client secret", "GOCSPX-", r"[\w-]{20,}"),
    ("Google OAuth token", "ya29", r"\.[\w-]{30,}"),
    ("AWS access key", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,}"),
    ("GitHub token", "github_pat_", r"\w{40,}"),
    ("GitLab token", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent-", r"[\w.-]{20,}"),
    ("GitLab token", "gloas- glwt- glsoat- glffct-", r"[\w.-]{20,}"),
    ("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxc- xoxd-", r"[A-Za-z0-9-]{10,}"),
    ("Slack token", "xapp-", r"\d-[A-Za-z0-9-]{10,}"),
    ("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[A-Za-z0-9]{16,}"),
    ("Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36,}"),
    ("PyPI token", "pypi-", r"AgEI[\w-]{30,}"),
    ("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("SendGrid key", "SG", r"\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    ("Docker Hub token", "dckr_pat_", r"[\w-]{20,}"),
    ("Groq key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("xAI key", "xai-", r"[A-Za-z0-9]{60,}"),
    ("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}"),
    ("Linear key", "lin_api_", r"[A-Za-z0-9]{32,}"),
    ("age secret key", "AGE-SECRET-KEY-", r"1[A-Z0-9]{40,}"),
    # The look-behind keeps "-eyJ-eyJ…" linear: a run is read from its start only.
    ("JSON Web Token", "eyJ", r"(?<![_-]eyJ)[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}"),
)

# kind, trigger, pattern with the value in group 1, how many characters of it must mix letters and digits.
SHAPES = (
    (
        "private key",
        "PRIVATE KEY",
        r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
        r"(?:\s|\\+[nr]|[\"'+>#|,]|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n\\]{0,99}){0,99}"
        r"([A-Za-z0-9+/=]{20,80}(?:\.\.\.|…)?)",
        0,
    ),
    ("Slack webhook", "hooks.slack.com/", r"hooks\.slack\.com/(?:services|workflows)/([\w/-]{20,99})", 0),
    ("Discord webhook", "/api/webhooks/", r"/api/webhooks/\d{15,20}/([\w-]{50,99})", 0),
    ("Telegram bot token", ":AA", r"(?<!\d)\d{8,10}:(AA[\w-]{33})(?![\w-])", 0),
    (
        "password in a URL",
        "://",
        # The look-ahead: in "(http://host:80),a@b" 80 is a port.
        r"://(?<=\w://)[^\s/?#:@\"'`\\]{0,99}:(?!\d{1,5}[)\],;>|&*])([^\s/?#\"'`\\]{1,199})@[\w\[{$<%/]",
        0,
    ),
    ("bearer token", "earer ", r"[Bb]earer[ \t]{1,4}([\w.~+/=-]{8,})", 8),
    (
        "basic authorization",
        "uthorization",
        r"uthorization[\\\"':=, \t]{1,8}[Bb]asic[ \t]{1,4}"
        r"(?=[A-Za-z+/]{0,60}(?:[a-z][A-Z]|\d))([A-Za-z0-9+/]{8,})",
        0,
    ),
)

# kind, names ("_": with or without a separator; any prefix such as DB_ may precede), how many must mix.
NAMED = (
    ("AWS secret access key", "secret_access_key", 8),
    ("password assignment", "password passwd pwd passphrase passcode", 6),
    ("password assignment", "db_pass smtp_pass mail_pass user_pass admin_pass root_pass", 6),
    ("secret assignment", "secret", 6),
    ("key assignment", "api_key access_key secret_key private_key encryption_key master_key account_key", 8),
    ("token assignment", "token authorization", 8),
)

# In upper or lower case; the four-letter ones not in mixed case, which random characters may hit.
FAKE_MARKERS = (
    *("example", "dummy", "placeholder", "redacted", "changeme", "your-", "your_", "yourapi"),
    *("****", "…", "..."),
)
FAKE_MARKERS_EXACT = ("fake", "Fake", "FAKE", "xxxx", "XXXX")

# What is said about a password where one could stand: "password": "required", "db_password".
LABELS = (
    *("string", "boolean", "number", "object", "nullable", "required", "optional", "default", "undefined"),
    *("unknown", "missing", "invalid", "incorrect", "wrong", "correct", "strong", "expired", "unchanged"),
    *("enabled", "disabled", "hidden", "masked", "filtered", "removed", "omitted", "plaintext", "hashed"),
    *("encrypted", "prompt"),
)
LABEL_PARTS = ("password", "passwd", "passphrase", "pwd", "secret", "token")

# Terms that mix letters and digits: "secret: base64".
TERMS = (
    *("sha1", "sha256", "sha384", "sha512", "base32", "base64", "base64url", "utf8", "oauth2", "hs256"),
    *("rs256", "es256", "argon2", "argon2id", "pbkdf2", "ed25519", "x509", "ipv4", "ipv6", "http2"),
)

# Tokens that are no secret: next_token, fencing-token.
PUBLIC_TOKENS = ("next", "page", "starting", "continuation", "idempotency", "request", "fencing", "lease")

# $VAR, ${VAR}, $(command), {{…}}, {name}, <…>, %VAR%, %s, [FILTERED]
TEMPLATE = (
    r"\$[A-Za-z_]\w*(?:(?:->|:|\.|\[)\S*|[\])}.]*)|.*(?:\$[{(]|\{\{|\{[\w.!:\[\]]*\}).*"
    r"|<.*|%\w+%|%(?:\(\w+\))?s|[\[(][A-Za-z_-]+[\])]"
)

# A URL or ARN, a Kaizen id, a UTC stamp; a file path
POINTER = r"https?://.*|arn:aws.*|(?:[a-z]+_)?\d{8}T?\d{6,9}Z?(?:_[0-9a-f]{10})?"
PATH = r"(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\]+[\w.@-]+)+[/\\]*"

# A call or subscript that closes on its line, an attribute path that ends in a name, :bind, &ref, *anchor
_NAME = r"_*[A-Za-z]+(?:_+[A-Za-z]+|\d{1,5}[A-Z][A-Za-z]+)*"
_END = r"(?![\w@!#$%^~+/=-]|\.\w)"
CODE = (
    r"[(\[{]*[A-Za-z_][\w.:]*[(\[](?:[\"'\\]|.*[)\]]|\s*$)"
    rf"|(?:[A-Za-z_]\w*(?:\.|->|::|\?\.))+{_NAME}\d{{0,2}}{_END}|[:@&*?!]{_NAME}\d{{0,2}}{_END}"
)
# Another such variable: password=password2
VARIABLE = rf"(?=\w*(?i:pass|pwd|pw|secret|token|key)){_NAME}\d?{_END}"

# By last character: up to three before it (as far as they are not that character), row
_PREFIX_ROWS: dict[str, list[tuple[str, tuple[str, str, str]]]] = {}
for _kind, _prefixes, _body in PREFIXED:
    for _prefix in _prefixes.split():
        _tail = _prefix[-4:-1].rpartition(_prefix[-1])[2]
        _PREFIX_ROWS.setdefault(_prefix[-1], []).append((_tail, (_kind, _prefix, _body)))
_ESCAPES = ("\\n", "\\r", "\\t")
_NESTED = frozenset((dict, list, tuple))
_SEPARATORS = str.maketrans("", "", " _-")
_KIND_BY_NAME = {name.replace("_", ""): (kind, mix) for kind, names, mix in NAMED for name in names.split()}
_NAMES = tuple(_KIND_BY_NAME)
_NAME_ENDS = frozenset(name[-3:] for name in _NAMES)


def find(text: str) -> str | None:
    """The kind of a secret in the text, such as "GitHub token", or None. Never the value."""
    return _find_prefixed(text) or _find_shape(text) or _find_named(text)


def find_in(value: object) -> tuple[str, str] | None:
    """Where in a str, dict, list or tuple a secret is, and its kind: (".env[2].token", "GitHub token").

    The path is "" for a plain string, and for a private key spread over several strings.
    """
    if type(value) is list and _is_flat(value) and not find("\n".join([one for one in value if type(one) is str])):
        return None  # what nearly every command gives
    texts = list(_texts(value))
    # One scan of all: a payload of 50,000 short strings costs as much as one text of its size.
    kind = find("\n".join([text for _, text in texts]))
    if not kind:
        return None
    for trail, text in texts:
        if found := find(text):
            return _path(trail), found
    return "", kind


def _is_flat(values):
    return _NESTED.isdisjoint(map(type, values))


def redacted(text: str) -> str:
    """The text without its secrets, for what we did not write ourselves, such as a command's output.

    A line with a secret goes as a whole; a secret that spans lines takes its block, or in the end the text, with it.
    """
    if not find(text):
        return text
    lines = [f"[line removed: {kind}]" if (kind := find(line)) else line for line in text.split("\n")]
    text = "\n".join(lines)
    if find(text):
        import re

        text = re.sub(r"(?s)-----BEGIN .*?(-----END [^\n]*|\Z)", "[block removed: private key]", text)
    kind = find(text)
    return f"[text removed: {kind}]" if kind else text


def _find_prefixed(text):
    for kind, prefix, body in _possible_prefixes(text):
        at = _word_start(text, prefix, 0)
        if at < 0:
            continue
        import re

        follow = re.compile(body, re.ASCII)
        while at >= 0:
            match = follow.match(text, at + len(prefix))
            if match and not _is_fake(match[0]) and not _is_words(match[0]):
                return kind
            at = _word_start(text, prefix, match.end() if match else at + 1)
    return None


def _possible_prefixes(text):
    """The rows left after one look at the characters before each "_" and "-": a search each would cost 10x. The other
    ends of prefixes have one or two rows, for which a search is the cheaper way."""
    possible = []
    for mark, rows in _PREFIX_ROWS.items():
        if len(rows) <= 2:
            possible += [row for _, row in rows if row[1] in text]
        elif mark in text:
            ends = {piece[-3:] for piece in text.split(mark)}
            tails = {end[-length:] for end in ends for length in (1, 2, 3)}
            possible += [row for tail, row in rows if tail in tails]
    return possible


def _word_start(text, prefix, start):
    """Where the prefix next begins a word, or -1. "task-1" has no "sk-", the JSON text "a\\nsk-1" has."""
    at = text.find(prefix, start)
    while at > 0 and text[at - 1].isalnum() and text[at - 1].isascii() and text[at - 2 : at] not in _ESCAPES:
        at = text.find(prefix, at + 1)
    return at


def _find_shape(text):
    for kind, trigger, pattern, mix in SHAPES:
        if trigger not in text or (trigger == "://" and "@" not in text):
            continue
        import re

        for match in re.finditer(pattern, text, re.ASCII):
            value = match[1]
            if not _is_fake(value) and not re.fullmatch(TEMPLATE, value) and _mixed(value) >= mix:
                return kind
    return None


def _find_named(text):
    if not _assigns_name(text):
        return None
    import re

    names = "|".join(sorted((n for _, ns, _ in NAMED for n in ns.split()), key=len, reverse=True))
    pattern = (
        rf"(?P<name>{names})".replace("_", "[ _-]?") + r"_?\d{0,4}[\\\"'`\])*_?]{0,6}[ \t]{0,40}"
        # the operator: a type and "=", a plain one, or none after a --flag
        r"(?P<op>:[ \t]{0,4}[\w.\[\]<>]{1,30}+(?: \| \w{1,12})?[ \t]{1,4}=(?=[ \t])"
        r"|:=|=>|={1,3}|:|(?<=[ \t]))"
        r"[ \t]{0,40}[*`]{0,3}[ \t]{0,4}"
        # the value, only looked at, so that the scan goes on inside it: "password": "the password: …"
        r"(?=[bfru]{0,2}\\{0,4}(?:\"{1,3}(?P<double>[^\"\n]{1,64})|'{1,3}(?P<single>[^'\n]{1,64}))"
        r"|(?P<bare>[^\s\"'`,;&]{1,64}))"
    )
    for match in re.finditer(pattern, text, re.ASCII | re.IGNORECASE):
        kind, mix = _KIND_BY_NAME[match["name"].lower().translate(_SEPARATORS)]
        if _is_assigned(text, match, mix, kind == "password assignment") and _names_secret(text, match):
            return kind
    return None


def _assigns_name(text):
    """Whether a name of NAMED stands before a ":" or "=", or in a flag such as --db-password."""
    if ":" not in text and "=" not in text and "--" not in text:
        return False
    tails = {piece[-32:] for mark in ":=" for piece in text.split(mark)}
    tails.update([piece[:32].partition(" ")[0] for piece in text.split("--")])
    return any(map(_ends_in_name, tails))


def _ends_in_name(tail):
    word = tail.rstrip(" \t\"'\\`])*_?0123456789")
    if word[-3:].lower() in _NAME_ENDS and word.lower().translate(_SEPARATORS).endswith(_NAMES):
        return True
    return len(tail) == 32 and len(word) < 16  # aligned: the blanks may have pushed the name out of the tail


def _names_secret(text, match):
    """Whether the name is one here: not a word of prose, a part of arn:aws:…:secret:name, a page token."""
    before = text[max(0, match.start() - 32) : match.start()]
    if match["name"].lower() == "token" and before.rstrip(" _-").lower().endswith(PUBLIC_TOKENS):
        return False
    if not match["op"]:
        return "--" in before.rpartition(" ")[2]
    return not (before.endswith(":") and match["op"] == ":" and match.end("op") == match.start("bare"))


def _is_assigned(text, match, mix, is_password):
    """Whether the value is a secret: it looks generated or chosen, and is neither fake nor a reference."""
    quoted = match["double"] or match["single"]
    value = quoted.rstrip("\\") if quoted else match["bare"]
    core = value if quoted else value.strip("*_`|()[]{}<>.,:!?\\")
    at = match.start("op")
    is_env = match["name"].isupper() and text.startswith("=" + value, at) and not text[at - 1].isspace()
    if not is_password:
        is_likely = _mixed(core) >= mix
    elif quoted or is_env:
        is_likely = len(core) >= 6 and not _is_label(core)
    else:
        is_likely = len(core) >= 6 and (_is_unlike_prose(core, match["op"]) or _stands_alone(text, match, core))
    if not is_likely or _is_fake(value) or _is_reference(value):
        return False
    return bool(quoted) or not _is_code(text, match.start("bare"), is_env)


def _is_label(value):
    """A sentence, or a word about passwords, where a password could stand."""
    parts = value.translate(str.maketrans("_-./:", "     ")).lower().split()
    is_word = all(map(str.isalpha, parts)) and ("".join(parts) in LABELS or any(name in parts for name in LABEL_PARTS))
    return is_word or any(map(str.isspace, value))


def _stands_alone(text, match, core):
    """`password=<word>` as a shell or a config file has it, and not an argument in `connect(password=value)`."""
    before = text[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
    end = match.end("op") + len(match["bare"] or "")
    is_tight = text.startswith("=" + core, match.start("op")) and not text[match.start("op") - 1].isspace()
    in_call = before.count("(") > before.count(")") or text[end : end + 1] in (",", ")")
    return is_tight and not in_call and core.isalpha() and not _is_label(core)


def _is_unlike_prose(value, op):
    """A bare password, not a word or a variable: "hunter2", but not "required", "user-supplied", "8-64"."""
    import re

    if not re.search(r"[\d@!#$%^~]", value):
        return False
    if re.search(r"[^\W_][@!#$%^~]+[^\W_]", value) or value.isdigit():
        return True
    return _mixed(value) >= 6 if op == ":" else any(map(str.isdigit, value))


def _mixed(value):
    """How many characters stand in runs that mix letters and digits, as generated values do; 0 if blank."""
    import re

    if not re.search(r"\d", value) or re.search(r"\s", value):
        return 0
    runs = re.findall(r"[A-Za-z0-9]{4,}", value)
    runs = [run for run in runs if not run.isalpha() and not run.isdigit()]
    return sum(len(run) for run in runs if run.lower() not in TERMS)


def _is_reference(value):
    import re

    if re.fullmatch(PATH, value):
        return _mixed(value) < 16  # base64 may begin with "/" too
    return re.fullmatch(TEMPLATE, value) or re.fullmatch(POINTER, value)


def _is_code(text, at, is_env):
    import re

    line = text[at : at + 200].partition("\n")[0]
    return re.match(CODE, line) or (not is_env and re.match(VARIABLE, line))


def _is_fake(value):
    """A marker word, one character repeated, or four and more characters of only two kinds."""
    kinds = len(set(value))
    if kinds == 1 or (kinds == 2 and len(value) >= 4):
        return True
    lowered = value.lower()
    return any(m in value for m in FAKE_MARKERS_EXACT) or any(m in lowered for m in FAKE_MARKERS)


def _is_words(value):
    """Lower-case letters only, as in "xoxb-style-tokens": no generated value of this length is."""
    return value.islower() and not any(map(str.isdigit, value))


def _texts(value):
    """Each (trail, text) of a value, keys too, in order. No recursion: JSON may nest deeper than a stack."""
    stack: list[tuple] = [(None, "", value)]
    while stack:
        trail, key, value = stack.pop()
        if isinstance(value, str):
            yield trail, value
            if _ends_in_name(key):
                yield trail, key + '="' + value[:128].strip().replace('"', "'") + '"'
        elif isinstance(value, dict):
            keys = [name if isinstance(name, str) else "" for name in value]
            yield from (((trail, None), key) for key in keys)
            items = zip(value, keys, value.values(), strict=True)
            stack.extend(reversed([((trail, name), key, item) for name, key, item in items]))
        elif isinstance(value, (list, tuple)):
            stack.extend(reversed([((trail, at), key, item) for at, item in enumerate(value)]))


def _path(trail):
    """The trail as ".env[2].token"; a key that is itself the secret is not spelled out."""
    steps = []
    while trail:
        trail, step = trail
        if isinstance(step, str):
            is_plain = step.replace("-", "_").isidentifier()
            steps.append("." + step[:60] if is_plain else f"[{step[:60]!a}]")
        else:
            steps.append(f"[{step}]" if isinstance(step, int) else ".<key>")
    return "".join(reversed(steps))
