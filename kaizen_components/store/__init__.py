"""libSQL: connection, write gate, migrations, backups."""
