"""The command line: parses, calls one function, prints. Heavy modules are imported inside the commands."""
