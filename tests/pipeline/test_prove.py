"""Each step and gate of the shipped protocols proves itself on good and bad fixtures."""

from kaizen_components.pipeline.codemode import session
from kaizen_components.pipeline.protocol import list_shipped, load_shipped
from kaizen_components.pipeline.protocols import prove


def test_fixture_with_unexpected_verdict_fails_its_proof(monkeypatch, tmp_path):
    (tmp_path / "factory.yml").write_text(
        "plan:\n  - {name: wrong, answer: prose, expects: pass}\n"
    )
    monkeypatch.setattr(prove, "FOLDER", str(tmp_path))

    (row,) = prove.prove_answers("factory")
    assert (row["ok"], row["expected"], row["got"]) == (False, "pass", "malformed")


def test_doctor_proves_every_shipped_step(kaizen, monkeypatch):
    monkeypatch.setattr(session, "ITEM_S", 1.5)  # one fixture never ends, and runs twice
    found = kaizen("K11", gates=True)

    rows = [row for row in found["checks"] if row["check"].startswith("gate ")]
    assert [row["check"] for row in rows] == [
        f"gate {name} {step}" for name in list_shipped() for step in load_shipped(name).steps
    ]
    assert [row for row in rows if row["state"] != "ok"] == []
    assert all("good" in row["says"] and "bad" in row["says"] for row in rows)
