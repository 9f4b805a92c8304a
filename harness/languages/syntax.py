"""How source files of one kind are read: the part of a language that source metrics and hints depend on."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol


class SourceLine(NamedTuple):
    """One line that holds code: its number from 1 and its text without comment and outer blanks."""

    number: int
    text: str


class NamedLine(NamedTuple):
    """A line and what is there."""

    line: int
    name: str


class DocumentedName(NamedTuple):
    """A public name: its line from 1, whether it is documented, and of each parameter whether it has a type."""

    line: int
    name: str
    documented: bool
    annotated: tuple[bool, ...] = ()


class FunctionSpan(NamedTuple):
    """One function: its name, the line of its name, its first and last line, and its cyclomatic complexity."""

    name: str
    line: int
    first: int
    last: int
    complexity: int


@dataclass(frozen=True)
class Outline:
    """What a source defines, needs and leaves out, read without running it.

    Attributes:
        fault: where it is no code of the language, and why; None where it is.
        defines: names it gives a value at its top level, imports and stubs left out.
        stubs: functions at its top level that have no body.
        unwritten: functions at its top level whose body is a placeholder: it does no more than guard, and returns
            nothing or a constant, or it only ends by raising NotImplementedError.
        functions: names of all functions in it, those within classes and functions as well.
        imported: names that its imports bind at its top level; in C those of its macros, types and constants.
        imports: for each module or file it imports, the names it takes from there; "*" stands for all.
        needs: names it uses and gives no value, in C all words of it; None where that cannot be told.
        gaps: lines that stand for code left out.
        tests: whether it holds tests.
    """

    fault: NamedLine | None = None
    defines: frozenset[str] = frozenset()
    stubs: frozenset[str] = frozenset()
    functions: frozenset[str] = frozenset()
    imported: frozenset[str] = frozenset()
    imports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    needs: frozenset[str] | None = None
    gaps: tuple[int, ...] = ()
    tests: bool = False
    unwritten: frozenset[str] = frozenset()


class Syntax(Protocol):
    """How files of some suffixes are read; methods with a body have a default.

    Attributes:
        suffixes: of the files.
        linted: whether ruff reads them.
        binds_names: whether a source binds each name that it uses, by its imports too.
    """

    suffixes: frozenset[str]
    linted: bool = False
    binds_names: bool = False

    def code_lines(self, text: str) -> Iterator[SourceLine]:
        """The lines that hold code: no blank ones, no comments."""
        ...

    def public_names(
        self, text: str, tree: ast.Module | None, functions: Sequence[NamedLine]
    ) -> Iterator[DocumentedName]:
        """What a file offers, and how it is documented.

        Args:
            text: the file's.
            tree: as `parse` gives it.
            functions: those in the file.
        """
        ...

    def functions(self, tree: ast.Module) -> Iterator[FunctionSpan] | None:
        """The functions of a file, from its tree; None where lizard finds them, in text."""
        return None

    def encoding(self, data: bytes) -> str:
        """The encoding of a file.

        Raises:
            SyntaxError: it states none that is read.
        """
        return "utf-8"

    def parse(self, text: str) -> ast.Module | None:
        """Python's syntax tree; None in any other language.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
        """
        return None

    def foreign_line(self, text: str) -> NamedLine | None:
        """The first line that no compiler takes for code, and why; None where there is none to be seen."""
        return None

    def outline(self, text: str) -> Outline | None:
        """What a source defines and needs; None where the language has no reader for it. Never raises."""
        return None

    def spliced(self, text: str, part: str) -> str | None:
        """A source with its functions replaced by those of the same names in `part`; None where that is not clear.

        Args:
            text: the whole source.
            part: functions and classes; a comment or `...` between them may stand for all that it leaves out.
        """
        return None

    def is_open(self, text: str) -> bool:
        """Whether a text seems to end within a comment or string of several lines."""
        return False

    def is_code(self, text: str) -> bool:
        """Whether a text is code from its first line to its last, and no prose."""
        return False

    def literals(self, text: str) -> Iterator[int]:
        """Integers that the text names, constant expressions of them included.

        Raises:
            SyntaxError, ValueError, RecursionError, MemoryError: the text does not parse.
        """
        return iter(())

    def is_test(self, path: str) -> bool:
        """Whether a file is called like a test."""
        return False

    def imports(self, text: str, tree: ast.Module | None) -> Iterator[str]:
        """Names, without folder and suffix, of all files and modules that a file may import or include."""
        return iter(())

    def hints(self, path: str, text: str, tree: ast.Module | None) -> Iterator[NamedLine]:
        """What the file mentions that a kernel rarely needs."""
        return iter(())


def filled_lines(text: str) -> Iterator[SourceLine]:
    """All lines that are not blank."""
    for number, line in enumerate(text.split("\n"), 1):
        if stripped := line.strip():
            yield SourceLine(number, stripped)


_COMMENT = re.compile(r"[ \t]{0,200}(?:#|//|/\*|\*|<!--)[-#/*!( \t\[]{0,9}(?P<said>[^\n]{0,200})")
_LEFT_OUT = re.compile(
    r"(?:\.\.\.|\u2026)[ \t]*(?:$|.*\b(?:rest|unchanged|same|existing|remain\w*|previous\w*|above|before|omit\w*|code|"
    r"other|implementation|here|keep|body|logic|as is)\b)"
    # in whatever language: an ellipsis on both sides stands for code
    r"|(?:\.\.\.|\u2026)[ \t]{0,9}[^\W\d].{1,180}(?:\.\.\.|\u2026)[ )\]*/-]*$"
    r"|(?:the )?(?:rest|remainder|remaining|everything else|other \w+|all other|existing)\b.*"
    r"\b(?:unchanged|(?:the|is|are) same|same as (?:before|above)|omitted|as before|as above|identical|goes here|"
    r"not shown|code here)(?: for brevity)?[ .)\]*/-]*$"
    r"|(?:(?:existing|previous) code|code omitted|unchanged|same as (?:before|above)|as before|no changes?)[ .)\]*/-]*$"
    r"|.*\b(?:omitted for brevity|(?:stays|remains?) (?:the same|unchanged)|rest (?:is )?unchanged|unchanged from)\b"
    r"|.*\b(?:existing|previous) code\b[ .)\]*/-]*(?:$|\.\.\.)"
    # the same in German, French, Spanish, Portuguese, Italian, Russian; Chinese, Japanese, Korean
    r"|(?:\.\.\.|\u2026).*\b(?:rest\w*|unverändert|gleich|wie (?:oben|vorher|zuvor)|inchangée?s?|(?:le|du) reste|"
    r"comme avant|"
    r"el resto|sin cambios|igual|o resto|sem (?:alteraç\w+|mudanç\w+)|como antes|invariat\w+|il resto|come prima|"
    r"без изменений|остальн\w+|как раньше)\b"
    r"|(?:(?:der|das|den)? ?rest|le reste|el resto|o resto|il resto|остальн\w+)\b.{0,40}\b(?:unverändert|gleich|"
    r"wie (?:oben|vorher|zuvor)|"
    r"inchangé\w*|identique|sin cambios|igual|permanece\w*|sem (?:alteraç\w+|mudanç\w+)|invariat\w+|uguale|come prima|"
    r"без изменений|не меня\w+|как раньше|прежн\w+)\b[^\w]*(?:igual)?[^\w]*$"
    r"|(?:unverändert|inchangé|sin cambios|sem alterações|invariato|без изменений)[ .)\]*/-]*$"
    r"|[^\w]{0,9}.{0,8}(?:其余|其他|其它|剩余|余下|残り|他は|나머지|이하).{0,12}"
    r"(?:不变|相同|同上|省略|略|同じ|変更なし|変更はありません|동일|그대로|생략)[^\w]*$"
    r"|[^\w]{0,9}(?:此处|这里|以下|以降|以上|コードは|코드)?[^\w]{0,3}(?:代码)?(?:省略|同じ|同样|保持不变|변경 ?없음|"
    r"생략)[^\w]*$",
    re.IGNORECASE,
)


def lines_left_out(text: str) -> Iterator[int]:
    """Lines whose comment says that code was left out there: "... rest unchanged" and its like."""
    for number, line in enumerate(text.split("\n"), 1):
        comment = _COMMENT.match(line)
        if comment and _LEFT_OUT.match(comment["said"]):
            yield number
