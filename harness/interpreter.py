"""The Python interpreter of this process, which also runs every process that the harness starts.

`sys.executable` may contain `..`, and is relative if PATH contains a relative folder. So it is resolved once, at
import, before the current folder can change.
"""

import os
import sys


def locate(program: str, environment: str) -> str:
    """Return the absolute path of `program`, with links and `..` in its folders resolved but not its last link.

    The last link belongs to a virtual environment: resolved, it would name the base interpreter, without the
    environment's packages. The same holds for a `bin` folder that links out of the environment.

    Args:
        program: path that started the process, relative or absolute.
        environment: folder of the environment, as in `sys.prefix`.
    """
    folder, name = os.path.split(program)
    folder, own = os.path.realpath(folder), os.path.join(os.path.realpath(environment), "bin")
    return os.path.join(own if os.path.realpath(own) == folder else folder, name)


EXECUTABLE = locate(sys.executable, sys.prefix)
