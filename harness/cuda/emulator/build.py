"""The build for the emulated device, from CUDA source to a library or program."""

import itertools
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from types import MappingProxyType

from harness.cuda import rewriting
from harness.cuda.compilers.compile_time import SECONDS, TOO_BUSY, CompileTime
from harness.cuda.compilers.host_compiler import MISSING, HostCompiler, host_compiler
from harness.cuda.emulator import archive, compiler_messages, flags, kept_programs, source_audit
from harness.cuda.rewriting import UnsupportedConstruct
from harness.errors import BusyMachineError, PrerequisiteError
from harness.sandbox import Completed, Tier
from harness.sandbox.confinement import scratch
from harness.sandbox.session.command import CommandLimit

_REWRITING = Path(rewriting.__file__).parent
_PARALLEL = 2
_WARMING = 1200.0
"""Processor seconds for zig's one build of its C++ library."""
_HEADER = archive.HEADER.name
"""Header included before every rewritten source."""
_COUNTED = "counted.h"
"""Header included after it to count arithmetic."""
_PARSING = 120.0
"""Processor seconds for g++ to precompile the header, once."""
_TWICE, _TWICE_MAIN = "multiple definition of `", "multiple definition of `main'"
"""Linker errors for device functions in headers of several units, which nvcc keeps apart by default."""
_LEAVING = ("leaves the submission", "lies outside the program's folder; --root names a higher one")

__all__ = ["Built", "UnsupportedConstruct", "build"]


@dataclass(frozen=True)
class Built:
    """The outcome of a build.

    Attributes:
        path: the library or program, or None.
        unsupported: constructs that the device lacks: the cause of a failure, else those that end the run when reached.
        errors: compiler errors, with the author's files and lines.
        seconds: wall time.
        warnings: compiler output of a successful build.
        refused: reasons to keep the code off the device; `path` is None then.
        source_digest: of the author's preprocessed text; empty for a program.
    """

    path: Path | None
    unsupported: tuple[UnsupportedConstruct, ...]
    errors: str
    seconds: float
    warnings: str = ""
    refused: tuple[str, ...] = ()
    source_digest: str = ""


def build(
    folder: Path, entries: Sequence[str], into: Path, *, tier: Tier, instrumented: bool, program: bool = False,
    seconds: float = SECONDS, memory_mib: int = 4096, defines: Mapping[str, str] | None = None,
    includes: Sequence[Path] = (), standard: str = "c++17", reuse: bool = False, counted: bool = False,
) -> Built:  # fmt: skip
    """Rewrite and compile a submission.

    Args:
        into: folder for `plain.so` or `instrumented.so`; a program's name has no suffix.
        instrumented: True to make memory accesses call the runtime, for checking and counting.
        program: True if the source has its own `main`.
        includes: header folders searched before ours, also outside `folder`.
        reuse: True to accept a cached program of the same text.
        counted: True to count arithmetic; dropped if it does not compile.

    Raises:
        PrerequisiteError: no C++ compiler.
        JudgeError: a runtime that does not compile, a broken sandbox, or a busy machine.
    """
    compiler = host_compiler()
    if compiler is None:
        raise PrerequisiteError(MISSING)
    _prepare(compiler, objects := archive.runtime(compiler), tier)
    tree = rewriting.SourceTree.of(folder, includes, program=program)
    how = _How(
        compiler, objects, tier, instrumented, program, seconds, memory_mib, defines or {}, tree, standard, counted
    )
    built = _build_from_text(folder, entries, into, how, reuse=reuse)
    if counted and built.path is None and not built.refused:
        built = _build_from_text(folder, entries, into, replace(how, counted=False), reuse=reuse)
    if built.path is not None:
        built.path.chmod(0o755)  # in tier C the linker cannot change modes
    return built


def _build_from_text(folder: Path, entries: Sequence[str], into: Path, how: "_How", *, reuse: bool) -> Built:
    start, program = perf_counter(), how.program
    rewritten = rewriting.rewrite(folder, entries, how.tree, host_too=program, counted=how.counted)
    kept = _make_key(entries, how, rewritten) if program and reuse and not rewritten.problems else ""
    if kept and (found := kept_programs.take(kept, into / _choose_name(how))):
        return Built(into / _choose_name(how), found[1], "", perf_counter() - start, found[0])
    built = _compile_without_lacking(folder, entries, into, how, rewritten, start)
    # nvcc keeps device functions of each unit apart, so definitions in headers do not clash
    if program and built.path is None and _TWICE in built.errors and _TWICE_MAIN not in built.errors:
        rewritten = rewriting.rewrite(folder, entries, how.tree, host_too=True, own_unit=True, counted=how.counted)
        again = _compile_without_lacking(folder, entries, into, how, rewritten, start, own_unit=True)
        built = again if again.path is not None else built
    if kept and built.path is not None:
        kept_programs.keep(kept, built.path, built.warnings, built.unsupported)
    return built


@dataclass(frozen=True)
class _How:
    compiler: HostCompiler
    objects: Path
    tier: Tier
    instrumented: bool
    program: bool
    seconds: float
    memory_mib: int
    defines: Mapping[str, str]
    tree: rewriting.SourceTree
    standard: str
    counted: bool = False


def _compile_without_lacking(
    folder: Path, entries: Sequence[str], into: Path, how: _How, rewritten: rewriting.Rewriting, start: float,
    *, own_unit: bool = False,
) -> Built:  # fmt: skip
    lacking: dict[str, dict[int, str]] = {}
    first = built = _compile_rewritten(folder, entries, into, how, rewritten, start)
    while how.program and built.path is None and built.unsupported:
        left_out = rewritten.left_out
        for lack in built.unsupported:
            lacking.setdefault(lack.file, {}).setdefault(lack.line, lack.what)
        rewritten = rewriting.rewrite(
            folder, entries, how.tree, lacking, host_too=True, own_unit=own_unit, counted=how.counted
        )
        built = _compile_rewritten(folder, entries, into, how, rewritten, start)
        if built.path is None and rewritten.left_out == left_out:
            break
    return built if built.path is not None else first


def _compile_rewritten(
    folder: Path, entries: Sequence[str], into: Path, how: _How, rewritten: rewriting.Rewriting, start: float
) -> Built:
    compiler, objects, tier, instrumented = how.compiler, how.objects, how.tier, how.instrumented
    program, seconds, memory_mib = how.program, how.seconds, how.memory_mib
    if rewritten.problems:
        said = "\n".join(rewritten.problems)
        return Built(None, (), said.replace(*_LEAVING) if program else said, perf_counter() - start)
    if not program and (named := _find_reserved_names(folder, rewritten.files)):
        return Built(None, (), "", perf_counter() - start, refused=named)
    name = _choose_name(how)
    with scratch.folder() as place:
        _lay_out(place, rewritten.files, rewritten.host)
        time, spoken = CompileTime(seconds), flags.STANDARDS[how.standard]
        held = _Held(
            compiler, objects, place, tier, time, memory_mib, instrumented, not program, spoken,
            tuple(how.tree.searched), rewritten.host_entries, how.counted,
        )  # fmt: skip
        words = (*flags.compile_flags(compiler, instrumented=instrumented), *_list_macros(how.defines))
        done = held.compile(entries, words, flags.link_flags(program=program), name)
        return _collect_outcome(done, held, rewritten.suspects, into / name, start)


def _choose_name(how: _How) -> str:
    return ("instrumented" if how.instrumented else "plain") + ("" if how.program else ".so")


def _make_key(entries: Sequence[str], how: _How, rewritten: rewriting.Rewriting) -> str:
    parts = (how.objects.name, how.tier.value, how.instrumented, sorted(how.defines.items()), how.standard, how.counted)
    ours = [p for folder in (archive.INCLUDE, archive.HOST_INCLUDE) for p in sorted(folder.rglob("*")) if p.is_file()]
    texts = (sorted(rewritten.files.items()), sorted(rewritten.host.items()), sorted(rewritten.host_entries))
    return kept_programs.key((*parts, list(how.tree.searched), list(entries), *texts, *(p.read_bytes() for p in ours)))


def _collect_outcome(
    done: Completed, held: "_Held", suspects: Sequence[UnsupportedConstruct], into: Path, start: float
) -> Built:
    made = held.place / "out" / into.name
    if held.refused:
        return Built(None, (), "", perf_counter() - start, refused=tuple(held.refused))
    if done.returncode == 0 and made.is_file() and not made.is_symlink():
        shutil.move(made, into)
        said, digest = compiler_messages.clean(done.output), "".join(held.digests)
        reachable = compiler_messages.select_runtime_suspects(suspects)
        return Built(into, reachable, "", perf_counter() - start, said, source_digest=digest)
    if done.exceeded is CommandLimit.WALL_CLOCK:
        raise BusyMachineError(TOO_BUSY)
    errors = compiler_messages.clean(done.output)
    if done.exceeded is CommandLimit.PROCESSOR_TIME:
        errors = f"the build did not end within {held.time.allowed:g} s of processor time"
    return Built(None, compiler_messages.reasons(errors, suspects), errors, perf_counter() - start)


def _lay_out(place: Path, files: Mapping[str, bytes], host: Mapping[str, bytes] = MappingProxyType({})) -> None:
    for folder, texts in (("source", files), ("host", host)):
        (place / folder).mkdir()
        for path, text in texts.items():
            (place / folder / path).parent.mkdir(parents=True, exist_ok=True)
            (place / folder / path).write_bytes(text)
    (place / "made").mkdir()
    (place / "out").mkdir()


@dataclass(frozen=True)
class _Held:
    """A compiler in the sandbox, with source in `place/source` and output in `place/out`."""

    compiler: HostCompiler
    objects: Path
    place: Path
    tier: Tier
    time: CompileTime
    memory_mib: int
    instrumented: bool
    distrusted: bool
    standard: str = flags.STANDARDS["c++17"]
    searched: Sequence[str] = ()
    host: frozenset[str] = frozenset()
    counted: bool = False
    refused: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)

    def compile(self, entries: Sequence[str], words: Sequence[str], link: Sequence[str], name: str) -> Completed:
        how = [("-c", "o")] if not self.distrusted else [("-c", "o"), ("-E", "ii")]

        def one(step: tuple[tuple[int, str], tuple[str, str]]) -> Completed:
            (number, entry), (option, ending) = step
            made = self.place / f"{number}-{ending}" / f"{number}.{ending}"  # each sandbox user owns its folder
            made.parent.mkdir(exist_ok=True)
            done = self._run(
                (*self._list_compile_words(words, entry), option, self._locate(entry), "-o", f"{{out}}/{made.name}"),
                made.parent,
            )
            if done.returncode == 0 and made.is_file() and not made.is_symlink():
                made.replace(self.place / "made" / made.name)
            return done

        with ThreadPoolExecutor(_PARALLEL) as pool:
            compiled = list(pool.map(one, itertools.product(enumerate(entries), how)))
        failed = next((done for done in compiled if done.returncode != 0), None)
        if failed is not None:
            return failed
        if self.distrusted:
            self._look(entries)
        if self.refused:
            return compiled[0]
        made = (f"{{made}}/{number}.o" for number in range(len(entries)))
        return self._run((*made, *self._list_link_words(link, name)), self.place / "out")

    def _look(self, entries: Sequence[str]) -> None:
        from harness.cuda.emulator import linkage  # reads ELF files, which takes long to load

        files = {p.relative_to(self.place / "source").as_posix() for p in (self.place / "source").rglob("*")}
        made = {entry: self.place / "made" / f"{number}.o" for number, entry in enumerate(entries)}
        for object_file in made.values():
            text = object_file.with_suffix(".ii")
            if text.stat().st_size > source_audit.MAX_BYTES:
                self.refused.append(f"the preprocessed source is longer than {source_audit.MAX_BYTES >> 20} MiB")
                return
            found = source_audit.audit(text.read_bytes(), files)
            self.refused.extend(found.reasons)
            self.digests.append(found.digest)
        device = archive.objects(self.objects, instrumented=self.instrumented)
        self.refused.extend(linkage.refusals(made, [self.objects / name for name in device]))

    def _locate(self, entry: str) -> str:
        return f"{{host}}/{entry}" if entry in self.host else entry

    def _list_compile_words(self, words: Sequence[str], entry: str) -> tuple[str, ...]:
        host = entry in self.host
        words = (*words, *(word for name in self.searched for word in ("-I", f"{{host}}/{name}" if host else name)))
        if not self.distrusted:
            words = (*words, "-I", "{host_include}")
        language = flags.C_LANGUAGE if entry.endswith(".c") else ("-x", "c++", f"-std={self.standard}")
        if host:
            return (*words, *_RUNTIME_INCLUDES, "-I", "{host}", "-DEMU_HOST_CODE", *language)
        if entry.endswith(".c"):
            return (*words, *_RUNTIME_INCLUDES, "-I", ".", *language)
        parsed = ("-I", f"{{exports}}/{_name_parsed_folder(self.tier)}") if self.compiler.kind == "gcc" else ()
        counted = ("-include", _COUNTED) if self.counted else ()
        return (*words, *parsed, *_RUNTIME_INCLUDES, "-I", ".", *language, "-include", _HEADER, *counted)

    def parse(self, name: str) -> Completed:
        words = flags.compile_flags(self.compiler, instrumented=self.instrumented)
        language = ("-x", "c++-header", *flags.LANGUAGE[2:])
        header = f"{{rewriting}}/{_HEADER}"
        return self._run((*words, *_RUNTIME_INCLUDES, *language, header, "-o", f"{{out}}/{name}"), self.place / "out")

    def _list_link_words(self, link: Sequence[str], name: str) -> tuple[str, ...]:
        linked = archive.objects(self.objects, instrumented=self.instrumented)
        return ("-x", "none", *(f"{{exports}}/{o}" for o in linked), *link, "-o", f"{{out}}/{name}")

    def _run(self, words: Sequence[str], out: Path) -> Completed:
        settings = archive.environment(self.compiler)
        writable = {"out": out}
        prefix: tuple[str, ...] = ()
        if settings:
            writable["cache"] = Path(next(iter(settings.values())))
            prefix = ("env", *(f"{name}={{cache}}" for name in settings))
        extra = {
            "include": archive.INCLUDE, "runtime": archive.RUNTIME, "rewriting": _REWRITING, "exports": self.objects,
            "made": self.place / "made",
        }  # fmt: skip
        if not self.distrusted:
            extra |= {"host": self.place / "host", "host_include": archive.HOST_INCLUDE}
        return self.time.run(
            (*prefix, *self.compiler.command, *words), self.place / "source", tier=self.tier,
            memory_mib=self.memory_mib, extra=extra, writable=writable,
        )  # fmt: skip


_RUNTIME_INCLUDES = (
    "-I", "{include}", "-I", "{runtime}", "-I", "{rewriting}",
    "-ffile-prefix-map={include}=include", "-ffile-prefix-map={runtime}=runtime",
)  # fmt: skip


def _prepare(compiler: HostCompiler, objects: Path, tier: Tier) -> None:
    if compiler.kind == "zig":
        _warm(compiler, objects, tier)
    elif compiler.kind == "gcc" and not (objects / _name_parsed_folder(tier)).exists():
        _parse(compiler, objects, tier)


def _name_parsed_folder(tier: Tier) -> str:
    # per tier, since paths in the sandbox are part of the precompiled header
    return f"parsed-{tier.value}"


def _parse(compiler: HostCompiler, objects: Path, tier: Tier) -> None:
    # halves the time that compiling a submission takes
    made = Path(tempfile.mkdtemp(prefix=".parsing-", dir=objects))
    (made / f"{_HEADER}.gch").mkdir()
    with scratch.folder() as place:
        _lay_out(place, {"empty.cu": b""})
        for instrumented in (False, True):
            held = _Held(compiler, objects, place, tier, CompileTime(_PARSING), 8192, instrumented, False)
            name = "instrumented" if instrumented else "plain"
            if held.parse(name).returncode == 0:
                # copied, so that this user owns it: the sandbox runs under another user id
                shutil.copyfile(place / "out" / name, made / f"{_HEADER}.gch" / name)
    # without precompiled files in it, the header is parsed every time
    made.chmod(0o755)
    try:
        made.rename(objects / _name_parsed_folder(tier))
    except OSError:  # another process was quicker
        shutil.rmtree(made)


def _warm(compiler: HostCompiler, objects: Path, tier: Tier) -> None:
    # in the sandbox, whose paths are part of zig's cache keys
    warmed = objects / f"warm-{tier.value}"
    if warmed.exists():
        return
    with scratch.folder() as place:
        _lay_out(place, {"warm.cpp": b"int main() { return 0; }\n"})
        held = _Held(compiler, objects, place, tier, CompileTime(_WARMING), 8192, False, False)
        words = flags.compile_flags(compiler, instrumented=False)
        made = [held.compile(["warm.cpp"], words, flags.link_flags(program=p), "warm") for p in (False, True)]
    if all(done.returncode == 0 for done in made):
        warmed.touch()


def _find_reserved_names(folder: Path, files: Iterable[str]) -> tuple[str, ...]:
    return tuple(reason for file in files for reason in source_audit.device_names(file, (folder / file).read_bytes()))


def _list_macros(defines: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"-D{name}={value}" for name, value in defines.items())
