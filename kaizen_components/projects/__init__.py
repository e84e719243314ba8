"""Other repositories: adoption, agent hosts, skills, publishing."""
