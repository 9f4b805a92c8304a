"""The side of the box that runs a submission.

It loads the submission behind the fence. The parent trusts none of its replies.
"""

import array
import importlib.util
import json
import marshal
import os
import socket
import sys
import traceback
import types
import weakref
from typing import Any

import numpy as np
import served
import wire

ENTRY_MODULE = "submission_entry"
"""Name of the entry in `sys.modules`."""


def greet(control: socket.socket, listener: int) -> None:
    """Report that the fence stands, and pass on its listener, if any."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [listener]))] if listener >= 0 else []
    control.sendmsg([wire.encode({"id": 0, "value": None})], rights)
    if listener >= 0:
        os.close(listener)


class Worker:
    """Serves the parent's requests one at a time."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control
        self.kept: dict[int, Any] = {}
        self.modules: dict[str, types.ModuleType] = {}
        self.folder = ""
        self.caller = wire.CallerArrays()
        self.link: served.Link | None = None
        self.stubs: dict[str, served.Stub] = {}

    def serve(self) -> None:
        """Serve until the parent hangs up."""
        while True:
            data, ancillary, _, _ = self.control.recvmsg(wire.MESSAGE_LIMIT + 1, socket.CMSG_SPACE(3 * 4))
            if not data:
                return
            fds = [fd for _, _, raw in ancillary for fd in array.array("i", raw)]
            request = json.loads(data)
            try:
                reply = self.answer(request, fds)
            except BaseException as error:  # anything that the submission raises goes into the reply
                kind = type(error).__name__[: wire.NAME_LIMIT]
                reply = {"raised": [kind, _text(error), _list_lineage(error), self.place(error)]}
            finally:
                for fd in fds:
                    os.close(fd)
            reply["id"] = request["id"]
            self.control.sendall(_fit(reply))

    def answer(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Carry out one request."""
        operation = request["op"]
        if operation == "compile":
            return self.compile(request, fds)
        if operation == "open":
            return self.open(request, fds)
        if operation == "load":
            return self.load(request["name"], request["source"])
        if operation == "drop":
            for id in request["ids"]:
                self.kept.pop(id, None)
            return {"value": None}
        if operation == "fetch":
            return self.ship(self.kept[request["kept"]], request, [], fds)
        if operation == "serve":
            return self.serve_functions(request["functions"], fds.pop(0))
        return self.call(request, fds)

    def compile(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Ship the entry's bytecode, without running it."""
        loader = _find_spec(request).loader
        code = loader.get_code(ENTRY_MODULE)
        return self.ship(np.frombuffer(marshal.dumps(code), np.uint8), request, [], fds)

    def open(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Import the submission and list its functions."""
        folder, entry = request["folder"], request["entry"]
        self.folder = folder
        sys.path.insert(0, os.path.join(folder, os.path.dirname(entry)))
        if os.path.dirname(entry):
            sys.path.insert(1, folder)
        code = wire.read_array(fds[0], *request["code"]) if request["code"] else None
        self.modules["submission"] = _import(_find_spec(request), code)
        functions = [n for n in request["functions"] if callable(getattr(self.modules["submission"], n, None))]
        return {"value": {"list": functions}}

    def load(self, name: str, source: str) -> dict[str, Any]:
        """Run trusted source as module `name`."""
        module = types.ModuleType(name)
        exec(compile(source, f"<{name}>", "exec"), module.__dict__)
        self.modules[name] = module
        return {"value": None}

    def serve_functions(self, wanted: list[Any], link: int) -> dict[str, Any]:
        """Create functions from loaded modules; serve them until the parent sends something."""
        functions = {}
        for name, module, factory, arguments, most in wanted:
            made = getattr(self.modules[module], factory)(*arguments)
            functions[name] = served.CountedFunction(name, made, most)
        return {"value": served.serve(self.control, link, functions)}

    def call(self, request: dict[str, Any], fds: list[int]) -> dict[str, Any]:
        """Call one function of the submission or a loaded module."""
        given: list[Any] = []
        use = wire.InputUse(request["inputs"])
        self.link = served.Link(fds.pop(0), use is wire.InputUse.READ_ONLY) if request["link"] else None
        source = fds[0] if request["input"] else -1
        try:
            args = [self.revive(a, source, given, use) for a in request["args"]]
            kwargs = {k: self.revive(v, source, given, use) for k, v in request["kwargs"].items()}
            function = getattr(self.modules[request["module"]], request["function"])
            return self.ship(function(*args, **kwargs), request, given, fds)
        finally:
            self.caller.end_call(given, use)
            if self.link is not None:
                self.link.close()

    def revive(self, item: Any, source: int, given: list[Any], use: wire.InputUse) -> Any:
        """Build an argument from its description; `given` collects arrays."""
        if not isinstance(item, dict):
            return item
        ((kind, body),) = item.items()
        if kind == "array":
            given.append(self.caller.pass_array(wire.read_array(source, *body), use, len(given)))
            return given[-1]
        if kind == "kept":
            return self.kept[body]
        if kind == "function":
            return getattr(self.modules[body[0]], body[1])
        if kind == "served":
            return self.stub(*body)
        if kind == "dict":
            return {self.revive(k, source, given, use): self.revive(v, source, given, use) for k, v in body}
        built = [self.revive(i, source, given, use) for i in body]
        return tuple(built) if kind == "tuple" else built

    def stub(self, name: str, attributes: dict[str, Any]) -> Any:
        """Return a stub for this call, if possible the same object as before.

        Python reuses memory likewise: a submission that caches by `id` mistakes one function for another.
        """
        # two references: the table's, and the argument of `getrefcount`
        free = sys.getrefcount(self.stubs.get(name)) == 2 and not weakref.getweakrefcount(self.stubs[name])
        if free and type(self.stubs[name]) is served.Stub:
            self.stubs[name].__dict__ = {}
            served.Stub.__init__(self.stubs[name], self.link, name, attributes)
        else:
            self.stubs[name] = served.Stub(self.link, name, attributes)
        return self.stubs[name]

    def ship(self, value: Any, request: dict[str, Any], given: list[Any], fds: list[int]) -> dict[str, Any]:
        """Describe a result by the request's plan; write its arrays out."""
        if request["hold"] is not None:
            self.kept[request["hold"]] = value
        arena = wire.Arena()
        reply = {"value": self.plan(value, request["plan"], arena)}
        if request["echo"]:
            reply["echo"] = [arena.add(array) for array in given]
        # a result that does not fit is still described, and the parent sees the mismatch
        if 0 < arena.size <= request["output"]:
            arena.write(fds[-1])
        return reply

    def plan(self, value: Any, plan: Any, arena: wire.Arena) -> Any:
        """Describe `value`, and keep what the plan names."""
        if isinstance(plan, dict):
            self.kept[plan["kept"]] = value
            return plan
        if isinstance(plan, list) and (items := wire.items_of(value)) is not None and len(items) == len(plan):
            return {"tuple": [self.plan(v, p, arena) for v, p in zip(items, plan, strict=True)]}
        return wire.describe(value, arena)

    def place(self, error: BaseException) -> list[Any] | None:
        """Return the submission's innermost file and line in a traceback."""
        try:
            found = [(trace.f_code.co_filename, line) for trace, line in traceback.walk_tb(error.__traceback__)]
            if isinstance(error, SyntaxError):
                found.append((error.filename or "", error.lineno or 0))
            inside = [place for place in found if self.folder and place[0].startswith(f"{self.folder}/")]
            path, line = inside[-1]
            return [str(os.path.relpath(path, self.folder))[: wire.PATH_LIMIT], int(line)]
        except BaseException:  # no line of the submission, or a hostile exception
            return None


def _find_spec(request: dict[str, Any]) -> Any:
    path = os.path.join(request["folder"], request["entry"])
    spec = importlib.util.spec_from_file_location(ENTRY_MODULE, path)
    assert spec is not None and spec.loader is not None
    return spec


def _import(spec: Any, bytecode: Any) -> types.ModuleType:
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if bytecode is None:
        spec.loader.exec_module(module)
    else:
        exec(marshal.loads(bytecode), module.__dict__)
    return module


def _text(error: BaseException) -> str:
    try:
        words = str(error)
    except BaseException:
        words = "(an error that cannot be printed)"
    return words[: wire.TEXT_LIMIT]


def _list_lineage(error: BaseException) -> list[str]:
    return [kind.__name__[: wire.NAME_LIMIT] for kind in type(error).__mro__ if kind.__module__ == "builtins"]


def _fit(reply: dict[str, Any]) -> bytes:
    try:
        return bytes(wire.encode(reply))
    except (ValueError, TypeError, RecursionError) as error:
        return bytes(wire.encode({"id": reply["id"], "value": {"other": str(error)[:200]}}))
