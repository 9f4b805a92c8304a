"""The same code written differently: a suite that fails on it judges the text, not what the code does.

A control is made of mutants that never come to life. Where a mutant has its changed expression, a control has
`(same if __name__ else changed)`: `same` computes what stood there, bit for bit, by calls of `operator`, and `changed`
is the mutant's own text. So operators, comparisons and numbers come and go as they do in a mutant, and no count of them
tells one from the other. Layout, comments, lines and local names stay as they are.
"""

import ast
import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.quality.ast_mutants import Mutant, plan_mutants
from harness.quality.sources import SourceFile

SHARE = 0.7
"""Of the places, how many a thorough control edits; with all of them, what comes and goes could always cancel out."""
TRIES = 12
"""Drawings of a thorough control until what it changes does not cancel out within a kind."""
MAX_PLACES = 400
"""Places of a file among which a control takes its own."""
MAX_SPAN = 4096
"""Characters of an expression; in a longer one only its parts are edited."""
CHOICE = 8
"""Edits of which a slight control takes the one most like a mutant."""

_FUNCTIONS: Mapping[type[ast.AST], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.Mod: "mod",
    ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_",
    ast.BitOr: "or_", ast.BitXor: "xor", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge", ast.Eq: "eq",
    ast.NotEq: "ne", ast.Is: "is_", ast.IsNot: "is_not", ast.Not: "not_", ast.USub: "neg", ast.UAdd: "pos",
    ast.Invert: "invert",
}  # fmt: skip
_KINDS = (ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
_ONCE = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
_STEADY = (ast.Name, ast.Attribute, ast.Constant, ast.Compare, ast.Slice, ast.Tuple, ast.expr_context, *_KINDS)
_STEADY_PLACE = (*_STEADY, ast.Subscript, ast.UnaryOp, ast.BinOp)
# a string would show in a count of constants; the name of a keyword does not
_OPERATOR = "(lambda **names: __import__(*names))(operator=__name__)"

Census = dict[str, Counter[str]]
"""How often each thing occurs, by kind."""
Edit = tuple[int, int, str]
"""First character, first character after, and what stands there instead."""


def rewritten(file: SourceFile, seed: int) -> str:
    """The text of a file that does what `file` does; `file` as it is where no mutant can be planted in it.

    Args:
        file: a source file.
        seed: of the places. With an even one the control is thorough: it changes every kind of thing that mutants
            change. With an odd one it is slight: it changes one expression, as one mutant does.
    """
    if file.tree is None:
        return file.text
    draw = random.Random(f"{seed} {file.path}")
    places = [place for place in _places(file) if place[0].end - place[0].start <= MAX_SPAN]
    if len(places) > MAX_PLACES:
        places = [places[index] for index in sorted(draw.sample(range(len(places)), MAX_PLACES))]
    return (_slight if seed % 2 else _thorough)(file, places, draw) if places else file.text


def census(tree: ast.AST) -> Census:
    """How often each operator, comparison, boolean word, sign, truth value and number occurs, by kind."""
    counts: Census = {}
    for node in ast.walk(tree):
        if isinstance(node, _KINDS):
            kind = next(kind.__name__ for kind in _KINDS if isinstance(node, kind))
            counts.setdefault(kind, Counter())[type(node).__name__] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            kind = "truth" if isinstance(node.value, bool) else "number"
            counts.setdefault(kind, Counter())[repr(node.value)] += 1
    return counts


def _places(file: SourceFile) -> list[list[Mutant]]:
    """Mutants that share a span, outermost spans first."""
    everywhere = {file.path: frozenset(range(1, file.text.count("\n") + 2))}
    mutants = sorted(plan_mutants([file], everywhere, 0), key=lambda mutant: (mutant.start, -mutant.end, mutant.text))
    return [list(group) for _, group in itertools.groupby(mutants, key=lambda mutant: (mutant.start, mutant.end))]


def _slight(file: SourceFile, places: Sequence[Sequence[Mutant]], draw: random.Random) -> str:
    """One edit that shows in the census and, of those drawn, comes nearest to a mutant: one thing gone, one come."""
    rewriter = _Rewriter(_OPERATOR, file.tree)
    mutants = [mutant for place in places for mutant in place]
    drawn = (_edit(file, mutant, rewriter) for mutant in draw.sample(mutants, len(mutants)))
    weighed = ((_difference(*_exchanged(file, [edit])), edit) for edit in drawn if edit)
    shown = list(itertools.islice((pair for pair in weighed if pair[0]), CHOICE))
    return _applied(file.text, [min(shown, key=lambda pair: pair[0])[1]]) if shown else _thorough(file, places, draw)


def _difference(gone: Census, come: Census) -> int:
    """How many things are in one and not in the other."""
    pairs = [(gone.get(kind, Counter()), come.get(kind, Counter())) for kind in gone.keys() | come.keys()]
    return sum((one - other).total() + (other - one).total() for one, other in pairs)


def _exchanged(file: SourceFile, edits: Iterable[Edit]) -> tuple[Census, Census]:
    """What edits take away, and what they put there."""
    gone: Census = {}
    come: Census = {}
    for start, end, instead in edits:
        for counts, tree in ((gone, _parsed(file.text[start:end])), (come, ast.parse(instead))):
            for kind, found in census(tree).items():
                counts.setdefault(kind, Counter()).update(found)
    return gone, come


def _thorough(file: SourceFile, places: Sequence[Sequence[Mutant]], draw: random.Random) -> str:
    """Edits everywhere, until in none of the kinds they touch as much comes as goes."""
    assert file.tree is not None
    alias = f"_operator_{draw.randrange(1 << 20)}"
    rewriter = _Rewriter(alias, file.tree)
    kinds = {kind for place in places for kind in census(_parsed(file.text[place[0].start : place[0].end]))}
    edits: list[Edit] = []
    for _ in range(TRIES):
        edits = list(_outermost(file, places, rewriter, draw))
        gone, come = _exchanged(file, edits)
        if all(gone.get(kind) != come.get(kind) for kind in kinds):
            break
    return _applied(file.text, [_naming(file.text, file.tree, alias), *edits])


def _outermost(
    file: SourceFile, places: Sequence[Sequence[Mutant]], rewriter: "_Rewriter", draw: random.Random
) -> Iterator[Edit]:
    """Edits of a `SHARE` of the places, none within another."""
    end = 0
    for place in places:
        if place[0].start >= end and draw.random() < SHARE:
            edit = _edit(file, draw.choice(place), rewriter)
            if edit:
                end = edit[1]
                yield edit


def _naming(text: str, tree: ast.Module, alias: str) -> Edit:
    """Names the module `operator`, behind the docstring and what comes from the future."""
    naming = f'{alias} = __import__("operator")'
    first = tree.body[0]
    opening: list[ast.stmt] = [first] if ast.get_docstring(tree, clean=False) is not None else []
    opening += [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.module == "__future__"]
    if opening:
        place = _offset(text, opening[-1].end_lineno or 1, opening[-1].end_col_offset or 0)
        return place, place, f"; {naming}"
    line = min(node.lineno for node in (first, *getattr(first, "decorator_list", ())))
    place = _offset(text, line, 0)
    return place, place, f"{naming}\n"


def _offset(text: str, line: int, column: int) -> int:
    lines = text.split("\n")
    # columns of the tree count bytes of UTF-8
    return sum(len(each) + 1 for each in lines[: line - 1]) + len(lines[line - 1].encode()[:column].decode())


def _applied(text: str, edits: Iterable[Edit]) -> str:
    for start, end, instead in sorted(edits, reverse=True):
        text = text[:start] + instead + text[end:]
    return text


def _edit(file: SourceFile, mutant: Mutant, rewriter: "_Rewriter") -> Edit | None:
    """What stands where the mutant would be and does not change a thing; None where that cannot be said."""
    try:
        edit = _sheltered(file, mutant, rewriter)
        if edit:
            ast.parse(edit[2])
    except (MemoryError, RecursionError, SyntaxError):
        # one expression nested too deeply keeps no control from the rest
        return None
    return edit


def _sheltered(file: SourceFile, mutant: Mutant, rewriter: "_Rewriter") -> Edit | None:
    site, changed = _parsed(file.text[mutant.start : mutant.end]), _parsed(mutant.text)
    if any(isinstance(node, _ONCE) for node in ast.walk(site)):
        return None
    if isinstance(site, ast.AugAssign) and isinstance(changed, ast.AugAssign):
        return _assignment(site, changed, mutant, rewriter)
    if isinstance(site, ast.Slice) and isinstance(changed, ast.Slice):
        if rewriter.own_slice:
            return None
        return mutant.start, mutant.end, _either(_called("slice", rewriter.visit(site)), _called("slice", changed))
    if isinstance(site, ast.Constant):
        return mutant.start, mutant.end, f"({ast.unparse(rewriter.visit(site))})"
    return mutant.start, mutant.end, _either(rewriter.visit(site), changed)


def _either(same: ast.AST, other: ast.AST) -> str:
    return f"({ast.unparse(same)} if __name__ else {ast.unparse(other)})"


def _assignment(site: ast.AugAssign, changed: ast.AugAssign, mutant: Mutant, rewriter: "_Rewriter") -> Edit | None:
    if not _holds_only(site.target, _STEADY_PLACE):
        return None
    target = ast.unparse(site.target)
    place = ast.parse(target, mode="eval").body
    function = "i" + _FUNCTIONS[type(site.op)].rstrip("_")
    same = rewriter.call(function, place, rewriter.visit(site.value))
    other = ast.BinOp(place, changed.op, changed.value)
    return mutant.start, mutant.end, f"{target} = {ast.unparse(same)} if __name__ else {ast.unparse(other)}"


def _parsed(text: str) -> ast.expr | ast.AugAssign:
    """An expression, an assignment such as `a += b`, or what stands between the brackets of `x[a:b]`."""
    try:
        return ast.parse(f"({text}\n)", mode="eval").body
    except SyntaxError:
        pass
    try:
        statement = ast.parse(text).body[0]
    except SyntaxError:
        statement = None
    if isinstance(statement, ast.AugAssign):
        return statement
    # also `a: b`, which would be an annotation by itself
    subscript = ast.parse(f"x[{text}]", mode="eval").body
    assert isinstance(subscript, ast.Subscript)
    return subscript.slice


def _called(name: str, part: ast.Slice) -> ast.Call:
    bounds = (bound or ast.Constant(None) for bound in (part.lower, part.upper, part.step))
    return ast.Call(ast.Name(name, ast.Load()), list(bounds), [])


def _binds(tree: ast.Module | None, name: str) -> bool:
    return tree is not None and any(
        (isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load))
        or (isinstance(node, ast.arg) and node.arg == name)
        or (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name)
        or (isinstance(node, ast.alias) and (node.asname or node.name) == name)
        for node in ast.walk(tree)
    )


def _holds_only(expression: ast.expr, kinds: tuple[type[ast.AST], ...]) -> bool:
    return all(isinstance(node, kinds) for node in ast.walk(expression))


class _Rewriter(ast.NodeTransformer):
    """Puts calls of the module `operator` for operators and comparisons, and other numbers for numbers.

    Attributes:
        operator: the expression by which the module is had.
        own_slice: whether `slice` may be something else in this file.
    """

    def __init__(self, operator: str, tree: ast.Module | None) -> None:
        self.operator = ast.parse(operator, mode="eval").body
        self.own_slice = _binds(tree, "slice")

    def call(self, function: str, *operands: ast.expr) -> ast.expr:
        return ast.Call(ast.Attribute(self.operator, function, ast.Load()), list(operands), [])

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        return self.call(_FUNCTIONS[type(node.op)], self.visit(node.left), self.visit(node.right))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        return self.call(_FUNCTIONS[type(node.op)], self.visit(node.operand))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        steady = _holds_only(node, _STEADY)
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        op, left, right = node.ops[0], node.left, node.comparators[0]
        if not isinstance(op, ast.In | ast.NotIn):
            return self.call(_FUNCTIONS[type(op)], left, right)
        if not steady:
            # `contains` takes the container first: what is worked out before what would change
            return node
        found = self.call("contains", right, left)
        return found if isinstance(op, ast.In) else self.call("not_", found)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        steady = all(_holds_only(value, _STEADY) for value in node.values[:-1])
        self.generic_visit(node)
        if not steady:
            return node
        *firsts, result = node.values
        for value in reversed(firsts):
            last = (result, value) if isinstance(node.op, ast.And) else (value, result)
            result = ast.IfExp(value, *last)
        return result

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """The number a mutant puts there, and what leads back from it exactly."""
        name = ast.Name("__name__", ast.Load())
        value = node.value
        if isinstance(value, bool):
            return self.call("not_", ast.Constant(not value))
        if isinstance(value, int) and value < 1 << 62:
            return self.call("sub", ast.Constant(value + 1), self.call("truth", name))
        if isinstance(value, float) and value == 0.0:
            return self.call("sub", ast.Constant(1.0), self.call("truth", name))
        if isinstance(value, float) and math.isfinite(2 * value):
            return self.call(
                "truediv", ast.Constant(2 * value), self.call("length_hint", ast.Tuple([name, name], ast.Load()))
            )
        return node
