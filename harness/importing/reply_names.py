"""What a fenced block's file is called: by its info string, its first line, a label above it, or a sentence."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from harness.errors import ReplyError
from harness.importing.fences import FencedBlock, opening_tag
from harness.importing.reply_phrases import REPLACES
from harness.importing.reply_text import ReplyProblem
from harness.languages import every_language
from harness.model.collection import SUBMISSION_FILE
from harness.model.file_names import is_reserved, name_problem

_DOCUMENTS = (
    "md", "rst", "txt", "toml", "yaml", "yml", "json", "cfg", "ini", "sh", "bash", "cmake", "csv", "tex", "pyi",
    "ipynb", "rs", "js", "ts", "go", "java", "jl", "ptx", "diff", "patch",
)  # fmt: skip
_WHOLE_NAMES = ("Makefile", "CMakeLists.txt", "Dockerfile")
_LONGEST = 500
"""Characters of a line that may name a file."""
_SHORT = 40
"""Characters before the colon that a file name follows."""
_NEAR = 12
"""Lines above a block in which a label is looked for."""
_LEAD = 4
"""Lines above a block that may speak of its file."""
_BEFORE = re.compile(
    r"(?:(?:file ?name|file|path|filepath|source|module|script|header|kernel|entry|tests?|new|updated|corrected|"
    r"fixed|full|final|complete|modified|create|save as|save|the|here is|step|part|section|listing|code|in|a|and|"
    r"[0-9]{1,3}|[ivx]{1,4})\b[ :.()#\u2013\u2014-]*)*",
    re.IGNORECASE,
)
_AFTER = re.compile(r"$|[ ]{0,3}[:()\[\u2013\u2014,|-]|[ ]{1,3}(?:file|module|as)\b", re.IGNORECASE)
_MARKUP = re.compile(r"[\u200b-\u200f\u2060\ufeff*`\"'<>\[\]#=\U0001f300-\U0001faff\u2190-\u2bff\ufe0f]")
_COMMENT = re.compile(r"[ \t]{0,9}(?:#|//|/\*\*?|<!--|;|%|\"\"\"|''')[ \t/*#=-]{0,40}(?P<said>.*?)[ \t*/=>#\"'-]*$")
_LABEL = re.compile(
    r"[ \t>]{0,20}(?:#{1,6}[ \t]|(?:[-*+]|[0-9]{1,3}[.)])[ \t]{1,4}[*`]|\*\*|__|`|<summary>|<b>|<h[1-6]>|file|[^\w\s])",
    re.IGNORECASE,
)
_HEADING = re.compile(
    r"[ \t>]{0,20}(?:#{1,6}[ \t]|\*\*[^*\n]{1,300}\*\*[ \t:]{0,9}$|<summary>|<h[1-6]>)", re.IGNORECASE
)
_USES = re.compile(
    r"\b(?:usage|uses?|using|runs?|running|examples?|output|imports?|importing|calls?|calling|how|explain\w*|"
    r"explanation|"
    r"walk\w*|notes|about|why|changes?|diff|patch|compil\w*|build\w*)\b|"
    r"用法|示例|使用方法|运行",
    re.IGNORECASE,
)
_TAGS = re.compile(r"<!--|-->|</?(?:summary|details|b|strong|code|h[1-6]|p|em|i|br)\b[^<>]{0,99}>", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    r"\b(?:title|file|filename|name|path|filepath|source|label|caption)[ ]?=[ ]?[\"']?([^\"'\s}]{1,300})", re.IGNORECASE
)
_CITED = re.compile(r"[0-9]{1,6}:[0-9]{1,6}:")
_ANNOUNCES = re.compile(
    r"[:\uff1a][\s*_]*$|\b(?:save|create|call|name|put|write|store|place|copy|paste|file|contents?)\w{0,2}\b|"
    r"\b(?:datei|speicher\w*|fichier|enregistre\w*|archivo|arquivo|guarda\w*|guarde\w*|salv[aeo]\w*|сохран\w*|"
    r"файл\w*)\b|"
    r"文件|保存|命名|ファイル|파일|저장",
    re.IGNORECASE,
)
_ORDERS = re.compile(
    r"[ \t]{0,20}(?:(?:[-*+]|[0-9]{1,3}[.)])[ \t]{1,4})?[*_]{0,2}(?:(?:now|then|next|first|finally|and|please),? )?"
    r"(?:put|save|paste|write|store|place|copy|create)\b[^.:;]{0,80}\b(?:into|in|to|as|at|under|called|named|file)\b"
    r"[^.:;]{0,40}$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?P<indent>[ \t]{0,20})(?:[-*+]|[0-9]{1,3}[.)])[ \t]")
_GOES = re.compile(r"\b(?:goes|belongs|gehört|kommt|va|vai) \w{1,8}\b|是|です", re.IGNORECASE)
_BACKWARD = re.compile(
    r"\b(?:the |code |block |file )*(?:above|preceding)\b|\b(?:obige\w*|ci-dessus|de arriba|acima|qui sopra|выше)\b|"
    r"以上|上面|上述|上記|위의|위 ",
    re.IGNORECASE,
)
_BRACKETS = str.maketrans(
    {**dict.fromkeys("（［【〔「『《〈｛{", "("), **dict.fromkeys("）］】〕」』》〉｝}", ")"), "\uff1a": ": "}
)
_REMARK = re.compile(r"(?<=[\w`*])[ ]{0,3}\[(?=[^\[\]]{1,300}\][\s*_:.]{0,9}$)")


class NamedBy(StrEnum):
    """What gave a file its name."""

    INFO = "info string"
    FIRST_LINE = "first line"
    LABEL = "label above"
    SENTENCE = "sentence above"
    IMPORT = "import in another block"
    CONTRACT = "default"


class FileName(NamedTuple):
    """A relative path, and what gave it."""

    path: str
    by: NamedBy


@cache
def _name() -> re.Pattern[str]:
    """A file name in a text: one with a suffix that some language or document has."""
    sources = {suffix.lstrip(".") for used in every_language() for suffix in used.syntax.suffixes}
    suffixes = "|".join(sorted({*sources, *_DOCUMENTS}, key=len, reverse=True))
    whole = "|".join(map(re.escape, _WHOLE_NAMES))
    part = r"[\w.+\\/~-]"  # of ASCII alone: other scripts put no blank between a word and a name
    return re.compile(
        rf"(?<![\w.+\\/~:-])(?P<path>(?:[A-Za-z]:)?(?:{part}{{0,198}}\w\.(?:{suffixes})|{whole}))(?![\w/\\]|\.\w)",
        re.ASCII,
    )


def names_in(text: str) -> list[str]:
    """The file names in a line, each once."""
    found = (match["path"] for match in _name().finditer(text[:_LONGEST]))
    return list(dict.fromkeys(name for name in found if "//" not in name))


def file_name(block: FencedBlock) -> FileName | None:
    """The name that a block bears; None where it has none."""
    return next(_names(block), None)


def _names(block: FencedBlock) -> Iterator[FileName]:
    if name := _in_info(block.info):
        yield FileName(name, NamedBy.INFO)
    for line in _first_lines(block.text):
        if (said := _COMMENT.match(line[:_LONGEST])) and (name := label_of(said["said"])):
            yield FileName(name, NamedBy.FIRST_LINE)
    filled = [line for line in block.above if line.strip(" \t>-=_*")]
    if filled and opening_tag(filled[0]) and (tagged := _ATTRIBUTE.search(filled[0][:_LONGEST])):
        yield FileName(tagged[1], NamedBy.LABEL)
    for line in filled[:_NEAR]:
        if (line is filled[0] or _LABEL.match(line)) and (name := label_of(line)):
            yield FileName(name, NamedBy.LABEL)
    for line in filled[:1]:
        names = names_in(line)
        if name := _ordered(line):
            yield FileName(name, NamedBy.LABEL)
        if len(names) == 1 and _ANNOUNCES.search(line[:_LONGEST]):
            yield FileName(names[0], NamedBy.SENTENCE)
    if name := _ordered(_item_above(filled[:_NEAR])):
        yield FileName(name, NamedBy.LABEL)


def named_below(blocks: Sequence[FencedBlock], prose: Sequence[tuple[int, str]]) -> list[FencedBlock]:
    """The blocks, those without a name named by the line below that speaks back to them: "Save the above as `x.py`".

    Args:
        blocks: in order.
        prose: lines outside blocks, with their numbers from 1.
    """
    made = list(blocks)
    for at, block in enumerate(blocks):
        end = blocks[at + 1].line if at + 1 < len(blocks) else prose[-1][0] + 1 if prose else 0
        first = next((line for number, line in prose if block.last < number < end and line.strip()), "")
        names = names_in(first) if _speaks_back(first[:_LONGEST]) else []
        if len(names) != 1 or file_name(made[at]) is not None:
            continue
        made[at] = replace(made[at], above=(f"`{names[0]}`", *made[at].above))
        if at + 1 < len(blocks):
            above = made[at + 1].above
            made[at + 1] = replace(made[at + 1], above=tuple(line for line in above if line != first))
    return made


def _speaks_back(line: str) -> bool:
    """Whether a line tells what the code above it is to be called."""
    if line.rstrip().endswith((":", "\uff1a")) or REPLACES.search(line):
        return False
    return _BACKWARD.search(line) is not None and (_ANNOUNCES.search(line) or _GOES.search(line)) is not None


def mentioned(block: FencedBlock, *, far: bool = False) -> set[str]:
    """The files, without their folders, of which the words close to a block speak in any way; all words where `far`."""
    filled = [line for line in block.above if line.strip()]
    heading = next((line for line in filled[:_NEAR] if _HEADING.match(line)), "")
    comments = [line for line in _first_lines(block.text) if _COMMENT.match(line[:_LONGEST])]
    return {
        name.replace("\\", "/").rpartition("/")[2]
        for line in (block.info, *filled[: None if far else _LEAD], heading, *comments)
        for name in names_in(line)
    }


def _ordered(line: str) -> str:
    """The file that a line tells the reader to put something into, as its last word; empty where it tells none."""
    names = list(_name().finditer(line[:_LONGEST]))
    if len({match["path"] for match in names}) != 1 or re.search(r"\w", line[names[-1].end() : _LONGEST]):
        return ""
    return names[0]["path"] if _ORDERS.match(line[: names[0].start()]) else ""


def _item_above(lines: Sequence[str]) -> str:
    """The item of a list of which the lines above a block, the nearest first, are items within; empty where none is."""
    found = _ITEM.match(lines[0]) if lines else None
    for line in lines[1:] if found else ():
        blanks = len(line) - len(line.lstrip(" \t"))
        if found and blanks < len(found["indent"]):
            return line
    return ""


def _in_info(info: str) -> str:
    """The file that an info string names; that of a citation of lines is none of its own."""
    if found := _ATTRIBUTE.search(info[:_LONGEST]):
        return found[1]
    if _CITED.search(info[:_LONGEST]):
        return ""
    names = names_in(info.replace(":", " ", 1)) or names_in(info)
    return names[0] if len(names) == 1 else ""


def _first_lines(text: str) -> Sequence[str]:
    lines = text[: 2 * _LONGEST].split("\n")[:2]
    return lines if lines[0].startswith(("#!", "# -*-", "<?")) else lines[:1]


def label_of(line: str) -> str:
    """The one file name of a line that says little else; empty where it is none such."""
    line = _REMARK.sub(" (", line[:_LONGEST]).translate(_BRACKETS)
    plain = " ".join(_MARKUP.sub(" ", _TAGS.sub(" ", line)).split())
    names = list(_name().finditer(plain))
    if len({match["path"] for match in names}) != 1:
        return ""
    before = plain[: names[0].start()].lstrip("-+.:() 0123456789")
    labelled = before.rstrip().endswith(":") and len(before) <= _SHORT
    used = _USES.search(_name().sub(" ", plain))
    rest = used if labelled or _HEADING.match(line) else _BEFORE.sub("", before, count=1).strip()
    return "" if rest or not _AFTER.match(plain, names[0].end()) else names[0]["path"]


def safe(path: str, reply: str, line: int) -> str:
    """A name as the path of a file in the submission's folder.

    Raises:
        ReplyError: it leads elsewhere, or is reserved.
    """
    name = path.replace("\\", "/").removeprefix("./")
    problem = name_problem(name)
    if not problem and (":" in name or name.startswith("~")):
        problem = "is an absolute path"
    elif not problem and any(part.startswith((".", "-")) for part in name.split("/")):
        problem = "is hidden, or begins with '-'"
    elif not problem and is_reserved(name) and name != SUBMISSION_FILE:
        problem = "is kept for the harness"
    if problem:
        raise ReplyError(
            reply, ReplyProblem.UNSAFE_NAME, f"line {line} names the file {path!r}, which {problem}",
            hint="change that name in the reply, and import it again",
        )  # fmt: skip
    return name
