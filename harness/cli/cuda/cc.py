"""Output of `harness cuda cc`: compiler messages and ignored options."""

import sys
from collections.abc import Sequence

from harness import __version__
from harness.cli import output
from harness.cuda.programs import compiler_wrapper, fake_toolkit
from harness.cuda.programs.nvcc_options import Action, parse


def run_compiler(words: Sequence[str]) -> int:
    """Run an nvcc command line, print its messages and return its exit code."""
    options = parse(words)
    if options.action is Action.VERSION:
        # CMake looks for these words to recognise nvcc
        output.line(f"harness {__version__}, the emulated device, in place of nvcc: NVIDIA (R) Cuda compiler driver")
        output.line(f"Cuda compilation tools, release {fake_toolkit.RELEASE}, V{fake_toolkit.RELEASE}.0")
        return 0
    for text in fake_toolkit.verbose_lines() if options.verbose else ():
        output.note(text)
    made = compiler_wrapper.make(options)
    for text in filter(None, made.said):
        print(text, file=sys.stdout if options.action in (Action.PREPROCESS, Action.RULES) else sys.stderr)
    for lack in made.lacking:
        output.note(f"{lack.file}:{lack.line}: unsupported on the emulated device: {lack.what}")
    if made.lacking and not made.code:
        output.note("note: the kernels with these lines fail when they are launched")
    for text in compiler_wrapper.list_ignored(options):
        output.note(f"note: {text}: passed over")
    return made.code
