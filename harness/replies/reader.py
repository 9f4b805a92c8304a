"""Extraction of a reply's files."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from harness.errors import ReplyError
from harness.languages import Language, Outline
from harness.model import Challenge
from harness.model.submissions.collection import SUBMISSION_FILE
from harness.replies.blocks import NEW, CodeBlock, find_blocks
from harness.replies.disorder import refuse_disorder
from harness.replies.entry import find_entry
from harness.replies.found import BlocksOfReply, Extraction, LeftBlock, PassedOver, ReadBlock, imports
from harness.replies.names import PLAIN, FileName, NamedBy, find_language, name_of, safe, text_of
from harness.replies.patches import is_patch, patches_of
from harness.replies.text import ReplyProblem, ReplyText
from harness.replies.versions import Versions


def extract(
    reply: ReplyText, challenge: Challenge, used: Language, take: Mapping[int, str] = MappingProxyType({})
) -> Extraction:
    """Return the files of a reply.

    Args:
        used: the challenge's language.
        take: numbers of the blocks to take, with their names or ""; empty to let the reply decide.

    Raises:
        NoAnswerError: it holds no submission.
        ReplyError: its files are ambiguous.
    """
    parts = find_blocks(reply)
    whole = [*parts.blocks] or _read_bare_code(reply, used)
    expanded = [each for block in whole for each in _split_new_files(block)]
    blocks = [replace(block, number=number) for number, block in enumerate(expanded, 1)]
    prose = parts.prose if parts.blocks or not whole else ()
    asked = BlocksOfReply(
        reply.path, challenge, used, [_read(block, used, reply.path, take) for block in blocks], prose
    )
    if missing := sorted(take.keys() - {block.number for block in blocks}):
        raise ReplyError(
            reply.path,
            ReplyProblem.NO_BLOCK,
            f"holds no block {missing[0]}",
            found=asked.list_blocks(),
            hint=f"name one of the {len(blocks)} blocks",
        )
    not_chosen = [LeftBlock(r.block, PassedOver.NOT_CHOSEN) for r in asked.blocks if take and not r.chosen]
    if take:
        asked = replace(asked, blocks=[read for read in asked.blocks if read.chosen])
    else:
        refuse_disorder(asked)
    settings = next((read.block.text for read in reversed(asked.blocks) if read.path == SUBMISSION_FILE), None)
    found = Versions(asked, find_entry(asked, settings), settings).extraction()
    return replace(found, left=(*found.left, *not_chosen))


def _read_bare_code(reply: ReplyText, used: Language) -> list[CodeBlock]:
    # a reply of nothing but code is one block
    text = "\n".join(reply.lines).strip("\n") + "\n"
    first = next((number for number, line in enumerate(reply.lines, 1) if line.strip()), 1)
    block = CodeBlock(0, first, len(reply.lines) + 1, used.name, text, fenced=False)
    return [block] if used.syntax.is_code(text) else []


def _split_new_files(block: CodeBlock) -> list[CodeBlock]:
    patches = patches_of(block) if is_patch(block) else None
    made = [
        replace(block, info=f'{NEW} title="{patch.path}"', text=patch.new_text)
        for patch in patches or ()
        if patch.creates
    ]
    # the patch itself follows if it also changes other files
    return [*made, block] if len(made) < len(patches or (block,)) else made


def _read(block: CodeBlock, used: Language, reply: str, take: Mapping[int, str]) -> ReadBlock:
    chosen = block.number in take
    block = replace(block, closed=True, inner=0) if chosen else block
    name = FileName(take[block.number], NamedBy.TAKE) if take.get(block.number) else name_of(block)
    name = FileName(safe(name.path, reply, block.line), name.by) if name else None
    if block.tongue == "toml" and name is None and "[submission]" in block.text:
        name = FileName(SUBMISSION_FILE, NamedBy.DEFAULT)
    if is_patch(block):
        return ReadBlock(block, None, None, Outline(), patch=True, chosen=chosen)
    language = find_language(block.tongue, name.path if name else "", used)
    if language is None and name is None and block.tongue in PLAIN and _defines(block.text, used):
        language = used
    outline = (language.syntax.outline(text_of(block)) if language else None) or Outline()
    if name and name.by is NamedBy.LABEL and language and imports(outline, name.path):
        name = None  # importing a file shows that this block is not that file
    return ReadBlock(block, name, language, outline, chosen=chosen)


def _defines(text: str, used: Language) -> bool:
    # a program's output may parse as code, but defines nothing
    outline = used.syntax.outline(text) if used.syntax.is_code(text) else None
    return outline is not None and bool(outline.defines | outline.functions)
