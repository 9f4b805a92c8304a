"""Commands that grade."""
