"""Pages about runs of the pipeline and about traces (P2, P3, P6, P8, P11, T3)."""
