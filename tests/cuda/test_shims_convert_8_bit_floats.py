"""e4m3 and e5m2 have the values of their specification, and conversions round once, to the nearest, ties to even.

The table of values is computed here from the OCP 8-bit Floating Point Specification (OFP8, 1.0, section 5), and what a
conversion gives by a search in it.
"""

import ctypes
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from shim_headers import library

SOURCE = """
#include <cuda_fp8.h>
extern "C" {
void widen(const unsigned char* in, int as, float* out, int n) {
    for (int i = 0; i < n; i++) {
        out[i] = float(__half(__nv_cvt_fp8_to_halfraw(in[i], static_cast<__nv_fp8_interpretation_t>(as))));
    }
}
void narrow(const double* in, int saturate, int as, unsigned char* out, int n) {
    for (int i = 0; i < n; i++) {
        out[i] = __nv_cvt_double_to_fp8(in[i], saturate ? __NV_SATFINITE : __NV_NOSAT,
                                        static_cast<__nv_fp8_interpretation_t>(as));
    }
}
void constructed(const float* in, unsigned char* e4m3, unsigned char* e5m2, int n) {
    for (int i = 0; i < n; i++) {
        e4m3[i] = __nv_fp8_e4m3(in[i]).__x;
        e5m2[i] = __nv_fp8_e5m2(__half(in[i])).__x;
    }
}
int others() {
    const __nv_fp8x4_e4m3 four(float4{1.0f, -2.0f, 500.0f, 0.0f});
    const float4 back(four);
    const __nv_fp8x2_e5m2 two(__floats2half2_rn(3.0f, -0.25f));
    const __half2 halves(two);
    const __nv_fp8x2_storage_t pair = __nv_cvt_float2_to_fp8x2(float2{1.0f, 2.0f}, __NV_SATFINITE, __NV_E4M3);
    return four.__x == 0x007EC038u && back.z == 448.0f && back.y == -2.0f && float(halves.x) == 3.0f &&
           float(halves.y) == -0.25f && pair == 0x4038 && int(__nv_fp8_e4m3(-7)) == -7 && bool(__nv_fp8_e5m2(0.5)) &&
           sizeof(four) == 4 && sizeof(two) == 2 && sizeof(__nv_fp8_e4m3) == 1;
}
}
"""
CODES = np.arange(256, dtype=np.uint8)
Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class Format8:
    """A format, and the code that an overflow gives which does not saturate."""

    name: str
    number: int
    exponent_bits: int
    fraction_bits: int
    largest: int
    beyond: int

    def values(self) -> NDArray[np.float64]:
        """Of every positive code, up to the one after the largest number as if numbers went on."""
        bias = (1 << (self.exponent_bits - 1)) - 1
        table = []
        for code in range(self.largest + 2):
            exponent, fraction = code >> self.fraction_bits, code % (1 << self.fraction_bits)
            whole = fraction + (1 << self.fraction_bits if exponent else 0)
            table.append(whole * 2.0 ** (max(exponent, 1) - bias - self.fraction_bits))
        return np.array(table)

    def narrowed(self, values: NDArray[np.float64], *, saturate: bool) -> Codes:
        table, magnitude = self.values(), np.minimum(np.abs(values), 1e6)
        above = np.minimum(np.searchsorted(table, magnitude), self.largest + 1)
        below = np.maximum(above - 1, 0)
        far, near = table[above] - magnitude, magnitude - table[below]
        code = np.where((far < near) | ((far == near) & (above % 2 == 0)), above, below)
        code = np.where(code > self.largest, self.largest if saturate else self.beyond, code)
        return (code | np.where(np.signbit(values), 0x80, 0)).astype(np.uint8)


E4M3, E5M2 = Format8("e4m3", 0, 4, 3, 0x7E, 0x7F), Format8("e5m2", 1, 5, 2, 0x7B, 0x7C)
FORMATS = pytest.mark.parametrize("format", [E4M3, E5M2], ids=lambda f: f.name)


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library(SOURCE, tmp_path_factory.mktemp("fp8"))


def pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def narrowed(functions: ctypes.CDLL, values: NDArray[np.float64], format: Format8, *, saturate: bool) -> Codes:
    out = np.empty(values.shape, np.uint8)
    functions.narrow(pointer(values), int(saturate), format.number, pointer(out), out.size)
    return out


@FORMATS
def test_every_code_has_its_value(functions: ctypes.CDLL, format: Format8) -> None:
    out = np.empty(256, np.float32)
    functions.widen(pointer(CODES), format.number, pointer(out), 256)
    positive = np.full(128, np.nan)
    positive[: format.largest + 1] = format.values()[:-1]
    if format is E5M2:
        positive[0x7C] = np.inf
    np.testing.assert_array_equal(out, np.concatenate([positive, -positive]).astype(np.float32))
    assert np.signbit(out[128:][~np.isnan(out[128:])]).all()


@FORMATS
@pytest.mark.parametrize("saturate", [True, False])
def test_every_half_every_tie_and_its_neighbours_round_once(
    functions: ctypes.CDLL, format: Format8, saturate: bool
) -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float64)
    table = format.values()
    ties = (table[1:] + table[:-1]) / 2
    near = np.concatenate([table, ties, np.nextafter(ties, np.inf), np.nextafter(ties, 0)])
    values = np.concatenate([halves[~np.isnan(halves)], near, -near, [1e300, -1e300, 5e-324, np.inf, -np.inf]])
    np.testing.assert_array_equal(
        narrowed(functions, values, format, saturate=saturate), format.narrowed(values, saturate=saturate)
    )


@FORMATS
@pytest.mark.parametrize("saturate", [True, False])
def test_nan_stays_nan(functions: ctypes.CDLL, format: Format8, saturate: bool) -> None:
    (code,) = narrowed(functions, np.array([np.nan]), format, saturate=saturate)
    assert code & 0x7F > max(format.largest, 0x7C if format is E5M2 else 0)


def test_types_saturate_and_packs_are_little_endian(functions: ctypes.CDLL) -> None:
    values = np.array([1, -448, 500, 1e9, -70000, 0, 2.0**-9, np.inf], np.float32)
    e4m3, e5m2 = np.empty(8, np.uint8), np.empty(8, np.uint8)
    functions.constructed(pointer(values), pointer(e4m3), pointer(e5m2), 8)
    np.testing.assert_array_equal(e4m3, E4M3.narrowed(values.astype(np.float64), saturate=True))
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(e5m2, E5M2.narrowed(values.astype(np.float16).astype(np.float64), saturate=True))
    assert functions.others() == 1
