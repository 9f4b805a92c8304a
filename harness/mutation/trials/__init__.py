"""Trials of many mutants and right answers, in several processes and resumable."""
