"""A trusted module as an answer in this process."""

import contextlib
import copy
import itertools
import os
import time
import types
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from harness.probing.answers import Cost
from harness.probing.challenge_code.mutants import module_of
from harness.probing.failures import ArgumentsRejected, CallFailed, NotOffered, OtherRaised, ProbeFailure
from harness.probing.submissions.reply_failure import misuse
from harness.sandbox import (
    Array,
    InputUse,
    Keep,
    Nothing,
    Plan,
    RemoteFunction,
    RemoteObject,
    Scalar,
    ServedFunction,
    ServedUse,
    Tree,
)
from harness.sandbox.accounting import process_stats
from harness.sandbox.inside.served import CountedFunction, LocalFunction
from harness.sandbox.inside.wire import CallerArrays
from harness.sandbox.session.returns import converted, plain


class LocalAnswer:
    """A trusted module as an answer."""

    processor_seconds = 0.0

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module
        self.capabilities: Mapping[str, Any] = {}
        self.literals: Collection[int] = ()
        self.cost = Cost()
        self.echo: tuple[Any, ...] = ()
        self.served: Mapping[str, ServedUse] = {}
        self._modules = {"submission": module}
        self._kept: dict[int, Any] = {}
        self._ids = itertools.count(1)
        self._caller = CallerArrays()
        self._functions: dict[str, CountedFunction] = {}

    def has(self, function: str) -> bool:
        """See `Answer.has`."""
        return callable(getattr(self.module, function, None))

    def call(
        self,
        function: str,
        *args: Any,
        returns: Plan,
        seconds: float | None = None,
        hold: bool = False,
        echo: bool = False,
        inputs: InputUse = InputUse.FRESH,
        module: str = "submission",
        **kwargs: Any,
    ) -> Any:
        """See `Answer.call`; time is unlimited."""
        arrays: list[Any] = []
        self._functions = {}
        given = [self._revive(a, inputs, arrays) for a in args]
        named = {k: self._revive(v, inputs, arrays) for k, v in kwargs.items()}
        try:
            result = self._check_use(function, lambda: self._run(module, function, given, named))
            self.echo = tuple(map(copy.copy, arrays)) if echo else ()
            value = self._fit(result, returns, function)
        finally:
            self._caller.end_call(arrays, inputs)
        return (value, self._keep(result)) if hold else value

    def fetch(self, kept: RemoteObject, returns: Plan) -> Any:
        """See `Answer.fetch`."""
        return self._fit(self._kept[kept.id], returns, "an object kept")

    def load(self, name: str, source: str) -> None:
        """See `Answer.load`."""
        self._modules[name] = module_of(name, source)

    def fresh(self) -> None:
        """Drop all kept objects; the process stays."""
        self._kept.clear()

    def forget(self) -> None:
        """See `Answer.forget`."""
        self._kept.clear()

    def resident_bytes(self) -> int:
        """Return the resident bytes of this process."""
        return process_stats.resident_bytes(os.getpid())

    def _run(self, module: str, function: str, given: list[Any], named: dict[str, Any]) -> Any:
        wall, processor = time.perf_counter(), time.process_time()
        try:
            with np.errstate(all="ignore"):
                result = getattr(self._modules[module], function)(*given, **named)
        except NotImplementedError as error:
            raise NotOffered(f"`{function}` raises NotImplementedError", str(error)) from None
        except Exception as error:
            kind = ArgumentsRejected if isinstance(error, ValueError) else OtherRaised
            raise kind(f"`{function}` raises {type(error).__name__}", str(error)) from None
        self.cost = Cost(time.perf_counter() - wall, time.process_time() - processor)
        return result

    def _check_use(self, function: str, run: Callable[[], Any]) -> Any:
        try:
            result = run()
        except ProbeFailure as failure:
            raise self._find_misuse(function) or failure from None
        misused = self._find_misuse(function)
        if misused is not None:
            raise misused
        return result

    def _find_misuse(self, function: str) -> ProbeFailure | None:
        self.served = {n: ServedUse(one.calls, one.fault, one.exhausted) for n, one in self._functions.items()}
        return misuse(self.served, function)

    def _keep(self, value: Any) -> RemoteObject:
        kept = RemoteObject(next(self._ids))
        self._kept[kept.id] = value
        return kept

    def _revive(self, value: Any, use: InputUse, arrays: list[Any]) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(self._caller.pass_array(value.copy(), use, len(arrays)))
            return arrays[-1]
        if isinstance(value, RemoteObject):
            return self._kept[value.id]
        if isinstance(value, RemoteFunction):
            return getattr(self._modules[value.module], value.name)
        if isinstance(value, ServedFunction):
            made = getattr(module_of(value.name, value.source), value.factory)(*value.arguments)
            self._functions[value.name] = CountedFunction(value.name, made, value.most)
            return LocalFunction(self._functions[value.name], value.attributes, use is InputUse.READ_ONLY)
        if isinstance(value, dict):
            return {k: self._revive(v, use, arrays) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._revive(v, use, arrays) for v in value)
        return value

    def _fit(self, value: Any, plan: Plan, function: str) -> Any:
        if isinstance(plan, Keep):
            return self._keep(value)
        if isinstance(plan, Tree):
            with contextlib.suppress(TypeError):  # a generator, for one, cannot be copied and is not plain data
                return _copy_across(value)
        if isinstance(plan, tuple) and isinstance(value, (tuple, list)) and len(value) == len(plan):
            return tuple(self._fit(v, p, function) for v, p in zip(value, plan, strict=True))
        if isinstance(plan, Array) and isinstance(value, np.ndarray) and value.shape == plan.shape:
            made = converted(value, plan.dtype)
            if made is not None and (made is value or not plan.exact):
                return made.copy()
        elif isinstance(plan, Scalar):
            number = value.item() if isinstance(value, np.generic) else value
            number = number if plan.exact else plain(number, plan.kind)
            if type(number) is plan.kind:
                return number
        elif isinstance(plan, Nothing) and value is None:
            return None
        raise CallFailed(f"`{function}` returns something else than the contract says", f"{type(value).__name__}")


def _copy_across(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy_across(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(map(_copy_across, value))
    return value.item() if isinstance(value, np.generic) else copy.deepcopy(value)
