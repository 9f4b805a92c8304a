"""Hints name what a kernel rarely needs, and an entry that is left unwritten."""

import time

import pytest

from harness.quality.hints import MOST, hints
from harness.quality.unwritten import unwritten_entry
from harness.source.python.hints import MODULES

BEYOND = "looks from __file__ beyond its own folder"
PYTHON = {
    "import gc": "imports gc",
    "import numpy, gc as g": "imports gc",
    "import multiprocessing.shared_memory": "imports multiprocessing",
    "from ctypes import c_int": "imports ctypes",
    "from concurrent import futures; from threading import Thread as T": "imports threading",
    "import importlib\nimportlib.import_module('gc').collect()": "imports gc",
    "from importlib import import_module as bring\nbring('socket')": "imports socket",
    "__import__('inspect').stack()": "imports inspect",
    "import numpy as np\nnp.ctypeslib.as_array(p, (2,))": "imports numpy.ctypeslib",
    "from numpy import ctypeslib": "imports numpy.ctypeslib",
    "import sys\nsys.modules['gc'].get_objects()": "imports gc",
    "import os\nif os.fork():\n    pass": "uses os.fork",
    "import os as system\nsystem.fork()": "uses os.fork",
    "from os import fork as spoon": "uses os.fork",
    "import os\ngetattr(os, 'fork')()": "uses os.fork",
    "__import__('os').fork()": "uses os.fork",
    "import sys\nframe = sys._getframe(1)": "uses sys._getframe",
    "import sys\nsys.settrace(None)": "uses sys.settrace",
    "eval('1 + 1')": "calls eval",
    "import builtins\nbuiltins.exec('x = 1')": "calls exec",
    "open(__file__ + '/../../record.json')": BEYOND,
    "from pathlib import Path\nUP = Path(__file__).parent.parent / 'other'": BEYOND,
    "from pathlib import Path\nUP = Path(__file__).parents[2]": BEYOND,
    "import os\nwith open(os.path.join(os.path.dirname(os.path.dirname(__file__)), 'x')) as f:\n    pass":
        BEYOND,
}  # fmt: skip
HONEST_PYTHON = [
    "# import gc\nX = 'import ctypes; eval(1)'",
    '"""Needs no threading, and never calls os.fork()."""',
    "def f(inspect, gc):\n    return inspect.stack, gc.collect()",
    "class Model:\n    def eval(self):\n        return self\n\nModel().eval()",
    "x.ctypes.data",
    "from . import gc\nfrom .threading import pool",
    "import os\nos.environ.get('HOME')\nfork = 1",
    "from pathlib import Path\nDATA = (Path(__file__).parent / 'weights.npy').read_bytes()",
    "import gcsfs\nimport inspector",
]
CUDA = {
    'asm volatile("mov.u32 %0, %%clock;" : "=r"(t));': "has inline assembly",
    "long n = syscall(39);": "calls syscall",
    'void* library = dlopen("libc.so", 1);': "calls dlopen",
    'FILE* file = std::fopen("/etc/passwd", "r");': "calls fopen",
    "if (::fork() == 0) {}": "calls fork",
    "int s = socket(2, 1, 0);": "calls socket",
    "__attribute__((used, constructor)) static void early() {}": "runs code before it is called",
    "[[gnu::constructor]] static void early() {}": "runs code before it is called",
    '__asm__(".incbin \\"secret.bin\\"");': "embeds a file by .incbin",
    "#ifdef EMU_INSTRUMENTED\n#endif": "names the emulated device's own parts",
    "emu::barrier(-1);": "names the emulated device's own parts",
}
HONEST_CUDA = [
    "// asm volatile(), fork(), EMU_X\n/* dlopen(\n syscall( */",
    'const char* text = "fork() asm( EMU_X .";',
    "queue.fork(); queue->system(1); my_fork(2); __restrict__ int asmx(3);",
    "__global__ void kernel(float* out) { __syncthreads(); out[0] = __shfl_sync(~0u, 1.f, 0); }",
]


def padded(text: str) -> str:
    """`text` from the third line on."""
    return f"\n\n{text}\n"


@pytest.mark.parametrize("text", PYTHON)
def test_python_is_named_with_its_line(answer, text):
    found = hints(answer({"answer.py": padded(text)}), ["answer.py"])
    assert [hint.partition(" ")[2] for hint in found].count(PYTHON[text]) == 1
    assert all(hint.startswith(("answer.py:3 ", "answer.py:4 ")) for hint in found)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_is_found_by_each_way_to_import_it(answer, module):
    files = {
        "a.py": f"import {module}", "b.py": f"from {module} import x", "c.py": f"import {module} as other",
        "d.py": f"import importlib\nimportlib.import_module({module!r})",
    }  # fmt: skip
    lines = {"a": 1, "b": 1, "c": 1, "d": 2}
    assert list(hints(answer(files), ["a.py"])) == [f"{n}.py:{line} imports {module}" for n, line in lines.items()]


@pytest.mark.parametrize("text", HONEST_PYTHON)
def test_honest_python_has_none(answer, text):
    assert hints(answer({"answer.py": padded(text)}), ["answer.py"]) == ()


@pytest.mark.parametrize("text", CUDA)
def test_cuda_is_named_with_its_line(answer, text):
    assert f"answer.cu:3 {CUDA[text]}" in hints(answer({"answer.cu": padded(text)}), ["answer.cu"])


@pytest.mark.parametrize("text", HONEST_CUDA)
def test_honest_cuda_has_none(answer, text):
    assert hints(answer({"answer.cu": padded(text)}), ["answer.cu"]) == ()


def test_one_thing_is_named_once_a_file_where_it_comes_first(answer):
    folder = answer({"answer.py": "def f():\n    import gc\n\nimport gc\ngc.collect()\n", "more.py": "import gc\n"})
    assert hints(folder, ["answer.py"]) == ("answer.py:2 imports gc", "more.py:1 imports gc")


def test_a_subfolder_may_look_up_to_the_answer_s_own_folder(answer):
    text = "from pathlib import Path\nROOT = Path(__file__).parent.parent\n"
    assert hints(answer({"answer.py": "", "parts/deep.py": text}), ["answer.py"]) == ()


def test_tests_of_the_answer_may_use_what_they_like(answer):
    files = {"answer.py": "X = 1\n", "test_answer.py": "import subprocess\n", "tests/helper.py": "import gc\n"}
    assert hints(answer(files), ["answer.py"]) == ()
    assert hints(answer(files), ["test_answer.py"]) == ("test_answer.py:1 imports subprocess",)


def test_no_more_are_told_than_a_reader_reads(answer):
    found = hints(answer({f"part{number:02}.py": "import gc\n" for number in range(MOST + 5)}), ["part00.py"])
    assert len(found) == MOST
    assert found[-1] == "and 6 more hints of this kind"


@pytest.mark.parametrize(
    "data", [b"import gc\ndef f(:", b"\xff\xfe" * 9, b"", b"x = " + b"(" * 5000, b"a" + b".b" * 90_000]
)
def test_a_broken_file_says_nothing_and_stops_nobody(answer, data):
    folder = answer({"broken.py": data, "broken.cu": data, "sound.py": "import gc\n"})
    assert hints(folder, ["sound.py"]) == ("sound.py:1 imports gc",)


@pytest.mark.alone
@pytest.mark.parametrize("piece", ["__attribute__((", "asm ", "asm\n", '"', "'", "/*", ".", "fork ", "[[ ", "emu "])
def test_no_text_takes_long_to_read(answer, piece):
    repeated = (piece * (1 << 18))[: 1 << 18]
    folder = answer({"answer.cu": repeated + "asm" + " " * (1 << 18) + "x"})
    start = time.process_time()
    assert hints(folder, ["answer.cu"]) == ()
    assert time.process_time() - start < 10  # seconds; a quadratic search would take hours


TEMPLATE = 'def forward(x):\n    """To be written."""\n    raise NotImplementedError\n\n\n'
BOTH = TEMPLATE + TEMPLATE.replace("forward", "backward").replace("Error\n", "Error()\n")
WRITTEN = "def forward(x):\n    return x\n\n\ndef backward(x):\n    return x\n"
FUNCTIONS = ("forward", "backward")


def told(folder):
    return list(unwritten_entry(folder, ("answer.py",), FUNCTIONS))


@pytest.mark.parametrize(
    "other",
    [WRITTEN, WRITTEN.replace("def forward(x):\n    return x", "from layers import forward")],
    ids=["all of it", "one of them imported"],
)
def test_the_file_that_has_the_functions_is_named(answer, other):
    words = "answer.py, the entry, is an unwritten template; beside it norm.py has these functions"
    assert told(answer(answer=BOTH, norm=other, test_norm=WRITTEN)) == [words]


@pytest.mark.parametrize(
    "files",
    [
        {"answer": BOTH},
        {"answer": BOTH, "norm": WRITTEN.replace("backward", "other")},
        {"answer": BOTH, "benchmark": "from answer import backward, forward\n"},
        {"answer": BOTH, "copy": BOTH},
        {"answer": BOTH, "broken": "def forward(:\n"},
        {"answer": TEMPLATE + "def backward(x):\n    return x\n", "norm": WRITTEN},
        {"answer": WRITTEN, "norm": WRITTEN},
    ],
    ids=["alone", "half of it", "a caller", "another template", "no code", "half written", "written"],
)
def test_nothing_is_said_of_any_other_folder(answer, files):
    assert told(answer(**files)) == []
