"""Prints the tools that this machine lacks and an extra brings: a line each with the extra, megabytes and tool.

Names of languages as arguments restrict the list to them.
"""

import sys

from harness.languages import every_language, language

for used in map(language, sys.argv[1:]) if sys.argv[1:] else every_language():
    for tool in used.missing_tools():
        print(tool.extra, tool.megabytes, tool.what)
