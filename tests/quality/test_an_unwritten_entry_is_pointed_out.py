"""An entry left as the template is pointed out where another file of the folder holds the answer, and nowhere else."""

import pytest

from harness.quality.unwritten import unwritten_entry

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
