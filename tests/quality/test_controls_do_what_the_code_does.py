"""A control is different text and different bytecode that computes exactly the same."""

import types
from pathlib import Path

import numpy as np
import pytest

import harness
from harness.quality.controls import rewritten
from harness.quality.sources import SourceFile, read_sources

REFERENCE = Path(harness.__file__).parents[1] / "references" / "layernorm_backward"


def loaded(text: str) -> dict[str, object]:
    module = types.ModuleType("control")
    exec(compile(text, "control.py", "exec"), module.__dict__)
    return vars(module)


def source(folder: Path, name: str) -> SourceFile:
    return next(file for file in read_sources(folder) if file.path == name)


@pytest.mark.parametrize("seed", range(5))
def test_a_real_kernel_gives_the_same_bits(seed):
    file = source(REFERENCE, "reference.py")
    control = rewritten(file, seed)
    draw = np.random.default_rng(seed)
    x, dy = draw.normal(size=(2, 3, 4, 8))
    gamma, beta = draw.normal(size=(2, 8))

    def results(text: str) -> list[np.ndarray]:
        kernel = loaded(text)
        y, cache = kernel["forward"](x, gamma, beta, 1e-5)
        return [y, *kernel["backward"](dy, cache)]

    assert control != file.text
    for plain, other in zip(results(file.text), results(control), strict=True):
        np.testing.assert_array_equal(plain, other, strict=True)


BRANCHES = '''
def sign(x):
    """Sign of x."""
    if x > 0:
        return 1
    elif x < 0:
        return -1
    else:
        return 0


def names(a):
    b = a
    return sorted(locals())


def plain():
    return
'''


@pytest.mark.parametrize("seed", range(20))
def test_branches_docstrings_and_local_names_survive(answer, seed):
    file = source(answer(sample=BRANCHES), "sample.py")
    plain, other = loaded(file.text), loaded(rewritten(file, seed))
    assert [other["sign"](x) for x in (-2, 0, 3)] == [-1, 0, 1]
    assert other["sign"].__doc__ == plain["sign"].__doc__
    # a function that looks at its own names gets no new ones
    assert other["names"](1) == ["a", "b"]
    assert other["plain"]() is None
    assert other["sign"].__code__.co_code != plain["sign"].__code__.co_code


def test_controls_differ_from_one_another(answer):
    file = source(answer(sample=BRANCHES), "sample.py")
    assert len({rewritten(file, seed) for seed in range(20)}) > 5
    assert rewritten(file, 3) == rewritten(file, 3)
