"""The HTTP service: answers come in, records go out, and what was accepted is graded whatever happens to the server."""
