"""Marks by people and models, and defects that published reviews named."""
