"""The HTTP service: submissions in, records out; accepted submissions survive a restart of the server."""
