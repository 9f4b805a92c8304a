"""CUDA names that the emulated device lacks, as reasons for compiler errors."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from harness.cuda.rewriting.includes import SHIMS
from harness.cuda.rewriting.text.lexer import Token


@dataclass(frozen=True)
class UnsupportedConstruct:
    """A construct that the emulated device lacks, and its place."""

    what: str
    file: str
    line: int


Lacking = Mapping[int, str]
"""Lines of a file that stopped the compiler, with what the device lacks there."""

_NAMESPACES = {
    b"cub": "CUB",
    b"thrust": "Thrust",
    b"cutlass": "CUTLASS",
    b"cute": "CUTLASS (CuTe)",
    b"cuda": "libcu++",
    b"nvcuda": "tensor-core matrices (wmma)",
    b"wmma": "tensor-core matrices (wmma)",
    b"nv": "libcu++",
    b"cudnn_frontend": "cuDNN",
}
_LIBRARIES = frozenset((b"cub", b"thrust"))
"""Libraries that the device has in part: messages name the member."""
_OF_CUB = frozenset(
    b"BlockReduce BlockScan BlockLoad BlockStore BlockExchange BlockRadixSort WarpReduce WarpScan Sum Difference "
    b"Division Max Min ArgMax ArgMin Equality Inequality KeyValuePair NullType".decode().split()
)
"""Supported names of CUB, beside the algorithms `BLOCK_...`."""
_PREFIXES_OF = {
    "CUDA graphs": b"cudaGraph cudaStreamBeginCapture cudaStreamEndCapture",
    "mipmapped arrays": b"cudaMipmapped cudaMallocMipmapped",
    "8-bit floats": b"__nv_fp8 __nv_cvt_",
    "cuRAND": b"curand",
    "cuDNN": b"cudnn",
    "cuBLASLt": b"cublasLt",
    "cuFFT": b"cufft",
    "cuSPARSE": b"cusparse",
    "cuSOLVER": b"cusolver",
    "NCCL": b"nccl",
    "NVTX": b"nvtx",
    "asynchronous copies": b"__pipeline_ memcpy_async",
    "thread block clusters": b"cluster_group this_cluster __cluster_dims__",
    "extended launches": b"cudaLaunchKernelEx cudaLaunchAttribute",
    "several devices": b"cudaLaunchCooperativeKernelMultiDevice cudaDeviceEnablePeerAccess cudaMemcpyPeer",
    "texture references": b"cudaBindTexture texture",
    "interprocess memory": b"cudaIpc",
    "the driver interface": b"cuModule cuLaunchKernel",
    "tensor maps (TMA)": b"cuTensorMap",
    "tensor cores": b"__mma",
    "run-time compilation": b"nvrtc",
    "tensor-core matrices (wmma)": b"wmma",
}
_PREFIXES = {prefix: what for what, prefixes in _PREFIXES_OF.items() for prefix in prefixes.split()}
UNREAD = {
    b"__global__": (b"EMU_UNREAD_KERNEL", "a kernel in a form that is not understood"),
    b"__shared__": (b"EMU_UNREAD_SHARED", "shared memory in a form that is not understood"),
}
"""Qualifiers that must not vanish silently: their replacement, and its message."""


def names(tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    """Yield the tokens that name what the device lacks, and what that is."""
    for index, token in enumerate(tokens):
        if token.kind != "word":
            continue
        inner = index and tokens[index - 1].text == b"::" and index > 1 and tokens[index - 2].kind == "word"
        if index + 1 < len(tokens) and tokens[index + 1].text == b"::" and token.text in _NAMESPACES and not inner:
            if what := _find_in_namespace(token.text, tokens[index + 2].text if index + 2 < len(tokens) else b""):
                yield token, what
            continue
        if what := _find_by_prefix(token.text):
            yield token, what


@cache
def words_of_thrust() -> frozenset[str]:
    """Return the words of the device's Thrust headers."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((SHIMS / "emu" / "thrust").glob("*.h"))]
    return frozenset(re.findall(r"\w+", " ".join(texts)))


def is_name(word: bytes) -> bool:
    """Return whether a word alone names what the device may lack."""
    return word in _NAMESPACES or bool(_find_by_prefix(word))


def _find_by_prefix(word: bytes) -> str:
    lengths = range(4, min(len(word), 26) + 1)
    return next((_PREFIXES[word[:length]] for length in lengths if word[:length] in _PREFIXES), "")


def _find_in_namespace(namespace: bytes, member: bytes) -> str:
    name, what = member.decode(errors="replace"), _NAMESPACES[namespace]
    if namespace not in _LIBRARIES:
        return what
    there = namespace == b"cub" and (name in _OF_CUB or name.startswith("BLOCK_"))
    return "" if there else f"{what} ({namespace.decode()}::{name})"
