"""Views of the board: its rows, its winners, its rounds, and what was not asked."""
