"""The driver beside a GPU submission in the sandbox: `launch` as on the emulated device, and measurements.

The parent trusts none of it: it compares arrays with its own draws, and event times with its own clock.
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
"""Poison byte: NaN in every floating-point type, and an invalid index."""
WARM_UP = 3
UNWRITTEN = (0xFFFFFFFF, 0x7F7F7F7F, 0xFFFFFFFF, 0x7F7F7F7F, 0xFFFFFFFF, 0x7F7F7F7F, 0, 0xFF800000)
"""Words for uninitialised memory: NaN, large numbers, zero and minus infinity."""
DIRTIED = (1 << 20, 1 << 20, 1 << 24)
"""Bytes of the allocations that are filled with such words and freed before a call."""
FLUSH_FACTOR = 2
"""Multiple of the L2 cache's size that is written to empty it."""
COPIED_BYTES = 1 << 30
_HOST_TO_DEVICE, _DEVICE_TO_HOST, _DEVICE_TO_DEVICE = 1, 2, 3


class Gpu:
    """The first GPU, through CuPy's bindings of the CUDA runtime."""

    def __init__(self) -> None:
        with open(os.path.join(HERE, "gpu.json"), encoding="utf-8") as file:
            settings = json.load(file)
        if settings["libcuda"]:
            # the sandbox has no ld.so cache: a loaded library is found by its name
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
        """Allocate device memory, which `release` frees."""
        self.owned.append(self.runtime.malloc(size))
        return self.owned[-1]

    def release(self) -> None:
        """Free all allocated memory."""
        while self.owned:
            self.runtime.free(self.owned.pop())

    def dirty(self, fill: str, turn: int) -> None:
        """Fill free memory, as far as the allocator reuses recently freed memory."""
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
        """Copy an array from the device after pending work."""
        array = np.empty(tuple(shape), dtype)
        # ordered on the stream: a result from another stream may be missing, as it would be for a caller
        self.runtime.memcpyAsync(array.ctypes.data, address, array.nbytes, _DEVICE_TO_HOST, self.stream)
        self.runtime.streamSynchronize(self.stream)
        return array

    def copy(self, target: int, source: int, size: int) -> None:
        """Copy within the device, in stream order."""
        self.runtime.memcpyAsync(target, source, size, _DEVICE_TO_DEVICE, self.stream)

    def fill(self, address: int, value: int, size: int) -> None:
        """Set bytes, in stream order."""
        self.runtime.memsetAsync(address, value, size, self.stream)

    def wait(self) -> None:
        """Wait for the stream's work; raises if a kernel failed."""
        self.runtime.streamSynchronize(self.stream)

    def time_work(self, act: Any) -> float:
        """Return the milliseconds between two events around the stream work of `act`."""
        self.runtime.eventRecord(self.start, self.stream)
        act()
        self.runtime.eventRecord(self.stop, self.stream)
        self.runtime.eventSynchronize(self.stop)
        return float(self.runtime.eventElapsedTime(self.start, self.stop))


_gpu: list[Gpu] = []
_libraries: dict[str, Any] = {}


def gpu() -> Gpu:
    """Return the GPU, set up on first use."""
    if not _gpu:
        _gpu.append(Gpu())
    return _gpu[0]


def ready() -> int:
    """Set up the GPU; return 0."""
    gpu()
    return 0


def library(name: str) -> Any:
    """Load a build beside this file."""
    if name not in _libraries:
        _libraries[name] = ctypes.CDLL(os.path.join(HERE, name), os.RTLD_NOW | os.RTLD_LOCAL)
    return _libraries[name]


def launch(
    symbol: str, arguments: list[Any], mode: str = "plain", seed: int = 0, fill: str = "nan", turn: int = 0
) -> tuple[Any, ...]:
    """Call a C function of the submission on the GPU, like `launch` of the emulated device's driver.

    Args:
        arguments: as for that `launch`; `name` is unused.
        mode: plain only.
        seed: unused.
        fill: contents of uninitialised memory: "nan", "zeros", "mixed", or "left" for the previous ones.
        turn: seed of mixed contents.

    Returns:
        The function's int, the arrays marked `back` after the call, and an empty report.

    Raises:
        NotImplementedError: a mode other than plain.
    """
    if mode != "plain":
        raise NotImplementedError(f"mode {mode} is the emulated device's; a GPU runs plain calls")
    device = gpu()
    buffers = [argument for argument in arguments if isinstance(argument, dict)]
    passed: list[Any] = []
    try:
        # freed memory is reused: buffers of equal sizes return to their addresses unless these are taken
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
                passed.append(_convert_plain(argument))
        code = int(getattr(library(ANSWER), symbol)(*passed))
        device.wait()
        back = [
            device.get(at, each["buffer"].shape, each["buffer"].dtype)
            for each, at in zip(buffers, places, strict=True)
            if each.get("back")
        ]
    finally:
        device.release()
    return (code, *back, _make_report())


def _convert_plain(argument: Any) -> Any:
    if argument == "stream":
        return ctypes.c_void_p(gpu().stream)
    return ctypes.c_float(argument) if isinstance(argument, float) else ctypes.c_int(argument)


def _make_report() -> Any:
    out = np.zeros(REPORT_BYTES, np.uint8)
    text = b'{"version": 1}'
    out[: len(text)] = np.frombuffer(text, np.uint8)
    return out


class Problem:
    """Arguments in device memory: inputs in several versions, and poisoned outputs."""

    def __init__(self, arguments: list[Any]) -> None:
        self.passed: list[Any] = []
        self.inputs: list[tuple[int, int, list[int]]] = []
        self.outputs: list[tuple[int, int, Any, Any]] = []
        for argument in arguments:
            if not isinstance(argument, dict):
                self.passed.append(_convert_plain(argument))
            else:
                self.passed.append(ctypes.c_void_p(self._place_argument(argument)))

    def _place_argument(self, argument: dict[str, Any]) -> int:
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
            device.put(draw_normals(shape, seed), versions[-1])
        self.inputs.append((address, size, versions))
        return address

    def refresh(self, turn: int) -> None:
        """Switch the inputs to this turn's version and poison the outputs."""
        for address, size, versions in self.inputs:
            gpu().copy(address, versions[turn % len(versions)], size)
        for address, size, _, _ in self.outputs:
            gpu().fill(address, POISON, size)

    def results(self) -> list[Any]:
        """Copy the outputs from the device."""
        return [gpu().get(address, shape, dtype) for address, _, shape, dtype in self.outputs]


def draw_normals(shape: tuple[int, ...], seed: int) -> Any:
    """Draw normal float32 numbers, as the parent does for the expected result."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32) * np.float32(4)


def _make_contender(name: str, symbol: str, problem: Problem) -> Any:
    if name == "torch":
        return _make_torch_contender(problem)
    function = getattr(library(name), symbol)

    def run() -> None:
        code = int(function(*problem.passed))
        if code:
            raise RuntimeError(f"{name} returned {code}")

    return run


def _make_torch_contender(problem: Problem) -> Any:
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
    """Place the arguments to measure with in device memory; return 0.

    Args:
        arguments: ints, floats, "stream", inputs as `{"shape", "dtype", "seeds"}` and outputs as `{"shape", "dtype"}`.
    """
    _problem.clear()
    gpu().release()
    _problem.append(Problem(arguments))
    return 0


def measure(symbol: str, contenders: list[str], order: list[list[int]]) -> tuple[Any, ...]:
    """Time contenders in turns on the device, with the prepared arguments.

    Before each call the inputs change, the outputs are poisoned and the L2 cache is emptied.

    Args:
        contenders: builds beside this file, and "torch".
        order: for each round, indices of the contenders in turn.

    Returns:
        Milliseconds (rounds, contenders), and the first contender's outputs for the first seeds.
    """
    device, problem = gpu(), _problem[0]
    runs = [_make_contender(name, symbol, problem) for name in contenders]
    flushed = max(int(device.properties["l2CacheSize"]), 1 << 20) * FLUSH_FACTOR
    flush = device.allocate(flushed)
    times = np.zeros((len(order), len(contenders)))
    for turn, indices in enumerate(order):
        for index in indices:
            problem.refresh(turn)
            # the device is still busy with this when the call arrives, which hides the host's launch overhead
            device.fill(flush, turn & 0x7F, flushed)
            times[turn, index] = device.time_work(runs[index])
    problem.refresh(0)
    runs[0]()
    device.wait()
    return (times, *problem.results())


def repeat(symbol: str, name: str, times: int) -> int:
    """Call one build `times` times without a pause, for the parent to time; return 0."""
    run = _make_contender(name, symbol, _problem[0])
    for _ in range(times):
        run()
    gpu().wait()
    return 0


def copy_bandwidth(rounds: int) -> Any:
    """Return bytes read and written per second by device copies, (rounds,)."""
    device = gpu()
    _problem.clear()
    device.release()
    try:
        source, target = device.allocate(COPIED_BYTES), device.allocate(COPIED_BYTES)
        device.fill(source, 1, COPIED_BYTES)
        for _ in range(WARM_UP):
            device.copy(target, source, COPIED_BYTES)
        taken = [device.time_work(lambda: device.copy(target, source, COPIED_BYTES)) for _ in range(rounds)]
        return 2 * COPIED_BYTES / (np.array(taken) / 1e3)
    finally:
        device.release()


def has_torch() -> int:
    """Return 1 if PyTorch can use the GPU, else 0."""
    try:
        import torch

        return int(torch.cuda.is_available())
    except Exception:
        return 0


def __getattr__(name: str) -> Any:
    # the parent looks up which C functions the submission has
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(library(ANSWER), name)
