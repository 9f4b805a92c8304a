"""The same code written differently: a suite that fails on it judges the text, not what the code does.

A control changes about as much as a mutant does, at places drawn from a seed, and means the same. Layout and comments
go, functions begin with a statement without effect, some branches trade places under a `not`, some results are named
before they are returned.
"""

import ast
import random

from harness.quality.sources import SourceFile

_SEES_ITS_NAMES = frozenset({"locals", "vars", "eval", "exec", "dir"})


def rewritten(file: SourceFile, seed: int) -> str:
    """The text of a file that does what `file` does; `file` as it is where it cannot be written anew."""
    if file.tree is None:
        return file.text
    draw = random.Random(f"{seed} {file.path}")
    try:
        return ast.unparse(ast.fix_missing_locations(_Rewriter(draw).visit(ast.parse(file.text)))) + "\n"
    except (RecursionError, ValueError):
        return file.text


class _Rewriter(ast.NodeTransformer):
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.plain = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        outer = self.plain
        names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
        self.plain = bool(names & _SEES_ITS_NAMES)
        self.generic_visit(node)
        self.plain = outer
        first = 1 if ast.get_docstring(node, clean=False) is not None else 0
        node.body.insert(first, ast.Expr(ast.Name("__name__", ast.Load())))
        return node

    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        if node.orelse and self.draw.random() < 0.5:
            return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return | list[ast.stmt]:
        if node.value is None or self.plain or self.draw.random() < 0.5:
            return node
        name = f"_result_{self.draw.randrange(1 << 20)}"
        return [ast.Assign([ast.Name(name, ast.Store())], node.value), ast.Return(ast.Name(name, ast.Load()))]
