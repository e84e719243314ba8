"""Tasks, leases, links, packets, policies."""
