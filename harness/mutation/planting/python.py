"""Faults planted in a Python module under a guard."""

import ast
import random
from collections.abc import Iterator

from harness.mutation.operators.ast_operators import Offsets
from harness.mutation.operators.changes import GuardCode, SourceChange
from harness.mutation.operators.python_reach import find_value

_PLUMBING = '''

# ---- the guard of the planted fault ----
import functools as _functools

import numpy as _numpy


class _Fault:
    """Whether the changed code acts: by the call of the contract that runs, and by where in it."""

    def __init__(self, names, call, place, element):
        self.names, self.call, self.place, self.element = names, call, place, element
        self.calls, self.visits, self.acts, self.inside = 0, 0, False, False

    def __call__(self):
        if not self.acts:
            return False
        self.visits += 1
        return self.place(visit=self.visits) and self.reached()

    def reached(self):
        return True

    def blend(self, changed, original):
        """The changed array where the guard says so, the original elsewhere."""
        value = original()
        if not (self.acts and isinstance(value, _numpy.ndarray) and value.ndim):
            return value
        try:
            other = _numpy.asarray(changed())
        except Exception:
            return value
        if other.shape != value.shape or not value.size:
            return value
        rows, features = value.size // value.shape[-1], value.shape[-1]
        row = _numpy.arange(rows).reshape(value.shape[:-1])[..., None]
        where = self.element(row=row, rows=rows, feature=_numpy.arange(features), features=features)
        where = _numpy.broadcast_to(where, value.shape)
        return _numpy.where(where, other, value).astype(value.dtype) if where.any() and self.reached() else value

    def watched(self, function):
        """A function of the contract whose arguments decide; what it calls of the contract itself is part of it."""

        @_functools.wraps(function)
        def call(*args, **kwargs):
            if self.inside:
                return function(*args, **kwargs)
            self.inside, self.calls = True, self.calls + True
            try:
                found = self.names.get(function.__name__, dict)(*args, **kwargs)
                names = {**found, "calls": self.calls}
                self.visits, self.acts = 0, bool(self.call(**names))
            except Exception:
                names, self.acts = {}, False
            try:
                result = function(*args, **kwargs)
            except Exception:
                if "refused" in self.names:
                    self.names["refused"](function.__name__, args, kwargs)
                raise
            finally:
                self.visits, self.acts, self.inside = 0, False, False
            if "after" in self.names:
                self.names["after"](function.__name__, result, args, kwargs)
            return result

        return call


'''
_TRAP = '''
class _Fault(_Fault):
    """Ends where the changed code would act."""

    def reached(self):
        raise RuntimeError("the changed code is reached")


'''


def plant(source: str, change: SourceChange, guard: GuardCode, *, trapped: bool = False) -> str:
    """Return the source with a guarded fault, followed by the code that the guard needs.

    Args:
        trapped: raise an error instead of acting, to tell whether the fault would act.
    """
    if guard.always and not trapped:
        return change.apply(source)
    text = change.apply(source) if not change.guardable else _put_under_guard(source, change, bool(guard.element))
    return text.rstrip("\n") + "\n" + "".join(_make_support(source, guard, trapped))


def display(source: str, change: SourceChange, guard: GuardCode) -> str:
    """Return the source as readers see the fault: the changed line with its guard."""
    return change.apply(source) if guard.always else _put_under_guard(source, change, bool(guard.element))


def conceal_number(value: int, rng: random.Random) -> str:
    """Return an expression for `value` that does not contain it."""
    forms = [f'int("{value:x}", 16)', f"round({value:.1f})", f'int("{value:o}", base=8)']
    if value <= 60:
        forms.append(f'len("{"." * value}")')
    return rng.choice(forms)


def _put_under_guard(source: str, change: SourceChange, blended: bool) -> str:
    original = source[change.start : change.end]
    if change.statement:
        indent = source[source.rfind("\n", 0, change.start) + 1 : change.start]
        if change.text == "pass":
            text = f"if not _fault():\n{indent}    {original}"
        else:
            text = f"if _fault():\n{indent}    {change.text}\n{indent}else:\n{indent}    {original}"
    elif blended:
        start, end = _find_whole_value(source, change)
        changed = source[start : change.start] + change.text + source[change.end : end]
        text = f"_fault.blend(lambda: ({changed}), lambda: ({source[start:end]}))"
        return source[:start] + text + source[end:]
    else:
        text = f"(({change.text}) if _fault() else ({original}))"
    return source[: change.start] + text + source[change.end :]


def _find_whole_value(source: str, change: SourceChange) -> tuple[int, int]:
    """Return the span of the value that the surrounding statement computes."""
    offsets = Offsets(source)
    values = (find_value(node, change.start, change.end, offsets) for node in ast.walk(ast.parse(source)))
    value = next(filter(None, values), None)
    return (change.start, change.end) if value is None else offsets.span(value)


def _make_support(source: str, guard: GuardCode, trapped: bool) -> Iterator[str]:
    yield _PLUMBING
    if trapped:
        yield _TRAP
    yield f"_fault_names = {{}}\nexec({guard.names!r}, _fault_names)\n"
    lambdas = ", ".join(_make_lambda(text) for text in (guard.call, guard.place, guard.element))
    yield f"_fault = _Fault(_fault_names, {lambdas})\n"
    defined = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    yield from (f"{name} = _fault.watched({name})\n" for name in guard.functions if name in defined)


def _make_lambda(expression: str) -> str:
    """Return a lambda over the names in an expression, which ignores others."""
    if not expression:
        return "lambda **_: True"
    tree = ast.parse(expression, mode="eval")
    names = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    free = sorted(
        {node.id for node in names}
        - bound
        - {"len", "int", "round", "any", "all", "set", "sorted", "max", "min", "abs", "sum"}
    )
    return f"lambda {''.join(f'{name}, ' for name in free)}**_: {expression}"
