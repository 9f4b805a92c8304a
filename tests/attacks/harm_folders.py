"""Submissions whose files are the attack: names, places, numbers, and modules that stand in for others."""

import importlib._bootstrap_external as compiled
import importlib.util

from tests.attacks.attack import Attack, Expect
from tests.attacks.planting import FUNCTIONS, IDLE
from tests.attacks.wrapping import CHALLENGES, HONEST, KV_CACHE, LAYER_NORM

KIND = "files that deceive"

STAND_IN = """
import os, sys
from loot import WORLD, got

if os.getpid() == WORLD["grader"] or any(name.partition(".")[0] == "harness" for name in sys.modules):
    got("its module was loaded by the grader: " + __file__)
"""
STAND_INS = (
    "numpy.py", "json.py", "wire.py", "worker.py", "forking.py", "confine.py", "suite_server.py", "sitecustomize.py",
    "usercustomize.py", "conftest.py", "harness.py", "oracle.py", "reference.py", "probes.py", "pytest.py",
)  # fmt: skip
ODD_NAMES = ("-rf", "$(reboot).py", "a b;ls.py", "\x1b[2J.py", "line\nbreak.py", "{submission}.py", "%s.py", "~", "...")
FLAG = "from loot import got\ngot('compiled code in place of the source')\n"


def submission(name: str, challenge: str, files: dict[str, str], expect: Expect, entry: str = "answer.py") -> Attack:
    """The right answer with further files beside it."""
    return Attack(name, KIND, challenge, {"answer.py": HONEST[challenge], **files}, (entry,), expect=expect)


def compiled_beside(challenge: str) -> dict[str, str]:
    """A module whose compiled form, which Python prefers and takes unchecked, is of another source."""
    plain = "def nothing(): pass\n"
    code = compile(FLAG + plain, "/submission/helper.py", "exec")
    data = compiled._code_to_hash_pyc(code, bytes(8), False)  # type: ignore[attr-defined]
    places = ("__pycache__/helper." + str(importlib.util.cache_from_source("x")).split(".")[-2] + ".pyc", "other.pyc")
    text = data.decode("utf-8", "surrogateescape")
    answer = "import helper\ntry:\n    import other\nexcept ImportError:\n    pass\n"
    return {"helper.py": plain, "answer.py": answer + HONEST[challenge], **dict.fromkeys(places, text)}


def named_like_the_contract(challenge: str) -> dict[str, str]:
    """An entry that only names the functions, and asks a stand-in for the reference to do the work."""
    names = ", ".join(FUNCTIONS[challenge])
    missing = f"import sys\nsys.path[:0] = ['references/{challenge}', '/references/{challenge}']\n"
    return {
        "answer.py": f"{missing}from oracle import *\nfrom reference import {names}\n",
        "empty.py": IDLE[challenge],
    }


ATTACKS: tuple[Attack, ...] = (
    *(
        submission("modules that stand in for others", c, dict.fromkeys(STAND_INS, STAND_IN), Expect.HELD)
        for c in CHALLENGES
    ),
    *(submission("odd file names", c, dict.fromkeys(ODD_NAMES, "1"), Expect.HELD) for c in CHALLENGES),
    *(submission("compiled code beside the source", c, compiled_beside(c), Expect.HELD) for c in CHALLENGES),
    *(submission("imports the solution", c, named_like_the_contract(c), Expect.REFUSED) for c in CHALLENGES),
    submission("files without number", LAYER_NORM, {f"{n}.py": "" for n in range(501)}, Expect.REFUSED),
    submission("folders without end", KV_CACHE, {"a/" * 250 + "x.py": ""}, Expect.REFUSED),
    submission("entry outside the submission", LAYER_NORM, {}, Expect.REFUSED, entry="../../../reference.py"),
    submission("entry by its full path", KV_CACHE, {}, Expect.REFUSED, entry="/etc/hostname.py"),
    submission("entry that is an option", LAYER_NORM, {"-c.py": "1"}, Expect.REFUSED, entry="-c.py"),
    submission("source that exhausts the parser", KV_CACHE, {"answer.py": "(" * 5000 + ")" * 5000}, Expect.REFUSED),
    submission("source with null bytes", LAYER_NORM, {"answer.py": "x = 1\0\n"}, Expect.REFUSED),
)
