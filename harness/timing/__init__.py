"""Speed contests between submissions and references, and the noise in their times."""
