"""CuPy's bindings of the CUDA runtime over host memory, so that the driver runs where there is no GPU."""

import ctypes
import time
from typing import Any


class HostRuntime:
    """Device memory is host memory, streams finish at once, events keep the host's time."""

    streamNonBlocking = 1  # noqa: N815, a name of CuPy's

    def __init__(self) -> None:
        self.memory: dict[int, Any] = {}
        self.events: list[float] = []
        self.done: list[str] = []

    def setDevice(self, device: int) -> None:  # noqa: N802
        assert device == 0

    def getDeviceProperties(self, device: int) -> dict[str, int]:  # noqa: N802
        return {"l2CacheSize": 4 << 20}

    def streamCreateWithFlags(self, flags: int) -> int:  # noqa: N802
        return 77 if flags == self.streamNonBlocking else 0

    def streamSynchronize(self, stream: int) -> None:  # noqa: N802
        assert stream == 77

    def eventCreate(self) -> int:  # noqa: N802
        self.events.append(0.0)
        return len(self.events) - 1

    def eventRecord(self, event: int, stream: int) -> None:  # noqa: N802
        self.done.append("event")
        self.events[event] = time.perf_counter()

    def eventSynchronize(self, event: int) -> None:  # noqa: N802
        pass

    def eventElapsedTime(self, start: int, stop: int) -> float:  # noqa: N802
        return (self.events[stop] - self.events[start]) * 1e3

    def malloc(self, size: int) -> int:
        block = ctypes.create_string_buffer(size)
        address = ctypes.addressof(block)
        self.memory[address] = block
        return address

    def free(self, address: int) -> None:
        del self.memory[address]

    def memcpy(self, target: int, source: int, size: int, kind: int) -> None:
        ctypes.memmove(target, source, size)

    def memcpyAsync(self, target: int, source: int, size: int, kind: int, stream: int) -> None:  # noqa: N802
        assert stream == 77
        self.done.append("copy")
        ctypes.memmove(target, source, size)

    def memsetAsync(self, address: int, value: int, size: int, stream: int) -> None:  # noqa: N802
        assert stream == 77
        self.done.append("fill")
        ctypes.memset(address, value, size)
