"""Python source: its syntax, outline, functions, integers and hints."""
