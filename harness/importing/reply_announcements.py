"""What the words above a block of a reply say about it: a change, an afterthought, something shown for comparison."""

import itertools
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from harness.importing.reply_blocks import ReplyBlock
from harness.importing.reply_phrases import (
    CORRECTS,
    LEFT_OUT,
    PUTS_RIGHT,
    REPLACES,
    REVISES,
    SHOWN_ONLY,
    SIMPLER,
    WRONG_WAY,
)

_LENGTH = 500
"""Characters of a line that are read."""
_ALIKE = 0.5
"""Share of two pieces of code that is the same where one may be the other put right."""
_FEW_WORDS = 24
"""Characters of a paragraph that says too little by itself."""
_NEAR = 12
"""Lines above a block among which its heading is looked for."""
_ANOTHER = re.compile(
    r"\b(?:naive|baseline|alternative\w*|for (?:comparison|reference)|"
    r"(?:previous|older?|original|first|initial|earlier) (?:version|draft|attempt|code|implementation)|"
    r"before the fix|not used|do not use|wrong|incorrect|buggy)\b|"
    r"^\W*(?:the )?(?:original|before|old|previous|vorher|alt|ancien|avant|antes|prima|до|было|原来|之前|旧|修正前|"
    r"변경 전|이전)\W*$",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\b(?:fix\w*|correct|corrected|final|updated?|improved?|replac\w*|better|optimi[sz]ed|instead|new|mend\w*|"
    r"repair\w*|"
    r"(?:complete|full|whole|entire)\b.*\bagain)\b",
    re.IGNORECASE,
)
_OPTIONAL = re.compile(
    r"\b(?:optional(?:ly)?|bonus|opcional|optionnel\w*|alternatively|as an? (?:alternative|exercise|extension|sketch)|"
    r"if you(?:'d| would)? (?:want|need|prefer|like|care|have|are|also)|"
    r"(?:you|one) (?:can|could|might|may) (?:also|even)|untested|experimental|"
    r"not (?:part of|needed|required|submitted)|next steps|going further|"
    r"(?:possible|potential|future|further) (?:extension|improvement|optimi[sz]ation|enhancement|change|work)s?)\b|"
    r"\bvariant\b(?!s)",
    re.IGNORECASE,
)
_SUPPOSED = re.compile(
    r"\bif (?:you|your|one|it|the|numpy|torch)\b|\b(?:wenn|falls) (?:du|sie|man|dein\w*)\b|\bsi (?:vous|tu|on|usas?|"
    r"tienes?)\b|"
    r"\bse (?:você|usi|usa|usar|hai)\b|\bесли (?:вы|у вас|ты)\b|如果(?:你|您)|場合|경우|"
    r"\b(?:simplif\w*|illustrat\w*|conceptual\w*|essentially|pseudo\w*|roughly|sketch\w*|for example|e\.g|"
    r"(?:would|could) (?:be|also|look|become|need|replace|change|use|swap)|(?:you|one) (?:could|can|may|might|would)|"
    r"to (?:support|add|extend|enable)|in (?:production|practice)|later|with less)\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:complete|full|whole|entire|again|everything|together|final|fix\w*|correct\w*|updated|"
    r"(?:answer|submission) is)\b",
    re.IGNORECASE,
)
_SAYS_SO = re.compile(
    r"\b(?:replac(?:e|ed|ing)|swap(?:ped)?|becomes|instead of)\b|"
    r"\b(?:fix(?:ed)?|correct(?:ed|ion))(?: (?:\w{1,20}|`[^`]{1,60}`)){0,2}\W*$|"
    r"\b(?:should|must|has to|needs to) (?:be|read|become)\b|"
    r"\bchang(?:e|ed|ing) (?:`|(?:the|this|that|it|its|line|to|in|from)\b)|替换|修改为|改为|"
    r"\b(?:ersetz|korrigier|reemplaz|remplac)\w*|^\W*(?:after|new|now|to|with|by|into)\W*$",
    re.IGNORECASE,
)
_HINTS = re.compile(
    r"\b(?:typo|mistake|wrong|bugs?|errors?|oops|sorry|edit(?:ed)?|better|right way|rather|revised|final|again|"
    r"use this|actually)\b|änder|修",
    re.IGNORECASE,
)
_SPANS = re.compile(r"`(?P<old>[^`\n]{2,200})`(?P<between>[^`\n]{1,60})(?=`(?P<new>[^`\n]{2,200})`)")
_BETWEEN = re.compile(
    r"\b(?:should (?:be|read|have been)|must (?:be|read)|needs to be|becomes|is replaced (?:by|with)|with|by|to|into)"
    r"\b|→|->|=>",
    re.IGNORECASE,
)
_ORDERED = re.compile(
    r"\b(?:replace|change|swap|fix|correct|edit|should|must|needs|becomes|is replaced)\b|→|->|=>", re.IGNORECASE
)
_TOLD = re.compile(
    r"\b(?:i|we) (?:have )?(?:also )?(?:replaced|changed|swapped|fixed)\b|"
    r"\bto (?:run|use|switch|try|get|support|port|see)\b|\b(?:if|when|for example|e\.g|instead of)\b",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\W*(?:(?:change|replace)[sd]? (?:it |that |this |them )?)?"
    r"(?:to|with|by|after|now|into|becomes?|should (?:be|read)|new|fixed|corrected|instead|durch|wird(?: zu)?|zu|por|"
    r"par|devient|deviene|"
    r"se convierte en|se vuelve|vira|torna-se|passa a ser|con|com|diventa|становится|на)\b[^.]{0,40}$|"
    r"\W*(?:改为|改成|为|に|を以下に|→|로|으로)[^.。]{0,20}$",
    re.IGNORECASE,
)
_BEGINS_REMARK = re.compile(r"\s*(?:#|//|/\*|[rRuU]?\"\"\"|''')")
_HEADING = re.compile(r"[ \t>]{0,20}(?:#{1,6}[ \t]|\*\*[^*\n]{1,300}\*\*[ \t:]{0,9}$|<summary>)", re.IGNORECASE)


def is_another(block: ReplyBlock) -> bool:
    """Whether a version is announced as one that is not the answer: for comparison, from before, or as an option."""
    heads = [next(_filled(block), ""), *([] if block.name else [_remark(block)])]
    if any(_ANOTHER.search(said) is not None and _BETTER.search(said) is None for said in heads):
        return True
    if any(SIMPLER.search(said) and not REVISES.search(said) for said in heads):
        return True
    return is_optional(block)


def is_optional(block: ReplyBlock) -> bool:
    """Whether the words above a block leave it to the reader to use it."""
    return any(_OPTIONAL.search(line) for line in _paragraph(block))


def is_shown_only(block: ReplyBlock) -> bool:
    """Whether the words above a block say plainly that it is shown and not submitted."""
    said = " ".join(_paragraph(block))
    return SHOWN_ONLY.search(said) is not None and _ALL.search(said) is None


def is_left_out(block: ReplyBlock) -> bool:
    """Whether the words above a block say plainly that the answer does without it, and nothing of a fault."""
    said = " ".join(_section(block))
    left = LEFT_OUT.search(said) or SHOWN_ONLY.search(said) or WRONG_WAY.search(said)
    return left is not None and CORRECTS.search(WRONG_WAY.sub("", said)) is None


def is_aside(block: ReplyBlock) -> bool:
    """Whether the words above a whole version say plainly that it is none of the answer."""
    return is_left_out(block) and _ALL.search(" ".join(_section(block))) is None


def is_revision(block: ReplyBlock) -> bool:
    """Whether the words above a whole version may say that it takes the place of one before it."""
    return REVISES.search(" ".join(_section(block))) is not None


def is_change(block: ReplyBlock) -> bool:
    """Whether the words above a block say that it replaces what is there."""
    return any(REPLACES.search(line) for line in _paragraph(block))


def says_change(block: ReplyBlock) -> bool:
    """Whether the line above a block says plainly that what is in it has to replace something."""
    return _SAYS_SO.search(next(_filled(block), "")) is not None and not is_supposed(block)


def hints_change(block: ReplyBlock) -> bool:
    """Whether the line above a block may mean that what is in it replaces something."""
    line = next(_filled(block), "")
    return (_HINTS.search(line) or REPLACES.search(line)) is not None and not is_optional(block)


def changes_said(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Code that a sentence says to replace, and by what: "`a < b` should be `a <= b`"."""
    for line in lines:
        for found in _SPANS.finditer(line[:_LENGTH]):
            said = line[:_LENGTH]
            told = _TOLD.search(said) or _OPTIONAL.search(said) or LEFT_OUT.search(said)
            orders = _ORDERED.search(said[: found.end("between")]) and _BETWEEN.search(found["between"])
            if not told and (orders or (PUTS_RIGHT.search(said) and _are_alike(found["old"], found["new"]))):
                yield found["old"], found["new"]


def _are_alike(old: str, new: str) -> bool:
    """Whether a piece of code may be another one put right."""
    return SequenceMatcher(None, old, new).ratio() >= _ALIKE


def is_second_of_pair(block: ReplyBlock) -> bool:
    """Whether the words between a block and the one before it put it in the place of that: "to", "with", "after"."""
    lines = list(_filled(block))
    return len(lines) == 1 and _AFTER.match(lines[0]) is not None


def is_supposed(block: ReplyBlock) -> bool:
    """Whether the words above a block may speak of a change that is not made: as it would be, or in short."""
    said = " ".join(_paragraph(block))
    if LEFT_OUT.search(said) or WRONG_WAY.search(said):
        return True
    return is_optional(block) or is_shown_only(block) or any(_SUPPOSED.search(line) for line in _paragraph(block)[:2])


def _filled(block: ReplyBlock) -> Iterator[str]:
    return (line[:_LENGTH] for line in block.block.above if line.strip())


def _last_lines(block: ReplyBlock) -> list[str]:
    """The lines above a block that no blank one parts."""
    above = itertools.dropwhile(lambda line: not line.strip(), block.block.above)
    return [line[:_LENGTH] for line in itertools.islice(itertools.takewhile(str.strip, above), _NEAR)]


def _section(block: ReplyBlock) -> list[str]:
    """The paragraph above a block, the one before as well where it is a few words, and the heading."""
    last, lines = _last_lines(block), list(_filled(block))[:_NEAR]
    near = len(last) if len("".join(last)) >= _FEW_WORDS else max(2, len(last))
    heading = next((line for line in lines[near:] if _HEADING.match(line)), None)
    return lines[:near] + ([heading] if heading else [])


def _remark(block: ReplyBlock) -> str:
    """The comment or docstring that a block begins with, its first line; empty where it begins with code."""
    first = next((line for line in block.block.text.split("\n") if line.strip()), "")
    return first[:_LENGTH] if _BEGINS_REMARK.match(first) else ""


def _paragraph(block: ReplyBlock) -> list[str]:
    """The paragraph above a block, two filled lines at least, and the heading."""
    lines = list(_filled(block))[:_NEAR]
    near = max(2, len(_last_lines(block)))
    heading = next((line for line in lines[near:] if _HEADING.match(line)), None)
    return lines[:near] + ([heading] if heading else [])
