"""The tests; a package, so that those in need of it can import its words."""
