"""One thin module per noun: check, call down, return a dict."""
