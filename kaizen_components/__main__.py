from .args import entry

entry()
