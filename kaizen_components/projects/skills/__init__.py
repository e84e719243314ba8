"""Skills of agent hosts: inventory, validation, links (SK1 to SK3)."""
