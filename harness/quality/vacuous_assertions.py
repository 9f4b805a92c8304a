"""Conditions that hold whatever the code under test does.

`x == x` is one although it is false for NaN: tests check for NaN in other ways.
"""

import ast
import itertools
from collections.abc import Sequence

from harness.mutation.operators.ast_operators import get_call_name

_COMPARED = """
    allclose isclose array_equal array_equiv assert_allclose assert_almost_equal assert_equal assert_approx_equal
    assert_array_almost_equal assert_array_almost_equal_nulp assert_array_equal assert_array_max_ulp assertAlmostEqual
    assertCountEqual assertDictEqual assertEqual assertGreaterEqual assertIs assertLessEqual assertListEqual
    assertSequenceEqual assertTupleEqual
"""
_COMPARISONS = frozenset(_COMPARED.split())
_TOLERANCES = frozenset({"rtol", "atol", "rel", "abs", "tol", "rel_tol", "abs_tol", "delta"})
_TOLERANT = _COMPARISONS | {"approx"}
_NEVER_NEGATIVE = frozenset({"len", "abs", "fabs", "absolute", "norm"})
_REFLEXIVE = (ast.Eq, ast.LtE, ast.GtE, ast.Is)
_FILLED = "asserts a {}, which is always true"


def always_true(test: ast.expr) -> str | None:
    """Return why `test` is always true, or None."""
    match test:
        case ast.Constant(value=value):
            return "asserts a constant" if value else None
        case ast.Tuple() | ast.List() | ast.Set() if test.elts:
            return _FILLED.format(f"non-empty {type(test).__name__.lower()}")
        case ast.Dict() if test.keys:
            return _FILLED.format("non-empty dict")
        case ast.Lambda() | ast.GeneratorExp():
            return _FILLED.format("function" if isinstance(test, ast.Lambda) else "generator")
        case ast.Attribute(value=ast.Name(id="np" | "numpy")):
            return f"asserts the function {test.attr} without calling it"
        case ast.BoolOp():
            return _judge_bool_op(test)
        case ast.Compare():
            return _judge_compare(test)
        case ast.Call():
            return vacuous_call(test)
        case ast.NamedExpr():
            return always_true(test.value)
        case ast.IfExp():
            return always_true(test.body) and always_true(test.orelse)
        case _ if _is_constant(test):
            return "asserts an expression of constants"
    return None


def vacuous_call(call: ast.Call) -> str | None:
    """Return why a comparing or asserting call always succeeds, or None."""
    match get_call_name(call), call.args:
        case "approx", _:
            return "asserts pytest.approx without a comparison"
        case _ if _allows_anything(call):
            return "allows any difference"
        case name, [one, other, *_] if name in _COMPARISONS and _is_same(one, other):
            return "compares a thing with itself"
        case name, [one, other, *_] if name in _COMPARISONS and _is_constant(one) and _is_constant(other):
            return "compares two constants"
        case "assertIsNotNone", [value, *_] if _is_literal(value):
            return "asserts that a literal is not None"
        case "isinstance", [_, ast.Name(id="object")]:
            return "asserts that a thing is an object"
        case (("assertTrue" | "assert_" | "bool"), [value, *_]):
            return always_true(value)
        case (("all" | "any"), values):
            # a non-empty container may hold false values, so only a comparison or call decides
            whole = values or ([call.func.value] if isinstance(call.func, ast.Attribute) else [])
            return always_true(whole[0]) if whole and isinstance(whole[0], ast.Compare | ast.Call) else None
    return None


def _judge_bool_op(test: ast.BoolOp) -> str | None:
    reasons = [always_true(value) for value in test.values]
    if isinstance(test.op, ast.And):
        return reasons[0] if all(reasons) else None
    for reason in reasons:
        if reason:
            return f"is true through one side of `or`: {reason}"
    for one, other in itertools.permutations(test.values, 2):
        if isinstance(other, ast.UnaryOp) and isinstance(other.op, ast.Not) and _is_same(one, other.operand):
            return "asserts a condition or its opposite"
    return None


def _judge_compare(test: ast.Compare) -> str | None:
    sides = [test.left, *test.comparators]
    if all(map(_is_constant, sides)):
        return "compares two constants"
    reasons = [
        _judge_pair(left, op, right) for (left, right), op in zip(itertools.pairwise(sides), test.ops, strict=True)
    ]
    return reasons[0] if all(reasons) else None


def _judge_pair(left: ast.expr, op: ast.cmpop, right: ast.expr) -> str | None:
    if isinstance(op, _REFLEXIVE) and _is_same(left, right):
        return "compares a thing with itself"
    none = isinstance(right, ast.Constant) and right.value is None
    if isinstance(op, ast.IsNot) and none and _is_literal(left):
        return "asserts that a literal is not None"
    if isinstance(left, ast.Call) and get_call_name(left) in _NEVER_NEGATIVE:
        bound = _parse_number(right)
        if bound is not None and (bound <= 0 if isinstance(op, ast.GtE) else bound < 0 and isinstance(op, ast.Gt)):
            return f"asserts that {get_call_name(left)}() is not negative"
    tolerant = any(isinstance(side, ast.Call) and _allows_anything(side) for side in (left, right))
    boundless = isinstance(op, ast.Lt | ast.LtE) and _is_infinite(right)
    return "allows any difference" if tolerant or boundless else None


def _allows_anything(call: ast.Call) -> bool:
    tolerances = (keyword.value for keyword in call.keywords if keyword.arg in _TOLERANCES)
    return get_call_name(call) in _TOLERANT and any(map(_is_infinite, tolerances))


def _is_same(left: ast.expr, right: ast.expr) -> bool:
    """Return whether two expressions are equal and free of calls, whose values may differ."""
    calls = any(isinstance(child, ast.Call | ast.Await | ast.Yield) for child in ast.walk(left))
    return not calls and ast.dump(left) == ast.dump(right)


def _is_literal(node: ast.expr) -> bool:
    filled = isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.JoinedStr | ast.Lambda | ast.ListComp)
    return filled or (isinstance(node, ast.Constant) and node.value is not None)


def _is_constant(node: ast.expr) -> bool:
    outside = (ast.Name, ast.Call, ast.Attribute, ast.Await, ast.Yield, ast.YieldFrom)
    return not any(isinstance(child, outside) for child in ast.walk(node))


def _parse_number(node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _parse_number(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value) if abs(node.value) < 1e300 else float("inf")
    return None


def _is_infinite(node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="inf" | "Inf" | "infty" | "PINF") | ast.Name(id="inf"):
            return True
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
            return text.strip().lower().lstrip("+") in ("inf", "infinity")
    value = _parse_number(node)
    return value is not None and value == float("inf")


def list_exception_types(handler_type: ast.expr | None) -> Sequence[ast.expr | None]:
    """Return the types that an `except` clause names; [None] for a bare one."""
    return handler_type.elts if isinstance(handler_type, ast.Tuple) else [handler_type]
