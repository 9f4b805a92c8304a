"""The Python code of a challenge: probes, mutants and variants, run as answers in this process."""
