"""NVRTC, a library that compiles device code, run in the sandbox on one file.

    python nvrtc.py LIBRARY HEADERS ARCHITECTURE SOURCE NAME FOLDER PTX

Prints the compiler's log, writes the PTX, and exits with 1 if the source does not compile.
"""

import ctypes
import os
import sys
from typing import Any

_FLOATS = """
#define FLT_MAX 3.402823466e+38F
#define FLT_MIN 1.175494351e-38F
#define FLT_EPSILON 1.192092896e-07F
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_INTEGERS = """
#define CHAR_BIT 8
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295U
#define LLONG_MAX 9223372036854775807LL
#define LLONG_MIN (-LLONG_MAX - 1)
"""
_MATHEMATICS = """
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_SQRT2 1.41421356237309504880
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT1_2 0.70710678118654752440
#define INFINITY __int_as_float(0x7f800000)
#define HUGE_VALF INFINITY
#define NAN __int_as_float(0x7fffffff)
#endif
"""
_PRELUDE = (
    _INTEGERS
    + _MATHEMATICS
    + """
#define RAND_MAX 2147483647
#define offsetof(type, member) __builtin_offsetof(type, member)
#include <cuda/std/cstdint>
using cuda::std::int8_t;
using cuda::std::int16_t;
using cuda::std::int32_t;
using cuda::std::int64_t;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned short ushort;
namespace std { using ::size_t; using ::ptrdiff_t; }
"""
)
"""Declarations that nvcc's own cuda_runtime.h takes from the host's headers implicitly."""
_INTEGER_TYPES = (*(f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)), "intptr_t", "uintptr_t")
_WIDTHS = (
    "#include <cuda/std/cstdint>\n"
    + "".join(f"using cuda::std::{name};\n" for name in _INTEGER_TYPES)
    + "".join(f"namespace std {{ using cuda::std::{name}; }}\n" for name in _INTEGER_TYPES)
)
_EMPTY = """
    algorithm array cassert assert.h chrono cstddef stddef.h cstdio stdio.h cstdlib stdlib.h cstring string.h fstream
    functional iomanip iostream memory numeric random sstream stdexcept string time.h ctime unordered_map vector
"""
_LIMITS = "#include <cuda/std/limits>\nnamespace std { using cuda::std::numeric_limits; }\n"
_TRAITS = "#include <cuda/std/type_traits>\nnamespace std { using namespace cuda::std; }\n"
_UTILITY = "#include <cuda/std/utility>\nnamespace std { using namespace cuda::std; }\n"
HEADERS = {
    "prelude.h": "#include <cuda_runtime.h>\n" + _PRELUDE,
    **dict.fromkeys(("cfloat", "float.h"), _FLOATS),
    **dict.fromkeys(("climits", "limits.h"), _INTEGERS),
    **dict.fromkeys(("cmath", "math.h"), _MATHEMATICS),
    **dict.fromkeys(("cstdint", "stdint.h"), _WIDTHS),
    "limits": _LIMITS,
    "type_traits": _TRAITS,
    "utility": _UTILITY,
    **dict.fromkeys(_EMPTY.split(), ""),
}
"""Replacements for the standard headers, which NVRTC lacks: the parts that device code uses."""


def compile_source(library: Any, source: bytes, name: str, options: list[str]) -> tuple[int, bytes, bytes]:
    """Compile one source text and return NVRTC's status, log and PTX."""
    program = ctypes.c_void_p()
    names = (ctypes.c_char_p * len(HEADERS))(*(n.encode() for n in HEADERS))
    texts = (ctypes.c_char_p * len(HEADERS))(*(t.encode() for t in HEADERS.values()))
    status = library.nvrtcCreateProgram(ctypes.byref(program), source, name.encode(), len(HEADERS), texts, names)
    if status:
        return status, b"the program could not be created", b""
    words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = library.nvrtcCompileProgram(program, len(options), words)
    log = _read_text(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
    ptx = b"" if status else _read_text(library.nvrtcGetPTXSize, library.nvrtcGetPTX, program)
    return status, log, ptx


def _read_text(size_of: Any, get: Any, program: ctypes.c_void_p) -> bytes:
    size = ctypes.c_size_t()
    if size_of(program, ctypes.byref(size)) or not size.value:
        return b""
    text = ctypes.create_string_buffer(size.value)
    return b"" if get(program, text) else text.value


def main(words: list[str]) -> int:
    """Compile the source that the command line names."""
    library_path, headers, architecture, source_path, name, folder, ptx_path = words
    library = ctypes.CDLL(library_path)
    with open(source_path, "rb") as file:
        source = file.read()
    beside = os.path.normpath(os.path.join(folder, os.path.dirname(name)))
    places = (beside, folder, headers, os.path.join(headers, "cccl"))
    options = [
        f"-arch={architecture}",
        "-std=c++17",
        "-default-device",
        "--ptxas-options=-v",
        "--pre-include=prelude.h",
        *(f"-I{p}" for p in places),
    ]
    status, log, ptx = compile_source(library, source, name, options)
    sys.stdout.buffer.write(log)
    with open(ptx_path, "wb") as file:
        file.write(ptx)
    if status not in (0, 6):  # 6 is a compile error; any other status is about options or the installation
        print(f"nvrtc fatal : status {status}")
    return 1 if status else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
