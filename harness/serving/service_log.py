"""The server's log: one JSON object per line on standard error, free of submissions and tokens."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Formatter of a record's time, level, event and facts."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line of JSON."""
        facts = getattr(record, "facts", {})
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {"time": when, "level": record.levelname.lower(), "event": record.getMessage(), **facts}
        if record.exc_info and record.exc_info[0]:
            # an exception's message may quote what a client sent; its type and its frames do not
            frames = traceback.extract_tb(record.exc_info[2])
            entry["error"] = record.exc_info[0].__name__
            entry["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-5:]]
        return json.dumps(entry)


def set_up() -> None:
    """Log the service and uvicorn to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("harness.serving", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(level)
