"""Requests to a model for attempts at challenges."""
