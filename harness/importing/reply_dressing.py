"""What chat pages, terminals and listings put around code: line numbers, prompts, HTML escapes; it is taken off."""

import html
import re
from collections.abc import Callable
from dataclasses import replace

from harness.importing.fences import FencedBlock

_NUMBERED = re.compile(
    r"[ ]{0,9}(?P<number>[0-9]{1,6})(?:(?P<bar>[ \t]{0,3}[|:\u2502\u2192])|(?=[ \t]|$))(?P<rest>.*)$"
)
_PROMPT = re.compile(r"(?:>>>|\.\.\.)(?: |$)")
_ESCAPED = re.compile(r"&(?:lt|gt|amp|quot|apos|nbsp|#39|#x27|#34);")
_SESSIONS = ("pycon", "python-repl", "ipython", "repl")
_FEWEST = 3
"""Lines with numbers that are a listing."""


def undressed(block: FencedBlock, broken: Callable[[str], bool]) -> FencedBlock:
    """A block without what was put around its code; itself where the code is not bare then.

    Args:
        block: as it was found.
        broken: whether a text does not parse as the challenge's language.
    """
    for bare in (_without_numbers(block.text), _without_prompts(block.text)):
        if bare is not None and not broken(bare):
            return replace(block, text=bare, info="" if block.tongue in _SESSIONS else block.info)
    if _ESCAPED.search(block.text) and (not re.search(r"[<>]", block.text) or broken(block.text)):
        bare = html.unescape(block.text).replace("\u00a0", " ")
        if not broken(bare):
            return replace(block, text=bare)
    return block


def _without_numbers(text: str) -> str | None:
    """A listing without the numbers of its lines; None of a text whose lines are not all numbered, one by one."""
    lines = text.rstrip("\n").split("\n")
    found = [_NUMBERED.match(line) for line in lines]
    numbers = [int(match["number"]) for match in found if match]
    first = numbers[0] if numbers else 0
    if len(lines) < _FEWEST or len(numbers) < len(lines) or numbers != list(range(first, first + len(lines))):
        return None
    rest = [match["rest"] for match in found if match]
    filled = [line for line in rest if line.strip()]
    if not filled or len({bool(match["bar"]) for match in found if match}) > 1:
        return None
    blanks = min(len(line) - len(line.lstrip(" ")) for line in filled)
    tab = all(line.startswith("\t") for line in filled)
    return "".join(f"{line[1 if tab else blanks :]}\n" for line in rest)


def _without_prompts(text: str) -> str | None:
    """Code of an interactive session without its prompts; None where there is output in it."""
    lines = [line for line in text.split("\n") if line.strip()]
    if len(lines) < _FEWEST or not all(map(_PROMPT.match, lines)) or not lines[0].startswith(">>>"):
        return None
    return "".join(f"{line[4:]}\n" for line in text.rstrip("\n").split("\n"))
