"""Views of answers, challenges and comparisons: what reports tell, in words, before any format."""
