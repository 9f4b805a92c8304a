"""Prints missing tools that an extra installs, one line each: extra, megabytes, tool.

Arguments restrict the list to these languages.
"""

import sys

from harness.languages import every_language, language

for used in map(language, sys.argv[1:]) if sys.argv[1:] else every_language():
    for tool in used.missing_tools():
        print(tool.extra, tool.megabytes, tool.what)
