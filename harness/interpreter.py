"""The program that runs Python in this process: what every process that the harness starts is run by.

`sys.executable` is spelled as the program was named. It may lead through `..`, and where PATH names a folder relative
to the current one it is itself relative. So it is resolved here, once, before anything changes the current folder.
"""

import os
import sys


def locate(program: str, environment: str) -> str:
    """Return the absolute path of `program` without links or `..` in its folders; its last link stays.

    The last link is what makes it the program of a virtual environment: resolved, it would be the one that the
    environment was made from, without its packages. So is its folder, where that is a link out of the environment.

    Args:
        program: as the process was started by; relative to the current folder, or absolute.
        environment: the environment's folder, as `sys.prefix`.
    """
    folder, name = os.path.split(program)
    folder, own = os.path.realpath(folder), os.path.join(os.path.realpath(environment), "bin")
    return os.path.join(own if os.path.realpath(own) == folder else folder, name)


EXECUTABLE = locate(sys.executable, sys.prefix)
