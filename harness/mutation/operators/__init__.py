"""Mutation operators: the changes that plant a fault in source text."""
