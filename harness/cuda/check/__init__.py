"""The real compiler's verdict on a submission."""
