"""Grades on the nodes of a Ray cluster: the driver reads answers and keeps records, the nodes only grade."""
