"""The stand-in for nvcc in a Makefile: builds objects and programs of the emulated device.

There is no sandbox: like nvcc, it sees the machine's files. Each object names its source files, for the reports of the
program it is linked into.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.cuda import rewriting
from harness.cuda.compilers.host_compiler import MISSING, HostCompiler, host_compiler
from harness.cuda.emulator import archive, compiler_messages, flags
from harness.cuda.programs import rewritten_sources
from harness.cuda.programs.nvcc_options import Action, NvccOptions
from harness.cuda.rewriting.submission import HOST_SUFFIXES
from harness.errors import NotFoundError, PrerequisiteError
from harness.sandbox.confinement import scratch

_REWRITING = Path(rewriting.__file__).parent
_PARSED = "parsed-unboxed"
_OURS = re.compile(r"cuda|cudart(?:_static)?|cudadevrt|cublas(?:Lt)?(?:_static)?|nvToolsExt|culibos|gomp|omp|iomp5")
_LACKING = re.compile(r"curand|cufft|cusparse|cusolver|cudnn|nccl|nvrtc|nvml|nvidia-ml|npp\w*|nvjpeg|cufile|nvJitLink")
_LIBRARY = re.compile(r"(?:-l|(?:.*/)?lib)(?P<name>[\w-]+?)(?:_static)?(?:\.a|\.so(?:\.[\d.]+)?)?")


@dataclass
class Made:
    """The outcome of a command line.

    Attributes:
        code: exit code: 0, or 2 after a failure.
        said: messages of the compiler.
        lacking: constructs that the device lacks; kernels with them fail at launch.
    """

    code: int = 0
    said: list[str] = field(default_factory=list)
    lacking: list[rewriting.UnsupportedConstruct] = field(default_factory=list)


def make(options: NvccOptions) -> Made:
    """Carry out a command line of nvcc in the current folder.

    Raises:
        PrerequisiteError: no C++ compiler.
        NotFoundError: a missing file, or conflicting options.
        JudgeError: a runtime that does not compile.
    """
    compiler = host_compiler()
    if compiler is None:
        raise PrerequisiteError(MISSING)
    if not options.sources and not options.linked:
        raise NotFoundError("no input files")
    wrapper = _Wrapper(compiler, archive.runtime(compiler), options)
    several = len(options.sources) > 1 and options.output
    if several and options.action in (Action.COMPILE, Action.PREPROCESS):
        raise NotFoundError(f"-o {options.output}: cannot name what is made of several files")
    if options.action in (Action.COMPILE, Action.PREPROCESS, Action.RULES):
        wrapper.compile_each()
    elif options.action is Action.DEVICE_LINK:
        wrapper.link_nothing()
    else:
        with scratch.folder() as place:
            objects = [wrapper.compile(source, place / f"{n}.o") for n, source in enumerate(options.sources)]
            if not wrapper.made.code:
                (wrapper.archive if options.action is Action.ARCHIVE else wrapper.link)(objects)
    return wrapper.made


@dataclass
class _Wrapper:
    compiler: HostCompiler
    objects: Path
    options: NvccOptions
    made: Made = field(default_factory=Made)

    def compile_each(self) -> None:
        ending = ".o" if self.options.action is Action.COMPILE else ""
        for source in self.options.sources:
            named = self.options.output or (Path(source).stem + ending if ending else "")
            self.compile(source, Path(named) if named else None)

    def compile(self, source: str, into: Path | None) -> Path:
        if not Path(source).is_file():
            raise NotFoundError(f"{source}: no such file")
        language = self.options.language or ("" if Path(source).suffix in HOST_SUFFIXES else "cu")
        if language == "cu":
            self._compile_cuda(source, into)
        elif self.options.action is Action.RULES:
            self._run((*self._list_host_words(source), "-M", source))
        else:
            rules = self.options.rules
            named = [] if rules is None else ["-MD", "-MF", rules or f"{Path(source).stem}.d"]
            named += ["-MT", self.options.target or str(into)] if named else []
            self._run(
                (*self._list_host_words(source), *named, *self._choose_action(into), source), [Path(source).resolve()]
            )
        return into or Path(source)

    def _compile_cuda(self, source: str, into: Path | None) -> None:
        entry = Path(source).resolve().relative_to("/").as_posix()
        tree = rewriting.SourceTree.of_machine(folder for folder in self.options.includes if _is_followed(folder))
        lacking: dict[str, dict[int, str]] = {}
        first: Made | None = None
        left_out, own_unit = -1, not self.options.separate
        while True:
            done = rewriting.rewrite(Path("/"), [entry], tree, lacking, own_unit=own_unit)
            if self.options.action is Action.RULES:
                self.made.said.append(self._format_rules(source, done.files))
                return
            if done.problems:
                self._fail("\n".join(done.problems))
                return
            code, said = self._compile_rewritten(entry, done, into)
            reasons = compiler_messages.reasons(said, done.suspects) if code else ()
            if code and own_unit and not reasons:  # `static` on device code may be the cause
                own_unit = False
                continue
            first = first or Made(2 * bool(code), [self._shorten(said)], list(reasons))
            if code == 0 or not reasons or done.left_out == left_out:
                break
            left_out = done.left_out
            for lack in reasons:
                lacking.setdefault(lack.file, {}).setdefault(lack.line, lack.what)
        if code:
            self.made.code = 2
            self.made.said += first.said
            self.made.lacking += first.lacking
            return
        self.made.said += [self._shorten(said)]
        emptied = [rewriting.UnsupportedConstruct(w, f, n) for f, at in lacking.items() for n, w in at.items()]
        self.made.lacking += [*emptied, *compiler_messages.select_runtime_suspects(done.suspects)]
        if self.options.rules is not None and into is not None:
            rules = Path(self.options.rules or into.with_suffix(".d"))
            rules.write_text(self._format_rules(str(into), done.files), encoding="utf-8")

    def _compile_rewritten(self, entry: str, done: rewriting.Rewriting, into: Path | None) -> tuple[int, str]:
        with scratch.folder() as place:
            for path, text in done.files.items():
                (place / "source" / path).parent.mkdir(parents=True, exist_ok=True)
                (place / "source" / path).write_bytes(text)
            marked = place / "sources.h"
            marked.write_text(rewritten_sources.mark(f"/{path}" for path in done.files), encoding="utf-8")
            named = (f"-ffile-prefix-map={place / 'source'}=", "-include", str(marked))
            words = (*self._list_cuda_words(place / "source"), *named, *self._choose_action(into))
            return self._call((*words, str(place / "source" / entry)))

    def _list_cuda_words(self, place: Path) -> Iterator[str]:
        yield from (*self.compiler.command, *flags.compile_flags(self.compiler, instrumented=True))
        yield from self.options.compiler
        followed = [folder for folder in self.options.includes if _is_followed(folder)]
        yield from _repeat_option("-I", (place / folder.resolve().relative_to("/") for folder in followed))
        if self.compiler.kind == "gcc":
            yield from _repeat_option("-I", [self._precompile_header()])
        yield from self._list_include_words()
        yield from _repeat_option("-idirafter", followed)
        yield from ("-x", "c++", f"-std={self._choose_standard()}", "-include", archive.HEADER.name)

    def _list_host_words(self, source: str) -> Iterator[str]:
        yield from (*self.compiler.command, *flags.compile_flags(self.compiler, instrumented=True))
        yield from self.options.compiler
        yield from _repeat_option("-I", (folder for folder in self.options.includes if _is_followed(folder)))
        yield from (*self._list_include_words(), "-DEMU_HOST_CODE")
        language = self.options.language or ("c" if source.endswith(".c") else "c++")
        yield from flags.C_LANGUAGE if language == "c" else ("-x", "c++", f"-std={self._choose_standard()}")

    def _list_include_words(self) -> Iterator[str]:
        ours = [archive.HOST_INCLUDE, archive.INCLUDE, archive.RUNTIME, _REWRITING]
        yield from _repeat_option("-I", [*ours, *(each for each in self.options.includes if _is_of_system(each))])
        yield from _repeat_option("-isystem", (folder for folder in self.options.systems if not _is_toolkit(folder)))

    def _choose_standard(self) -> str:
        asked = self.options.standard
        if asked.replace("gnu", "c") not in flags.STANDARDS:
            raise NotFoundError(f"-std={asked}: give one of {', '.join(sorted(flags.STANDARDS))}")
        return flags.STANDARDS[asked.replace("gnu", "c")]

    def _choose_action(self, into: Path | None) -> tuple[str, ...]:
        action = "-E" if self.options.action is Action.PREPROCESS else "-c"
        return (action, *(("-o", str(into)) if into else ()))

    def _precompile_header(self) -> Path:
        folder = self.objects / _PARSED
        if folder.is_dir():
            return folder
        made = Path(tempfile.mkdtemp(prefix=".parsing-", dir=self.objects))
        words = (
            *self.compiler.command,
            *flags.compile_flags(self.compiler, instrumented=True),
            *self._list_include_words(),
        )
        language = ("-x", "c++-header", *flags.LANGUAGE[2:])
        self._call((*words, *language, str(archive.HEADER), "-o", str(made / f"{archive.HEADER.name}.gch")))
        made.chmod(0o755)
        try:
            made.rename(folder)
        except OSError:  # another process was quicker
            shutil.rmtree(made)
        return folder

    def link(self, objects: Sequence[Path]) -> None:
        device = [str(self.objects / name) for name in archive.objects(self.objects, instrumented=True)]
        words = (*self.compiler.command, *map(str, objects), *self._list_link_inputs(), *device)
        self._run((*words, *flags.link_flags(program=True), "-o", self.options.output or "a.out"))

    def _list_link_inputs(self) -> Iterator[str]:
        # the device takes the place of CUDA's libraries
        for word in self.options.linked:
            library = _LIBRARY.fullmatch(word)
            name = library["name"] if library else ""
            if _LACKING.fullmatch(name):
                self.options.ignored.append(f"{word} (the emulated device has no such library)")
            elif not (_OURS.fullmatch(name) and (word.startswith("-l") or "." in word)):
                yield word

    def archive(self, objects: Sequence[Path]) -> None:
        linked = (word for word in self.options.linked if not word.startswith("-"))
        self._run(("ar", "rcs", self.options.output or "a.a", *map(str, objects), *linked))

    def link_nothing(self) -> None:
        # nvcc's device link joins kernels of several objects; here they are complete, so this object is empty
        with scratch.folder() as place:
            (place / "empty.cpp").write_text("", encoding="utf-8")
            into = self.options.output or "a_dlink.o"
            self._run((*self.compiler.command, "-c", str(place / "empty.cpp"), "-o", into))

    def _format_rules(self, source: str, files: Iterable[str]) -> str:
        # the dependencies, as far as includes can be followed
        target = self.options.target or (str(Path(source).with_suffix(".o")) if source.endswith(".cu") else source)
        here = f"{Path.cwd()}/"
        paths = [f"/{path}".removeprefix(here).replace(" ", "\\ ") for path in files]
        phony = "".join(f"{path}:\n" for path in paths[:-1]) if self.options.phony else ""
        return f"{target}: {' '.join(reversed(paths))}\n{phony}"

    def _run(self, words: Iterable[str], marked: Sequence[Path] = ()) -> None:
        words = list(words)
        with scratch.folder() as place:
            if marked:
                (place / "sources.h").write_text(rewritten_sources.mark(map(str, marked)), encoding="utf-8")
                words[-1:-1] = ["-include", str(place / "sources.h")]
            code, said = self._call(words)
        if code:
            self._fail(said)
        else:
            self.made.said.append(self._shorten(said))

    def _call(self, words: Iterable[str]) -> tuple[int, str]:
        settings = archive.environment(self.compiler)
        prefix = ("env", *(f"{name}={value}" for name, value in settings.items())) if settings else ()
        done = subprocess.run((*prefix, *words), capture_output=True, check=False, stdin=subprocess.DEVNULL)
        return done.returncode, (done.stdout + done.stderr).decode(errors="replace")

    def _fail(self, said: str) -> None:
        self.made.code = 2
        self.made.said.append(self._shorten(said))

    @staticmethod
    def _shorten(said: str) -> str:
        return compiler_messages.clean(said).replace(f"{Path.cwd()}/", "")


def _repeat_option(option: str, folders: Iterable[Path]) -> Iterator[str]:
    return (word for folder in folders for word in (option, str(folder)))


def _is_toolkit(folder: Path) -> bool:
    # our headers take the place of a toolkit's
    return (folder / "cuda_runtime_api.h").is_file()


def _is_of_system(folder: Path) -> bool:
    # installed C++ libraries are not rewritten
    place = folder.resolve()
    return place.is_relative_to("/usr") and not place.is_relative_to("/usr/src") and not _is_toolkit(folder)


def _is_followed(folder: Path) -> bool:
    return folder.is_dir() and not _is_toolkit(folder) and not _is_of_system(folder)


def list_ignored(options: NvccOptions) -> Mapping[str, None]:
    """Return the ignored options as keys."""
    return dict.fromkeys(options.ignored)
