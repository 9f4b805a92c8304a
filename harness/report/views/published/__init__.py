"""Published marks, letters and defects beside measured ones."""
