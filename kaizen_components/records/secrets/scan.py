"""Find secrets. Every text and payload is checked here before it is recorded.

Three tables describe secrets: PREFIXED by their first characters, SHAPES by their form, NAMED by
the name they are assigned to. secret_value.py checks each value separately, so a fake secret cannot
hide a real one next to it.

No module is imported until a prefix, a trigger or an assigned name occurs: `import re` takes longer
than scanning a clean text. Each pattern is bounded or cannot start inside an earlier run, so a
hostile text takes linear time. docs/secrets.md tells users what is refused and what passes.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# kind, prefixes at the start of a word (the more specific first), pattern of what must follow
PREFIXED = (
    ("Anthropic key", "sk-ant-", r"[\w-]{20,}"),
    ("OpenRouter key", "sk-or-", r"v1-[0-9a-f]{40,}"),
    ("OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[\w-]{20,}"),
    ("OpenAI key", "sk-", r"[A-Za-z0-9]{20,}"),
    ("Google API key", "AIz", r"a[\w-]{35}"),
    ("Google API key", "AQ.Ab8", r"[\w-]{40,}"),
    ("Google OAuth client secret", "GOCSPX-", r"[\w-]{20,}"),
    ("Google OAuth token", "ya29", r"\.[\w-]{30,}"),
    ("Google OAuth token", "1//0", r"[\w-]{60,}"),
    ("AWS access key", "AKIA ASIA", r"[A-Z0-9]{16}(?![A-Za-z0-9])"),
    ("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"\w{36,}"),
    ("GitHub token", "github_pat_", r"\w{40,}"),
    ("GitLab token", "glpat- gldt- glrt- glrtr- glcbt- glptt- glft-", r"[\w.-]{20,}"),
    ("GitLab token", "glimt- glagent- gloas- glwt- glsoat- glffct-", r"[\w.-]{20,}"),
    ("GitLab token", "GR1348941", r"[\w-]{20,}"),
    ("Slack token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxc- xoxd-", r"[A-Za-z0-9-]{10,}"),
    ("Slack token", "xapp-", r"\d-[A-Za-z0-9-]{10,}"),
    ("Stripe key", "sk_live_ rk_live_ sk_test_ rk_test_", r"[A-Za-z0-9]{16,}"),
    ("Stripe webhook secret", "whsec_", r"[A-Za-z0-9+/]{24,}"),
    ("npm token", "npm_", r"[A-Za-z0-9]{36,}"),
    ("PyPI token", "pypi-", r"AgE[IN][\w-]{30,}"),
    ("Hugging Face token", "hf_", r"[A-Za-z0-9]{30,}"),
    ("Hugging Face token", "api_org_", r"[A-Za-z0-9]{30,}"),
    ("SendGrid key", "SG", r"\.[\w-]{16,32}\.[\w-]{16,64}"),
    ("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    ("Docker Hub token", "dckr_pat_", r"[\w-]{20,}"),
    ("Groq key", "gsk_", r"[A-Za-z0-9]{40,}"),
    ("xAI key", "xai-", r"[A-Za-z0-9]{60,}"),
    ("Shopify token", "shpat_ shpca_ shppa_ shpss_", r"[0-9a-fA-F]{32}"),
    ("Linear key", "lin_api_", r"[A-Za-z0-9]{32,}"),
    ("age secret key", "AGE-SECRET-KEY-", r"1[A-Z0-9]{40,}"),
    # The look-behind keeps "-eyJ-eyJ…" linear: a run is read only from its start.
    ("JSON Web Token", "eyJ", r"(?:(?<![_-]eyJ)[\w-]{8,}+|[\w-]{8,400}+)\.[\w-]{8,}+\.[\w-]{8,}"),
)

# The lines of a key may have other text around them (a diff, line numbers, a log). Only the body
# distinguishes a key from a text that mentions the header: 40 characters with capitals, lower-case
# letters and three digits, before the next header.
_ANY_FRAME = (
    r"(?s:(?!----[- ](?:BEGIN|END)|Private-).){0,400}?(?<!@)"
    r"((?=[a-z\d+/=%\\]{0,60}[A-Z])(?=[A-Z\d+/=%\\]{0,60}[a-z])"
    r"(?=(?:[A-Za-z+/=%\\]{0,60}\d){3})@{40,80}(?:\.\.\.|…)?)"
).replace("@", r"[A-Za-z\d+/=%\\]")
_PEM_HEADER = r"----[- ]BEGIN@(?:[A-Z0-9]{1,12}@){0,3}PRIVATE@KEY(?:@BLOCK)?[- ]----".replace(
    "@", r"(?: |\+|%20)"
)

_ACCESS_KEY_NAMES = (
    *("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey"),
    *("ecret access key", "ecret Access Key"),
)

# kind, trigger, pattern with the value in group 1, how many characters of it must mix letters and digits.
SHAPES = (
    (
        "private key",
        "PRIVATE KEY",
        _PEM_HEADER
        + r"(?:\s|\\+[nr]|[\"'+>#|,]|(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n\\]{0,99}){0,99}"
        r"([A-Za-z0-9+/=]{20,80}(?:\.\.\.|…)?)",
        0,
    ),
    ("private key", "PRIVATE KEY", _PEM_HEADER + _ANY_FRAME, 20),
    ("private key", "PRIVATE+KEY", _PEM_HEADER + _ANY_FRAME, 20),
    ("private key", "PRIVATE%20KEY", _PEM_HEADER + _ANY_FRAME, 20),
    (
        "private key",
        "LS0tLS1CRUdJTi",  # base64 of "-----BEGIN ", then of "PRIVATE KEY" at each offset
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{1,30}(?:UFJJVkFURSBLRVk|UklWQVRFIEtFWS|SVZBVEUgS0VZ)"
        r"([A-Za-z0-9+/=]{20,80}(?:\.\.\.|…)?)",
        0,
    ),
    (
        "private key",
        "Private-Lines",
        r"Private-Lines: {0,4}\d{1,4}(?:\s|\\+[nr]){1,9}([A-Za-z0-9+/=]{20,80})",
        0,
    ),
    ("private key", "Private-Lines", r"Private-Lines: {0,4}\d{1,4}" + _ANY_FRAME, 20),
    # Any operator may follow the name: "= ", " [None]: ", a blank. A few keys have no digit.
    *(
        (
            "AWS secret access key",
            part,
            r"(?i:ecret[ _-]?access[ _-]?key)(?: \[[^\]\n]{0,24}\])?[^\w+/\n]{1,20}"
            r"((?=[a-z0-9+/]{0,39}[A-Z])(?=[A-Z0-9+/]{0,39}[a-z])[A-Za-z0-9+/]{40})(?![\w+/=])",
            0,
        )
        for part in _ACCESS_KEY_NAMES
    ),
    (
        "Slack webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([\w/-]{20,99})",
        0,
    ),
    ("Discord webhook", "/api/webhooks/", r"/api/webhooks/\d{15,20}/([\w-]{50,99})", 0),
    ("Telegram bot token", ":AA", r"(?<!\d)\d{8,10}:(AA[\w-]{33})(?![\w-])", 0),
    (
        "password in a URL",
        "://",
        # The look-ahead: in "(http://host:80),a@b" 80 is a port.
        r"://(?<=\w://)[^\s/?#:@\"'`\\]{0,99}:(?!\d{1,5}[)\],;>|&*#])([^\s/?\"'`\\]{1,199})@[\w\[{$<%/]",
        0,
    ),
    ("token in a URL", "://", r"://(?<=\w://)([\w.~%-]{20,199})@[\w\[{$<%]", 16),
    *(
        ("bearer token", part, r"(?:[Bb]earer|BEARER)[ \t]{1,4}([\w.~+/=-]{8,})", 8)
        for part in ("earer ", "EARER ")
    ),
    (
        "basic authorization",
        "uthorization",
        r"uthorization[\\\"':=, \t]{1,8}[Bb]asic[ \t]{1,4}"
        r"(?=[A-Za-z+/]{0,60}(?:[a-z][A-Z]|\d))([A-Za-z0-9+/]{8,})",
        0,
    ),
    (
        "authorization header",
        "uthorization",
        r"uthorization[\\\"':=, \t]{1,8}(?:[Tt]oken|(?:[Aa]pi-?)?[Kk]ey)[ \t]{1,4}([\w.~+/=-]{16,})",
        16,
    ),
    *(
        (
            "password assignment",
            part,
            r"(?:PASSWORD|[Ww]ith [\w ]{0,40}password|IDENTIFIED BY|identified by) '([^'\n]{6,64})'",
            6,
        )
        for part in ("PASSWORD '", "password '", "IED BY '", "ied by '")
    ),
    (
        "password assignment",
        "login ",  # as in .netrc
        r"login {1,4}[^\s\\,;:]{1,64}+(?:\s|\\{1,4}[nrt]){1,20}+password {1,4}([^\s\\\"'`,;]{6,64})",
        6,
    ),
    *(
        (
            "password assignment",
            part,
            r"(?:mysql|mariadb)[a-z-]{0,9}[ \t][^\n|;&]{0,80}?(?<=[ \t])-p[\\\"']{0,4}([^\s\\\"'`|;&]{6,64})",
            6,
        )
        for part in ("mysql", "mariadb")
    ),
    # As a name, "pass" would mean test results too: here only right before its "=".
    *(
        (
            "password assignment",
            part,
            r"(?:(?<![A-Za-z])|(?<=\\[nrt]))(?:[Pp]ass|PASS|[Pp]w|PW)=[\"']?([^\s\"'`,;&.()\[\]]{6,64})",
            6,
        )
        for part in ("ass=", "ASS=", "pw=", "PW=")
    ),
)

# A second trigger, for triggers that ordinary texts often contain.
_BESIDE = {"://": "@", "login ": "password ", "mysql": " -p", "mariadb": " -p"}

# kind, names ("_" is an optional separator; a prefix such as DB_ may precede), how many characters
# of the value must mix letters and digits
NAMED = (
    ("AWS secret access key", "secret_access_key", 8),
    ("password assignment", "password passwd pwd passphrase passcode", 6),
    ("password assignment", "db_pass smtp_pass mail_pass user_pass admin_pass root_pass", 6),
    ("secret assignment", "secret", 6),
    ("key assignment", "api_key access_key secret_key private_key encryption_key", 8),
    ("key assignment", "master_key account_key secret_key_base signing_key fernet_key", 8),
    ("token assignment", "token authorization", 8),
)

# last character of a prefix -> (the up to three characters before it, row)
_PREFIX_ROWS: dict[str, list[tuple[str, tuple[str, str, str]]]] = {}
for _kind, _prefixes, _body in PREFIXED:
    for _prefix in _prefixes.split():
        _tail = _prefix[-4:-1].rpartition(_prefix[-1])[2]
        _PREFIX_ROWS.setdefault(_prefix[-1], []).append((_tail, (_kind, _prefix, _body)))
_HEX_DIGITS = "0123456789abcdefABCDEF"
_NESTED = frozenset((dict, list, tuple))
_SEPARATORS = str.maketrans("", "", " _-")
_KIND_BY_NAME = {
    name.replace("_", ""): (kind, mix) for kind, names, mix in NAMED for name in names.split()
}
_NAMES = tuple(_KIND_BY_NAME)
_BEFORE_NAMES = ("--", "ENV ", "setx ", "onfig set ", "env(", "environ.get(", "define(")
_NAME_ENDS = frozenset(name[-3:] for name in _NAMES)


def find_secret(text: str) -> str | None:
    """Return the kind of a secret in the text, such as "GitHub token", or None."""
    return find_prefixed(text) or find_shape(text) or find_named(text)


def find_secret_in(value: object) -> tuple[str, str] | None:
    """Return (place, kind) of a secret in a str, dict or list: (".env[2].token", "GitHub token").

    The place is "" for a plain string, and for a private key spread over several strings.
    """
    if (
        type(value) is list
        and _NESTED.isdisjoint(map(type, value))
        and not find_secret("\n".join([item for item in value if type(item) is str]))
    ):
        return None  # the usual case
    texts = list(walk_texts(value))
    # Scan all texts at once: 50,000 short strings then take no longer than one text of that size.
    kind = find_secret("\n".join([text for _, text in texts]))
    if not kind:
        return None
    for trail, text in texts:
        if not (kind_here := find_secret(text)):
            continue
        steps = []
        while trail:
            trail, step = trail
            if isinstance(step, str):
                is_plain = step.replace("-", "_").isidentifier()
                steps.append("." + step[:60] if is_plain else f"[{step[:60]!a}]")
            else:  # the secret is the key itself, so do not show the key
                steps.append(f"[{step}]" if isinstance(step, int) else ".<key>")
        return "".join(reversed(steps)), kind_here
    return "", kind


def redact_secrets(text: str) -> str:
    """Remove secrets from the text of another program, such as a command's output.

    Remove the line of a secret. If it covers several lines, remove its block or the whole text.
    """
    if not find_secret(text):
        return text
    lines = [
        f"[line removed: {kind}]" if (kind := find_secret(line)) else line
        for line in text.split("\n")
    ]
    text = "\n".join(lines)
    if find_secret(text):
        import re

        block = r"(?s)----[- ]BEGIN .*?(----[- ]END [^\n]*|\Z)"
        block += r"|Private-Lines:.*?(Private-MAC:[^\n]*|\Z)"
        text = re.sub(block, "[block removed: private key]", text)
    kind = find_secret(text)
    return f"[text removed: {kind}]" if kind else text


def find_prefixed(text: str) -> "str | None":
    """Find a value that starts with the prefix of a secret.

    The characters before each "_" and "-" select the few possible prefixes: a search for each would
    take ten times as long. For a last character with one or two rows, a search is faster.
    """
    possible = []
    for mark, rows in _PREFIX_ROWS.items():
        if len(rows) <= 2:
            possible += [row for _, row in rows if row[1] in text]
        elif mark in text:
            ends = {piece[-3:] for piece in text.split(mark)}
            tails = {end[-length:] for end in ends for length in (1, 2, 3)}
            possible += [row for tail, row in rows if tail in tails]
    for kind, prefix, body in possible:
        at = _word_start(text, prefix, 0)
        if at < 0:
            continue
        import re

        from .secret_value import is_generated

        follow = re.compile(body, re.ASCII)
        while at >= 0:
            match = follow.match(text, at + len(prefix))
            if match and is_generated(match[0]):
                return kind
            at = _word_start(text, prefix, match.end() if match else at + 1)
    return None


def _word_start(text: str, prefix: str, start: int) -> int:
    """Return where the prefix next begins a word, or -1.

    "task-1" has no "sk-"; the JSON text "a\\nsk-1" has.
    """
    at = text.find(prefix, start)
    while (
        at > 0
        and text[at - 1].isalnum()
        and text[at - 1].isascii()
        and not ends_in_escape(text[max(0, at - 12) : at])
    ):
        at = text.find(prefix, at + 1)
    return at


def ends_in_escape(before: str) -> bool:
    """Return whether the text ends in \\n, %20, \\x0a, \\u000a or a color like ESC[1;32m."""
    if before[-2:] in ("\\n", "\\r", "\\t"):
        return True
    if before[-3:-2] == "%" or before[-4:-2] == "\\x" or before[-6:-4] == "\\u":
        return not before[-2:].strip(_HEX_DIGITS)
    _, bracket, code = before.rpartition("[")
    return bool(bracket) and code[-1:].isalpha() and not code[:-1].strip("0123456789;")


def find_shape(text: str) -> "str | None":
    """Find a value with the form of a secret."""
    for kind, trigger, pattern, mix in SHAPES:
        if trigger not in text or _BESIDE.get(trigger, "") not in text:
            continue
        import re

        from .secret_value import is_real

        if any(is_real(match[1], mix) for match in re.finditer(pattern, text, re.ASCII)):
            return kind
    return None


def find_named(text: str) -> "str | None":
    """Find a value that is assigned to the name of a secret."""
    # A name of NAMED stands before ":" or "=", or after one of _BEFORE_NAMES, such as "--".
    marks = [mark for mark in _BEFORE_NAMES if mark in text]
    if ":" not in text and "=" not in text and not marks:
        return None
    tails = {piece[-32:] for mark in ":=" for piece in text.split(mark)}
    for mark in marks:
        words = [piece[:64].strip(" \"'\\").partition(" ")[0] for piece in text.split(mark)]
        tails.update([word.partition(",")[0] for word in words])
    if not any(map(_ends_in_name, tails)):
        return None
    import re

    from .secret_value import is_assigned, names_secret

    names = "|".join(sorted((n for _, ns, _ in NAMED for n in ns.split()), key=len, reverse=True))
    pattern = (
        rf"(?P<name>{names})".replace("_", "[ _-]?") + r"_?\d{0,4}[\\\"'`\])*_?]{0,6}[ \t]{0,40}"
        # the operator: a type and "=", a plain one, "," in getenv(), or none after a --flag or ENV
        r"(?P<op>:[ \t]{0,4}[\w.\[\]<>]{1,30}+(?: \| \w{1,12})?[ \t]{1,4}=(?=[ \t])"
        r"|:=|=>|={1,3}|[:,]|(?<=[ \t]))"
        r"(?:[ \t\xa0\u202f\u3000]|\\{1,4}u(?:00a0|202f|3000)){0,40}[*`]{0,3}[ \t]{0,4}"
        # the value, in a look-ahead: the scan continues inside it ("password": "the password: …")
        r"(?=[bfru]{0,2}\\{0,4}(?:\"{1,3}(?P<double>[^\"\n]{1,64})|'{1,3}(?P<single>[^'\n]{1,64}))"
        r"|(?P<bare>[^\s\"'`,;&]{0,64}))"
    )
    for match in re.finditer(pattern, text, re.ASCII | re.IGNORECASE):
        kind, mix = _KIND_BY_NAME[match["name"].lower().translate(_SEPARATORS)]
        is_password = kind == "password assignment"
        if is_assigned(text, match, mix, is_password) and names_secret(text, match):
            return kind
    return None


def _ends_in_name(tail: str) -> bool:
    """Return whether the text may end in a name of NAMED."""
    word = tail.rstrip(" \t\"'\\`])*_?0123456789")
    if word[-3:].lower() in _NAME_ENDS and word.lower().translate(_SEPARATORS).endswith(_NAMES):
        return True
    # Many blanks, as in aligned code, may have pushed the name out of the tail.
    return len(tail) == 32 and len(word) < 16


def walk_texts(value: "Any") -> "Iterator[tuple[Any, str]]":
    """Yield (trail, text) for each text and key in a value, without recursion: JSON may be deep."""
    stack: list[tuple[Any, str, Any]] = [(None, "", value)]
    while stack:
        trail, key, value = stack.pop()
        if isinstance(value, str):
            yield trail, value
            if _ends_in_name(key):
                yield trail, key + '="' + value[:128].strip().replace('"', "'") + '"'
        elif isinstance(value, dict):
            keys = [name if isinstance(name, str) else "" for name in value]
            yield from (((trail, None), key) for key in keys)
            # In {"password": {"value": …}} the name is the key one level up.
            names = [key if name.lower() == "value" else name for name in keys]
            items = zip(value, names, value.values(), strict=True)
            stack.extend(reversed([((trail, at), name, item) for at, name, item in items]))
        elif isinstance(value, (list, tuple)):
            stack.extend(reversed([((trail, at), key, item) for at, item in enumerate(value)]))
