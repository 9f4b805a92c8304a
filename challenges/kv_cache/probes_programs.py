"""Probes that make programs of calls: the whole interface in any legal order, beside a model of what is held.

Programs without options are one criterion; each option has programs of its own, so that it is charged where it is
claimed.
"""

import functools
from collections.abc import Callable, Collection, Mapping

from harness.probing import Answer, ArgumentsRejected, Axis, Draw, Drawn, Keep, ProbeFailure, expect, probe
from harness.probing.probe import Probe
from harness.probing.programs import Program, StepFailed, shortest
from harness.probing.shrinking import Shrunk
from harness.probing.sizes import Case

from .calls import LEAST_CODED, every_call_fits, named_from_zero, of_one_cache
from .drawing import Writer
from .history import run_program
from .tokens import FAMILIES_OF_TOKENS

SIZES = {"length": Axis(2, 400), "D": Axis(1, 256), "B": Axis(1, 40), "H": Axis(1, 16), "layers": Axis(1, 6)}
LONG = {"length": Axis(220, 400), "D": Axis(1, 24), "B": Axis(1, 3), "H": Axis(1, 3), "layers": Axis(1, 3)}
FEWER = {"length": Axis(2, 160), "D": Axis(1, 130), "B": Axis(1, 8), "H": Axis(1, 5), "layers": Axis(1, 6)}
CODED = FEWER | {"D": Axis(LEAST_CODED, 256)}
STAIRS = {"D": Axis(2, 24), "H": Axis(1, 3)}
EACH = 69
"""Tokens of the programs that meet every small number: past one token less than any up to 64, and past the next one."""
FIXED = {"length": EACH, "B": 2, "layers": 1, "D": 8}
"""Their sizes, where a case has no other."""
HEADS = {"H": Axis(2, 3)}
MANY_LAYERS = 12
EVERY_D, EVERY_SIZE = tuple(range(2, 34)), tuple(range(1, 21))
"""Each head_dim, and each size of a window or page, that one such program has."""
DTYPES, QUANTIZATIONS = ("float64", "float32"), ("int8", "int4")
SETTINGS = {"dtype": DTYPES, "family": FAMILIES_OF_TOKENS}
SMALL = {"other": tuple(range(1, 21))}
"""Windows and pages of a further cache: every small one is met, however few are drawn."""
PROGRAMS, LONG_PROGRAMS, PROGRAMS_OF_OPTION = 52, 10, 12
MOST, MOST_OF_OPTION = 2e7, 5e6
"""What the largest call of a program may cost, as `_cost` counts."""
LARGEST = 16.0
"""What a number of an array of all slots costs: of the most, arrays are 10 MB at float64."""
BORDERS = frozenset(2**n for n in range(2, 9))
"""Lengths at which something may end in any cache."""

Options = Callable[[Case], Mapping[str, int | str]]


def _cost(length: int, D: int, B: int, H: int, layers: int, page: int = 1, window: int = 1, groups: int = 1) -> float:
    """About what the longest prompt computes, and a third of it for slots and layers beyond the first.

    No case costs less than its largest arrays are worth: a result must fit into a file of the sandbox.
    """
    computed = (D + 12) * length * (length * (1 + 0.1 * B * min(layers, 3)) + 16)
    return groups * H * max(computed, LARGEST * B * D * (length + 3))


def _programs(
    name: str, purpose: str, axes: Mapping[str, Axis], count: int, options: Options, *needs: str, sized: str = "",
    write: Callable[[Writer], Program] = Writer.program, stored: tuple[str, ...] = (), **each: tuple[int, ...],
) -> Probe:  # fmt: skip
    """A probe that runs programs of calls.

    Args:
        name: of the probe.
        purpose: in a sentence.
        axes: of a case.
        count: of programs.
        options: of every cache of a case.
        needs: functions beside the required ones that the programs call.
        sized: the size of the option, of which further caches have another.
        write: how a program is written.
        stored: quantizations of the caches, "" for none, of which a case has one, where the answer takes it.
        **each: values of a size or an option, by name, each of which one program has.
    """

    def written(answer: Answer, draw: Draw, case: Case) -> tuple[int, Program]:
        extras = [*needs, *(["memory_bytes"] if answer.has("memory_bytes") else [])]
        sizes = FIXED | {size: int(case[size]) for size in (*FIXED, *axes) if size in case}
        named = (n * times for n in answer.literals for times in (1, 2, 3, 4))
        borders = {*BORDERS, *named, *_page_ends(sizes)}
        others = [options({**case, sized: n}) for n in _others(case)] if sized else ()
        chosen = dict(options(case))
        if case.get("stored") and _takes(answer, str(case["stored"]), int(case["groups"])):
            chosen["quantization"], sizes["D"] = case["stored"], sizes["D"] + LEAST_CODED - 1
        writer = Writer(draw, sizes, str(case["dtype"]), str(case["family"]), borders, chosen, extras, others)
        return draw.integer(0, 2**62), write(writer)

    def body(answer: Answer, draw: Draw, **case: int | str) -> None:
        for function in needs:
            expect.that(answer.has(function), f"`{function}` is not offered")
        try:
            run_program(answer, *written(answer, draw, case))
        except StepFailed as failed:
            raise failed.failure from None

    def shrunk(answer: Answer, draw: Draw, case: Case, failure: ProbeFailure) -> Shrunk:
        """The shortest program that fails in the same way, each tried in a process of its own."""
        seed, program = written(answer, draw, case)

        def run(shorter: Program) -> None:
            answer.fresh()
            run_program(answer, seed, shorter)

        failed, rewrites = StepFailed(failure, len(program) - 1), (of_one_cache, named_from_zero)
        found = shortest(run, program, failed, rewrites, every_call_fits)
        return Shrunk(case, found.failure, found.thresholds)

    body.__name__, body.__doc__ = name, purpose
    cost = functools.partial(_cost, **{size: n for size, n in FIXED.items() if size not in axes})
    most = MOST if axes in (SIZES, LONG) else MOST_OF_OPTION
    settings = {"dtype": DTYPES, "family": ("normal",)} | each if each else SETTINGS | SMALL if sized else SETTINGS
    settings = settings | ({"stored": stored} if stored else {})
    return probe(drawn=Drawn(axes, count, cost, most, settings), shrinker=shrunk)(body)


def _takes(answer: Answer, quantization: str, groups: int) -> bool:
    """Whether the answer claims a quantization, and takes it where query heads share key/value heads."""
    claimed = answer.capabilities.get("quantized", ()) if answer.capabilities else QUANTIZATIONS
    if quantization not in claimed:
        return False
    try:
        answer.call(
            "create_cache", num_layers=1, num_heads=groups, num_kv_heads=1, head_dim=LEAST_CODED, max_batch=1,
            max_length=1, dtype="float32", quantization=quantization, returns=Keep(),
        )  # fmt: skip
    except ArgumentsRejected:
        return False
    return True


def _others(case: Case) -> tuple[int, int]:
    """The size of an option in a second and in a third cache."""
    return int(case["other"]), (int(case["other"]) + 9) % len(SMALL["other"]) + 1


def _page_ends(sizes: Mapping[str, int]) -> Collection[int]:
    """Where pages end, in a paged cache."""
    page = sizes.get("page", 0)
    return range(page, sizes["length"] + 1, page) if page else ()


any_program_is_right = _programs(
    "any_program_is_right",
    "Every result of a program of calls is what attention over the tokens held comes to.",
    SIZES, PROGRAMS, lambda case: {},
)  # fmt: skip
any_long_program_is_right = _programs(
    "any_long_program_is_right",
    "So it is where hundreds of tokens are held.",
    LONG, LONG_PROGRAMS, lambda case: {}, write=Writer.long_program,
)  # fmt: skip
every_number_held_is_right = _programs(
    "every_number_held_is_right",
    "So it is for prompts behind each small number of tokens.",
    STAIRS, len(STAIRS), lambda case: {}, write=Writer.stairs,
)  # fmt: skip
every_head_dim_is_right = _programs(
    "every_head_dim_is_right",
    "So it is at each small head_dim.",
    HEADS, len(EVERY_D), lambda case: {}, write=Writer.short, D=EVERY_D,
)  # fmt: skip
every_layer_is_right = _programs(
    "every_layer_is_right",
    "So it is in each of many layers.",
    HEADS, len(DTYPES), lambda case: {}, write=Writer.short, layers=(MANY_LAYERS,),
)  # fmt: skip
any_program_with_shared_heads_is_right = _programs(
    "any_program_with_shared_heads_is_right",
    "So it is where query heads share key/value heads, also of those that are stored in few bits.",
    FEWER | {"groups": Axis(2, 8)}, PROGRAMS_OF_OPTION, lambda case: {"groups": case["groups"]},
    stored=("", "", *QUANTIZATIONS),
)  # fmt: skip
any_program_with_a_window_is_right = _programs(
    "any_program_with_a_window_is_right",
    "So it is under a window.",
    FEWER | {"window": Axis(1, 130)}, 2 * PROGRAMS_OF_OPTION,
    lambda case: {"window": 1 + (int(case["window"]) - 1) % int(case["length"])}, sized="window",
)  # fmt: skip
every_small_window_is_right = _programs(
    "every_small_window_is_right",
    "So it is under each small window.",
    HEADS, len(EVERY_SIZE), lambda case: {"window": case["window"]}, write=Writer.short, window=EVERY_SIZE,
)  # fmt: skip
any_program_with_forks_is_right = _programs(
    "any_program_with_forks_is_right",
    "So it is where slots become copies of others.",
    FEWER, 2 * PROGRAMS_OF_OPTION, lambda case: {}, "fork",
)  # fmt: skip
any_program_in_pages_is_right = _programs(
    "any_program_in_pages_is_right",
    "So it is with pages of any size.",
    FEWER | {"page": Axis(1, 70)}, 2 * PROGRAMS_OF_OPTION, lambda case: {"page_size": case["page"]}, sized="page",
)  # fmt: skip
every_small_page_is_right = _programs(
    "every_small_page_is_right",
    "So it is with pages of each small size.",
    HEADS, len(EVERY_SIZE), lambda case: {"page_size": case["page"]}, write=Writer.short, page=EVERY_SIZE,
)  # fmt: skip
any_program_at_int8_stays_close = _programs(
    "any_program_at_int8_stays_close",
    "Stored at int8, every result is as near as the contract says.",
    CODED, PROGRAMS_OF_OPTION, lambda case: {"quantization": "int8"},
)  # fmt: skip
any_program_at_int4_stays_close = _programs(
    "any_program_at_int4_stays_close",
    "Stored at int4, every result is as near as the contract says.",
    CODED, PROGRAMS_OF_OPTION, lambda case: {"quantization": "int4"},
)  # fmt: skip
