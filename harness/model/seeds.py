"""Seeds that derive from one another."""

import zlib

SEEDS = 2**63
"""Seeds of criteria are less than this."""


def seed_of(run_seed: int, criterion: str) -> int:
    """The seed of one criterion's inputs."""
    return (run_seed ^ zlib.crc32(criterion.encode()) * 0x9E3779B97F4A7C15) % SEEDS
