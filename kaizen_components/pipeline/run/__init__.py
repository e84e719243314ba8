"""Runs: the state machine, the engine, the recorder, drivers, delivery and replay."""
