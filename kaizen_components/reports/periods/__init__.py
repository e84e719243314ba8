"""Weekly, monthly and yearly reports (R8 to R10), and numbers summed over time."""
