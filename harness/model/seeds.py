"""Seeds of criteria, derived from the run's seed."""

import zlib

SEEDS = 2**63
"""Exclusive upper bound of criterion seeds."""


def seed_of(run_seed: int, criterion: str) -> int:
    """Return the seed of one criterion's inputs."""
    return (run_seed ^ zlib.crc32(criterion.encode()) * 0x9E3779B97F4A7C15) % SEEDS
