"""Lists the tools that this machine lacks and an extra brings: a line with the extra, megabytes and what it is."""

from harness.languages import every_language

for used in every_language():
    for tool in used.missing_tools():
        print(tool.extra, tool.megabytes, tool.what)
