"""Weekly, monthly and yearly reports (R8 to R10)."""
