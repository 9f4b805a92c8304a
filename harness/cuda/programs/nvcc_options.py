"""nvcc's command line, as far as it matters for the emulated device."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from harness.errors import NotFoundError

_MEANT = {
    "output": ("-o", "--output-file"),
    "include": ("-I", "--include-path"),
    "system": ("-isystem", "--system-include"),
    "define": ("-D", "--define-macro"),
    "undefine": ("-U", "--undefine-macro"),
    "library": ("-l", "--library"),
    "searched": ("-L", "--library-path"),
    "standard": ("-std", "--std"),
    "compiler": ("-Xcompiler", "--compiler-options"),
    "linker": ("-Xlinker", "--linker-options"),
    "language": ("-x", "--x"),
    "rules": ("-MF", "--dependency-output"),
    "target": ("-MT", "-MQ", "--dependency-target-name"),
    "first": ("-include", "--pre-include"),
    "listed": ("-optf", "--options-file"),
    "separate": ("-rdc", "--relocatable-device-code"),
}
"""Options with a value, by meaning."""
_VALUE_OF_NO_USE_LISTED = (
    "-arch --gpu-architecture -code --gpu-code -gencode --generate-code -ccbin --compiler-bindir -Xptxas "
    "--ptxas-options -Xnvlink --nvlink-options -Xcudafe -maxrregcount --maxrregcount -t --threads -O --optimize -m "
    "--machine -cudart --cudart -cudadevrt --cudadevrt -diag-suppress --diag-suppress -diag-error --diag-error "
    "-diag-warn --diag-warn -Werror --Werror -default-stream --default-stream -ftz --ftz -prec-div --prec-div "
    "-prec-sqrt --prec-sqrt -fmad --fmad -keep-dir --keep-dir -split-compile --split-compile -Xarchive "
    "--archive-options -idp --input-drive-prefix -ddp --dependency-drive-prefix -dp --drive-prefix"
)
_VALUE_OF_NO_USE = frozenset(_VALUE_OF_NO_USE_LISTED.split())
_OF_NO_USE_LISTED = (
    "-G --device-debug -g --debug -lineinfo --generate-line-info -p --profile -pg -w --disable-warnings -use_fast_math "
    "--use_fast_math --use-fast-math -expt-relaxed-constexpr --expt-relaxed-constexpr -expt-extended-lambda "
    "--expt-extended-lambda -extended-lambda --extended-lambda -restrict --restrict -keep --keep "
    "-res-usage --resource-usage -dlto --dlink-time-opt -time --time -extra-device-vectorization "
    "--extra-device-vectorization -allow-unsupported-compiler --allow-unsupported-compiler "
    "-forward-unknown-to-host-compiler --forward-unknown-to-host-compiler -forward-unknown-to-host-linker "
    "--forward-unknown-to-host-linker -forward-unknown-opts --forward-unknown-opts -clean-targets -link --link "
    "-Wno-deprecated-gpu-targets --Wno-deprecated-gpu-targets -Wreorder --Wreorder -save-temps --save-temps -fPIC "
    "-objtemp --objdir-as-tempdir -lto"
)
_OF_NO_USE = frozenset(_OF_NO_USE_LISTED.split())
_ACTIONS = {
    **dict.fromkeys(("-c", "--compile", "-dc", "--device-c", "-dw", "--device-w"), "compile"),
    **dict.fromkeys(("-dlink", "--device-link"), "device link"),
    **dict.fromkeys(("-lib", "--lib"), "archive"),
    **dict.fromkeys(("-E", "--preprocess"), "preprocess"),
    **dict.fromkeys(("-M", "--generate-dependencies", "-MM", "--generate-nonsystem-dependencies"), "rules"),
    **dict.fromkeys(("-V", "--version", "-version"), "version"),
}
_WITH_RULES = frozenset(
    ("-MD", "--generate-dependencies-with-compile", "-MMD", "--generate-nonsystem-dependencies-with-compile")
)
_REFUSED = {
    **dict.fromkeys(("-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin", "-optix-ir"), "there is no GPU code"),
    **dict.fromkeys(("-run", "--run"), "run what was built with `harness cuda check`"),
    **dict.fromkeys(("-dryrun", "--dryrun"), "no other tools are run"),
}
_SHARED = ("-shared", "--shared")
_ATTACHED = ("-I", "-D", "-U", "-l", "-L", "-o", "-O", "-x", "-m", "-t")
_HARMLESS = ("-W", "--W", "-g", "-diag", "--diag", "-pedantic", "-ansi", "-pipe", "-fdiagnostics", "-march", "-mtune")
_SOURCES = frozenset({".cu", ".c", ".cc", ".cpp", ".cxx"})
_BY_OPTION = {spelled: meaning for meaning, names in _MEANT.items() for spelled in names}


class Action(Enum):
    """Kinds of nvcc's output."""

    COMPILE = "compile"
    LINK = "link"
    DEVICE_LINK = "device link"
    ARCHIVE = "archive"
    PREPROCESS = "preprocess"
    RULES = "rules"
    VERSION = "version"


@dataclass
class NvccOptions:
    """A parsed command line of nvcc.

    Attributes:
        sources: files to compile, in order.
        linked: objects, archives and linker options, in order.
        output: None for nvcc's default.
        includes: folders of `-I`.
        compiler: words for the host compiler: macros, pre-included headers, `-Xcompiler`.
        language: of all sources, from `-x`.
        rules: file for make rules; None without any, empty for nvcc's default.
        separate: True if units may refer to each other's device functions and variables.
        phony: True to add an empty rule for each header.
        ignored: unknown options without effect on checks.
    """

    action: Action = Action.LINK
    sources: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    output: str | None = None
    includes: list[Path] = field(default_factory=list)
    systems: list[Path] = field(default_factory=list)
    compiler: list[str] = field(default_factory=list)
    standard: str = "c++17"
    language: str = ""
    rules: str | None = None
    target: str = ""
    separate: bool = False
    phony: bool = False
    verbose: bool = False
    ignored: list[str] = field(default_factory=list)


def parse(words: Sequence[str]) -> NvccOptions:
    """Parse a command line of nvcc, without the compiler.

    Raises:
        NotFoundError: an unknown or unavailable option, or one without its value.
    """
    options = NvccOptions()
    waiting, shared = list(reversed(_expand(words))), ""
    while waiting:
        word = waiting.pop()
        if not word.startswith("-") or word == "-":
            _add_input(options, word)
            continue
        name, attached, value = _split(word)
        if name in _BY_OPTION or name in _VALUE_OF_NO_USE:
            if not attached:
                if not waiting:
                    raise NotFoundError(f"{word}: needs a value")
                value = waiting.pop()
            if _BY_OPTION.get(name) == "listed":
                waiting += reversed(shlex.split(Path(value).read_text(encoding="utf-8")))
            else:
                _set_value(options, name, value)
        elif word in _SHARED:
            shared = word
        else:
            _set_flag(options, word)
    if shared and options.action is Action.LINK:
        raise NotFoundError(f"{shared}: not available on the emulated device: link one program, which holds the device")
    return options


def _expand(words: Sequence[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        # a response file
        if word.startswith("@") and Path(word[1:]).is_file():
            found += shlex.split(Path(word[1:]).read_text(encoding="utf-8"))
        else:
            found.append(word)
    return found


def _split(word: str) -> tuple[str, bool, str]:
    name, equals, value = word.partition("=")
    if equals and (name in _BY_OPTION or name in _VALUE_OF_NO_USE):
        return name, True, value
    known = word in _BY_OPTION or word in _VALUE_OF_NO_USE or word in _OF_NO_USE or word in _ACTIONS
    stem = next((stem for stem in _ATTACHED if word.startswith(stem) and len(word) > len(stem)), None)
    if stem and not known and not word.startswith("--") and word not in _REFUSED:
        if stem in ("-m", "-t", "-o", "-x") and not _may_be_attached(stem, word[2:]):
            return word, False, ""
        return stem, True, word[2:]
    return word, False, ""


def _may_be_attached(stem: str, value: str) -> bool:
    return value in {"-m": ("32", "64"), "-x": ("c", "cu", "c++")}.get(stem, ()) or (stem == "-t" and value.isdigit())


def _add_input(options: NvccOptions, word: str) -> None:
    if Path(word).suffix in _SOURCES or options.language:
        options.sources.append(word)
    else:
        options.linked.append(word)


def _set_value(options: NvccOptions, name: str, value: str) -> None:
    meaning = _BY_OPTION.get(name)
    if meaning == "output":
        options.output = value
    elif meaning in ("include", "system"):
        folders = options.includes if meaning == "include" else options.systems
        folders += [Path(part) for part in value.split(",")]
    elif meaning in ("define", "undefine"):
        options.compiler += [f"-{meaning[0].upper()}{part}" for part in _split_parts(value, meaning)]
    elif meaning == "first":
        options.compiler += ["-include", value]
    elif meaning == "library":
        options.linked += [f"-l{part}" for part in value.split(",")]
    elif meaning == "searched":
        options.linked += [f"-L{part}" for part in value.split(",")]
    elif meaning == "linker":
        options.linked += [f"-Wl,{value}"]
    elif meaning == "compiler":
        options.compiler += _filter_for_compiler(options, value.split(","))
    elif meaning == "separate":
        options.separate = value == "true"
    elif meaning in ("standard", "language", "rules", "target"):
        setattr(options, meaning, value)


def _split_parts(value: str, meaning: str) -> list[str]:
    # one option may hold several macros, but a value in brackets or quotes may contain commas
    simple = meaning == "define" and any(sign in value for sign in "(\"'")
    return [value] if simple else value.split(",")


def _filter_for_compiler(options: NvccOptions, words: Sequence[str]) -> Iterator[str]:
    # the checks depend on our optimisation, and on one thread
    for word in words:
        if word in ("-fopenmp", "-openmp", "/openmp"):
            options.ignored.append(f"{word} (OpenMP runs in one thread)")
        elif word.startswith(("-fsanitize", "-fno-sanitize")):
            options.ignored.append(word)
        elif word.startswith(("-O", "-g", "-flto", "-m", "-MD", "-MMD", "-MF", "-fno-plt", "-pthread", "-static")):
            continue
        elif word.startswith("-Wl,") or word == "-rdynamic":
            options.linked.append(word)
        elif word:
            yield word.strip("\"'")


def _set_flag(options: NvccOptions, word: str) -> None:
    if word in _REFUSED:
        raise NotFoundError(f"{word}: not available on the emulated device: {_REFUSED[word]}")
    if word in _ACTIONS:
        options.action = Action(_ACTIONS[word])
        options.separate = options.separate or word in ("-dc", "--device-c")
    elif word in _WITH_RULES:
        options.rules = options.rules if options.rules is not None else ""
    elif word == "-MP":
        options.phony = True
    elif word in ("-v", "--verbose"):
        options.verbose = True
    elif word.startswith(("-Wl,", "-pthread")):
        options.linked.append(word)
    elif word in _OF_NO_USE or word.startswith("-f"):
        if word.startswith("-f") and word not in _OF_NO_USE:
            options.compiler += _filter_for_compiler(options, [word])
    elif word.startswith(_HARMLESS):
        options.ignored.append(word)
    else:
        raise NotFoundError(f"{word}: an option that `harness cuda cc` does not know; it takes those of nvcc")
