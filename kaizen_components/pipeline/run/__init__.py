"""A run: state machine, engine, recorder, budget, drivers, delivery, replay."""
