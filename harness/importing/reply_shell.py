"""Files that a block of shell commands writes: `cat > file <<'EOF'` and its like."""

import re
from collections.abc import Sequence
from dataclasses import replace

from harness.importing.fences import FencedBlock

SHELL = frozenset(
    {"bash", "sh", "shell", "console", "zsh", "powershell", "ps1", "cmd", "bat", "terminal", "shell-session"}
)
"""What info strings call commands."""
_BEGINS = re.compile(
    r"[ \t]{0,20}(?:\$[ ])?(?:sudo[ ])?(?:cat|tee)\b(?P<words>[^\n]{0,300}?)<<(?P<strips>-?)[ ]?"
    r"(?P<quote>['\"\\]?)(?P<end>\w{1,40})['\"]?(?P<after>[^\n]{0,300})$"
)
_TARGET = re.compile(
    r"(?P<sign>>>?)[ ]{0,3}['\"]?(?P<path>[\w./-]{1,200})['\"]?|^[ ]{1,3}(?P<tee>[\w./-]{1,200})[ ]{0,3}$"
)
_EXPANDED = re.compile(r"[$`\\]")


def shell_parts(block: FencedBlock) -> Sequence[FencedBlock]:
    """The files that the commands write, as blocks, and the other commands; the block itself where one is not clear.

    Text that the shell would expand, and text that is appended to a file, is not clear.
    """
    if block.tongue not in SHELL | {"", "text"}:
        return [block]
    lines = block.text.split("\n")
    parts, others, at = list[FencedBlock](), list[str](), 0
    while at < len(lines):
        found = _BEGINS.match(lines[at])
        if found is None:
            others.append(lines[at])
            at += 1
            continue
        target = _target(found)
        end = next((n for n in range(at + 1, len(lines)) if _is_end(lines[n], found)), None)
        if end is None or not target:
            return [block]
        body = [line.lstrip("\t") if found["strips"] else line for line in lines[at + 1 : end]]
        if not found["quote"] and _EXPANDED.search("\n".join(body)):
            return [block]
        place = replace(block, line=block.line + 1 + at, last=block.line + 1 + end, info="", above=(f"`{target}`",))
        parts.append(replace(place, text="".join(f"{line}\n" for line in body)))
        at = end + 1
    if not parts or len({part.above for part in parts}) < len(parts):
        return [block]
    if any(line.strip() for line in others):
        parts.append(replace(block, last=block.last, text="\n".join(others).strip("\n") + "\n"))
    return parts


def _target(found: re.Match[str]) -> str:
    """The file that is written; empty where there is none, several, or text is put at the end of one."""
    targets = [match for words in (found["words"], found["after"]) for match in _TARGET.finditer(words)]
    if len(targets) != 1 or targets[0]["sign"] == ">>":
        return ""
    return targets[0]["path"] or targets[0]["tee"]


def _is_end(line: str, found: re.Match[str]) -> bool:
    return (line.lstrip("\t") if found["strips"] else line).rstrip() == found["end"]
