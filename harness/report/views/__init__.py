"""Views of answers, challenges and comparisons, in words before any format."""
