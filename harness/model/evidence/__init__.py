"""Evidence of criteria, and findings and repairs derived from it."""
