"""Prompt injection: words in a submission that address its judge."""

import re
from collections.abc import Iterator

from harness.review.material import Material

MAX_PLACES = 5
"""Most places to report per submission."""

_GAP = r"[\s#*/>\"'`.,:;-]+"
"""Separators between words, including comment signs and line ends."""
_JUDGE = "(?:judge|grader|reviewer|evaluator|rater|llm|language model|ai model|ai assistant)"
_FULL = (
    r"(?:100(?:/100| points| marks| out of)|full (?:marks?|score|credit)|top marks?|perfect score|10/10"
    r"|(?:highest|maximum) (?:mark|score))"
)
_SPEECH = tuple(
    re.compile(words.replace(" ", _GAP), re.IGNORECASE)
    for words in (
        r"\b(?:ignore|disregard|forget) (?:(?:all|any|of|the|your|my) ){0,3}"
        r"(?:previous|prior|above|earlier|preceding|system) (?:instructions?|prompts?|rules?|messages?|text)\b",
        r"\bignore (?:all |everything )?the above\b",
        r"\b(?:as|you are|act as|dear|attention|note to|message to|instructions? (?:to|for)) "
        rf"(?:(?:a|an|the) )?{_JUDGE}s?\b",
        rf"\b(?:give|award|assign|mark|score|rate|grade)s? (?:\w+ ){{0,5}}{_FULL}",
        r"\b(?:give|award|mark|score|rate|grade) "
        r"(?:it|this|me|us|all|everything|(?:each|every) (?:question|criterion)) (?:\w+ ){0,3}100\b",
        r"\b(?:mark|score|grade|rating) of (?:100|10/10)\b",
        r"\b(?:new|updated|revised) (?:instructions|system prompt|grading rules)\b",
        r"\bprefer (?:this|the first|the second) (?:answer|submission|solution)\b",
        # control tokens of chat templates, which a tokenizer may interpret
        r"<\|(?:im_start|im_end|system|user|assistant|eot_id|start_header_id|end_of_turn)\|>|\[/?INST\]",
    )
)


def injections(material: Material) -> tuple[str, ...]:
    """Return places that may address a judge, `FILE, line N: 'words'`, at most `MAX_PLACES`.

    A list of phrases, so it may miss some.
    """
    return tuple(dict.fromkeys(_places(material)))[:MAX_PLACES]


def _places(material: Material) -> Iterator[str]:
    for file in material.files:
        for pattern in _SPEECH:
            if pattern.search(file.path):
                yield f"{file.path}: its name"
            for found in pattern.finditer(file.text):
                line = file.text.count("\n", 0, found.start()) + 1
                yield f"{file.path}, line {line}: {' '.join(found[0].split())!r}"
