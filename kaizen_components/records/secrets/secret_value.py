"""Decide whether a possible secret is real, from its value and, if it has a name, its line.

Loaded only after records/secrets/scan.py has found a possible secret.
"""

import re

# A value with such a word is fake. FAKE_MARKERS match in any letter case. FAKE_MARKERS_EXACT do
# not: random characters could match four letters in mixed case.
FAKE_MARKERS = (
    *("example", "dummy", "placeholder", "redacted", "changeme", "your-", "your_", "yourapi"),
    *("****", "…", "..."),
)
FAKE_MARKERS_EXACT = ("fake", "Fake", "FAKE", "xxxx", "XXXX")

# Words that describe a password instead of being one: "password": "required", "db_password".
LABELS = (
    *("string", "boolean", "number", "object", "nullable", "required", "optional", "default"),
    *("undefined", "unknown", "missing", "invalid", "incorrect", "wrong", "correct", "strong"),
    *("expired", "unchanged", "enabled", "disabled", "hidden", "masked", "filtered", "removed"),
    *("omitted", "plaintext", "hashed", "encrypted", "prompt"),
)
LABEL_PARTS = ("password", "passwd", "passphrase", "pwd", "secret", "token")

# Harmless terms that mix letters and digits: "secret: base64".
TERMS = (
    *("sha1", "sha256", "sha384", "sha512", "base32", "base64", "base64url", "utf8", "oauth2"),
    *("hs256", "rs256", "es256", "argon2", "argon2id", "pbkdf2", "ed25519", "x509", "ipv4"),
    *("ipv6", "http2"),
)

# Tokens that are not secret: next_token, fencing-token.
PUBLIC_TOKENS = (
    *("next", "page", "starting", "continuation"),
    *("idempotency", "request", "fencing", "lease"),
)

# $VAR, ${VAR}, $(command), {{…}}, {name}, <…>, %VAR%, %s, [FILTERED]
TEMPLATE = (
    r"\$[A-Za-z_]\w*(?:(?:->|:|\.|\[)\S*|[\])}.]*)|\$[{(].*"
    r"|.*(?:\$\{[\w!#]|\$\([A-Za-z][\w./-]+(?:[ )]|$)|\{\{|\{[\w.!:\[\]]*\}).*"
    r"|<.*|%\w+%|%(?:\(\w+\))?s|[\[(][A-Za-z_-]+[\])]"
)

# A URL or ARN, a Kaizen id, a UTC stamp; a file path
POINTER = r"https?://.*|arn:aws.*|(?:[a-z]+_)?\d{8}T?\d{6,9}Z?(?:_[0-9a-f]{10})?"
PATH = r"(?:[A-Za-z]:|~|\.{1,2})?(?:[/\\]+[\w.@-]+)+[/\\]*"

# A call or subscript that closes on its line, an attribute path that ends in a name, :bind, &ref, *anchor
_NAME = r"_*[A-Za-z]+(?:_+[A-Za-z]+|\d{1,5}[A-Z][A-Za-z]+)*"
_END = r"(?![\w@!#$%^~+/=-]|[.*&]\w)"
_CODE = (
    r"[(\[{]*[A-Za-z_][\w.:]*[(\[](?:[\"'\\]|.*[)\]]CLOSED|\s*$)"
    rf"|(?:[A-Za-z_]\w*(?:\.|->|::|\?\.))+{_NAME}\d{{0,2}}END|[:@&*?!]{_NAME}\d{{0,2}}END"
)
CODE = _CODE.replace("CLOSED", "").replace("END", _END)
# In a line of an env file nothing may follow the code.
ENV_CODE = re.sub("CLOSED|END", r"(?=[,;)]*(?:[\\s\"'\\\\]|$))", _CODE)
# Another variable with a secret's name: password=password2
VARIABLE = rf"(?=\w*(?i:pass|pwd|pw|secret|token|key)){_NAME}\d?{_END}"

# A symbol, a lower-case letter, and a capital or a digit
SCRAMBLED = r"(?=[\w-]*[^\w-])(?=[^a-z]*[a-z])(?=[^A-Z0-9]*[A-Z0-9])[\w!@#$%^&*()=+-]+"

# A value in an env file may contain "," ";" "&", but it ends before HOST in "PWD=a;HOST=b".
WHOLE = re.compile(r"(?:(?![;,&] ?[A-Za-z_]\w{1,30}=)[^\s\"'`\\]){1,64}")

# Code before a name whose value follows without an operator (SETTING) or after a comma (DEFAULT).
SETTING = r"(?:(?<![A-Za-z])|(?<=\\[nrt]))(?:ENV|setx|config(?:ure)? set)[ \t]{1,4}[\w.:/-]*$"
DEFAULT = r"(?:env|environ\.get|define)\([ \t]{0,4}\\{0,4}[\"']\w*$"


def is_generated(value: str) -> bool:
    """Return whether a value after a prefix is random, not words as in "xoxb-style-tokens"."""
    is_words = value.islower() and not any(map(str.isdigit, value))
    return not is_words and not _is_fake(value)


def is_real(value: str, mix: int) -> bool:
    """Return whether a value is not fake, with at least `mix` characters in mixed runs."""
    return not _is_fake(value) and not re.fullmatch(TEMPLATE, value) and _count_mixed(value) >= mix


def names_secret(text: str, match: re.Match[str]) -> bool:
    """Return whether the name is that of a secret, not prose, part of an ARN or a page token."""
    before = text[max(0, match.start() - 64) : match.start()]
    name = match["name"].lower()
    if name == "signingkey" or (
        name == "token" and before.rstrip(" _-").lower().endswith(PUBLIC_TOKENS)
    ):
        return False
    if match["op"] == ",":
        return not match["bare"] and bool(re.search(DEFAULT, before))
    if not match["op"]:
        return "--" in before.rpartition(" ")[2] or bool(re.search(SETTING, before))
    return not (
        before.endswith(":") and match["op"] == ":" and match.end("op") == match.start("bare")
    )


def is_assigned(text: str, match: re.Match[str], mix: int, is_password: bool) -> bool:
    """Return whether the value looks generated or chosen, and is neither fake nor a reference."""
    quoted = match["double"] or match["single"]
    value = quoted.rstrip("\\") if quoted else match["bare"]
    core = value if quoted else value.strip("*_`|()[]{}<>.,:!?\\")
    at, end = match.start("op"), match.end() + len(value)
    is_env = (
        match["name"].isupper() and text.startswith("=" + value, at) and not text[at - 1].isspace()
    )
    if not is_password:
        is_likely = _count_mixed(core) >= mix
    elif (quoted and match["op"] != ",") or is_env:
        is_likely = len(core) >= 6 and not _is_label(core)
    else:
        is_likely = len(core) >= 6 and (
            is_unlike_prose(core, match["op"]) or is_alone(text, match, core)
        )
    if not is_likely and not quoted and text[end : end + 1] in (",", ";", "&"):
        is_likely = is_likely_whole(text, match.end(), mix, is_env, is_password)
    # Do not count a single character as fake: the pattern may have stopped at a symbol.
    if not is_likely or (len(value) > 1 and _is_fake(value)):
        return False
    is_path = re.fullmatch(PATH, value)  # base64 may begin with "/" too
    if is_path and _count_mixed(value) < 16:
        return False
    if not is_path and (re.fullmatch(TEMPLATE, value) or re.fullmatch(POINTER, value)):
        return False
    line = text[match.end() : match.end() + 200].partition("\n")[0]
    codes = (ENV_CODE,) if is_env else (CODE, VARIABLE)
    return bool(quoted) or not any(re.match(code, line) for code in codes)


def is_likely_whole(text: str, at: int, mix: int, is_env: bool, is_password: bool) -> bool:
    """Return whether a value with a symbol inside, such as "a;Kd83kfIw92x", is likely a secret.

    Outside of env files only a scrambled value is.
    """
    whole = WHOLE.match(text, at)
    if not whole or _is_fake(whole[0]):
        return False
    if not is_env:
        return _is_scrambled(whole[0])
    if is_password:
        return len(whole[0]) >= 6 and bool(re.search(r"[\d@!#$%^~]", whole[0]))
    return _count_mixed(whole[0]) >= mix


def _is_label(value: str) -> bool:
    """Return whether the value is a sentence or a word about passwords, not a password."""
    parts = value.translate(str.maketrans("_-./:", "     ")).lower().split()
    is_word = all(map(str.isalpha, parts)) and (
        "".join(parts) in LABELS or any(name in parts for name in LABEL_PARTS)
    )
    return is_word or any(map(str.isspace, value))


def is_alone(text: str, match: re.Match[str], core: str) -> bool:
    """Return whether the value follows `name=` directly, as in a shell, and not inside a call."""
    before = text[max(0, match.start() - 200) : match.start()].rpartition("\n")[2]
    end = match.end("op") + len(match["bare"] or "")
    is_tight = (
        text.startswith("=" + core, match.start("op")) and not text[match.start("op") - 1].isspace()
    )
    in_call = before.count("(") > before.count(")") or text[end : end + 1] in (",", ")")
    return is_tight and not in_call and core.isalpha() and not _is_label(core)


def is_unlike_prose(value: str, op: str) -> bool:
    """Return whether a bare word is like "hunter2", not "required", "user-supplied" or "8-64"."""
    if not re.search(r"[\d@!#$%^~]", value) or re.search(r"\s", value):
        return False
    if re.search(r"[^\W_][@!#$%^~]+[^\W_]", value) or value.isdigit():
        return True
    return _count_mixed(value) >= 6 if op == ":" else any(map(str.isdigit, value))


def _count_mixed(value: str) -> int:
    """Count characters in runs that mix letters and digits, as in generated values."""
    if re.search(r"\s", value):
        return 0
    if _is_scrambled(value):
        return len(value)
    if not re.search(r"\d", value):
        return 0
    runs = re.findall(r"[A-Za-z0-9]{4,}", value)
    runs = [run for run in runs if not run.isalpha() and not run.isdigit()]
    return sum(len(run) for run in runs if run.lower() not in TERMS)


def _is_scrambled(value: str) -> bool:
    """Return whether symbols, letters and digits alternate: "aB3$kL-9xQ!pR2*m"."""
    if len(value) < 12 or not re.fullmatch(SCRAMBLED, value):
        return False
    pieces = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\w-]+", value)
    return len(pieces) * 2.7 >= len(value)


def _is_fake(value: str) -> bool:
    """Return whether a value has a marker word, or repeats one or two characters only."""
    kinds = len(set(value))
    if kinds == 1 or (kinds == 2 and len(value) >= 4):
        return True
    lowered = value.lower()
    return any(m in value for m in FAKE_MARKERS_EXACT) or any(m in lowered for m in FAKE_MARKERS)
