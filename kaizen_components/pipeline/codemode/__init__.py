"""The codemode protocol: explore a function, specify it, validate the specification."""
