"""A model is asked for attempts at challenges, and its replies become submissions."""
