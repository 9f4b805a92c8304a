"""g++ and clang++ build programs with the same counters and the same defects, whatever their optimisers do."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from built_programs import built, reported

from harness.cuda.compilers.host_compiler import HostCompiler, recognise

HERE = Path(__file__).parent
PROGRAMS = [
    HERE / "rewritten" / "forms_of_accesses.cu",
    *(HERE / "clean" / f"{name}.cu" for name in ("layer_norm_forward", "softmax_online", "transpose_with_padding")),
]


def found(*names: str) -> HostCompiler | None:
    paths = filter(None, map(shutil.which, names))
    return next(filter(None, (recognise((path,)) for path in paths)), None)


GCC = found("g++")
CLANG = found("clang++", *(f"clang++-{number}" for number in range(22, 13, -1)))


@pytest.mark.skipif(GCC is None or CLANG is None, reason="needs g++ and clang++")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.stem)
def test_counters_are_the_same(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reports: list[dict[str, Any]] = []
    for compiler in (GCC, CLANG):
        assert compiler is not None
        done = built(monkeypatch, compiler, program, tmp_path / compiler.kind, instrumented=True)
        assert done.path is not None, done.errors
        status, report = reported(done.path, 3)
        assert status == 0
        reports.append(report)
    gcc, clang = reports
    assert sum(launch["global_load"]["bytes"] for launch in gcc["launches"]) > 0
    assert gcc["launches"] == clang["launches"]
    assert [_said(d) for d in gcc["defects"]] == [_said(d) for d in clang["defects"]]


def _said(defect: dict[str, Any]) -> tuple[str, str]:
    return defect["kind"], defect["text"]
