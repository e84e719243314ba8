"""The TEST gate: whether a candidate does what was asked, shown by tests that mean something."""
