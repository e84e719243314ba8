"""Check what must hold for every accepted codemode run."""

from .run_records import PASSED, Records


class CodemodeRecords(Records):
    def check_accepted(self, run, protocol, events):
        """Check that every gate has a witnessed proof, and the last one saw the newest cases."""
        newest = {}
        for event in events:
            if event["event"] == "judged":
                newest[event["step"]] = event
        assert {*protocol.steps} - {*newest} <= {"spec-refinement"}
        assert {event["reason"] for event in newest.values()} == {"pass"}
        for name, step in protocol.steps.items():
            if step.kind == "gate":
                assert self.db.value(PASSED, (newest[name]["payload"]["proof_id"], run["id"])), name
        specs = [
            event["n"]
            for event in events
            if event["event"] == "answered"
            and protocol.steps[event["step"]].answer in ("cases", "refined")
        ]
        assert newest["spec-validation"]["n"] > max(specs)
