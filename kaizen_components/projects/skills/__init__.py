"""List, validate and link the skills of agent hosts (SK1 to SK3)."""
