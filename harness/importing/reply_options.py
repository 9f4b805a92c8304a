"""Whole versions of an answer that a reply offers as options to choose from, and the one that it recommends."""

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from harness.importing.reply_blocks import ReplyBlock

_OPTION = re.compile(
    r"[\s#*_>\d.)-]*(?:(option|alternative|alternativa|approach|approche|ansatz|variante?|choice|opción|opção|opzione|"
    r"möglichkeit|enfoque|abordagem|approccio|вариант|способ|подход|方案|选项|方法|方式|案|選択肢|방법|방안|옵션|"
    r"선택지)"
    r"[\s:*_]*([a-dабвг]|[1-4]|i{1,3}|one|two|three|[一二三四]|[①-④])"
    r"|(versione?|versión|versão|fassung|версия|версии|版本|バージョン|"
    r"버전)[\s:*_]*([a-dабвг]))(?![A-Za-z0-9])(?P<said>.*)",
    re.IGNORECASE,
)
_RECOMMENDED = re.compile(r"\b(?:recommended|preferred|submitted|my (?:answer|submission|choice)|final)\b", re.I)
_NOT_RECOMMENDED = re.compile(r"\b(?:not|never|un)[ -]?\w{0,9} ?(?:recommended|preferred|submitted|final)", re.I)
_VERB = re.compile(
    r"\b(?:i|we)(?:['\u2019](?:ll|d|m|ve)| will| would| am| have)? ?(?:\w{1,12}ly |therefore |hereby )?"
    r"(?:recommend|submit|submitting|submitted|choose|chose|chosen|pick|picked|go with|going with|settled? on|"
    r"suggest|prefer)\b"
    r"|\bmy (?:final |actual )?(?:recommendation|answer|submission|choice|pick|solution)\b"
    r"|\b(?:recommended|submitted) (?:one|version|solution|answer|implementation|option|file|choice)\b"
    r"|^(?:please |so |therefore,? )?(?:use|grade|take|evaluate|submit)\b|\bplease (?:use|grade|take|evaluate)\b"
    r"|^(?:recommendation|final answer|verdict|submission)\b",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:if|unless|when|whenever|depend\w*|either|whichever|could|might|may|otherwise|not|never|cannot|maybe|"
    r"perhaps|for (?:small|large|short|long|most|simple|production|debugging))\b|n['\u2019]t\b|\?",
    re.IGNORECASE,
)
_VERB_ELSEWHERE = re.compile(
    r"\b(?:ich (?:\w{1,12} )?(?:empfehle|reiche|wähle|nehme|gebe)|empfehle ich|wähle ich|reiche ich|meine (?:abgabe|"
    r"antwort|wahl)|"
    r"je (?:\w{1,10} )?(?:recommande|soumets|choisis|rends|retiens|propose)|ma (?:réponse|solution|soumission)|"
    r"recomiendo|entrego|elijo|envío|mi (?:respuesta|solución|entrega)|recomendo|submeto|escolho|minha (?:resposta|"
    r"solução)|"
    r"consiglio|raccomando|consegno|scelgo|la mia (?:risposta|soluzione)|"
    r"рекомендую|выбираю|отправляю|сдаю|мой (?:ответ|выбор)|моё решение)\b|"
    r"我(?:推荐|选择|提交|采用|选)|推荐使用|最终(?:提交|采用|答案)|提出(?:します|する|物は)|採用します|推奨します|選びます|最終回答|"
    r"제출합니다|추천합니다|선택합니다|최종 답",
    re.IGNORECASE,
)
_HEDGE_ELSEWHERE = re.compile(
    r"\b(?:wenn|falls|sofern|nicht|kein\w*|oder|entweder|könnt\w*|si|sauf|ou|pas|selon|según|no|salvo|não|caso|non|"
    r"oppure|"
    r"se (?:você|precis\w+|quis\w+|for|il|la|vuoi|hai|serve)|"
    r"если|или|не|либо)\b|如果|或者?|不|取决|もし|または|場合|ない|ません|만약|또는|않|경우|면 |\?|？",
    re.IGNORECASE,
)
_ASIDE = re.compile(
    r"\b(?:only|just|is|was|are) (?:\w{1,12} ){0,3}(?:for|as) (?:a )?(?:comparison|reference)\b.*"
    r"|,? (?:and |but )?not \w.*",
    re.I,
)
_LEFT = re.compile(
    r"\b(?:pick|choose|use|take|submit|keep|go with)\b[^.!?]{0,30}"
    r"\b(?:whichever|either(?: one)?|the one (?:that|which|you))\b"
    r"|\bwhichever (?:one |version |of them )?(?:you|suits|fits)\b"
    r"|\b(?:wähl\w*|nimm|nehmen sie|such\w*)\b[^.!?]{0,40}\b(?:welche\w*|die|aus|eine)\b[^.!?]{0,30}\b(?:besser|"
    r"gefällt|passt|möcht\w*|aus)\b"
    r"|\b(?:choisi\w*|prenez|prends)\b[^.!?]{0,30}\b(?:celle|celui|laquelle|lequel)\b"
    r"|\b(?:elige|elija|escoge|escolha|usa|use|scegli|scelga)\b[^.!?]{0,20}\b(?:la que|el que|a que|o que|quella|"
    r"quello|cuál|qual)\b"
    r"|\bвыб(?:ери|ирай)\w*[^.!?]{0,40}\b(?:котор\w+|люб\w+|какой|тот|ту|что)\b"
    r"|任选|任意(?:选|一)|选择(?:其中|任|一个|一种|适合|你|您)|由(?:你|您)(?:决定|选择)|(?:お好み|お好き|好きな|"
    r"どちらか|いずれか)[^。]{0,20}(?:選|使|採)"
    r"|(?:둘 ?중|원하는|하나를)[^.]{0,16}(?:선택|고르|골라|사용)",
    re.IGNORECASE,
)
_ALSO = re.compile(
    r"[^\w]{0,9}(?:(?:and|or|as well as|plus|und|oder|y|et|ou|e|o|и|или)\b|[和或と]|및|또는)", re.IGNORECASE
)
_ORDINALS = ("first|former|1st", "second|2nd", "third|3rd", "fourth|4th")
_SENTENCE = re.compile(r"(?<=[.!?;])[\s*_]{1,9}|(?<=[\u3002\uff01\uff1f\uff1b])|(?<=[.!?;])$|\n")
_LINES = 4
"""Lines above a block of which one may say that it is an option."""
_LENGTH = 500
"""Characters of such a line, or of a sentence, that are read."""


def left_open(versions: Sequence[ReplyBlock]) -> list[ReplyBlock]:
    """The versions among which a reply leaves the choice; none where it offers no options, or recommends the last one.

    Args:
        versions: blocks that each hold all of the answer, in order.
    """
    said = [(block, option) for block in versions if (option := _option(block))]
    recommended = [block for block, option in said if _is_recommended(option["said"])]
    if len({_label(option) for _, option in said}) < 2 or recommended == [versions[-1]]:
        return []
    return [block for block, _ in said]


def leaves_choice(prose: Sequence[str]) -> bool:
    """Whether a reply leaves it to its reader which of several things to take: "pick whichever suits you"."""
    return any(_LEFT.search(sentence) for sentence in _sentences(prose))


def is_option(block: ReplyBlock) -> bool:
    """Whether the words above a version call it one of several options."""
    return _option(block) is not None


def recommended(versions: Sequence[ReplyBlock], prose: Sequence[str]) -> ReplyBlock | None:
    """The version that a reply plainly recommends or submits; None where it says nothing, or leaves a doubt.

    Args:
        versions: as for `left_open`, or the last ones of files that each hold all of the answer.
        prose: the lines of the reply outside its blocks.

    Of several versions under one label the last one is meant.
    """
    last = {_key(block): block for block in versions}
    headed = [last[_key(block)] for block in versions if _is_recommended(_heading(block))]
    versions = list(last.values())
    chosen: dict[int, ReplyBlock] = {id(block): block for block in headed}
    references = [_reference(versions, index) for index in range(len(versions))]
    for sentence in _sentences(prose):
        verb, hedge = _VERB.search(sentence), _HEDGE
        if verb is None:
            verb, hedge = _VERB_ELSEWHERE.search(sentence), _HEDGE_ELSEWHERE
        found = sorted((*m.span(), n) for n, each in enumerate(references) for m in each.finditer(sentence))
        if verb is None or not found:
            continue
        if hedge.search(_ASIDE.sub("", sentence)):
            return None
        after = [one for one in found if one[0] >= verb.start()] or found[-1:]
        meant = after[0][2]
        if any(n != meant and _ALSO.match(sentence, after[0][1]) for _, _, n in after):
            return None
        chosen[id(versions[meant])] = versions[meant]
    return next(iter(chosen.values())) if len(chosen) == 1 else None


def _sentences(prose: Sequence[str]) -> Iterator[str]:
    for line in prose:
        if not _OPTION.match(line[:_LENGTH]) or not line.lstrip().startswith("#"):
            for sentence in _SENTENCE.split(line):
                yield re.sub(r"[*`]", "", sentence[:_LENGTH]).strip(" #>-_")


def _reference(versions: Sequence[ReplyBlock], index: int) -> re.Pattern[str]:
    """What names a version in a sentence: its label, its file, its place among the others."""
    block = versions[index]
    ordinals = _ORDINALS[index] if index < len(_ORDINALS) else "(?!)"
    if index == len(versions) - 1:
        ordinals += "|latter|last" if index == 1 else "|last"
    names = [rf"\bthe (?:{ordinals})\b(?= (?:one|option|version|approach|implementation|design|file)|[ ]?[.,;:!(]|$)"]
    if option := _option(block):
        kind, which = (re.escape(said) for said in _words(option))
        names.append(rf"(?<![A-Za-z0-9]){kind}[\s:*_]{{0,3}}{which}(?![A-Za-z0-9])")
    if block.path:
        names.append(rf"(?<![A-Za-z0-9_/]){re.escape(PurePosixPath(block.path).stem)}(?![A-Za-z0-9_])")
    return re.compile("|".join(names), re.IGNORECASE)


def _heading(block: ReplyBlock) -> str:
    """What the words above a version say of it: those after its label, or else the nearest line."""
    option = _option(block)
    return option["said"] if option else next((line for line in block.block.above if line.strip()), "")[:_LENGTH]


def _is_recommended(said: str) -> bool:
    return _RECOMMENDED.search(said) is not None and _NOT_RECOMMENDED.search(said) is None


def _key(block: ReplyBlock) -> str:
    """The label of a version, or what else tells it from the others."""
    option = _option(block)
    return _label(option) if option else f"line {block.line}"


def _label(option: re.Match[str]) -> str:
    return " ".join(_words(option)).lower()


def _words(option: re.Match[str]) -> tuple[str, str]:
    """What a label calls a version, and which one it is."""
    return (option[1], option[2]) if option[1] else (option[3], option[4])


def _option(block: ReplyBlock) -> re.Match[str] | None:
    above = itertools.islice((line for line in block.block.above if line.strip()), _LINES)
    return next((match for line in above if (match := _OPTION.match(line[:_LENGTH]))), None)
