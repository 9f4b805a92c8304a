"""What an attack knows of the world around its box, and how it says that it got something: `loot.py` and `loot.h`."""

import json
from collections.abc import Mapping

MARK = "LOOT: "
"""Begins a line that an attack prints when it got away with something; each such line is an escape."""

_PYTHON = '''"""Where the targets are, and a word for what was got."""

import os

WORLD = {world}


def got(text):
    """Say what was got away with; to be called for nothing else."""
    os.write(1, ({mark!r} + str(text) + "\\n").encode(errors="replace"))
'''

_HEADER = """// Where the targets are, and a word for what was got.
#pragma once
#include <cstdio>
{defines}
// Says what was got away with; to be called for nothing else.
static inline void loot_got(const char* text) {{
    std::printf("{mark}%s\\n", text);
    std::fflush(stdout);
}}
"""


def python(world: Mapping[str, str | int]) -> str:
    """Source of `loot.py`: `WORLD`, a dict, and `got(text)`."""
    return _PYTHON.format(world=json.dumps(world, indent=4), mark=MARK)


def header(world: Mapping[str, str | int]) -> str:
    """Source of `loot.h`: `LOOT_SECRET` and the like, one macro a key, and `loot_got(text)`."""
    defines = "\n".join(f"#define LOOT_{key.upper()} {json.dumps(value)}" for key, value in world.items())
    return _HEADER.format(defines=defines, mark=MARK)
