"""Runs one command behind its fence: a submission's own tests, or a compiler.

Arguments: a plan as JSON, and the command's words. After the plan's `fence` comes a handshake of one byte each way on
the socket `started`, then the command, which reports on descriptor 3. `keep` is 0, or the parent's process id where no
namespace ends the command's remains: this process then stays outside the fence, adopts orphans, and kills all when the
command ends, its parent dies, or SIGTERM comes.
"""

import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import confine
import descendants

REPORT = 3


def main(plan: dict[str, Any], command: list[str]) -> None:
    """Run the command; never returns."""
    if plan["keep"]:
        keep(plan, command)
    become(plan, command)


def become(plan: dict[str, Any], command: list[str]) -> None:
    """Turn into the command; never returns."""
    report, started = plan["report"], plan["started"]
    if report != REPORT:
        # keep the socket if it occupies that number
        started = os.dup(started) if started == REPORT else started
        os.dup2(report, REPORT)
    os.set_inheritable(REPORT, True)
    confine.enclose(plan["fence"])
    os.write(started, b"!")
    if not os.read(started, 1):  # the grader is gone
        os._exit(1)
    os.closerange(REPORT + 1, 1 << 16)
    os.execv(command[0], command)


def keep(plan: dict[str, Any], command: list[str]) -> None:
    """Run the command in a child, and kill its remains; never returns."""
    given = (plan["report"], plan["started"])
    status = descendants.keep(lambda: become(plan, command), plan["keep"], given)
    code = 1 if status is None else os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
