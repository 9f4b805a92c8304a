"""The command line: commands parse, call one function and print. They import heavy modules on use."""
