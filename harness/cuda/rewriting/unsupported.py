"""Names of CUDA that the emulated device does not have: where the compiler stumbles over one, that is the reason."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from harness.cuda.rewriting.includes import SHIMS
from harness.cuda.rewriting.lexer import Token


@dataclass(frozen=True)
class UnsupportedConstruct:
    """Something the emulated device cannot do, and where the author asks for it."""

    what: str
    file: str
    line: int


Lacking = Mapping[int, str]
"""Lines of a file on which the compiler stumbled over something that the device does not have, and over what."""

_NAMESPACES = {
    b"cub": "CUB", b"thrust": "Thrust", b"cutlass": "CUTLASS", b"cute": "CUTLASS (CuTe)", b"cuda": "libcu++",
    b"nvcuda": "tensor-core matrices (wmma)", b"wmma": "tensor-core matrices (wmma)", b"nv": "libcu++",
    b"cudnn_frontend": "cuDNN",
}  # fmt: skip
_LIBRARIES = frozenset((b"cub", b"thrust"))
"""The device has parts of these: the name is told that is asked for."""
_OF_CUB = frozenset(
    b"BlockReduce BlockScan BlockLoad BlockStore BlockExchange BlockRadixSort WarpReduce WarpScan Sum Difference "
    b"Division Max Min ArgMax ArgMin Equality Inequality KeyValuePair NullType".decode().split()
)
"""What the device has of CUB, beside names of algorithms, `BLOCK_...`."""
_PREFIXES = {
    b"cudaGraph": "CUDA graphs", b"cudaStreamBeginCapture": "CUDA graphs", b"cudaStreamEndCapture": "CUDA graphs",
    b"cudaMipmapped": "mipmapped arrays", b"cudaMallocMipmapped": "mipmapped arrays",
    b"__nv_fp8": "8-bit floats", b"__nv_cvt_": "8-bit floats", b"curand": "cuRAND", b"cudnn": "cuDNN",
    b"cublasLt": "cuBLASLt", b"cufft": "cuFFT", b"cusparse": "cuSPARSE", b"cusolver": "cuSOLVER", b"nccl": "NCCL",
    b"nvtx": "NVTX", b"__pipeline_": "asynchronous copies", b"memcpy_async": "asynchronous copies",
    b"cluster_group": "thread block clusters", b"this_cluster": "thread block clusters",
    b"__cluster_dims__": "thread block clusters", b"cudaLaunchKernelEx": "extended launches",
    b"cudaLaunchCooperativeKernelMultiDevice": "several devices", b"cudaLaunchAttribute": "extended launches",
    b"cudaBindTexture": "texture references", b"texture": "texture references",
    b"cudaDeviceEnablePeerAccess": "several devices", b"cudaIpc": "interprocess memory",
    b"cudaMemcpyPeer": "several devices", b"cuModule": "the driver interface",
    b"cuLaunchKernel": "the driver interface", b"cuTensorMap": "tensor maps (TMA)", b"__mma": "tensor cores",
    b"nvrtc": "run-time compilation", b"wmma": "tensor-core matrices (wmma)",
}  # fmt: skip
UNREAD = {
    b"__global__": (b"EMU_UNREAD_KERNEL", "a kernel in a form that is not understood"),
    b"__shared__": (b"EMU_UNREAD_SHARED", "shared memory in a form that is not understood"),
}
"""Qualifiers that must not be passed over in silence: what stands in their place, and what is said of it."""


def names(tokens: Sequence[Token]) -> Iterator[tuple[Token, str]]:
    """The tokens that name what the device does not have, and what that is."""
    for index, token in enumerate(tokens):
        if token.kind != "word":
            continue
        inner = index and tokens[index - 1].text == b"::" and index > 1 and tokens[index - 2].kind == "word"
        if index + 1 < len(tokens) and tokens[index + 1].text == b"::" and token.text in _NAMESPACES and not inner:
            if what := _of_namespace(token.text, tokens[index + 2].text if index + 2 < len(tokens) else b""):
                yield token, what
            continue
        if what := _of_prefix(token.text):
            yield token, what


@cache
def words_of_thrust() -> frozenset[str]:
    """What stands in the device's headers for Thrust: names that it has, and other words."""
    texts = [path.read_text(encoding="utf-8") for path in sorted((SHIMS / "emu" / "thrust").glob("*.h"))]
    return frozenset(re.findall(r"\w+", " ".join(texts)))


def is_name(word: bytes) -> bool:
    """Whether a word alone names something that the device may lack."""
    return word in _NAMESPACES or bool(_of_prefix(word))


def _of_prefix(word: bytes) -> str:
    """What a word is of by its first letters; empty for none of it."""
    lengths = range(4, min(len(word), 26) + 1)
    return next((_PREFIXES[word[:length]] for length in lengths if word[:length] in _PREFIXES), "")


def _of_namespace(namespace: bytes, member: bytes) -> str:
    """What a member is called that the device lacks; empty for one that it has."""
    name, what = member.decode(errors="replace"), _NAMESPACES[namespace]
    if namespace not in _LIBRARIES:
        return what
    there = namespace == b"cub" and (name in _OF_CUB or name.startswith("BLOCK_"))
    return "" if there else f"{what} ({namespace.decode()}::{name})"
