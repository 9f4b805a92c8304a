"""half and bfloat16 numbers convert, add, multiply and fuse with one rounding, to nearest even or as the name says."""

import ctypes
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from shim_headers import library

SOURCE = """
#include "cuda_runtime.h"
#include "cuda_bf16.h"

template <class N> void widen(const N* in, float* out, int n) { for (int i = 0; i < n; ++i) out[i] = float(in[i]); }
template <class N> void narrow(const double* in, N* out, int n) { for (int i = 0; i < n; ++i) out[i] = N(in[i]); }
template <class N> void operate(int which, const N* a, const N* b, const N* c, N* out, int n) {
    for (int i = 0; i < n; ++i) {
        switch (which) {
            case 0: out[i] = __hadd(a[i], b[i]); break;
            case 1: out[i] = __hsub(a[i], b[i]); break;
            case 2: out[i] = __hmul(a[i], b[i]); break;
            case 3: out[i] = __hdiv(a[i], b[i]); break;
            case 4: out[i] = __hfma(a[i], b[i], c[i]); break;
            case 5: out[i] = __hmax(a[i], b[i]); break;
            case 6: out[i] = __hmin(a[i], b[i]); break;
            case 7: out[i] = __hmax_nan(a[i], b[i]); break;
            case 8: out[i] = hsqrt(a[i]); break;
            case 9: out[i] = hrcp(a[i]); break;
        }
    }
}
#define NUMBERS(N, h)                                                                                       \\
    extern "C" void widen_##h(const N* in, float* out, int n) { widen(in, out, n); }                        \\
    extern "C" void narrow_##h(const double* in, N* out, int n) { narrow(in, out, n); }                     \\
    extern "C" void directed_##h(int mode, const float* in, N* out, int n) {                                \\
        for (int i = 0; i < n; ++i) {                                                                       \\
            out[i] = mode == 0 ? __float2##h##_rn(in[i]) : mode == 1 ? __float2##h##_rz(in[i])              \\
                   : mode == 2 ? __float2##h##_ru(in[i]) : __float2##h##_rd(in[i]);                         \\
        }                                                                                                   \\
    }                                                                                                       \\
    extern "C" void whole_##h(const long long* in, N* out, int n) {                                         \\
        for (int i = 0; i < n; ++i) out[i] = __ll2##h##_rn(in[i]);                                          \\
    }                                                                                                       \\
    extern "C" void operate_##h(int which, const N* a, const N* b, const N* c, N* out, int n) {             \\
        operate(which, a, b, c, out, n);                                                                    \\
    }
NUMBERS(__half, half)
NUMBERS(__nv_bfloat16, bfloat16)
"""
ALL = np.arange(65536, dtype=np.uint16)
Bits = NDArray[np.uint16]


@dataclass(frozen=True)
class Format:
    """A 16-bit format, and rounding to it in exact arithmetic."""

    name: str
    exponent_bits: int
    fraction_bits: int

    @property
    def infinity(self) -> int:
        return ((1 << self.exponent_bits) - 1) << self.fraction_bits

    def value(self, bits: int) -> Fraction:
        """Of a finite number."""
        bias = (1 << (self.exponent_bits - 1)) - 1
        exponent, fraction = (bits & 0x7FFF) >> self.fraction_bits, bits & ((1 << self.fraction_bits) - 1)
        whole = fraction + ((1 << self.fraction_bits) if exponent else 0)
        return (-1) ** (bits >> 15) * Fraction(whole) * Fraction(2) ** (max(exponent, 1) - bias - self.fraction_bits)

    def rounded(self, value: Fraction, mode: str = "nearest") -> int:
        """Bits of the number that a search among all of them finds, for a value that is not zero."""
        low, high = 0, self.infinity
        while high - low > 1:  # the largest number whose magnitude is not above the value's
            middle = (low + high) // 2
            low, high = (middle, high) if self.value(middle) <= abs(value) else (low, middle)
        sign = 0x8000 if value < 0 else 0
        exact = self.value(low) == abs(value)
        top = self.value(self.infinity - 1) * 2 - self.value(self.infinity - 2)  # where infinity would come next
        twice = self.value(low) + (self.value(high) if high < self.infinity else top)
        nearer = 2 * abs(value) > twice or (2 * abs(value) == twice and low % 2 == 1)
        away = {"nearest": nearer, "zero": False, "up": value > 0, "down": value < 0}[mode]
        return sign | (high if away and not exact else low)


HALF, BRAIN = Format("half", 5, 10), Format("bfloat16", 8, 7)
FORMATS = pytest.mark.parametrize("format", [HALF, BRAIN], ids=lambda f: f.name)


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    return library(SOURCE, tmp_path_factory.mktemp("numbers"))


def called(function: Any, dtype: Any, *arguments: NDArray[Any] | int) -> NDArray[Any]:
    """A new array of `dtype`, filled by `function(..., out, n)`."""
    arrays = [a for a in arguments if not isinstance(a, int)]
    out = np.empty(arrays[0].shape, dtype)
    passed = [a if isinstance(a, int) else ctypes.c_void_p(a.ctypes.data) for a in arguments]
    function(*passed, ctypes.c_void_p(out.ctypes.data), out.size)
    return out


def widened(bits: Bits, format: Format) -> NDArray[np.float32]:
    """Each number as a float, for bfloat16 by its definition: the upper half of one."""
    if format is HALF:
        return bits.view(np.float16).astype(np.float32)
    return (bits.astype(np.uint32) << 16).view(np.float32)


def is_nan(bits: Bits, format: Format) -> NDArray[np.bool_]:
    return (bits & 0x7FFF) > format.infinity


def drawn(format: Format, seed: int, n: int) -> Bits:
    """Finite numbers, not zero, of all magnitudes."""
    bits = np.random.default_rng(seed).integers(1, format.infinity, n, dtype=np.uint16)
    return bits | np.random.default_rng(seed + 1).integers(0, 2, n, dtype=np.uint16) << 15


@FORMATS
def test_every_number_is_the_float_of_its_value(functions: ctypes.CDLL, format: Format) -> None:
    got = called(getattr(functions, f"widen_{format.name}"), np.float32, ALL)
    np.testing.assert_array_equal(got, widened(ALL, format))
    assert (np.signbit(got) == (ALL >= 0x8000)).all()


def test_every_half_comes_back_and_ties_go_to_even_as_in_numpy(functions: ctypes.CDLL) -> None:
    numbers = ALL[~is_nan(ALL, HALF)].view(np.float16).astype(np.float64)
    finite = np.sort(numbers[np.isfinite(numbers)])
    ties = (finite[1:] + finite[:-1]) / 2
    edges = np.array([65519.99, 65520.0, 65536.0, 1e300, -65520.0, 2.0**-25, 2.0**-26, 5e-324, 0.0, -0.0])
    values = np.concatenate([numbers, ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), edges])
    with np.errstate(over="ignore"):
        expected = values.astype(np.float16).view(np.uint16)
    np.testing.assert_array_equal(called(functions.narrow_half, np.uint16, values), expected)
    assert called(functions.narrow_half, np.uint16, np.array([np.nan]))[0] == 0x7FFF  # the device's NaN


def test_every_bfloat16_comes_back_and_ties_go_to_even(functions: ctypes.CDLL) -> None:
    floats = np.random.default_rng(0).integers(0, 1 << 32, 300_000, dtype=np.uint32)
    upper = ALL.astype(np.uint32) << 16
    bits = np.concatenate([floats, upper, upper | 0x8000, upper | 0x8001, upper | 0x7FFF])
    bits = bits[~np.isnan(bits.view(np.float32))]
    # adding just under half a unit, and the last bit kept, carries exactly when rounding to nearest even does
    expected = ((bits.astype(np.uint64) + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    got = called(functions.narrow_bfloat16, np.uint16, bits.view(np.float32).astype(np.float64))
    np.testing.assert_array_equal(got, expected)


@FORMATS
@pytest.mark.parametrize(("mode", "name"), list(enumerate(["nearest", "zero", "up", "down"])))
def test_conversions_round_as_their_names_say(functions: ctypes.CDLL, format: Format, mode: int, name: str) -> None:
    random = np.random.default_rng(mode)
    # from below the smallest number of either format to above the largest
    spread = random.normal(size=500) * 2.0 ** random.uniform(-140, 126, 500)
    near = random.normal(size=500) * 2.0 ** random.uniform(-26, 17, 500)
    values = np.concatenate([spread, near, widened(drawn(format, mode, 200), format)]).astype(np.float32)
    values = values[(values != 0) & np.isfinite(values)]
    got = called(getattr(functions, f"directed_{format.name}"), np.uint16, mode, values)
    expected = [format.rounded(Fraction(float(v)), name) for v in values]
    np.testing.assert_array_equal(got, expected)


@FORMATS
def test_large_integers_are_rounded_once(functions: ctypes.CDLL, format: Format) -> None:
    # 2**62 + 2**54 is a tie for bfloat16, which one more tips; a double cannot tell the two
    values = np.array([2**62 + 2**54 + 1, 2**62 + 2**54, -(2**62) - 2**54 - 1, 2049, 2051, 65519, 65520, 1], np.int64)
    got = called(getattr(functions, f"whole_{format.name}"), np.uint16, values)
    np.testing.assert_array_equal(got, [format.rounded(Fraction(int(v))) for v in values])


@FORMATS
@pytest.mark.parametrize("which", range(5), ids=["add", "subtract", "multiply", "divide", "fuse"])
def test_arithmetic_is_exact_and_then_rounded_once(functions: ctypes.CDLL, format: Format, which: int) -> None:
    n = 1200
    a, b, c = (drawn(format, seed, n) for seed in (10 + which, 20 + which, 30 + which))
    # half of the operands near each other, where sums cancel and products meet their addend
    b[: n // 2] = a[: n // 2] ^ np.random.default_rng(which).integers(0, 64, n // 2, dtype=np.uint16)
    b[b & 0x7FFF == 0] = 1
    first = slice(n // 4)
    pairs = zip(a[first], b[first], strict=True)
    c[first] = [format.rounded(-format.value(int(x)) * format.value(int(y))) for x, y in pairs]
    got = called(getattr(functions, f"operate_{format.name}"), np.uint16, which, a, b, c)
    for x, y, z, result in zip(a, b, c, got, strict=True):
        p, q = format.value(int(x)), format.value(int(y))
        if which == 4 and z & 0x7FFF >= format.infinity:
            continue  # the product of the first quarter may exceed every number
        exact = [p + q, p - q, p * q, p / q, p * q + (format.value(int(z)) if which == 4 else 0)][which]
        if exact:
            assert result == format.rounded(exact), (hex(x), hex(y), hex(z))
        else:
            assert result & 0x7FFF == 0


def test_square_roots_and_reciprocals_of_every_half_are_rounded_once(functions: ctypes.CDLL) -> None:
    with np.errstate(all="ignore"):
        numbers = ALL.view(np.float16).astype(np.float64)
        for which, exact in ((8, np.sqrt(numbers)), (9, 1 / numbers)):
            got = called(functions.operate_half, np.uint16, which, ALL, ALL, ALL).view(np.float16)
            np.testing.assert_array_equal(got, exact.astype(np.float16))


def test_maximum_and_minimum_take_the_number_beside_a_nan_and_order_zeros(functions: ctypes.CDLL) -> None:
    one, nan, zero, minus_zero = 0x3C00, 0x7E00, 0x0000, 0x8000
    a = np.array([one, nan, nan, zero, minus_zero], np.uint16)
    b = np.array([nan, one, nan, minus_zero, zero], np.uint16)
    expected = {5: [one, one, 0x7FFF, zero, zero], 6: [one, one, 0x7FFF, minus_zero, minus_zero],
                7: [0x7FFF, 0x7FFF, 0x7FFF, zero, zero]}  # fmt: skip
    for which, bits in expected.items():
        got = called(functions.operate_half, np.uint16, which, a, b, a)
        np.testing.assert_array_equal(got, bits)
