"""The hashed, append-only log: transactions, Merkle tree, anchors, verification."""
