"""The outline of a source tells what it defines, needs and leaves out, and nothing of the source is run."""

import warnings

import pytest

from harness.languages import language
from harness.source.syntax import Outline


def outline(text: str, name: str = "python") -> Outline:
    found = language(name).syntax.outline(text)
    assert found is not None
    return found


def test_functions_classes_and_names_of_the_top_level_are_defined() -> None:
    source = "try:\n    import fast as f\nexcept ImportError:\n    f = None\n"
    source += "class A:\n    def m(self): return 1\ng = h = A\n"
    found = outline(f"{source}async def k(): return 2\n")
    assert found.defines == {"f", "A", "g", "h", "k"}
    assert found.imported == {"f"} and found.functions == {"m", "k"}


def test_names_used_and_never_bound_are_needed() -> None:
    source = "import numpy as np\ndef f(x, *, n=N):\n    y = [np.sum(v) for v in x]\n"
    source += "    return helper(len(y), n, __name__)\n"
    assert outline(source).needs == {"N", "helper"}
    assert outline("from helpers import *\nf()\n").needs is None


@pytest.mark.parametrize(
    "body",
    [
        "pass", "return None", "'To come.'", "...", "raise NotImplementedError",
        "y = g(x)\n    for t in y:\n        # t\u00e4ydenn\u00e4\n        pass", "y = g(x)\n    # \u8865\u5168",
        "y = g(x)\n    # \u8865\u5168\n    return None", "if x is None:\n        raise ValueError('x')\n    pass",
    ],
)  # fmt: skip
def test_a_body_that_does_nothing_is_unwritten(body: str) -> None:
    assert outline(f"import g\ndef f(x):\n    {body}\n").unwritten == {"f": 2}


@pytest.mark.parametrize(
    "body",
    [
        "return x", "x.append(1)", "x[0] = 1", "x += 1", "yield 1", "del x[0]", "return [x]", "y = x.pop()",
        "out = []\n    out.append(x)\n    return out", "if x:\n        return True\n    return False",
        "y = 1\n    y = g(x)\n    return y", "if x:\n        return 1\n    raise NotImplementedError",
        "return True", "return 0", "out = []\n    return out", "y = g(x)\n    # right\n    return True",
    ],
)  # fmt: skip
def test_a_body_that_does_something_is_written(body: str) -> None:
    assert not outline(f"def f(x):\n    {body}\n").unwritten
    assert not outline("def f(x) -> None:\n    pass\n").unwritten  # it may have nothing to do


KERNEL = "__global__ void k(float* y) {{ {} }}\n"
LAUNCH = 'extern "C" int f(float* y, int n) {{ {} }}\n'


@pytest.mark.parametrize(
    ("kernel", "launch", "unwritten"),
    [
        ("y[0] = 1;", "return 0;", {"f": 2}),
        ("y[0] = 1;", "if (n < 1) return 1; (void)y; return (int)cudaGetLastError();", {"f": 2}),
        ("/* here */", "k<<<1, 1>>>(y); return 0;", {"k": 1, "f": 1}),
        ("y[0] = 1;", "k<<<1, 1>>>(y); return 0;", {}),
        ("y[0] = 1;", "return run(y, n);", {}),
        ("y[0] = 1;", "*y = 0; return 0;", {}),
    ],
)
def test_a_launch_of_nothing_is_unwritten(kernel: str, launch: str, unwritten: dict[str, int]) -> None:
    assert outline(KERNEL.format(kernel) + LAUNCH.format(launch), "cuda").unwritten == unwritten


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    # ... existing code ...\n    return x\n",
        "def f(x):\n    # ... rest unchanged\n",
        "def f(x):\n    y = 1\n    ...\n    return y\n",
        "x = 1\n# \u2026\n",
        "class A:\n    # ... the others\n    def m(self):\n        return 1\n",
        "def f(x):\n    if x:\n        # ... as it was\n    return x\n",
        "def f(x):\n    # ... t\u00e4ydenn\u00e4 t\u00e4h\u00e4n ...\n    return x\n",
    ],
)
def test_code_left_out_is_seen(text: str) -> None:
    assert outline(text).gaps


@pytest.mark.parametrize(
    "text",
    [
        "def f(x):\n    # ... and now the usual softmax\n    return x\n",
        "# same layout for keys and values\nx = 1\n",
        "# the remaining tokens are padding\nx = 1\n",
        "# the other heads read the same keys\nx = 1\n",
        "x = a[..., 0]\n",
        "class P:\n    def m(self): ...\n",
        "# existing tokens come first\nx = 1\n",
    ],
)
def test_comments_that_explain_are_no_gaps(text: str) -> None:
    assert not outline(text).gaps


def test_a_stub_defines_nothing() -> None:
    found = outline('def f(x):\n    """Sum."""\n    ...\n\ndef g(x):\n    pass\n')
    assert found.stubs == {"f"} and found.defines == {"g"}


def test_a_text_that_does_not_parse_has_a_fault_and_the_functions_that_can_be_seen() -> None:
    found = outline("def f(x):\n    return return x\n")
    assert found.fault is not None and found.fault.line == 2 and found.functions == {"f"}


def test_an_odd_escape_warns_nobody() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outline("x = '\\d'\n").defines == {"x"}


CU = """#include "common.cuh"
template <int N> __global__ void kernel(float* x) { x[0] = N; }
extern "C" { int launch(float* x) { kernel<1><<<1, 1>>>(x); return 0; } }
__global__ void todo(float* x) {
    // ... same as above
}
"""


def test_cuda_is_read_as_well() -> None:
    found = outline(CU, "cuda")
    assert found.defines == {"kernel", "launch"} and found.stubs == {"todo"}
    assert found.imports.keys() == {"common.cuh"} and found.gaps == (5,)
    assert outline("int f() { return 0; }\n```\n", "cuda").fault is not None


def test_prose_is_no_code() -> None:
    for name, code in (("python", "x = 1\n"), ("cuda", '#include "x.h"\nint f();\n')):
        syntax = language(name).syntax
        assert syntax.is_code(code) and not syntax.is_code(f"Here is the code:\n{code}")
        assert not syntax.is_code(f"{code}\nI hope this helps!\n")
