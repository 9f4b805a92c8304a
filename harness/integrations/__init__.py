"""Adapters to other evaluation frameworks: challenges become tasks, grades become scores."""
