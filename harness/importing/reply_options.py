"""Whole versions of an answer that a reply offers as options to choose from."""

import itertools
import re
from collections.abc import Sequence

from harness.importing.reply_blocks import ReplyBlock

_OPTION = re.compile(
    r"[\s#*_>\d.)-]*(option|alternative|approach|variante?|choice|opción|opção|möglichkeit|方案|选项)[\s:*_]*"
    r"([a-d]|[1-4]|i{1,3}|one|two|three|一|二)\b(.*)",
    re.IGNORECASE,
)
_RECOMMENDED = re.compile(r"\b(?:recommended|preferred|submitted|my (?:answer|submission|choice)|final)\b", re.I)
_LINES = 4
"""Lines above a block of which one may say that it is an option."""
_LENGTH = 500
"""Characters of such a line that are read."""


def left_open(versions: Sequence[ReplyBlock]) -> list[ReplyBlock]:
    """The versions among which a reply leaves the choice; none where it offers no options, or recommends the last one.

    Args:
        versions: blocks that each hold all of the answer, in order.
    """
    said = [(block, option) for block in versions if (option := _option(block))]
    recommended = [block for block, option in said if _RECOMMENDED.search(option[3])]
    if len({f"{option[1]} {option[2]}".lower() for _, option in said}) < 2 or recommended == [versions[-1]]:
        return []
    return [block for block, _ in said]


def _option(block: ReplyBlock) -> re.Match[str] | None:
    above = itertools.islice((line for line in block.block.above if line.strip()), _LINES)
    return next((match for line in above if (match := _OPTION.match(line[:_LENGTH]))), None)
