"""The HTTP service: submissions in, records out, across restarts of the server."""
