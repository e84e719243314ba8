"""What must hold of every accepted run of codemode, asked of its records."""

from .witnessed import PASSED, Records


class CodemodeRecords(Records):
    def check_accepted(self, run, protocol, events):
        """Every gate has its witnessed proof, and the last of them saw the newest cases."""
        newest = {}
        for event in events:
            if event["event"] == "judged":
                newest[event["step"]] = event
        assert {*protocol.steps} - {*newest} <= {"spec-refinement"}
        assert {event["reason"] for event in newest.values()} == {"pass"}
        for name, step in protocol.steps.items():
            if step.kind == "gate":
                assert self.db.value(PASSED, (newest[name]["payload"]["proof_id"], run["id"])), name
        written = [
            name for name, step in protocol.steps.items() if step.answer in ("cases", "refined")
        ]
        cases = [
            event["n"]
            for event in events
            if event["event"] == "answered" and event["step"] in written
        ]
        assert newest["spec-validation"]["n"] > max(cases)
