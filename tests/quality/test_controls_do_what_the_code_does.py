"""A control is other text with other operators, comparisons and numbers that computes the same bits."""

import ast
import subprocess
import sys
import types
from pathlib import Path

import pytest

import harness
from harness.quality.controls import census, rewritten
from harness.quality.sources import SourceFile, read_sources

ROOT = Path(harness.__file__).parents[1]
REFERENCES = [ROOT / "references" / name for name in ("layernorm_backward", "kv_cache")]
BASELINES = [ROOT / "submissions" / "baseline" / name for name in ("layernorm_backward", "kv_cache")]
FOLDERS = [*REFERENCES, *BASELINES]

LAYER_NORM = """
import numpy as np
from {module} import backward, check_gradients, forward
draw = np.random.default_rng(1)
for dtype in ("float32", "float64"):
    x, dy = draw.normal(size=(2, 3, 4, 8)).astype(dtype)
    gamma, beta = draw.normal(size=(2, 8)).astype(dtype)
    y, cache = forward(x, gamma, beta, 1e-5)
    for each in (y, *backward(dy, cache)):
        print(each.dtype, each.shape, each.tobytes().hex())
x, dy = draw.normal(size=(2, 2, 2, 5))
print(check_gradients(forward, backward, x, np.ones(5), np.zeros(5), dy, 1e-5))
"""
KV_CACHE = """
import numpy as np
from {module} import create_cache, decode, fork, memory_bytes, prefill, release
draw = np.random.default_rng(1)
for dtype in ("float32", "float64"):
    for options in ({{}}, {{"page_size": 3}}, {{"quantization": "int8"}}, {{"quantization": "int4", "window": 3}}):
        cache = create_cache(num_layers=2, num_heads=4, num_kv_heads=2, head_dim=4, max_batch=3, max_length=99,
                             dtype=dtype, **options)
        q, k, v = (draw.normal(size=(2, heads, 5, 4)).astype(dtype) for heads in (4, 2, 2))
        results = [prefill(cache, 0, [2, 0], q, k, v, [5, 3])]
        fork(cache, 2, 1)
        for _ in range(3):
            results.append(decode(cache, 0, [1, 0], q[:, :, :1], k[:, :, :1], v[:, :, :1]))
        print(memory_bytes(cache))
        release(cache, 1)
        print(memory_bytes(cache))
        for each in results:
            print(each.dtype, each.shape, each.tobytes().hex())
try:
    decode(cache, 0, [0, 0], q, k, v)
except Exception as error:
    print(type(error), error)
"""
DRIVERS = {"layernorm_backward": (LAYER_NORM, "layernorm"), "kv_cache": (KV_CACHE, "kv_cache")}


def sources(folder: Path) -> list[SourceFile]:
    return [file for file in read_sources(folder) if not file.test and file.tree is not None]


def printed(folder: Path, script: str) -> str:
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def written(folder: Path, place: Path, seed: int | None) -> Path:
    place.mkdir()
    for file in sources(folder):
        (place / file.path).write_text(file.text if seed is None else rewritten(file, seed))
    return place


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_real_kernels_give_the_same_bits(folder, tmp_path):
    driver, module = DRIVERS[folder.name]
    script = driver.format(module="reference" if folder in REFERENCES else module)
    plain = printed(written(folder, tmp_path / "plain", None), script)
    assert plain.count("float64") > 3
    for seed in range(8):
        assert printed(written(folder, tmp_path / str(seed), seed), script) == plain


@pytest.mark.parametrize("folder", BASELINES, ids=lambda folder: folder.name)
def test_the_tests_of_an_honest_answer_pass_on_its_controls(folder, tmp_path):
    place = written(folder, tmp_path / "control", 4)
    for test in folder.glob("test_*.py"):
        (place / test.name).write_text(test.read_text())
    words = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"--rootdir={place}"]
    done = subprocess.run(words, cwd=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def kernels() -> list[SourceFile]:
    """Real source in which mutants of every kind can be planted."""
    names = {"reference.py", "oracle.py", "layernorm.py", "attention.py", "storage.py", "quantization.py"}
    return [file for folder in FOLDERS for file in sources(folder) if file.path in names]


@pytest.mark.parametrize("file", kernels(), ids=lambda file: file.path)
def test_no_control_has_the_operators_and_numbers_it_was_made_from(file):
    plain = census(file.tree)
    for seed in range(12):
        assert census(ast.parse(rewritten(file, seed))) != plain


@pytest.mark.parametrize("file", kernels(), ids=lambda file: file.path)
def test_a_thorough_control_changes_operators_and_numbers_and_takes_some_away(file):
    plain = census(file.tree)
    for seed in range(0, 12, 2):
        other = census(ast.parse(rewritten(file, seed)))
        for kind in ("operator", "number", "unaryop"):
            assert other[kind] != plain[kind]
        # a control that only adds would be told by that alone
        assert any(plain[kind] - other[kind] for kind in plain)


KINDS = '''"""Doc."""; from __future__ import annotations
LIMIT = 3  # of rows
HALF = 0.5


def each(x, y, some, on=True):
    """Doc."""
    total = [x + y, x - y, x * y, x // y, x % y, x ** y, x << y, x & y, x ^ y, x | y, -x, +x, ~x, x / y]
    total[0] += 2
    total[y:x - 1] = [HALF * 0.0, 1e-320, *some[x - 5:y + 3:2]]
    total += [x < y, x <= y, x == y, x != y, x is y, x is not y, x in some, x not in some, 1 < y < x]
    name = "%d" % x + f"{x + 1!r:>{y + 4}}"
    if x > y and on or not some:
        return name, total, [x and y, x or y, some and x and y, x == y or some], {each: each + 1 for each in some}
    else:
        return total, name, sorted(locals()), each.__doc__
'''


def loaded(text: str) -> dict[str, object]:
    module = types.ModuleType("control")
    exec(compile(text, "control.py", "exec", dont_inherit=True), module.__dict__)
    return vars(module)


@pytest.mark.parametrize("seed", range(30))
def test_every_kind_of_expression_keeps_its_value(answer, seed):
    (file,) = read_sources(answer(sample=KINDS))
    plain, other = loaded(file.text), loaded(rewritten(file, seed))
    for arguments in ((7, 3, [5, 6, 7]), (3, 7, []), (9, 9, [1], False), (2, 5, [2, 1], False)):
        assert repr(other["each"](*arguments)) == repr(plain["each"](*arguments))
    assert (other["LIMIT"], other["HALF"]) == (3, 0.5)


@pytest.mark.parametrize("seed", range(10))
def test_a_thorough_control_changes_every_kind_that_mutants_change(answer, seed):
    (file,) = read_sources(answer(sample=KINDS))
    other = census(ast.parse(rewritten(file, 2 * seed)))
    for kind, counts in census(file.tree).items():
        assert other[kind] != counts


@pytest.mark.parametrize("seed", range(1, 21, 2))
def test_a_slight_control_changes_as_little_as_a_mutant(answer, seed):
    (file,) = read_sources(answer(sample=KINDS))
    plain, other = census(file.tree), census(ast.parse(rewritten(file, seed)))
    gone, come = (sum(((a[kind] - b[kind]) for kind in a), start=type(a["number"])()) for a, b in
                  ((plain, other), (other, plain)))  # fmt: skip
    assert 1 <= gone.total() + come.total() <= 2
    changed = [a != b for a, b in zip(file.text.split("\n"), rewritten(file, seed).split("\n"), strict=True)]
    assert sum(changed) == 1


def test_layout_and_comments_stay_and_bytecode_changes(answer):
    (file,) = read_sources(answer(sample=KINDS))
    for seed in range(8):
        control = rewritten(file, seed)
        assert "# of rows" in control
        assert ast.unparse(ast.parse(control)) + "\n" != control
        assert compile(control, "a.py", "exec") != compile(file.text, "a.py", "exec")


SHADOWED = """
def cut(x, slice, n):
    return x[n - 1 : slice + n]
"""


def test_a_name_of_the_answers_own_is_not_called(answer):
    (file,) = read_sources(answer(sample=SHADOWED))
    for seed in range(20):
        assert loaded(rewritten(file, seed))["cut"]([1, 2, 3, 4], 1, 2) == [2, 3]


@pytest.mark.parametrize("seed", range(4))
def test_an_expression_nested_deeply_keeps_no_control_from_the_rest(answer, seed):
    nested = "deep = " + "(1 - " * 150 + "1" + ")" * 150
    (file,) = read_sources(answer(sample=f"{nested}\n" + "x = 3 + 4\n" * 9))
    control = rewritten(file, seed)
    assert census(ast.parse(control)) != census(file.tree)
    assert loaded(control)["x"] == 7


@pytest.mark.parametrize("seed", range(2))
def test_a_very_long_file_is_rewritten_in_places(answer, seed):
    (file,) = read_sources(answer(sample="x = 3 + 4\n" * 5000))
    control = rewritten(file, seed)
    assert control != file.text
    assert len(control) < 2 * len(file.text)


def test_controls_differ_from_one_another(answer):
    (file,) = read_sources(answer(sample=KINDS))
    assert len({rewritten(file, seed) for seed in range(20)}) > 12
    assert rewritten(file, 3) == rewritten(file, 3)
