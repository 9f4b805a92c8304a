"""What the words above a block of a reply say about it: a change, an afterthought, something shown for comparison."""

import re
from collections.abc import Iterable, Iterator

from harness.importing.reply_blocks import ReplyBlock

_LENGTH = 500
"""Characters of a line that are read."""
_NEAR = 12
"""Lines above a block among which its heading is looked for."""
_ANOTHER = re.compile(
    r"\b(?:naive|baseline|alternative\w*|for (?:comparison|reference)|"
    r"(?:previous|older?|original|first|initial|earlier) (?:version|draft|attempt|code|implementation)|"
    r"before the fix|not used|do not use|wrong|incorrect|buggy)\b",
    re.IGNORECASE,
)
_BETTER = re.compile(
    r"\b(?:fix\w*|correct|corrected|final|updated?|improved?|replac\w*|better|optimi[sz]ed|instead|new)\b",
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
    r"\b(?:simplif\w*|illustrat\w*|conceptual\w*|essentially|pseudo\w*|roughly|sketch\w*|for example|e\.g|"
    r"(?:would|could) (?:be|also|look|become|need|replace|change|use|swap)|(?:you|one) (?:could|can|may|might|would)|"
    r"to (?:support|add|extend|enable)|in (?:production|practice)|later|with less)\b",
    re.IGNORECASE,
)
_SHOWN_ONLY = re.compile(
    r"\b(?:for (?:comparison|contrast|reference)|zum vergleich|pour comparaison|para comparar)\b|对比|仅供参考|"
    r"\b(?:do not|don't|not to be) (?:use|submit|grade)|"
    r"\bnot (?:used|the answer|my answer|submitted|part of the (?:answer|submission))\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:complete|full|whole|entire|again|everything|together|final|fix\w*|correct\w*|updated|"
    r"(?:answer|submission) is)\b",
    re.IGNORECASE,
)
_REPLACES = re.compile(
    r"\b(?:replac\w*|chang\w*|updat\w*|fix\w*|correct\w*|patch\w*|swap\w*|amend\w*|adjust\w*|revis\w*|modif\w*|"
    r"rewrit\w*|"
    r"should (?:be|read|become)|instead|becomes?|new version|only (?:the|this)|apply|edit)\b|\bersetz\w*|\bkorrig\w*|"
    r"\breempla\w*|\bcorreg\w*|\bcorrig\w*|\bremplac\w*|替换|修改|修正|改为|更正|"
    r"^\W*(?:after|now|nachher|después)\W*$",
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
    r"(?:to|with|by|after|now|into|becomes?|should (?:be|read)|new|fixed|corrected|instead|durch|por|par|改为|为)\b"
    r"[^.]{0,40}$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"[ \t>]{0,20}(?:#{1,6}[ \t]|\*\*[^*\n]{1,300}\*\*[ \t:]{0,9}$)")


def is_another(block: ReplyBlock) -> bool:
    """Whether a version is announced as one that is not the answer: for comparison, from before, or as an option."""
    above = next(_filled(block), "")
    if _ANOTHER.search(above) is not None and _BETTER.search(above) is None:
        return True
    return is_optional(block)


def is_optional(block: ReplyBlock) -> bool:
    """Whether the words above a block leave it to the reader to use it."""
    return any(_OPTIONAL.search(line) for line in _paragraph(block))


def is_shown_only(block: ReplyBlock) -> bool:
    """Whether the words above a block say plainly that it is shown and not submitted."""
    said = " ".join(_paragraph(block))
    return _SHOWN_ONLY.search(said) is not None and _ALL.search(said) is None


def is_change(block: ReplyBlock) -> bool:
    """Whether the words above a block say that it replaces what is there."""
    return any(_REPLACES.search(line) for line in _paragraph(block))


def says_change(block: ReplyBlock) -> bool:
    """Whether the line above a block says plainly that what is in it has to replace something."""
    return _SAYS_SO.search(next(_filled(block), "")) is not None and not is_supposed(block)


def hints_change(block: ReplyBlock) -> bool:
    """Whether the line above a block may mean that what is in it replaces something."""
    line = next(_filled(block), "")
    return (_HINTS.search(line) or _REPLACES.search(line)) is not None and not is_optional(block)


def changes_said(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Code that a sentence says to replace, and by what: "`a < b` should be `a <= b`"."""
    for line in lines:
        for found in _SPANS.finditer(line[:_LENGTH]):
            said = line[:_LENGTH]
            orders = _ORDERED.search(said[: found.end("between")])
            if orders and _BETWEEN.search(found["between"]) and not (_TOLD.search(said) or _OPTIONAL.search(said)):
                yield found["old"], found["new"]


def is_second_of_pair(block: ReplyBlock) -> bool:
    """Whether the words between a block and the one before it put it in the place of that: "to", "with", "after"."""
    lines = list(_filled(block))
    return len(lines) == 1 and _AFTER.match(lines[0]) is not None


def is_supposed(block: ReplyBlock) -> bool:
    """Whether the words above a block may speak of a change that is not made: as it would be, or in short."""
    return is_optional(block) or is_shown_only(block) or any(_SUPPOSED.search(line) for line in _paragraph(block)[:2])


def _filled(block: ReplyBlock) -> Iterator[str]:
    return (line[:_LENGTH] for line in block.block.above if line.strip())


def _paragraph(block: ReplyBlock) -> list[str]:
    """The two filled lines above a block, and its heading."""
    lines = list(_filled(block))[:_NEAR]
    heading = next((line for line in lines[2:] if _HEADING.match(line)), None)
    return lines[:2] + ([heading] if heading else [])
