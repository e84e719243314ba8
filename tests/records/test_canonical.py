"""Canonical JSON, hashes and the Merkle tree are exactly what docs/format.md says."""

import hashlib
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kaizen_components.records import ids
from kaizen_components.records.kinds import KINDS
from kaizen_components.records.ledger.canonical import (
    encode_canonical,
    encode_compact,
    format_number,
)
from kaizen_components.records.ledger.hashing import (
    EMPTY_ROOT,
    Frontier,
    hash_leaf,
    hash_node,
    hash_text,
)

from ..conftest import ROOT

texts = st.text(st.characters(exclude_categories=("Cs",)))
values = st.recursive(
    st.one_of(st.booleans(), st.integers(), texts),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(texts, inner)),
    max_leaves=20,
)


@given(values)
def test_canonical_json_parses_to_same_value(value):
    assert json.loads(encode_canonical(value)) == value
    assert json.loads(encode_compact(value)) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_formatted_number_parses_to_same_number(value):
    assert float(format_number(value)) == value


@given(st.dictionaries(texts, st.one_of(st.none(), st.integers(), texts)))
def test_canonical_json_has_sorted_keys_and_no_spaces(value):
    expected = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    assert encode_canonical(value) == expected


@pytest.mark.parametrize(
    "value, printed",
    [
        (1e21, "1e+21"), (1e-7, "1e-7"), (0.1, "0.1"), (123456789.5, "123456789.5"), (1.5e300, "1.5e+300"),
        (5e-324, "5e-324"), (1e20, "100000000000000000000"), (0.000001, "0.000001"), (1.1e-6, "0.0000011"),
        (-0.0, "0"), (2.0**53, "9007199254740992"), (12345678901234567890.0, "12345678901234567000"), (-2.5, "-2.5"),
        (1 / 3, "0.3333333333333333"), (100.0, "100"), (-1e-9, "-1e-9"),
    ],
)  # fmt: skip
def test_numbers_are_printed_as_ecmascript_prints_them(value, printed):
    assert format_number(value) == printed


def test_formatting_nan_raises_assertion_error():
    with pytest.raises(AssertionError):
        format_number(float("nan"))


def merkle_by_definition(leaves):
    """RFC 6962, section 2.1, word by word."""
    if len(leaves) == 0:
        return hashlib.sha256(b"").hexdigest()
    if len(leaves) == 1:
        return leaves[0]
    split = 1
    while split * 2 < len(leaves):
        split *= 2
    return hash_node(merkle_by_definition(leaves[:split]), merkle_by_definition(leaves[split:]))


def test_frontier_root_equals_rfc_6962_root():
    frontier, leaves = Frontier(), []
    assert frontier.root() == EMPTY_ROOT == merkle_by_definition([])
    for index in range(70):
        leaves.append(hash_leaf(f"entry {index}"))
        frontier.append(leaves[-1])
        assert frontier.root() == merkle_by_definition(leaves)
        assert len(frontier.peaks) == bin(frontier.size).count("1")


def test_hashes_are_plain_sha256():
    assert hash_text("ü") == hashlib.sha256("ü".encode()).hexdigest()
    assert hash_leaf("x") == hashlib.sha256(b"\0x").hexdigest()
    assert (
        hash_node("00" * 32, "ff" * 32)
        == hashlib.sha256(b"\1" + b"\0" * 32 + b"\xff" * 32).hexdigest()
    )


def test_example_record_in_docs_has_its_printed_hash():
    text = (ROOT / "docs" / "format.md").read_text()
    record = re.search(r"^    (\{.*\})$", text, re.M).group(1)
    expected = re.search(r"content hash `([0-9a-f]{64})`", text).group(1)

    assert encode_canonical(json.loads(record)) == record
    assert hash_text(record) == expected


@pytest.mark.parametrize("prefix", [kind.prefix for kind in KINDS.values()])
def test_id_is_prefix_stamp_and_ten_hex_digits(prefix):
    assert re.fullmatch(
        prefix + r"_\d{8}T\d{9}Z_[0-9a-f]{10}",
        ids.make_id(prefix, ids.format_time(ids.now_ms()), ids.random_number()),
    )


def test_ids_sort_by_time():
    early, late = ids.format_time(1_794_799_028_999), ids.format_time(1_794_799_029_000)

    assert early == "2026-11-16T03:17:08.999Z"
    assert ids.make_id("task", early, 9) < ids.make_id("task", late, 1)


def test_ids_of_one_transaction_never_collide(kaizen, root):
    line = '{"command": "W1", "args": {"title": "t", "summary": "s"}}'
    (root / "lines").write_text("\n".join([line] * 300))
    made = [row["id"] for row in kaizen("K5", file=str(root / "lines"))["records"]]

    assert len(set(made)) == 300
    assert made[:2] == sorted(made[:2]) or made[0].endswith("ff")
