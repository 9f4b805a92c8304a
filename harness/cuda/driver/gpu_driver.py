"""Runs in the box beside an answer built for a GPU: the same `launch` as on the emulated device, and measurements.

The parent believes none of it: it compares the arrays with what it drew, and event times with its own clock.
"""

import ctypes
import json
import os
from typing import Any

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
REPORT_BYTES = 1 << 18
ANSWER = "answer.so"
POISON = 0xFF
"""NaN in every floating-point type, and no index."""
WARM_UP = 3
UNWRITTEN = (0xFFFFFFFF, 0x7F7F7F7F, 0xFFFFFFFF, 0x7F7F7F7F, 0xFFFFFFFF, 0x7F7F7F7F, 0, 0xFF800000)
"""Words that memory holds that nobody has written: NaN, large numbers, zero and minus infinity."""
DIRTIED = (1 << 20, 1 << 20, 1 << 24)
"""Bytes of the allocations that are filled so before a call, and freed for it."""
FLUSH_FACTOR = 2
"""Times the L2 cache's size that is written to empty it."""
COPIED_BYTES = 1 << 30
_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE = 1, 2, 3


class Gpu:
    """The first GPU through CuPy's bindings of the CUDA runtime: memory as addresses, a stream, events."""

    def __init__(self) -> None:
        with open(os.path.join(HERE, "gpu.json"), encoding="utf-8") as file:
            settings = json.load(file)
        if settings["libcuda"]:
            # the box has no list of libraries: once loaded, it is found by its name
            ctypes.CDLL(settings["libcuda"], ctypes.RTLD_GLOBAL)
        from cupy.cuda import runtime

        self.runtime: Any = runtime
        runtime.setDevice(0)
        self.properties = runtime.getDeviceProperties(0)
        self.stream: int = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
        self.start: int = runtime.eventCreate()
        self.stop: int = runtime.eventCreate()
        self.owned: list[int] = []

    def allocate(self, size: int) -> int:
        """Device memory of `size` bytes, freed by `release`."""
        self.owned.append(self.runtime.malloc(size))
        return self.owned[-1]

    def release(self) -> None:
        """Free all memory allocated since the last time."""
        while self.owned:
            self.runtime.free(self.owned.pop())

    def dirty(self, fill: str, turn: int) -> None:
        """Fill memory that nobody holds, so far as the allocator hands out again what was freed last."""
        if fill == "left":
            return
        words = np.full(max(DIRTIED) // 4, 0 if fill == "zeros" else UNWRITTEN[0], np.uint32)
        if fill == "mixed":
            words = np.random.default_rng(turn).choice(np.array(UNWRITTEN, np.uint32), words.size)
        places = [(self.runtime.malloc(size), size) for size in DIRTIED]
        for address, size in places:
            self.put(words[: size // 4], address)
        for address, _ in places:
            self.runtime.free(address)

    def put(self, array: Any, address: int) -> None:
        """Copy an array to the device and wait."""
        self.runtime.memcpy(address, array.ctypes.data, array.nbytes, _HOST_TO_DEVICE)

    def get(self, address: int, shape: Any, dtype: Any) -> Any:
        """An array from the device, as it is when the stream's work is done."""
        array = np.empty(tuple(shape), dtype)
        # ordered on the stream: a result that was computed elsewhere may not be there yet, as it would not for a caller
        self.runtime.memcpyAsync(array.ctypes.data, address, array.nbytes, _DEVICE_TO_HOST, self.stream)
        self.runtime.streamSynchronize(self.stream)
        return array

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device, ordered on the stream."""
        self.runtime.memcpyAsync(target, source, size, _DEVICE_TO_DEVICE, self.stream)

    def fill(self, address: int, value: int, size: int) -> None:
        """Set bytes, ordered on the stream."""
        self.runtime.memsetAsync(address, value, size, self.stream)

    def wait(self) -> None:
        """Until the stream's work is done; raises when a kernel failed."""
        self.runtime.streamSynchronize(self.stream)

    def timed(self, act: Any) -> float:
        """Milliseconds on the device between two events around what `act` puts on the stream."""
        self.runtime.eventRecord(self.start, self.stream)
        act()
        self.runtime.eventRecord(self.stop, self.stream)
        self.runtime.eventSynchronize(self.stop)
        return float(self.runtime.eventElapsedTime(self.start, self.stop))


_gpu: list[Gpu] = []
_libraries: dict[str, Any] = {}


def gpu() -> Gpu:
    """The GPU, set up on first use."""
    if not _gpu:
        _gpu.append(Gpu())
    return _gpu[0]


def ready() -> int:
    """0 once the GPU is set up."""
    gpu()
    return 0


def library(name: str) -> Any:
    """A build beside this file."""
    if name not in _libraries:
        _libraries[name] = ctypes.CDLL(os.path.join(HERE, name), os.RTLD_NOW | os.RTLD_LOCAL)
    return _libraries[name]


def launch(
    symbol: str, arguments: list[Any], mode: str = "plain", seed: int = 0, fill: str = "nan", turn: int = 0
) -> tuple[Any, ...]:
    """Call a C function of the answer on the GPU.

    Args:
        symbol: its name.
        arguments: ints, floats, "stream" for one that is not the default stream, and buffers as dicts: `buffer` an
            array, `shift` bytes into it that the pointer points at, `back` whether to bring it back, `moved` whether it
            lies elsewhere than in the call before.
        mode: plain; a GPU checks and counts nothing here.
        seed: of the schedule, which a GPU makes itself.
        fill: what memory holds that nobody has written: "nan", "zeros", "mixed", or "left" for what was there before.
        turn: seed of what is mixed.

    Returns:
        The function's int, the arrays asked back as they are after the call, and an empty report.
    """
    if mode != "plain":
        raise NotImplementedError(f"mode {mode} is the emulated device's; a GPU runs plain calls")
    device = gpu()
    buffers = [argument for argument in arguments if isinstance(argument, dict)]
    passed: list[Any] = []
    try:
        # what was freed is handed out again: buffers of equal sizes lie where they lay, unless their place is taken
        usual = [device.allocate(each["buffer"].nbytes) for each in buffers]
        places = [
            device.allocate(b["buffer"].nbytes) if b.get("moved") else u for b, u in zip(buffers, usual, strict=True)
        ]
        for each, address in zip(buffers, places, strict=True):
            device.put(each["buffer"], address)
        device.dirty(fill, turn)
        following = iter(places)
        for argument in arguments:
            if isinstance(argument, dict):
                passed.append(ctypes.c_void_p(next(following) + argument.get("shift", 0)))
            else:
                passed.append(_plain(argument))
        code = int(getattr(library(ANSWER), symbol)(*passed))
        device.wait()
        back = [
            device.get(at, each["buffer"].shape, each["buffer"].dtype)
            for each, at in zip(buffers, places, strict=True) if each.get("back")
        ]  # fmt: skip
    finally:
        device.release()
    return (code, *back, _report())


def _plain(argument: Any) -> Any:
    """An argument that is no buffer as the C function takes it: an int, a float, or the stream."""
    if argument == "stream":
        return ctypes.c_void_p(gpu().stream)
    return ctypes.c_float(argument) if isinstance(argument, float) else ctypes.c_int(argument)


def _report() -> Any:
    out = np.zeros(REPORT_BYTES, np.uint8)
    text = b'{"version": 1}'
    out[: len(text)] = np.frombuffer(text, np.uint8)
    return out


class Problem:
    """One set of arguments in device memory: inputs of which several versions take turns, and poisoned outputs."""

    def __init__(self, arguments: list[Any]) -> None:
        self.passed: list[Any] = []
        self.inputs: list[tuple[int, int, list[int]]] = []
        self.outputs: list[tuple[int, int, Any, Any]] = []
        for argument in arguments:
            if not isinstance(argument, dict):
                self.passed.append(_plain(argument))
            else:
                self.passed.append(ctypes.c_void_p(self._place(argument)))

    def _place(self, argument: dict[str, Any]) -> int:
        device = gpu()
        shape, dtype = tuple(argument["shape"]), np.dtype(argument["dtype"])
        size = int(np.prod(shape)) * dtype.itemsize
        address = device.allocate(size)
        if "seeds" not in argument:
            self.outputs.append((address, size, shape, dtype))
            return address
        versions = []
        for seed in argument["seeds"]:
            versions.append(device.allocate(size))
            device.put(drawn(shape, seed), versions[-1])
        self.inputs.append((address, size, versions))
        return address

    def refresh(self, turn: int) -> None:
        """Other inputs than the turn before, and outputs that hold nothing."""
        for address, size, versions in self.inputs:
            gpu().copy(address, versions[turn % len(versions)], size)
        for address, size, _, _ in self.outputs:
            gpu().fill(address, POISON, size)

    def results(self) -> list[Any]:
        """The outputs as they are."""
        return [gpu().get(address, shape, dtype) for address, _, shape, dtype in self.outputs]


def drawn(shape: tuple[int, ...], seed: int) -> Any:
    """Normal float32 numbers, which the parent draws again to know what is right."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32) * np.float32(4)


def _contender(name: str, symbol: str, problem: Problem) -> Any:
    """What one turn of `name` runs: a function of a build beside this file, or `torch`'s own operations."""
    if name == "torch":
        return _torch(problem)
    function = getattr(library(name), symbol)

    def run() -> None:
        code = int(function(*problem.passed))
        if code:
            raise RuntimeError(f"{name} returned {code}")

    return run


def _torch(problem: Problem) -> Any:
    """`torch.softmax` and `torch.topk` on the same logits, on the same stream."""
    import torch

    address, _, _ = problem.inputs[0]
    (_, _, (rows, k), _) = problem.outputs[0]
    rows, vocab = int(rows), problem.inputs[0][1] // 4 // int(rows)
    interface = {"shape": (rows, vocab), "typestr": "<f4", "data": (address, False), "version": 3}
    logits = torch.as_tensor(type("Logits", (), {"__cuda_array_interface__": interface})(), device="cuda")
    stream = torch.cuda.ExternalStream(gpu().stream)

    def run() -> None:
        with torch.cuda.stream(stream):
            torch.topk(torch.softmax(logits, -1), int(k))

    return run


_problem: list[Problem] = []


def prepare(arguments: list[Any]) -> int:
    """Put the arguments of the calls to be measured into device memory, in place of any before; 0 when done.

    Args:
        arguments: ints, floats, "stream", inputs as `{"shape", "dtype", "seeds"}` and outputs as `{"shape", "dtype"}`.
    """
    _problem.clear()
    gpu().release()
    _problem.append(Problem(arguments))
    return 0


def measure(symbol: str, contenders: list[str], order: list[list[int]]) -> tuple[Any, ...]:
    """Time contenders against each other on the device, in turns, with the arguments prepared.

    Before each call the inputs change, the outputs are poisoned and the L2 cache is emptied.

    Args:
        symbol: the C function that each build exports.
        contenders: builds beside this file, and "torch".
        order: for each round the contenders in the order of their turns.

    Returns:
        Milliseconds (rounds, contenders), and the outputs of one more call of the first contender on the inputs of
        the first seed.
    """
    device, problem = gpu(), _problem[0]
    runs = [_contender(name, symbol, problem) for name in contenders]
    flushed = max(int(device.properties["l2CacheSize"]), 1 << 20) * FLUSH_FACTOR
    flush = device.allocate(flushed)
    times = np.zeros((len(order), len(contenders)))
    for turn, indices in enumerate(order):
        for index in indices:
            problem.refresh(turn)
            # the device is still at this when the call comes: what the host takes to launch is not measured
            device.fill(flush, turn & 0x7F, flushed)
            times[turn, index] = device.timed(runs[index])
    problem.refresh(0)
    runs[0]()
    device.wait()
    return (times, *problem.results())


def repeat(symbol: str, name: str, times: int) -> int:
    """Call one build `times` times without a pause, so that the parent can time it by its own clock; 0 when done."""
    run = _contender(name, symbol, _problem[0])
    for _ in range(times):
        run()
    gpu().wait()
    return 0


def copy_bandwidth(rounds: int) -> Any:
    """Bytes read and written per second when device memory is copied, (rounds,)."""
    device = gpu()
    _problem.clear()
    device.release()
    try:
        source, target = device.allocate(COPIED_BYTES), device.allocate(COPIED_BYTES)
        device.fill(source, 1, COPIED_BYTES)
        for _ in range(WARM_UP):
            device.copy(target, source, COPIED_BYTES)
        taken = [device.timed(lambda: device.copy(target, source, COPIED_BYTES)) for _ in range(rounds)]
        return 2 * COPIED_BYTES / (np.array(taken) / 1e3)
    finally:
        device.release()


def has_torch() -> int:
    """Whether PyTorch with a GPU is among the packages here."""
    try:
        import torch

        return int(torch.cuda.is_available())
    except Exception:
        return 0


def __getattr__(name: str) -> Any:
    """The C functions of the answer, for the parent to know which there are."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(library(ANSWER), name)
