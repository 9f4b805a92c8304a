"""Evidence of criteria from probes, and the causes that several failures share."""
