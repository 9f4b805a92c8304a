"""Starts one command behind its fence: an answer's own tests, or a compiler.

Called with a plan as JSON and the words of the command. It applies the plan's `fence`, writes a byte to the socket
`started`, waits for one in return, and only then runs the command; its report goes to descriptor 3. Where no namespace
ends what a command leaves behind (`keep`, the parent's process id), this process stays outside the fence, adopts every
orphan, and kills them all when the command ends, its parent dies, or it is asked to.
"""

import json
import os
import sys
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import descendants
import fence

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
        # whatever is open under that number is kept under another
        started = os.dup(started) if started == REPORT else started
        os.dup2(report, REPORT)
    os.set_inheritable(REPORT, True)
    fence.enclose(plan["fence"])
    os.write(started, b"!")
    if not os.read(started, 1):  # the grader is gone
        os._exit(1)
    os.closerange(REPORT + 1, 1 << 16)
    os.execv(command[0], command)


def keep(plan: dict[str, Any], command: list[str]) -> None:
    """Run the command in a child, and kill what it leaves behind; never returns."""
    given = (plan["report"], plan["started"])
    status = descendants.keep(lambda: become(plan, command), plan["keep"], given)
    code = 1 if status is None else os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
