"""Grades on the nodes of a Ray cluster: the driver reads submissions and keeps records, the nodes only grade."""
