"""Four challenges whose results are integers, made from the template in Python and in CUDA."""

from dataclasses import dataclass
from pathlib import Path

from harness.cli import scaffold
from harness.probing.challenge_code.code import ChallengeCode
from harness.workspace import Workspace

Fault = tuple[str, str, str, str]
"""What it does, the criterion that must notice it, what it replaces and by what."""
LIMITS = """
[limits]
start_seconds = 120.0
call_seconds = 60.0
probes_seconds = 600.0
memory_mib = 8192
"""
RUBRIC = """
id = "{name}"
title = "{name}"
summary = "{asked}."
language = "{language}"
anchor = "values"
[contract]
functions = ["{name}"]
{limits}
[[dimensions]]
id = "correctness"
title = "Correctness"
weight = 1
"""
CRITERION = """
[[criteria]]
id = "{id}"
dimension = "correctness"
severity = "critical"
title = "{title}"
asked = "{title}"
probes = ["{id}"]
"""
TITLES = {"values": "Every result is exact", "inputs_unchanged": "The inputs stay as they were"}
SOUND = {"sound": "Accesses stay within bounds and in order"}
PROBES = """
from harness.probing import Array, expect, laws, probe
from . import oracle

CASES = ({"rows": 1, "n": 2}, {"rows": 3, "n": 5}, {"rows": 2, "n": 700})

@probe(*CASES, floors={"n": 2})
def values(answer, draw, *, rows, n):
    for _ in range(2):
        given = oracle.drawn(draw, rows, n)
        right = oracle.right(*given)
        expect.close("out", ask(answer, draw, given, right), right)
"""
CALLS = {
    "python": """
def ask(answer, draw, given, right):
    return answer.call("{name}", *given, returns=Array(right.shape, right.dtype.name))

@probe(rows=3, n=5, floors={{"n": 2}})
def inputs_unchanged(answer, draw, *, rows, n):
    given = oracle.drawn(draw, rows, n)
    right = oracle.right(*given)
    answer.call("{name}", *given, returns=Array(right.shape, right.dtype.name), echo=True)
    laws.inputs_stay({{f"argument {{at}}": array for at, array in enumerate(oracle.arrays(given))}}, answer.echo)
""",
    "cuda": """
from harness.probing.checked import require_launches, require_order, require_sound_accesses
from harness.probing.launching import STREAM, InputBuffer, OutputBuffer, launch

def called(answer, draw, given, right, **options):
    buffers = [InputBuffer(f"argument {{at}}", array) for at, array in enumerate(oracle.arrays(given))]
    out = OutputBuffer("out", right.shape, right.dtype.name)
    return launch(answer, draw, "{name}", (*buffers, *oracle.sizes(*given), out, STREAM), **options)

def ask(answer, draw, given, right):
    call = called(answer, draw, given, right)
    call.require_complete("here")
    return call["out"]

@probe(rows=3, n=5, floors={{"n": 2}})
def inputs_unchanged(answer, draw, *, rows, n):
    given = oracle.drawn(draw, rows, n)
    call = called(answer, draw, given, oracle.right(*given))
    for at, _ in enumerate(oracle.arrays(given)):
        expect.that(call.kept(f"argument {{at}}"), f"a call changes argument {{at}}")

@probe(rows=3, n=70, traced=False, floors={{"n": 2}})
def sound(answer, draw, *, rows, n):
    given = oracle.drawn(draw, rows, n)
    report = require_launches(called(answer, draw, given, oracle.right(*given), mode="check", guard=0), "here")
    require_sound_accesses(answer, report, "here")
    require_order(answer, report, "here")
""",
}
ORACLE = (
    "import numpy as np\n\ndef arrays(given):\n    return [each for each in given if isinstance(each, np.ndarray)]\n"
)


@dataclass(frozen=True)
class Answer:
    """The reference in one language, a right answer that works differently, and faults."""

    source: str
    variant: tuple[str, str]
    faults: tuple[Fault, ...]


@dataclass(frozen=True)
class Operation:
    """What a challenge asks, how inputs are drawn, what is right, and what answers it has."""

    asked: str
    oracle: str
    python: Answer
    cuda: Answer


def made(root: Path, name: str, language: str) -> ChallengeCode:
    """Make the challenge of an operation in a new workspace: the template's files, and an author's changes."""
    operation, workspace = OPERATIONS[name], Workspace(root)
    (root / "challenges").mkdir()
    scaffold.challenge(workspace, name, language)
    answer = getattr(operation, language)
    titles = TITLES | (SOUND if language == "cuda" else {})
    words = {"name": name, "language": language, "asked": operation.asked}
    rubric = RUBRIC.format(**words, limits=LIMITS if language == "cuda" else "")
    entry = "cu" if language == "cuda" else "py"
    texts = {
        "challenges/{}/PROMPT.md": ". ".join((operation.asked, *titles.values())),
        "challenges/{}/challenge.toml": rubric + "".join(CRITERION.format(id=i, title=t) for i, t in titles.items()),
        "challenges/{}/probes.py": PROBES + CALLS[language].format(**words),
        "challenges/{}/mutants.py": "from harness.probing import Mutant\nMUTANTS = ({},)\n".format(
            ", ".join(f"Mutant({does!r}, {does!r}, criterion={where!r}, edits=(({old!r}, {new!r}),))"
                      for does, where, old, new in answer.faults)
        ),
        "challenges/{}/variants.py": "from harness.probing import Variant\n"
        f"VARIANTS = (Variant('other', 'works differently', edits=({answer.variant!r},)),)\n",
        "references/{}/oracle.py": ORACLE + operation.oracle,
        f"references/{{}}/reference.{entry}": answer.source,
    }  # fmt: skip
    for place, text in texts.items():
        (root / place.format(name)).write_text(text)
    (root / "challenges" / name / "guards.py").unlink(missing_ok=True)
    return ChallengeCode(workspace, workspace.challenge(name))


def python(body: str, *, other: tuple[str, str], faults: tuple[Fault, ...]) -> Answer:
    return Answer("import numpy as np\n\n" + body, other, faults)


def cuda(body: str, *, other: tuple[str, str], faults: tuple[Fault, ...]) -> Answer:
    return Answer("#include <cuda_runtime.h>\n\nconstexpr int THREADS = 64;\n" + body, other, faults)


WARP = ("THREADS = 64", "THREADS = 32")
"""Blocks of one warp."""
OPERATIONS = {
    "argmax": Operation(
        "The place of the first largest entry of each row, as int32",
        """
def drawn(draw, rows, n):
    x = draw.normal(rows, n, dtype="float32")
    for row in x:  # two that float32 can tell apart and float16 cannot, and one that is equal to the larger
        first, second = sorted(draw.permutation(n)[:2])
        row[first], row[second] = 8.0, np.nextafter(np.float32(8), np.float32(9))
        row[draw.integer(second, n - 1)] = row[second]
    return [x]

def right(x):
    return x.argmax(axis=1).astype(np.int32)

def sizes(x):
    return x.shape
""",
        python(
            "def argmax(x):\n    return x.argmax(axis=1).astype(np.int32)\n",
            other=("x.argmax(axis=1).astype(np.int32)", "np.array([list(r).index(max(r)) for r in x], np.int32)"),
            faults=(
                ("takes the last of equal entries", "values", "x.argmax(axis=1)",
                 "(x.shape[1] - 1 - x[:, ::-1].argmax(axis=1))"),
                ("leaves the last column out", "values", "x.argmax", "x[:, :-1].argmax"),
                ("compares in float16", "values", "x.argmax", "x.astype(np.float16).argmax"),
                ("shifts in place", "inputs_unchanged", "    return", "    x -= x.max()\n    return"),
            ),
        ),
        cuda(
            """
__global__ void kernel(const float* x, int n, int* out) {
    __shared__ float tops[THREADS];
    __shared__ int places[THREADS];
    const float* row = x + static_cast<size_t>(blockIdx.x) * n;
    float top = row[0];
    int place = 0;
    for (int column = threadIdx.x; column < n; column += THREADS)
        if (row[column] > top || (row[column] == top && column < place)) top = row[column], place = column;
    tops[threadIdx.x] = top, places[threadIdx.x] = place;
    __syncthreads();
    if (threadIdx.x) return;
    for (int other = 1; other < THREADS; ++other)
        if (tops[other] > top || (tops[other] == top && places[other] < place))
            top = tops[other], place = places[other];
    out[blockIdx.x] = place;
}

extern "C" int argmax(const float* x, int rows, int n, int* out, cudaStream_t stream) {
    kernel<<<rows, THREADS, 0, stream>>>(x, n, out);
    return cudaGetLastError();
}
""",
            other=WARP,
            faults=(
                ("takes any of equal entries", "values", "tops[other] == top && places[other] < place",
                 "tops[other] == top && places[other] > place"),
                ("stops at the first thread", "values", "other < THREADS", "other < 1"),
                ("clears what it read", "inputs_unchanged", "    out[blockIdx.x] = place;",
                 "    out[blockIdx.x] = place;\n    const_cast<float*>(row)[0] = -9.0f;"),
                ("does not wait", "sound", "    __syncthreads();\n", ""),
            ),
        ),
    ),
    "matmul": Operation(
        "The product of two int8 matrices, as int32",
        """
def drawn(draw, rows, n):
    a = draw.integers(rows, n, low=-128, high=127, dtype="int8")
    b = draw.integers(n, rows + 1, low=-128, high=127, dtype="int8")
    a[0], b[:, 0] = -128, -128
    return [a, b]

def right(a, b):
    return a.astype(np.int32) @ b.astype(np.int32)

def sizes(a, b):
    return *a.shape, b.shape[1]
""",
        python(
            "def matmul(a, b):\n    return a.astype(np.int32) @ b.astype(np.int32)\n",
            other=("a.astype(np.int32) @ b.astype(np.int32)", "(a.astype(float) @ b.astype(float)).astype(np.int32)"),
            faults=(
                ("adds up in int8", "values", "a.astype(np.int32) @ b.astype(np.int32)", "(a @ b).astype(np.int32)"),
                ("adds up in int16", "values", "a.astype(np.int32) @ b.astype(np.int32)",
                 "(a.astype(np.int16) @ b.astype(np.int16)).astype(np.int32)"),
                ("leaves the last term out", "values", "a.astype(np.int32) @ b.astype(np.int32)",
                 "a[:, :-1].astype(np.int32) @ b[:-1].astype(np.int32)"),
                ("clips in place", "inputs_unchanged", "b.astype(np.int32)",
                 "np.maximum(b, -127, out=b).astype(np.int32)"),
            ),
        ),
        cuda(
            """
__global__ void kernel(const signed char* a, const signed char* b, int rows, int inner, int columns, int* out) {
    const int entry = blockIdx.x * THREADS + threadIdx.x;
    if (entry >= rows * columns) return;
    int total = 0;
    for (int k = 0; k < inner; ++k) total += a[entry / columns * inner + k] * b[k * columns + entry % columns];
    out[entry] = total;
}

extern "C" int matmul(const signed char* a, const signed char* b, int rows, int inner, int columns, int* out,
                      cudaStream_t stream) {
    kernel<<<(rows * columns + THREADS - 1) / THREADS, THREADS, 0, stream>>>(a, b, rows, inner, columns, out);
    return cudaGetLastError();
}
""",
            other=WARP,
            faults=(
                ("adds up in int16", "values", "int total", "short total"),
                ("leaves the last term out", "values", "k < inner", "k < inner - 1"),
                ("negates what it read", "inputs_unchanged", "    out[entry] = total;",
                 "    out[entry] = total;\n    if (!entry) const_cast<signed char*>(a)[0] ^= 1;"),
                ("reads one term too many", "sound", "k < inner", "k <= inner"),
            ),
        ),
    ),
    "sorted_rows": Operation(
        "The int64 entries of each row, smallest first",
        """
def drawn(draw, rows, n):
    x = draw.integers(rows, n, low=-(2**63), high=2**63 - 1)
    x[:, 1] = x[:, 0] - np.sign(x[:, 0])  # float64 cannot tell them apart
    x[:, n // 2 :] = x[:, : n - n // 2]
    return [x[:, draw.permutation(n)].copy()]

def right(x):
    return np.sort(x, axis=1)

def sizes(x):
    return x.shape
""",
        python(
            "def sorted_rows(x):\n    return np.sort(x, axis=1)\n",
            other=("np.sort(x, axis=1)", "np.array([sorted(row.tolist()) for row in x])"),
            faults=(
                ("sorts as float64", "values", "np.sort(x, axis=1)",
                 "np.take_along_axis(x, x.astype(float).argsort(axis=1, kind='stable'), 1)"),
                ("sorts downwards", "values", "np.sort(x, axis=1)", "np.sort(x, axis=1)[:, ::-1]"),
                ("drops equal entries", "values", "np.sort(x, axis=1)",
                 "np.array([np.resize(np.unique(row), len(row)) for row in x])"),
                ("sorts in place", "inputs_unchanged", "    return np.sort(x, axis=1)",
                 "    x.sort(axis=1)\n    return x.copy()"),
            ),
        ),
        cuda(
            """
__global__ void kernel(const long long* x, int n, long long* out) {
    const long long* row = x + static_cast<size_t>(blockIdx.x) * n;
    for (int place = threadIdx.x; place < n; place += THREADS) {
        int rank = 0;
        for (int other = 0; other < n; ++other)
            rank += row[other] < row[place] || (row[other] == row[place] && other < place);
        out[static_cast<size_t>(blockIdx.x) * n + rank] = row[place];
    }
}

extern "C" int sorted_rows(const long long* x, int rows, int n, long long* out, cudaStream_t stream) {
    kernel<<<rows, THREADS, 0, stream>>>(x, n, out);
    return cudaGetLastError();
}
""",
            other=WARP,
            faults=(
                ("leaves ties unbroken", "values", " || (row[other] == row[place] && other < place)", ""),
                ("compares as int", "values", "row[other] < row[place]", "int(row[other]) < int(row[place])"),
                ("writes into its input", "inputs_unchanged", "= row[place];\n    }",
                 "= row[place];\n    }\n    if (!threadIdx.x) const_cast<long long*>(row)[0] ^= 1;"),
                ("reads one entry too many", "sound", "other < n;", "other <= n;"),
            ),
        ),
    ),
    "histogram": Operation(
        "How many entries are 0, 1 and so on below the number of bins, as int32",
        """
def drawn(draw, rows, n):
    x = draw.integers(rows * n, low=-3, high=n + 3, dtype="int32")
    x[: rows * n // 2] = n - 1  # more than 8 bits hold, where there are many
    x[:3] = [n + 3, -3, 0][: len(x)]
    return [x[draw.permutation(len(x))].copy(), n]

def right(x, bins):
    return np.array([(x == value).sum() for value in range(bins)], np.int32)

def sizes(x, bins):
    return len(x), bins
""",
        python(
            "def histogram(x, bins):\n    inside = x[(x >= 0) & (x < bins)]\n"
            "    return np.bincount(inside, minlength=bins).astype(np.int32)\n",
            other=("np.bincount(inside, minlength=bins)", "np.array([(x == b).sum() for b in range(bins)])"),
            faults=(
                ("counts in 8 bits", "values", ".astype(np.int32)", ".astype(np.uint8).astype(np.int32)"),
                ("counts what is too large in the last bin", "values", "x[(x >= 0) & (x < bins)]",
                 "x[x >= 0].clip(max=bins - 1)"),
                ("counts from one", "values", "(x >= 0)", "(x >= 1)"),
                ("clips in place", "inputs_unchanged", "    inside",
                 "    x[x < 0] = -1\n    x[x >= bins] = -1\n    inside"),
            ),
        ),
        cuda(
            """
__global__ void kernel(const int* x, int count, int bins, int* out) {
    const int place = blockIdx.x * THREADS + threadIdx.x;
    if (place < count && x[place] >= 0 && x[place] < bins) atomicAdd(out + x[place], 1);
}

extern "C" int histogram(const int* x, int count, int bins, int* out, cudaStream_t stream) {
    cudaMemsetAsync(out, 0, bins * sizeof(int), stream);
    kernel<<<(count + THREADS - 1) / THREADS, THREADS, 0, stream>>>(x, count, bins, out);
    return cudaGetLastError();
}
""",
            other=WARP,
            faults=(
                ("adds to what is there", "values", "    cudaMemsetAsync(out, 0, bins * sizeof(int), stream);\n", ""),
                ("counts from one", "values", "x[place] >= 0", "x[place] >= 1"),
                ("marks what it counted", "inputs_unchanged", "atomicAdd(out + x[place], 1);",
                 "atomicAdd(out + x[place], 1), const_cast<int*>(x)[place] = -1;"),
                ("counts without order", "sound", "atomicAdd(out + x[place], 1);", "out[x[place]] += 1;"),
            ),
        ),
    ),
}  # fmt: skip
