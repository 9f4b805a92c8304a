"""Executors, which run many grades: processes of this machine, or the nodes of a Ray cluster."""
