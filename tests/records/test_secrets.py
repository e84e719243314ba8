"""Every secret here is random, seeded and joined at run time: no scanner shall take this file for a leak."""

import base64
import json
import random
import string
import subprocess
import sys
import time
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaizen_components.records.secrets import scan, secret_value

from ..conftest import ROOT

ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"
SIGNED = ALNUM + "!@#$%^*_-"
DJANGO = (
    string.ascii_lowercase + string.digits + "!@#$%^&*(-_=+)"
)  # what its startproject draws from


def some(alphabet, length, seed=7):
    """Random characters, with both ends alphanumeric and a digit, as a real value has."""
    value = "".join(random.Random(f"{seed}{alphabet}").choices(alphabet, k=length))
    return "a7" + value[2:-2] + "4b" if alphabet[0].islower() or "a" in alphabet else value


UPPER = some(string.ascii_uppercase + string.digits, 16)
DIGITS = some(string.digits, 12)
NEWLINES = ("\n", "\r\n", "\\n", "\\\\n", "\n    ")
PEM_LABELS = (
    *("PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "OPENSSH PRIVATE KEY"),
    *("ENCRYPTED PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
)
JWT = "ey" + "J" + ".".join([some(URLSAFE, 33), some(URLSAFE, 60, 2), some(URLSAFE, 43)])
GITLAB_USES = "pat dt rt rtr cbt ptt ft imt agent oas wt soat ffct"
STRIPE_USES = (("s" + "k", "live"), ("r" + "k", "live"), ("s" + "k", "test"))
LOGINS = (
    ("postgres", "app:" + "Tr0ub" + "4dor"),
    ("https", "user:" + "password"),
    ("https", "app:" + "swordfish"),
    ("redis", ":" + "pw"),
    ("mongodb+srv", "app:" + "p@ss%40" + "w0rd"),
)


AWS_FORMS = """
aws configure set aws_secret_access_key @
AWS Secret Access Key [None]: @
ENV AWS_SECRET_ACCESS_KEY @
setx AWS_SECRET_ACCESS_KEY "@"
AWS_SECRET_ACCESS_KEY=@
<SecretAccessKey>@</SecretAccessKey>
AWS Secret Access Key [****************Ab4d]: @
""".strip().splitlines()
AWS_KEYS = (
    some(BASE64, 40),
    "Ab/" + some(string.ascii_letters + "+/", 40)[3:].replace("7", "x").replace("4", "y"),
)


def pem(label, newline="\n", headers=""):
    begin, end = f"-----BEGIN {label}" + "-----", f"-----END {label}-----"
    return newline.join([begin, headers + some(BASE64, 64), some(BASE64, 64, 9), end])


def framed(frame, label="RSA PRIVATE KEY"):
    """A key as a tool shows it: each line in a frame, "#" for its number."""
    lines = pem(label).split("\n")
    return "\n".join(
        frame.replace("#", str(at)).replace("@", line) for at, line in enumerate(lines, 9)
    )


PEM_FRAMES = (
    "-@", "+@", "     #\t@", "#:@", "id_rsa-#-@", "conf/id_rsa:#:@", "web-1  | @", " * @", "// @",
    "- @", "* @", "@\\", "@<br>", "@<br/>", "<li>@</li>", "@`n", "[app] INFO: @", "‖ @",
    "2026-11-18T01:02:03.123456789Z stdout F @",
)  # fmt: skip


def encoded(label):
    """As kubeconfig has it."""
    return base64.b64encode(pem(label).encode()).decode()


PROVIDED = [
    ("OpenAI key", "s" + "k-" + some(ALNUM, 48)),
    *(
        ("OpenAI key", f"s{'k'}-{scope}-" + some(URLSAFE, 120))
        for scope in ("proj", "svcacct", "admin", "None")
    ),
    ("Anthropic key", "s" + "k-ant-api03-" + some(URLSAFE, 93) + "AA"),
    ("OpenRouter key", "s" + "k-or-v1-" + some(HEX, 64)),
    ("Google API key", "AI" + "za" + some(URLSAFE, 35)),
    ("Google OAuth client secret", "GOC" + "SPX-" + some(URLSAFE, 28)),
    ("Google OAuth token", "ya" + "29." + some(URLSAFE, 120)),
    ("Google OAuth token", "1/" + "/0" + some(URLSAFE, 100)),
    ("Google API key", "AQ." + "Ab8" + some(URLSAFE, 47)),
    *(("AWS access key", first + "IA" + UPPER) for first in ("AK", "AS")),
    *(("GitHub token", "gh" + letter + "_" + some(ALNUM, 36)) for letter in "pousr"),
    ("GitHub token", "github" + "_pat_" + some(ALNUM, 22) + "_" + some(ALNUM, 59)),
    *(("GitLab token", "gl" + use + "-" + some(URLSAFE, 20)) for use in GITLAB_USES.split()),
    ("GitLab token", "GR13" + "48941" + some(URLSAFE, 20)),
    *(
        ("Slack token", "xo" + f"x{letter}-" + DIGITS + "-" + some(ALNUM, 24))
        for letter in "bparsecd"
    ),
    ("Slack token", "xa" + "pp-1-A" + DIGITS + "-" + some(HEX, 64)),
    (
        "Slack webhook",
        "https://hooks.slack" + f".com/services/T{UPPER[:8]}/B{UPPER[8:]}/" + some(ALNUM, 24),
    ),
    (
        "Slack webhook",
        "https://hooks.slack" + f".com/triggers/T{UPPER[:8]}/{DIGITS}/" + some(HEX, 32),
    ),
    (
        "Discord webhook",
        "https://discord.com/api/web" + f"hooks/7{DIGITS}77777/" + some(URLSAFE, 68),
    ),
    *(
        ("Stripe key", letters + "_" + mode + "_" + some(ALNUM, 24))
        for letters, mode in STRIPE_USES
    ),
    ("Stripe webhook secret", "wh" + "sec_" + some(ALNUM, 32)),
    ("npm token", "np" + "m_" + some(ALNUM, 36)),
    *(("PyPI token", "py" + f"pi-AgE{letter}" + some(URLSAFE, 150)) for letter in "IN"),
    ("Hugging Face token", "h" + "f_" + some(ALNUM, 34)),
    ("Hugging Face token", "api" + "_org_" + some(ALNUM, 34)),
    ("SendGrid key", "S" + "G." + some(URLSAFE, 22) + "." + some(URLSAFE, 43)),
    ("DigitalOcean token", "do" + "p_v1_" + some(HEX, 64)),
    ("Docker Hub token", "dckr" + "_pat_" + some(URLSAFE, 27)),
    ("Groq key", "gs" + "k_" + some(ALNUM, 52)),
    ("xAI key", "xa" + "i-" + some(ALNUM, 80)),
    ("Shopify token", "shp" + "at_" + some(HEX, 32)),
    ("Linear key", "lin" + "_api_" + some(ALNUM, 40)),
    ("age secret key", "AGE-SEC" + "RET-KEY-1" + UPPER * 3 + UPPER[:10]),
    ("Telegram bot token", "123456789" + ":AA" + some(URLSAFE, 33)),
    ("JSON Web Token", JWT),
    *(("JSON Web Token", before + JWT) for before in ("_", "-", "session-", "id_token_")),
    ("JSON Web Token", f"_{JWT}_"),
    *(("private key", framed(frame)) for frame in PEM_FRAMES),
    (
        "private key",
        framed(" * @").replace(
            "\n", "\n * Proc-Type: 4,ENCRYPTED\n * DEK-Info: AES-128-CBC,0A\n *\n", 1
        ),
    ),
    ("private key", pem("EC PRIVATE KEY").replace("\n", "`n")),
    *(
        ("private key", quote(pem("RSA PRIVATE KEY")))
        for quote in (urllib.parse.quote, urllib.parse.quote_plus)
    ),
    *(("private key", "client-key-data: " + encoded(label)) for label in PEM_LABELS),
    ("private key", "Private-Lines: 14\n+" + some(BASE64, 64) + "\n+" + some(BASE64, 64, 9)),
    *(("private key", pem(label, newline)) for label in PEM_LABELS for newline in NEWLINES),
    ("private key", pem("RSA PRIVATE KEY")[:80]),
    (
        "private key",
        pem("RSA PRIVATE KEY", headers="Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A\n\n"),
    ),
    ("private key", pem("PGP PRIVATE KEY BLOCK", headers="Version: GnuPG v2\nComment: of Ann\n\n")),
    (
        "private key",
        pem("SSH2 ENCRYPTED PRIVATE KEY")
        .replace("-----BEGIN", "---- BEGIN")
        .replace("KEY-----", "KEY ----"),
    ),
    (
        "private key",
        "Private-Lines: 14\n" + some(BASE64, 64) + "\n" + some(BASE64, 64, 9) + "\nPrivate-MAC: 0a",
    ),
    *(
        ("bearer token", f"Authorization: {scheme} " + some(ALNUM, 24))
        for scheme in ("Bearer", "BEARER")
    ),
    *(
        ("authorization header", f"Authorization: {scheme} " + some(HEX, 40))
        for scheme in ("token", "Token", "Key")
    ),
    ("authorization header", '"Authorization": "token ' + some(HEX, 40) + '"'),
    ("bearer token", "curl -H 'authorization: bearer " + some(HEX, 16) + "'"),
    ("basic authorization", "Authorization: Basic " + "dXNlcj" + "pwYXNz"),
    ("basic authorization", "-H 'Proxy-Authorization: Basic " + "YWRtaW46" + "aHVudGVyMg=='"),
    *(
        ("password in a URL", f"{scheme}://{login}@db.internal:5432/app")
        for scheme, login in LOGINS
    ),
    ("password in a URL", "https://app:" + "Tr0ub#" + "4dor@db/app"),
    ("token in a URL", "https://" + some(HEX, 40) + "@git.internal/app.git"),
    *(
        ("password assignment", f"password:{blank}" + "hunt" + "er2")
        for blank in ("\xa0", "\u202f", "\u3000")
    ),
    ("AWS secret access key", "aws_secret_access_key = " + some(BASE64, 40)),
    ("AWS secret access key", '"SecretAccessKey": "' + some(BASE64, 40) + '"'),
    *(("AWS secret access key", form.replace("@", key)) for form in AWS_FORMS for key in AWS_KEYS),
]

PASSWORD_FORMS = r"""
password=@
password = @
PASSWORD=@
DB_PASSWORD=@
export PGPASSWORD='@'
passwd: @
"password": "@"
'password': '@'
{\"password\": \"@\"}
password: '@'
dbPassword: @
password => "@"
password := "@"
password: str = "@"
password: str | None = "@"
self.password = "@"
config["pwd"] = "@"
**Password:** @
password: `@`
the password: @.
mysql --password @ -u root
mysql --db-password=@
Server=x;User Id=app;Pwd=@;
DB_PASS=@
pass=@
PASS='@'
pw=@ user=app
export PW=@
SMTP_PASS: @
passphrase="@"
password                                = @
encryption_password                        : @
config.yml:password: @
password1="@"
PASSWORD_2=@
if password == "@":
https://app/login?password=@&next=/
""".strip().splitlines()

# "|" is cut out: no value stands here in one piece.
PASSWORDS_CUT = """
password=hunt|er2
password: hunt|er2
"password": "hunt|er2"
"password": "sword|fish"
"password": "correct-|horse"
"password": "the password: hunt|er2"
"password": "пароль-|тайна"
DB_PASSWORD=sword|fish
DB_PASSWORD=pass|word1
password=passw|0rd
password=12345|678
password=summer-|2024
password: p@ss|word
pwd=s3cr|3t
""".strip().splitlines()

NAMES = {
    "token assignment": ("token", "MY_API_TOKEN", "authToken", "auth_token", "npm-token"),
    "key assignment": (
        "api_key", "apiKey", "API key", "X-Api-Key", "accessKey", "private_key", "SECRETKEY",
    ),
    "secret assignment": ("secret", "client_secret", "clientSecret", "APP_SECRET"),
}  # fmt: skip
FORMS = ("{}={}", "{}: {}", '{} = "{}"', '"{}": "{}",', "{}='{}'", "?{}={}&page=2")
VALUES = (
    some(ALNUM, 32),
    some(HEX, 32),
    some(URLSAFE, 43),
    "550e8400-" + "e29b-41d4-a716-446655440000",
)

# "|" is cut out here too, and "@" stands for a generated password.
ASSIGNMENTS_CUT = r"""
define('DB_PASSWORD', 'Xk9$mQ|2pLw');
define( "DB_PASSWORD", "Xk9$mQ|2pLw" );
ALTER USER app WITH PASSWORD '@';
create role app with login password '@'
CREATE USER app IDENTIFIED BY '@';
machine host login me password @
machine host\n  login me\n  password @\n
mysql -uroot -p@
mysqldump -h db -u root -p'@' app > dump.sql
mysqladmin -p@ ping
mariadb -uroot -p@ app
os.getenv("DB_PASSWORD", "@")
os.environ.get('MY_SERVICE_DB_PASSWORD', '@')
env('DB_PASSWORD', '@')
ENV DB_PASSWORD @
setx DB_PASSWORD "@"
npm config set registry_password @
DB_PASSWORD=9XE&}1G|2(;U4u$J_
DB_PASSWORD=a;Kd83|kfIw92x
DB_PASSWORD=&Kd83|kfIw92x
export DB_PASSWORD=a,Kd83|kfIw92x
""".strip().splitlines()

ASSIGNED = [
    *(
        (
            "password assignment",
            text.replace("|", "").replace("\\n", "\n").replace("@", "Xk9m" + "Q2pLwR"),
        )
        for text in ASSIGNMENTS_CUT
    ),
    ("key assignment", "SECRET_KEY_BASE=" + some(HEX, 128)),
    ("key assignment", "signing_key: " + some(HEX, 40)),
    ("key assignment", "FERNET_KEY=" + some(URLSAFE, 43) + "="),
    ("key assignment", 'os.getenv("SECRET_KEY", "' + some(HEX, 32) + '")'),
    ("token assignment", "ENV API_TOKEN " + some(ALNUM, 20)),
    *(("password assignment", form.replace("@", "Tr0ub" + "4dor")) for form in PASSWORD_FORMS),
    *(("password assignment", text.replace("|", "")) for text in PASSWORDS_CUT),
    *(
        (kind, f.format(n, v))
        for kind, names in NAMES.items()
        for n in names
        for f in FORMS
        for v in VALUES
    ),
    ("secret assignment", "secret=hunt" + "er2"),
    ("key assignment", "api_key=abc" + "12345"),
    ("key assignment", "Protocol=https;AccountKey=" + some(BASE64, 86) + "==;EndpointSuffix=x"),
    ("token assignment", "deploy --token " + some(ALNUM, 20)),
    ("token assignment", "TOKEN=MTk4NjIy" + some(ALNUM, 14) + ".Cl2FMQ." + some(ALNUM, 27)),
    ("token assignment", "Authorization: " + some(HEX, 32)),
]

REAL = PROVIDED + ASSIGNED

CLEAN = [
    "",
    "the password must have 8 characters",
    "Password: must have 8-64 characters",
    "password: required",
    "password: user-supplied, hashed with argon2id",
    "password: SHA256 of the salt",
    "password:",
    "token: the fencing number of the lease",
    "fencing_token=" + some(HEX, 16),
    f'"NextToken": "{some(HEX, 32)}"',
    "rotate the API key",
    "API key: see docs/setup2.md",
    "private key: ~/.ssh/id_ed25519",
    "max_tokens=4096",
    "tokens: 1200",
    "token=None",
    "token: str | None = None",
    "token: Optional[str] = None",
    "private_key: ed25519.Ed25519PrivateKey",
    "token: 1731727440",
    "token=task_20251116T032400_0a1b2c3d4e",
    "token=20251116T032400Z",
    "token: v1.2.3-beta1",
    "token_count=128000",
    "secret: base64-encoded",
    "secrets: inherit",
    "secret: my-app-tls-2024",
    "arn:aws:secretsmanager:eu-west-1:123456789012:secret:app-a1b2c3",
    "password=os.environ['PW']",
    'password=os.environ["DB_PASSWORD_2"]',
    'password=os.environ[\\"DB_PASSWORD_2\\"]',
    "password = getpass.getpass()",
    "password=get_secret('prod/db1')",
    "password=fetch(name1, 3)",
    "password=password2, user=user",
    "connect(password=self._password2)",
    "api_key=settings.api_key",
    "api_key=process.env.OPENAI_API_KEY2",
    "token=$this->token1234567",
    "token=$TOKEN",
    'token="$TOKEN"',
    "token=${TOKEN_1234567}",
    "token=$(cat /run/secrets/token1)",
    "TOKEN=%MY_TOKEN_1234567%",
    "password=%(password)s",
    "password=:password",
    'password=f"{password!r}"',
    "password={{ vault.db_password1 }}",
    "password: <your password1>",
    "password=[FILTERED]",
    "password: ********",
    "password=hunter...",
    '"password": "Enter your password"',
    '"password": "db_password"',
    '"type": "password", "name": "pw1"',
    "PWD=/work/main2",
    "PWD=/workspace",
    "password=/run/secrets/db_password_2",
    "api_key=https://console.internal/keys/1234567890ab",
    "GITHUB_TOKEN: ${{ secrets.GITHUB_TOKEN }}",
    "https://x-access-token:${{ secrets.GITHUB_TOKEN }}@github.com/a/b",
    "https://x-access-token:${TOKEN}@github.com/a/b",
    "postgres://app:<password>@db/app",
    "postgres://app:{quote}@db/app",
    "postgres://app:***@db/app",
    "postgres://app:changeme@db/app",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer abcdefgh",
    "bearer authentication and RFC6750-style tokens",
    "Authorization: Basic authentication",
    "Authorization: token <token>",
    "Authorization: see docs/authorization2/overview3",
    "bypass=run4ever22, compass=n0rth1west, pass=100, pass=3/8, pass=passed, pw=os.environ['PW_12345']",
    "sentry at https://<key>@host/1, mail://a-long-name-without-any-digit@host",
    "%20task-" + some(ALNUM, 40),
    "Authorization: Basic base64(user:pass)",
    "https://user@host/path",
    "git@github.com:a/b.git",
    "ssh://git@github.com:22/a@b",
    "http://localhost:8080/x@y",
    "http://localhost:8080?mail=x@y",
    "[app](http://localhost:8080),admin@corp",
    "http://localhost:8080\\nadmin@corp",
    "http://[::1]:8080/a@b",
    "-----BEGIN PRIVATE KEY" + "-----",
    "a file with -----BEGIN RSA PRIVATE KEY" + "----- in its first line, sha256 " + some(HEX, 64),
    "-----BEGIN PRIVATE KEY" + "-----\nMIIEvQIBADANBgkqhkiG9w0...\n-----END PRIVATE KEY-----",
    "-----BEGIN PUBLIC KEY-----\n" + some(BASE64, 64),
    "-----BEGIN CERTIFICATE-----\n" + some(BASE64, 64),
    "sha256:" + some(HEX, 64),
    "commit " + some(HEX, 40),
    "550e8400-e29b-41d4-a716-446655440000",
    "data:image/png;base64," + "".join(random.Random(3).choices(BASE64, k=20_000)) + "==",
    "sk-learn",
    "risk-based, disk-image-0123456789012345678901234567",
    "task-" + some(ALNUM, 40),
    "desk_live_" + some(ALNUM, 24),
    "xoxb-style-tokens-and-others",
    "s" + "k-proj-keys-belong-to-one-project",
    "npm_config_registry, hf_hub_download, ghp_ and github_pat_ prefixes",
    "--token 3",
    "pass --password to the command",
    "eyJ is how a JWT header begins",
    "=" * 80,
    "name" + " " * 40 + "= value",
]

CLEAN += [
    "-----BEGIN RSA PRIVATE KEY"
    + "-----\n ...\n-----END RSA PRIVATE KEY-----\nsha512-"
    + some(BASE64, 86),
    "+-----BEGIN PRIVATE KEY"
    + "-----\n+MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEA...\n+-----END PRIVATE KEY-----",
    "begins with -----BEGIN PRIVATE KEY"
    + "-----: see org/bouncycastle/asn1/pkcs/EncryptedPrivateKeyInfoFactory2",
    "begins with -----BEGIN PRIVATE KEY"
    + "-----, then test_a_private_key_of_2048_bits_is_read_from_its_PEM_file",
    *(
        encoded(label)
        for label in ("CERTIFICATE", "PUBLIC KEY", "CERTIFICATE REQUEST", "PGP PUBLIC KEY BLOCK")
    ),
    base64.b64encode(b"-----BEGIN RSA PRIVATE KEY" + b"-----\n").decode(),
    "the secret access key of 40 characters is shown only once",
    "AWS Secret Access Key [None]: ",
    "aws_secret_access_key $AWS_SECRET_ACCESS_KEY",
    "aws configure set aws_secret_access_key /run/secrets/aws_secret_access_key_42",
    "user.signingkey = 3AA5C34371567BD2",
    "signing_key: ed25519",
    "define('DB_PASSWORD', getenv('DB_PASSWORD_2'));",
    "define('TOKEN_LENGTH', 'a1b2c3d4e5');",
    'os.getenv("DB_PASSWORD", "postgres")',
    'os.getenv("DB_PASSWORD", "")',
    'os.getenv("TOKEN", "default")',
    'columns = ["token", "a1b2c3d4e5", "password", "column12ab"]',
    "ALTER USER app WITH PASSWORD '%s'",
    "ALTER USER app WITH PASSWORD '$PASSWORD1234';",
    "identified by 'a name'",
    "login page, password field12ab",
    "machine h login me password $PASSWORD12",
    "mysql -uroot -p app_production2",
    "mysql -u root -p$MYSQL_PASSWORD2 app",
    "docker run -d mysql:8 -p3306:3306 -p127.0.0.1:33060:33060",
    "apt install mysql && mkdir -p/var/lib/app12ab",
    "ENV DB_PASSWORD_FILE /run/secrets/db_password_2",
    "ENV DB_PASSWORD $PASSWORD12",
    "ENV and token abc12345 are words",
    "PASSWORD=$PW1234;export PASSWORD",
    "PWD=abc;HOST=db01.internal;PORT=5432",
    "SECRET=$(openssl rand -hex 32)",
    "SECRET=app-$(hostname -s)-a1b2c3d4",
    "TOKEN=${PREFIX}a1b2c3d4e5",
    "token: Hello@World, secret=Foo*BarBaz, api_key=A%20B",
    "1//0 raises, AQ.Ab8 and GR1348941 begin keys, api_org_name_of_the_organisation",
    "x-eyJ and session_eyJhbGciOiJIUzI1NiJ9 alone",
]

FAKE = [
    "AKIAIOSFODNN7" + "EXAMPLE",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
    "ghp_" + "x" * 36,
    "ghp_" + "0" * 36,
    "gh" + "p_" + "01" * 18,
    "s" + "k-fake" + some(ALNUM, 40),
    "s" + "k-ant-your-key-goes-here-0123456789",
    "s" + "k-proj-...",
    "xoxb-" + "placeholder-0123456789",
    "https://hooks.slack" + ".com/services/T00000000/B00000000/" + "X" * 24,
    "token=dummy" + some(ALNUM, 32),
    "api_key: REDACTED-" + some(HEX, 16),
    "password=example-Passw0rd",
    'API_KEY="yourapi' + 'key1234567"',
    "postgres://app:dummy1@db/app",
    "Authorization: Bearer example0123456789",
]

PLACES = [
    "{}", "{} ", "see {} for it", "({})", "a\n{}\nb", "Wörter 🔑 {}", "\x00{}\x00", "\ud800 {}", "密{}",
    "example fake dummy placeholder {}", "{} example your_ xxxx",
]  # fmt: skip
EXAMPLES = {kind: [text for of, text in REAL if of == kind] for kind, _ in REAL}


@pytest.mark.parametrize("kind", EXAMPLES)
def test_every_secret_is_found_in_text_and_json(kind):
    for at, secret in enumerate(EXAMPLES[kind]):
        example = f"{kind} {at}: {secret!r}"
        for place in PLACES:
            assert scan.find_secret(place.format(secret)) == kind, f"{example} in {place!r}"
        once = json.dumps({"body": "before\n" + secret + "\nafter", "n": 1})
        assert scan.find_secret(once) == kind, f"{example} in JSON"
        found = scan.find_secret_in({"rows": [{"body": secret}]})
        assert found == (".rows[0].body", kind), f"{example} in a value"
        if '"' not in secret:  # quotes escaped twice are beyond us
            assert scan.find_secret(json.dumps(once)) == kind, f"{example} in JSON inside JSON"


@pytest.mark.parametrize("texts", [CLEAN, FAKE], ids=["about secrets", "fake values"])
def test_text_without_real_secret_passes(texts):
    for text in texts:
        assert scan.find_secret(text) is None, text
        assert scan.find_secret("see: " + text + "\n") is None, text
        assert scan.find_secret_in({"rows": [text, {"body": text}]}) is None, text


def rate(form, alphabet, length):
    """Of 500 random values in a form, how many are refused."""
    draw = random.Random(form + alphabet)
    texts = [form.replace("@", "".join(draw.choices(alphabet, k=length))) for _ in range(500)]
    return sum(bool(scan.find_secret(text)) for text in texts) / 500


def test_random_secret_values_are_refused():
    names = ["secret", "API_TOKEN", "api_key", "SECRET_KEY"]
    forms = ["{}=@", "{}: @", '{} = "@"', "{}='@'", '"{}": "@",', "export MY_{}=@"]
    for form in [form.format(name) for name in names for form in forms]:
        # What is left looks like words, a variable or a fake.
        assert rate(form, SIGNED, 16) >= 0.95, form
        assert rate(form, SIGNED, 32) >= 0.99, form
        assert rate(form, DJANGO, 50) >= 0.92, form


def test_django_key_in_env_line_or_settings_is_refused():
    for form in (
        "SECRET_KEY=@",
        "export DJANGO_SECRET_KEY=@",
        "SECRET_KEY = '@'",
        'SECRET_KEY = "@"',
    ):
        assert rate(form, DJANGO, 50) >= 0.97, form


def test_random_passwords_are_refused():
    signs = "".join(sign for sign in string.punctuation if sign not in "'\"`\\")
    for form in ("DB_PASSWORD=@", "export PGPASSWORD=@", "DB_PASSWORD='@'"):
        assert rate(form, ALNUM + signs, 16) >= 0.93, form


def test_word_right_after_password_equals_is_refused():
    for name in ("password", "passwd", "pwd", "PASSWORD"):
        for form in ("{0}=@", "{0}=@ host=db", "?{0}=@&x=1", "DB_{0}=@", "# {0}=@"):
            text = form.format(name).replace("@", "let" + "mein")
            assert scan.find_secret(text) == "password assignment", text


def test_dictionary_word_after_password_in_prose_passes():
    for form in (
        "connect(password=@)", "login(user=a, password=@, b=c)", "password: @", "password = @"
    ):  # fmt: skip
        assert scan.find_secret(form.replace("@", "let" + "mein")) is None, form


def test_placeholder_does_not_hide_secret_after_it():
    for fake in FAKE:
        for kind, secret in REAL[::7]:
            assert scan.find_secret(fake + "\n" + secret) == kind, (fake, secret)
            assert scan.find_secret(f"{fake} {secret} {fake}") == kind, (fake, secret)


def test_placeholder_of_same_kind_does_not_hide_real_secret():
    real = "gh" + "p_" + some(ALNUM, 36)

    assert scan.find_secret(f"ghp_{'x' * 36}, ghp_{'0' * 36}, {real}") == "GitHub token"
    assert (
        scan.find_secret("pwd=changeme pwd=<pw> pwd=" + "Tr0ub" + "4dor") == "password assignment"
    )
    assert (
        scan.find_secret("redis://:***@a redis://:$PW@b redis://:" + "Tr0ub" + "4dor@c")
        == "password in a URL"
    )


AFTER_A_WORD = (
    "\\n", "\\t", "=", "/", "_", "-", "é", "密", '"', "%20", "%3D", "%3d", "\\x0a", "\\x1b[1m",
    "\\u000a", "\\u001b[0m", "\x1b[32m", "\x1b[m", "\x1b[1;31m", "\x1b[0K",
)  # fmt: skip


def test_token_prefix_inside_word_is_ignored():
    for before in AFTER_A_WORD:
        assert scan.find_secret("x" + before + "gh" + "p_" + some(ALNUM, 36)) == "GitHub token", (
            before
        )
    assert scan.find_secret("x" + "gh" + "p_" + some(ALNUM, 36)) is None


def test_secret_error_names_path_inside_value():
    token = "gh" + "p_" + some(ALNUM, 36)

    assert scan.find_secret_in(token) == ("", "GitHub token")
    assert scan.find_secret_in({"env": [1, None, {"token": token}]}) == (
        ".env[2].token",
        "GitHub token",
    )
    assert scan.find_secret_in(("a", ["b", token])) == ("[1][1]", "GitHub token")
    assert scan.find_secret_in({"my key": {"b-c": token}}) == ("['my key'].b-c", "GitHub token")
    assert scan.find_secret_in({3: token}) == ("[3]", "GitHub token")


def test_secret_key_name_is_refused_and_hidden():
    token = "gh" + "p_" + some(ALNUM, 36)

    assert scan.find_secret_in({"env": {"a": 1, token: {"b": token}}}) == (
        ".env.<key>",
        "GitHub token",
    )


BY_KEY = [
    ("password", "Tr0ub" + "4dor", "password assignment"),
    ("DB_PASSWORD", 'it"s' + "me42", "password assignment"),
    ("apiKey", some(HEX, 32), "key assignment"),
    ("Authorization", "Basic " + "dXNlcj" + "pwYXNz", "basic authorization"),
    ("Authorization", "Bearer " + some(ALNUM, 24), "bearer token"),
    ("Authorization", "token " + some(HEX, 40), "authorization header"),
    ("AWS_SECRET_ACCESS_KEY", some(BASE64, 40), "AWS secret access key"),
]


def test_value_under_secret_name_is_refused():
    for key, value, kind in BY_KEY:
        for inside, path in ((value, ""), (["a", value], "[1]"), ({"value": value}, ".value")):
            assert scan.find_secret_in({"env": {key: inside}}) == (f".env.{key}{path}", kind), kind


ORDINARY = [
    {"token": 3}, {"token": "7"}, {"token": None}, {"tokens": 1200}, {"next_token": some(HEX, 32)},
    {"password": True}, {"password": ""}, {"password": "$PW"}, {"password": "changeme"},
    {"password": "required"}, {"secret": {"name": "a1b2c3"}},
    {"token": "task_20251116T032400_0a1b2c3d4e"}, {}, [], (), None, 3, 2.5, b"x",
]  # fmt: skip


def test_value_without_secret_passes():
    for value in ORDINARY:
        assert scan.find_secret_in(value) is None, value
        assert scan.find_secret_in([value, {"a": value}]) is None, value


def test_private_key_split_into_list_is_refused():
    assert scan.find_secret_in({"source": pem("RSA PRIVATE KEY").split("\n")}) == (
        "",
        "private key",
    )


def test_very_deeply_nested_secret_is_found():
    value = "gh" + "p_" + some(ALNUM, 36)
    for _ in range(20_000):
        value = [value]

    assert scan.find_secret_in(value) == ("[0]" * 20_000, "GitHub token")


@given(st.text() | st.text(alphabet="abkpsey01234:/=_-.'\"\\\n\t $<{@\x00\ud800🔑"))
def test_scan_of_any_text_does_not_raise(text):
    opening = pem("PRIVATE KEY")[:27]
    for hit in ("", "password=", "token: '", "gh" + "p_", "eyJ", "x://:", "Bearer ", opening):
        scan.find_secret(hit + text)
        scan.find_secret(text + hit + text)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner),
)


@given(JSON_VALUES)
def test_scan_of_any_value_does_not_raise(value):
    scan.find_secret_in(value)
    scan.find_secret_in({"password": value, "\ud800": value})


@given(JSON_VALUES, st.text(alphabet=ALNUM))
def test_secret_is_found_and_never_returned(value, key):
    token = "gh" + "p_" + some(ALNUM, 36)
    path, kind = scan.find_secret_in({"a": value, "b" + key: [value, {"c": token}]})

    assert isinstance(path, str) and isinstance(kind, str)
    assert token not in path + kind


def test_clean_text_is_scanned_without_imports():
    code = """
import os, sys  # every Python that runs site has os
before = set(sys.modules)
from kaizen_components.records.secrets import scan
text = "A task-1 of the desk-top_2: see http://localhost:8080/x, key = value -- 3 tokens, a secret, ghp, eyeJ"
assert scan.find_secret(text) is None
assert scan.find_secret_in({"title": text, "rows": [text, 1, None]}) is None
new = {name for name in sys.modules if name not in before and not name.startswith("kaizen_components")}
assert not new and "re" not in sys.modules, new
"""
    subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=ROOT, check=True
    )  # -S: nothing preloaded by site


HOSTILE = [
    "password=", "password: a1 ", "--password ", "token:a_", 'secret="', "-----BEGIN ",
    pem("PRIVATE KEY")[:27], "Bearer ", "Authorization: Basic ", "Authorization: token ",
    "Private-Lines: 1\n", "x://aa1", "pass=", "%20sk-", "[1;msk-", "LS0tLS1CRUdJTi",
    pem("PRIVATE KEY")[:28] + "a1B", pem("PRIVATE KEY")[:28] + "aB" * 200, "secret_access_key ",
    "getenv('token', ", "ENV token ", "PASSWORD '", "login a password ", "login ", "mysql -p", "mysql ",
    "TOKEN=a;", "TOKEN=$(", "SECRET=a(", "1//0", "-eyJaaaaaaaa.", "eyJaaaaaaaa.aaaaaaaa-",
    "_eyJaaaaaaaaa", "token: " + "a1$" * 30, "sk-", "sk-proj-", "-eyJ", "eyJ.", "eyJa", "SG.", "AKIA",
    " ghp_" + "x" * 36, "1:AA", "9", "a", "A", " ", "\\n", "=", ":", "_", "-", "://", "x://a:a",
    "x://:@", "🔑=", "<", "{{",
]  # fmt: skip


def cpu_seconds(function, argument):
    """Processor time: other work on the machine does not count."""
    start = time.process_time()
    function(argument)
    return time.process_time() - start


def is_done_within(times, small, function, argument):
    """Whether one of three tries takes at most so many times the best of three on `small`.

    0.2 s more, since some clocks tick in 16 ms.
    """
    bound_s = times * min(cpu_seconds(scan.find_secret, small) for _ in range(3)) + 0.2
    return any(cpu_seconds(function, argument) <= bound_s for _ in range(3))


def test_hostile_text_is_scanned_in_linear_time():
    slow = []
    for part in HOSTILE:
        large = (part * (1_000_000 // len(part) + 1))[:1_000_000]
        if not is_done_within(30, large[:100_000], scan.find_secret, large):  # quadratic is 100x
            slow.append(part)

    assert slow == []


def test_many_short_strings_are_scanned_fast():
    rows = [{"title": f"row {at}", "state": "done"} for at in range(20_000)]

    assert is_done_within(100, json.dumps(rows), scan.find_secret_in, rows)


def test_secrets_page_names_every_kind():
    page = (ROOT / "docs" / "secrets.md").read_text(encoding="utf-8")
    kinds = {row[0] for table in (scan.PREFIXED, scan.SHAPES, scan.NAMED) for row in table}

    assert [kind for kind in sorted(kinds) if kind not in page] == []
    assert [
        m
        for m in (*secret_value.FAKE_MARKERS, *secret_value.FAKE_MARKERS_EXACT)
        if m.lower() not in page
    ] == []
    assert scan.find_secret(page) is None
    assert kinds == {kind for kind, _ in REAL}
