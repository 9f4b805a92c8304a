"""Nothing that an answer in CUDA can write, name or report makes the emulated device say of it what is not so."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.cuda.compilers.host_compiler import host_compiler
from harness.cuda.emulator import archive, flags, linkage
from harness.cuda.emulator.device_trace import Report, parse
from harness.cuda.emulator.emulation import emulate
from harness.cuda.emulator.source_audit import audit, device_names
from harness.cuda.emulator.trace_validation import COUNTED, contradiction
from harness.cuda.programs.program import Mode
from harness.sandbox import detect
from tests.attacks import cuda_forging
from tests.cuda.cuda_programs import ran

HERE = Path(__file__).parent
TRAFFIC = {"bytes": 4096, "requests": 32, "sectors": 128, "ideal_sectors": 128}
BUFFERS = {
    "logits": {"read_bytes": 4096, "unique_read_bytes": 4096},
    "probs": {"written_bytes": 4096, "unique_written_bytes": 4096},
}
LAUNCH = {
    "kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "threads": 128, "global_load": TRAFFIC,
    "global_store": TRAFFIC, "buffers": BUFFERS,
}  # fmt: skip
NOT_RUN = {
    "the device's mode by its mangled name": "uses `_ZN3emu4modeE`, which is the device's own",
    "the device told to begin anew, its name put together": "uses `emu_start`, which is the device's own",
    "the symbol table asked at run time": "uses `dlsym`, which a kernel and its launch have no use for",
    "a system call by an instruction, its word put together": "inline assembly that macros put together",
    "an attribute against hooks, its word put together": "`no_sanitize` keeps accesses from being seen",
    "the device's own macro, its word put together": "`no_sanitize` keeps accesses from being seen",
    "a copy by a pointer to a function": "`memcpy` is not called by its name",
    "accesses told that are not made, the word put together": "names `__tsan_read4`",
    "a macro of the compiler's checks, put together": "its source is another one where accesses are watched",
    "a macro of the build that is watched, put together": "its source is another one where accesses are watched",
    "operator new": "defines `_Znwm`, which the device relies on",
    "a hook of the device": "names `__tsan_write4`",
}
"""Forging attacks, and the reason that each is to be refused for."""
CHANGED = {"logits": 0, "probs": 4000}


def report(**parts: Any) -> Report:
    read = parse(json.dumps({"version": 1, "mode": COUNTED, "launches": [LAUNCH], **parts}).encode())
    assert read is not None
    return read


def wrong(read: Report, changed: dict[str, int] | None = None) -> str:
    return contradiction(read, mode=COUNTED, seed=0, changed=CHANGED if changed is None else changed)


def launched(**parts: Any) -> Report:
    return report(launches=[{**LAUNCH, **parts}])


def test_an_honest_report_contradicts_nothing() -> None:
    assert wrong(report()) == ""


def test_bytes_that_changed_must_have_been_written() -> None:
    assert "5000 bytes of `probs` changed, but the report has 4096 written" in wrong(report(), {"probs": 5000})
    copied = {"copies": [{"bytes": 904, "direction": "d2d"}]}
    assert wrong(report(streams=copied), {"probs": 5000}) == ""


def test_something_must_have_run_where_something_changed() -> None:
    assert "nothing ran on the device" in wrong(report(launches=[]))
    assert wrong(report(launches=[]), {"probs": 0}) == ""


@pytest.mark.parametrize(
    "parts",
    [
        {"threads": 64},
        {"threads": 0},
        {"count": 0},
        {"global_load": TRAFFIC | {"requests": 0}},
        {"global_load": TRAFFIC | {"requests": 1}},
        {"global_load": TRAFFIC | {"sectors": 8}},
        {"global_load": TRAFFIC | {"ideal_sectors": 129}},
        {"global_store": TRAFFIC | {"bytes": 2048}},
        {"buffers": BUFFERS | {"logits": {"read_bytes": 512, "unique_read_bytes": 4096}}},
        {"buffers": BUFFERS | {"probs": {"written_bytes": 4000, "unique_written_bytes": 4096}}},
    ],
)
def test_figures_of_a_launch_must_fit_each_other(parts: dict[str, Any]) -> None:
    assert "launch 0, `k`" in wrong(launched(**parts))


def test_a_report_must_be_of_what_was_asked_for() -> None:
    assert "asked for were 2 and 0" in wrong(report(seed=7))
    assert "asked for were 2 and 0" in wrong(report(mode=1))


def test_a_fault_ends_a_run_in_the_middle_and_excuses_its_figures() -> None:
    fault = {"kind": "out_of_bounds", "severity": "error", "text": "write of 4 bytes"}
    assert wrong(report(defects=[fault]), {"probs": 5000}) == ""


def test_what_the_author_did_not_write_is_not_held_against_him() -> None:
    text = b'# 1 "/usr/include/x.h" 1 3\n__asm__("x"); no_sanitize\n# 1 "a.cu" 2\nint section, alias;\n'
    assert audit(text, {"a.cu"}).reasons == ()
    assert audit(text.replace(b"/usr/include/x.h", b"./a.cu"), {"a.cu"}).reasons != ()


def test_a_macro_that_differs_under_watch_changes_the_digest() -> None:
    one, other = (audit(b'# 1 "a.cu"\nint x = ' + value + b";\n", {"a.cu"}).digest for value in (b"1", b"2"))
    assert one != other
    assert one == audit(b'# 1 "a.cu"\nint  x\n= 1;\n', {"a.cu"}).digest


def test_names_in_texts_and_comments_are_no_names() -> None:
    text = b'// emu::mode\nconst char* a = "emu_report"; int emu = 1, tsan_read4;\n'
    assert list(device_names("a.cu", text)) == []
    assert list(device_names("a.cu", b"int x = emu_report(0, 0);\n")) == [
        "a.cu:1: names `emu_report`, which is the emulated device's own"
    ]


def test_the_devices_inner_names_can_be_spelled_by_nobody(tmp_path: Path) -> None:
    compiler = host_compiler()
    assert compiler is not None
    folder = archive.runtime(compiler)
    device = [folder / name for name in archive.objects(folder, instrumented=True)]
    known = {name for path in device for name in linkage.names_of(path).defined}
    assert "_ZN3emu4modeE" not in known and f"{linkage.HIDDEN}_ZN3emu4modeE" in known
    source, made = tmp_path / "answer.cpp", tmp_path / "answer.o"
    source.write_text("namespace emu { extern unsigned mode; }\nvoid f() { emu::mode = 0; }\n")
    subprocess.run((*compiler.command, *flags.runtime_flags(compiler), "-c", str(source), "-o", str(made)), check=True)
    assert linkage.refusals({"answer.cu": made}, device) == [
        "answer.cu: uses `_ZN3emu4modeE`, which is the device's own"
    ]


def test_what_is_no_object_is_refused(tmp_path: Path) -> None:
    (tmp_path / "answer.o").write_bytes(b"\x7fELF and no more")
    assert "cannot be read" in linkage.refusals({"answer.cu": tmp_path / "answer.o"}, [])[0]


def test_host_code_that_reads_device_memory_is_seen_without_hooks() -> None:
    (outcome,) = ran(HERE / "faults" / "device_pointer_on_host.cu", Mode.PLAIN)
    assert outcome.report is not None
    assert [defect.kind for defect in outcome.report.found()] == ["device_pointer_on_host"]


@pytest.mark.parametrize("name", NOT_RUN)
def test_an_answer_that_would_falsify_its_report_is_not_run(name: str, tmp_path: Path) -> None:
    attack = next(attack for attack in cuda_forging.ATTACKS if attack.name == name)
    answer, built = tmp_path / "answer", tmp_path / "built"
    answer.mkdir()
    built.mkdir()
    (answer / "answer.cu").write_text(attack.files["answer.cu"])
    emulation = emulate(answer, ["answer.cu"], built, tier=detect())
    assert not emulation.ok
    assert any(NOT_RUN[name] in reason for reason in emulation.refused), emulation.why_not
