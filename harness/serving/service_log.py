"""The server's log: a JSON object a line on standard error, without a word of any answer or token."""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime


class JsonLines(logging.Formatter):
    """Formats an event: when, how grave, what, and its facts."""

    def format(self, record: logging.LogRecord) -> str:
        """As `logging.Formatter.format`."""
        facts = getattr(record, "facts", {})
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        entry = {"time": when, "level": record.levelname.lower(), "event": record.getMessage(), **facts}
        if record.exc_info and record.exc_info[0]:
            # the message of an exception may repeat what a client sent; its kind and places do not
            frames = traceback.extract_tb(record.exc_info[2])
            entry["error"] = record.exc_info[0].__name__
            entry["at"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames[-5:]]
        return json.dumps(entry)


def set_up() -> None:
    """Send the events of the service and of uvicorn to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name, level in (("harness.serving", logging.INFO), ("uvicorn", logging.WARNING)):
        log = logging.getLogger(name)
        log.handlers, log.propagate = [handler], False
        log.setLevel(level)
