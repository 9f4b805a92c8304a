"""Pages as documents, from the views."""
