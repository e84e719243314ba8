"""Family S: what was read, in which version, as its users meet it."""

import hashlib
import json
import os

import pytest

from kaizen_components import limits
from kaizen_components.errors import Conflict, KaizenError, NotFound

URL = "https://www.rfc-editor.org/rfc/rfc8785"


@pytest.fixture
def lock(kaizen):
    """`lock("RFC 8785", …)`: the id of a new source."""

    def add(title="RFC 8785", tier="canonical", **more):
        place = {} if "path" in more else {"url": URL}
        return kaizen("S1", title=title, tier=tier, **place, **more)["id"]

    return add


def failure(do, *args, **given):
    with pytest.raises(KaizenError) as raised:
        do(*args, **given)
    return raised.value


def record(kaizen, id):
    return kaizen("S3", id=id)["record"]


def found(kaizen, **filters):
    return [row["id"] for row in kaizen("S2", **filters)["records"]]


# S1


def test_source_stores_every_option(kaizen):
    task = kaizen("W1", title="T", summary="s")["id"]
    given = {
        "title": "RFC 8785", "tier": "canonical", "url": URL, "summary": "Canonical JSON.", "body": "Sorted keys.",
        "version": "2020-06", "commit_hash": "0123ABC", "content_hash": "AB" * 32, "license": "IETF Trust",
        "scope": "hashing",
    }  # fmt: skip
    added = kaizen("S1", **given, retrieved_at="2026-01-02T03:04:05+00:00", task_id=task)
    kept = kaizen("S3", id=added["id"])

    expected = {**given, "commit_hash": "0123abc", "content_hash": "ab" * 32}
    assert {name: kept["record"][name] for name in given} == expected
    assert (kept["record"]["retrieved_at"], kept["record"]["task_id"]) == (
        "2026-01-02T03:04:05.000Z",
        task,
    )
    assert kept["log"]["content_hash"] == added["hash"] and kept["log"]["command"] == "S1"


def test_source_without_date_has_current_retrieval_time(kaizen, lock):
    kept = record(kaizen, lock())

    assert kept["retrieved_at"] == kept["at"]


@pytest.mark.parametrize("tier", limits.SOURCE_TIER)
def test_every_tier_can_be_recorded_and_found(kaizen, lock, tier):
    id = lock(tier=tier)
    others = [lock(tier=other) for other in limits.SOURCE_TIER if other != tier]

    assert found(kaizen, tier=tier) == [id] and others


def test_source_without_url_or_path_is_usage_error(cli, root):
    answer = cli("S1", "--title", "t", "--tier", "primary", "--json")

    assert (answer.exit_code, answer.error["code"]) == (2, "missing_option")
    assert "--url" in answer.error["what"] and "--path" in answer.error["what"]
    assert not (root / "AI").exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org",
        "HTTPS://example.org:8443/a?b=c@d#e",
        "https://[2001:db8::1]:443/x",
        "git+https://example.org/repo.git@v1.2",
        "https://example.org/ünïcode/日本",
        "doi:10.17487/RFC8785",
        "urn:isbn:9780131103627",
    ],
)
def test_valid_source_url_is_stored_unchanged(kaizen, url):
    id = kaizen("S1", title="t", tier="primary", url=url)["id"]

    assert record(kaizen, id)["url"] == url


@pytest.mark.parametrize(
    "url",
    [
        "example.org/page", "file:///etc/passwd", "ftp://example.org", "javascript:alert(1)", "https:", "https://",
        "https:///path", "https:example.org", "http://:80/x", "https://[::1", "https://example.org:port/",
        "https://exa mple.org", "https://example.org/\x1b[31m", "https://example.org\\@evil.example", "doi:",
        "urn:isbn",
        "doi:10.17487", "https://example.org/<script>", "https://./x", "x" * 5000, "", " ", "a\nb", 7,
    ],
)  # fmt: skip
def test_invalid_source_url_is_usage_error(kaizen, url):
    assert failure(kaizen, "S1", title="t", tier="primary", url=url).exit_code == 2


@pytest.mark.parametrize("user", ["me@", "token-0123@", "me:pass" + "word1@", "me:@", "@"])
def test_error_repeats_no_credentials_of_source_url(kaizen, user):
    error = failure(kaizen, "S1", title="t", tier="primary", url=f"https://{user}example.org/")

    assert (error.exit_code, error.code) == (1, "secret_refused")
    assert user not in f"{error.what} {error.why} {error.next}" or user == "@"


@pytest.mark.parametrize(
    "given",
    [
        {"commit_hash": "abc"}, {"commit_hash": "g" * 40}, {"commit_hash": "a" * 65}, {"commit_hash": "main-branch"},
        {"content_hash": "ab"}, {"content_hash": "z" * 64}, {"content_hash": "a" * 65}, {"content_hash": "a" * 63},
        {"retrieved_at": "yesterday"}, {"retrieved_at": "2026-02-30"}, {"retrieved_at": "9999-01-01"},
        {"retrieved_at": ""}, {"retrieved_at": "NaN"}, {"tier": "gospel"}, {"title": " "}, {"title": "t" * 201},
        {"body": "b" * 1_000_001}, {"summary": "a\0b"}, {"license": "l" * 201}, {"version": "\ud800"},
    ],
)  # fmt: skip
def test_source_with_bad_value_is_not_recorded(kaizen, given):
    kaizen("K1")
    error = failure(kaizen, "S1", **{"title": "t", "tier": "primary", "url": URL, **given})

    assert error.exit_code == 2
    assert found(kaizen) == []


def test_source_time_in_future_is_refused_with_reason(kaizen):
    error = failure(kaizen, "S1", title="t", tier="primary", url=URL, retrieved_at="2999-01-01")

    assert "future" in error.what and error.exit_code == 2
    assert kaizen("S1", title="t", tier="primary", url=URL, retrieved_at="0m")["id"]


@pytest.mark.parametrize("length", [7, 40, 64])
def test_source_commit_of_7_to_64_digits_is_accepted(kaizen, lock, length):
    assert record(kaizen, lock(commit_hash="F" * length))["commit_hash"] == "f" * length


def test_local_copy_of_source_is_stored_with_hash(kaizen, lock, root):
    (root / "docs").mkdir()
    (root / "docs" / "rfc.txt").write_text("sorted keys")
    sha256 = hashlib.sha256(b"sorted keys").hexdigest()
    for path in ("docs/rfc.txt", str(root / "docs" / "rfc.txt"), "docs/../docs/rfc.txt"):
        kept = record(kaizen, lock(path=path))
        assert (kept["path"], kept["content_hash"], "url" in kept) == (
            "docs/rfc.txt",
            sha256,
            False,
        )

    assert (
        record(kaizen, lock(path="docs/rfc.txt", content_hash=sha256.upper()))["content_hash"]
        == sha256
    )
    error = failure(lock, path="docs/rfc.txt", content_hash="0" * 64)
    assert (error.exit_code, error.code) == (4, "other_content")
    assert "000000000000" in error.why and sha256[:12] in error.why


def test_source_copy_that_is_no_project_file_is_refused(kaizen, lock, root, tmp_path):
    (tmp_path / "outside.txt").write_text("x")
    (root / "leak").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(root / "pipe")

    assert {
        failure(lock, path=path).code for path in ("../outside.txt", "leak", "/etc/hostname")
    } == {"outside_project"}
    assert failure(lock, path="nope.txt").exit_code == 3
    assert failure(lock, path="pipe").code == "special_file"
    assert failure(lock, path=os.fsdecode(b"\xff")).code == "path_not_utf8"


# Supersession


def test_source_supersedes_only_current_sources(kaizen, lock):
    first = lock(version="1")
    second = lock(version="2", supersedes=first)
    taken = failure(lock, version="2b", supersedes=first)

    assert record(kaizen, first)["superseded_by"] == second
    assert (type(taken), taken.exit_code) == (Conflict, 4) and second in taken.why
    with pytest.raises(NotFound):
        lock(supersedes="src_nope")
    assert {row["id"]: row["superseded_by"] for row in kaizen("S2")["records"]} == {
        first: second,
        second: None,
    }


def test_source_shows_all_its_versions(kaizen, lock):
    line = [lock(version="1")]
    for version in "2345":
        line.append(lock(version=version, supersedes=line[-1]))
    lock(version="unrelated")
    middle = kaizen("S3", id=line[2])

    assert [row["id"] for row in middle["older"]] == [line[1], line[0]]
    assert [row["version"] for row in middle["newer"]] == ["4", "5"]
    assert kaizen("S3", id=line[0])["older"] == kaizen("S3", id=line[4])["newer"] == []


def test_test_source_does_not_supersede_real_one(kaizen, lock):
    real = lock()
    lock(supersedes=real, test=True)
    assert "superseded_by" not in record(kaizen, real) and kaizen("S3", id=real)["newer"] == []
    second = lock(supersedes=real)

    assert record(kaizen, real)["superseded_by"] == second
    assert kaizen("K7")["removed"] == 1
    assert record(kaizen, real)["superseded_by"] == second
    assert kaizen("K8")["verified"] is True


def test_source_linked_to_test_record_is_test_record(kaizen, lock):
    tried = lock(test=True)
    task = kaizen("W1", title="T", summary="s", test=True)["id"]
    lock(supersedes=tried)
    lock(task_id=task)

    assert kaizen("K7")["removed"] == 4
    assert found(kaizen) == found(kaizen, query="rfc") == []
    assert set(kaizen("K1", integrity=True)["integrity"].values()) == {"ok"}


def test_same_op_id_records_source_once(kaizen):
    first, again = (
        kaizen("S1", title="t", tier="primary", url=URL, op_id="once") for _ in range(2)
    )

    assert again == {**first, "replayed": True} and len(found(kaizen)) == 1


# S2


def test_source_list_finds_by_words_and_filters(kaizen, lock, root):
    (root / "guide.txt").write_text("x")
    task = kaizen("W1", title="T", summary="s")["id"]
    rfc = lock("RFC 8785", summary="Canonical JSON", task_id=task)
    guide = lock(
        "A guide",
        tier="secondary",
        path="guide.txt",
        scope="docs",
        license="Apache-2.0",
        body="canonical",
    )

    assert found(kaizen) == [guide, rfc]
    assert found(kaizen, query="canonical") == [rfc, guide], "a summary counts more than a body"
    assert (
        found(kaizen, query="canonical", scope="docs") == found(kaizen, query="apache") == [guide]
    )
    assert (
        found(kaizen, tier="canonical")
        == found(kaizen, task_id=task)
        == found(kaizen, query="editor.org")
        == [rfc]
    )
    assert found(kaizen, since="1h") == [guide, rfc] and found(kaizen, until="1h") == []
    assert kaizen("S2", limit=1)["more"] is True
    assert found(kaizen, query='" OR 1=1; --%') == []


@pytest.mark.parametrize("code, given", [("S2", {}), ("S3", {"id": "@last"}), ("S4", {})])
def test_reading_without_database_is_not_found(kaizen, root, code, given):
    assert failure(kaizen, code, **given).code == "no_database"
    assert os.listdir(root) == []


# S4


HOSTILE = "A *bold* _title_ `code` [link](x) <b> # | \\ & ünïcode 日本"


@pytest.fixture
def several(kaizen, lock):
    first = lock(
        HOSTILE, version="1", summary="Line one\r\nline two", body="# Heading\n\n```\nnot closed\n"
    )
    return [
        first,
        lock("Second", tier="secondary", supersedes=first, scope="docs"),
        lock("Tried", test=True),
    ]


@pytest.mark.parametrize("format", ["json", "md"])
def test_source_export_is_reproducible(kaizen, several, root, format):
    first, second = (kaizen("S4", format=format) for _ in range(2))
    one, two = ((root / answer["path"]).read_bytes() for answer in (first, second))

    assert first["path"] != second["path"] and first["path"].startswith("AI/db/exports/sources-")
    assert one == two and first["sha256"] == second["sha256"] == hashlib.sha256(one).hexdigest()
    assert first["count"] == 2
    assert one.endswith(b"\n") and b"\r" not in one
    assert "Tried" not in one.decode() and "日本" in one.decode()


def test_export_as_json_has_every_value(kaizen, several, root):
    sources = json.loads((root / kaizen("S4")["path"]).read_bytes())["sources"]

    assert [source["id"] for source in sources] == several[:2]
    assert (sources[0]["title"], sources[0]["summary"]) == (HOSTILE, "Line one\r\nline two")
    assert sources[0]["superseded_by"] == several[1] and sources[1]["supersedes_id"] == several[0]
    assert "seq" not in sources[0]


def test_markdown_export_shows_text_literally(kaizen, several, root):
    text = (root / kaizen("S4", format="md")["path"]).read_text()

    assert (
        text.count("\n## ") == 2
        and f"- URL: <{URL}>" in text
        and f"- superseded by: `{several[1]}`" in text
    )
    assert "\\*bold\\*" in text and "\\<b\\>" in text
    assert (
        "> Line one\n> line two\n" in text
        and "\n# Heading" not in text
        and "> # Heading\n>\n> ```" in text
    )


def test_export_of_scope_has_only_its_sources(kaizen, several, root):
    answer = kaizen("S4", scope="docs")

    assert [
        source["id"] for source in json.loads((root / answer["path"]).read_bytes())["sources"]
    ] == [several[1]]
    assert kaizen("S4", scope="nothing")["count"] == 0


def test_export_never_overwrites_file(kaizen, several, root, lock):
    out = root / "new" / "sources.json"
    first = kaizen("S4", out=str(out))
    before = out.stat().st_mtime_ns
    again = kaizen("S4", out=str(out))
    lock("Third")
    error = failure(kaizen, "S4", out=str(out))

    assert (first["path"], first["unchanged"], again["unchanged"]) == (
        "new/sources.json",
        False,
        True,
    )
    assert first["sha256"] == again["sha256"]
    assert (error.exit_code, error.code) == (4, "file_exists")
    assert out.stat().st_mtime_ns == before
    assert failure(kaizen, "S4", out=str(root)).exit_code == 4


def test_export_that_cannot_be_written_is_unavailable(kaizen, several):
    assert failure(kaizen, "S4", out="/proc/nowhere/sources.json").exit_code == 5


def test_source_text_output_shows_older_and_newer_versions(cli):
    for version in ("1", "2"):
        more = ("--supersedes", "@last") if version == "2" else ()
        cli(
            "S1", "--title", "RFC", "--tier", "canonical", "--url", URL, "--version", version, *more
        )
    shown, listed = cli("S3", "--id", "@last").out, cli("S2").out

    assert "older" in shown and "none: newer" in shown and "supersedes id" in shown
    assert "superseded by" in listed and URL in listed
