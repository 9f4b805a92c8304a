"""A submission's CUDA source to a shared library or program for the emulated device, compiled in the box."""

import itertools
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from harness.cuda import archive, flags, linkage, rewriting, source_audit
from harness.cuda.compiling import SECONDS, TOO_BUSY, CompileTime
from harness.cuda.host_compiler import HostCompiler, host_compiler
from harness.cuda.rewriting import UnsupportedConstruct
from harness.cuda.rewriting.fragment import PREFIX
from harness.cuda.rewriting.unsupported import UNREAD
from harness.errors import JudgeError, PrerequisiteError
from harness.sandbox import Completed, Tier, scratch
from harness.sandbox.command import CommandLimit
from harness.timing import clock

_REWRITING = Path(rewriting.__file__).parent
_PARALLEL = 2
_WARMING = 1200.0
"""Processor seconds that zig may take, once, to build its C++ library."""
_HEADER = archive.HEADER.name
"""Included before every rewritten source."""
_PARSING = 120.0
"""Processor seconds that g++ may take, once, to parse it."""
_SAID_AT = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_GENERATED_NAME = re.compile(PREFIX.decode() + r"(?:body(?:_\d+)?|type|slot|symbol)")
_LEAVING = ("leaves the submission", "lies outside the program's folder; --root names a higher one")
_INSIDE = re.compile(r"(?:/submission|/extra/\w+|\S*/harness-\d+-\w+/source)/")

__all__ = ["Built", "UnsupportedConstruct", "build"]


@dataclass(frozen=True)
class Built:
    """What came of a build.

    Attributes:
        path: the library or program; None when it failed.
        unsupported: what the emulated device cannot do. Where `path` is None, why; else what ends the run when reached.
        errors: the compiler's words, with the author's files and lines.
        seconds: wall time.
        warnings: the compiler's words when it succeeded.
        refused: why what was compiled must not run beside the device; `path` is None then.
        source_digest: a digest of the author's text as the preprocessor left it; empty for a program.
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
    includes: Sequence[Path] = (), standard: str = "c++17",
) -> Built:  # fmt: skip
    """Rewrite and compile a submission.

    Args:
        folder: its files.
        entries: the files to compile, relative to it.
        into: an existing folder for `plain.so` or `instrumented.so`; a program's name has no suffix.
        tier: how the compiler is held.
        instrumented: whether memory accesses call the runtime, as checking and counting need.
        program: whether the source has a `main` of its own.
        seconds: processor time for all of it.
        memory_mib: address space of the compiler.
        defines: macros for the command line.
        includes: folders that are searched for headers before our own, also outside `folder`.
        standard: one of `flags.STANDARDS`.

    Raises:
        PrerequisiteError: there is no C++ compiler.
        JudgeError: the device's runtime does not compile, the sandbox could not be set up, or the machine gave the
            compiler too little time.
    """
    compiler = host_compiler()
    if compiler is None:
        raise PrerequisiteError("no C++ compiler: install g++ or clang++, or `pip install ziglang`")
    _prepare(compiler, objects := archive.runtime(compiler), tier)
    start = clock.now()
    tree = rewriting.SourceTree.of(folder, includes)
    how = _How(compiler, objects, tier, instrumented, program, seconds, memory_mib, defines or {}, tree, standard)
    lacking: dict[str, dict[int, str]] = {}
    first, left_out = _attempt(folder, entries, into, how, lacking, start)
    built = first
    # a program of its own does without the kernels that ask for what is not there; an answer is run whole or not at all
    while program and built.path is None and built.unsupported:
        for lack in built.unsupported:
            lacking.setdefault(lack.file, {}).setdefault(lack.line, lack.what)
        built, emptied = _attempt(folder, entries, into, how, lacking, start)
        if built.path is None and emptied == left_out:
            break
        left_out = emptied
    return built if built.path is not None else first


@dataclass(frozen=True)
class _How:
    """What a build is made with."""

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


def _attempt(
    folder: Path, entries: Sequence[str], into: Path, how: _How, lacking: Mapping[str, Mapping[int, str]], start: float
) -> tuple[Built, int]:
    """Rewrite and compile without the functions that hold the lacking lines; also says how many these were."""
    rewritten = rewriting.rewrite(folder, entries, how.tree, lacking)
    return _compiled(folder, entries, into, how, rewritten, start), rewritten.left_out


def _compiled(
    folder: Path, entries: Sequence[str], into: Path, how: _How, rewritten: rewriting.Rewriting, start: float
) -> Built:
    compiler, objects, tier, instrumented = how.compiler, how.objects, how.tier, how.instrumented
    program, seconds, memory_mib = how.program, how.seconds, how.memory_mib
    if rewritten.problems:
        said = "\n".join(rewritten.problems)
        return Built(None, (), said.replace(*_LEAVING) if program else said, clock.now() - start)
    if not program and (named := _reserved_names(folder, rewritten.files)):
        return Built(None, (), "", clock.now() - start, refused=named)
    name = ("instrumented" if instrumented else "plain") + ("" if program else ".so")
    with scratch.folder() as place:
        _lay_out(place, rewritten.files)
        time, spoken = CompileTime(seconds), flags.STANDARDS[how.standard]
        held = _Held(compiler, objects, place, tier, time, memory_mib, instrumented, not program, spoken)
        searched = (word for name in how.tree.searched for word in ("-I", name))
        words = (*flags.compile_flags(compiler, instrumented=instrumented), *_defined(how.defines), *searched)
        done = held.compile(entries, words, flags.link_flags(program=program), name)
        return _outcome(done, held, rewritten.suspects, into / name, start)


def _outcome(
    done: Completed, held: "_Held", suspects: Sequence[UnsupportedConstruct], into: Path, start: float
) -> Built:
    """What came of a compiler's run; what it made is moved to `into`."""
    made = held.place / "out" / into.name
    if held.refused:
        return Built(None, (), "", clock.now() - start, refused=tuple(held.refused))
    if done.returncode == 0 and made.is_file() and not made.is_symlink():
        shutil.move(made, into)
        said = _clean(done.output)
        return Built(into, _reached(suspects), "", clock.now() - start, said, source_digest="".join(held.digests))
    if done.exceeded is CommandLimit.WALL_CLOCK:
        raise JudgeError(TOO_BUSY)
    late = done.exceeded is CommandLimit.PROCESSOR_TIME
    errors = f"the build did not end within {held.time.allowed:g} s of processor time" if late else _clean(done.output)
    return Built(None, _reasons(errors, suspects), errors, clock.now() - start)


def _lay_out(place: Path, files: Mapping[str, bytes]) -> None:
    """The source, and the empty folders that the compiler writes to."""
    for path, text in files.items():
        (place / "source" / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "source" / path).write_bytes(text)
    (place / "made").mkdir()
    (place / "out").mkdir()


@dataclass(frozen=True)
class _Held:
    """A compiler in the box, with the rewritten source in `place/source` and `place/out` to write to."""

    compiler: HostCompiler
    objects: Path
    place: Path
    tier: Tier
    time: CompileTime
    memory_mib: int
    instrumented: bool
    distrusted: bool
    standard: str = flags.STANDARDS["c++17"]
    refused: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)

    def compile(self, entries: Sequence[str], words: Sequence[str], link: Sequence[str], name: str) -> Completed:
        """Compile, several files side by side, and link without the sanitizer's own library."""
        how = [("-c", "o")] if not self.distrusted else [("-c", "o"), ("-E", "ii")]

        def one(step: tuple[tuple[int, str], tuple[str, str]]) -> Completed:
            (number, entry), (option, ending) = step
            made = self.place / f"{number}-{ending}" / f"{number}.{ending}"  # side by side, each user has its own
            made.parent.mkdir(exist_ok=True)
            done = self._run(
                (*self._translation(words, entry), option, entry, "-o", f"{{out}}/{made.name}"), made.parent
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
        return self._run((*made, *self._linking(link, name)), self.place / "out")

    def _look(self, entries: Sequence[str]) -> None:
        """Read what was made of the answer's source before any of it is linked with the device."""
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

    def _translation(self, words: Sequence[str], entry: str) -> tuple[str, ...]:
        if entry.endswith(".c"):
            return (*words, *_RUNTIME_INCLUDES, *flags.C_LANGUAGE)
        parsed = ("-I", f"{{exports}}/{_parsed(self.tier)}") if self.compiler.kind == "gcc" else ()
        return (*words, *parsed, *_RUNTIME_INCLUDES, "-x", "c++", f"-std={self.standard}", "-include", _HEADER)

    def parse(self, name: str) -> Completed:
        """Parse the header that every source begins with, into `place/out`; g++ takes it for options that are alike."""
        words = flags.compile_flags(self.compiler, instrumented=self.instrumented)
        language = ("-x", "c++-header", *flags.LANGUAGE[2:])
        header = f"{{rewriting}}/{_HEADER}"
        return self._run((*words, *_RUNTIME_INCLUDES, *language, header, "-o", f"{{out}}/{name}"), self.place / "out")

    def _linking(self, link: Sequence[str], name: str) -> tuple[str, ...]:
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
        return self.time.run(
            (*prefix, *self.compiler.command, *words), self.place / "source", tier=self.tier,
            memory_mib=self.memory_mib, extra=extra, writable=writable,
        )  # fmt: skip


_RUNTIME_INCLUDES = (
    "-I", "{include}", "-I", "{runtime}", "-I", "{rewriting}", "-I", ".",
    "-ffile-prefix-map={include}=include", "-ffile-prefix-map={runtime}=runtime",
)  # fmt: skip


def _prepare(compiler: HostCompiler, objects: Path, tier: Tier) -> None:
    """What the compiler makes once for all answers."""
    if compiler.kind == "zig":
        _warm(compiler, objects, tier)
    elif compiler.kind == "gcc" and not (objects / _parsed(tier)).exists():
        _parse(compiler, objects, tier)


def _parsed(tier: Tier) -> str:
    """The folder beside the objects with our header as g++ parsed it in a box of that tier, whose paths go into it."""
    return f"parsed-{tier.value}"


def _parse(compiler: HostCompiler, objects: Path, tier: Tier) -> None:
    """Have g++ parse our header once, for plain and for instrumented builds: half of what compiling an answer takes.

    Where it does not work, the folder stays empty and the header is parsed every time.
    """
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
    made.chmod(0o755)
    try:
        made.rename(objects / _parsed(tier))
    except OSError:  # another process was quicker
        shutil.rmtree(made)


def _warm(compiler: HostCompiler, objects: Path, tier: Tier) -> None:
    """Have zig build its C++ library in the box, whose paths are part of what its cache is asked for."""
    warmed = objects / f"warm-{tier.value}"
    if warmed.exists():
        return
    with scratch.folder() as place:
        (place / "source").mkdir()
        (place / "made").mkdir()
        (place / "out").mkdir()
        (place / "source" / "warm.cpp").write_text("int main() { return 0; }\n", encoding="utf-8")
        held = _Held(compiler, objects, place, tier, CompileTime(_WARMING), 8192, False, False)
        words = flags.compile_flags(compiler, instrumented=False)
        made = [held.compile(["warm.cpp"], words, flags.link_flags(program=p), "warm") for p in (False, True)]
    if all(done.returncode == 0 for done in made):
        warmed.touch()


def _reserved_names(folder: Path, files: Iterable[str]) -> tuple[str, ...]:
    """Why the source is refused as its author wrote it."""
    return tuple(reason for file in files for reason in source_audit.device_names(file, (folder / file).read_bytes()))


def _defined(defines: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"-D{name}={value}" for name, value in defines.items())


def _clean(text: str) -> str:
    """The compiler's output without folders and names that the author does not know."""
    return _INSIDE.sub("", _GENERATED_NAME.sub("", text)).strip()


def _reached(suspects: Sequence[UnsupportedConstruct]) -> tuple[UnsupportedConstruct, ...]:
    """Of a submission that compiled: the constructs that end its run where they are reached."""
    return tuple(suspect for suspect in suspects if suspect.what.startswith("inline assembly"))


def _reasons(errors: str, suspects: Sequence[UnsupportedConstruct]) -> tuple[UnsupportedConstruct, ...]:
    """The suspects that the compiler stumbled over, and what the rewriting could not read."""
    said = [(match["file"], int(match["line"]), match["text"]) for match in _SAID_AT.finditer(errors)]
    places = {(file, line) for file, line, _ in said}
    found = [suspect for suspect in suspects if (suspect.file, suspect.line) in places]
    for file, line, text in said:
        found += [UnsupportedConstruct(what, file, line) for mark, what in UNREAD.values() if mark.decode() in text]
    return tuple(dict.fromkeys(found))
