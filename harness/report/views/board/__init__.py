"""Views of the board and its parts."""
