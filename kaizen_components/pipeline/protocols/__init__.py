"""Protocol files: loading, checking, proving their gates."""
