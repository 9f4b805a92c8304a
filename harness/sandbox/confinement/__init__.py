"""What encloses a process: namespaces, Landlock, control groups, its user, its files."""
