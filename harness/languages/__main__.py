"""Lists the tools that this machine lacks and an extra brings: a line with the extra, megabytes and what it is.

Names of languages restrict it to what answers in them need.
"""

import sys

from harness.languages import every_language, language

for used in map(language, sys.argv[1:]) if sys.argv[1:] else every_language():
    for tool in used.missing_tools():
        print(tool.extra, tool.megabytes, tool.what)
