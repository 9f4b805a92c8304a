"""Probes that make programs of calls: the whole interface in any legal order, beside a model of what is held.

Programs without options are one criterion; each option has programs of its own, so that it is charged where it is
claimed.
"""

import functools
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from harness.probing import Answer, ArgumentsRejected, Axis, Draw, Drawn, Keep, ProbeFailure, probe
from harness.probing.failures import ITSELF, Spared, WorkerLost
from harness.probing.probe import Probe
from harness.probing.programs import DRAWN, OTHER_DRAWS, Program, Run, ShortestProgram, StepFailed, shortest
from harness.probing.shrinking import Shrunk
from harness.probing.sizes import COVERED, Case

from .binding import claimed, require_offered
from .calls import LEAST_CODED, Create, Feed, every_call_fits, last_calls, named_from_zero, of_one_cache, without_option
from .history import INEXACT, WRONG, run_program
from .scripts import Script
from .tokens import CODED_SCALES, FAMILIES_OF_TOKENS, MAGNITUDES, STEEP

SIZES = {"length": Axis(2, 400), "D": Axis(1, 256), "B": Axis(1, 40), "H": Axis(1, 16), "layers": Axis(1, 6)}
LONG = {"length": Axis(220, 400), "D": Axis(1, 24), "B": Axis(1, 3), "H": Axis(1, 3), "layers": Axis(1, 3)}
LONG_ALONE = {size: LONG[size] for size in ("length", "D", "H")}
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
WIDE, DEEP = (128, 256), (5, 2)
EXTREME = (STEEP, *MAGNITUDES)
OF_MAGNITUDE = {
    STEEP: " where scores are large", "tiny": " where tokens are tiny", "huge": " where tokens are huge",
    "mixed magnitudes": " where tokens are of mixed magnitudes",
}  # fmt: skip
"""What is added to a title where the same calls go right with tokens of ordinary size."""
OF_SCORES = tuple(words for family, words in OF_MAGNITUDE.items() if family != "tiny")
"""Those of tokens whose scores are large."""
DTYPES = ("float64", "float32")
WITHOUT = "any_history"
"""The criterion of programs without options."""
BESIDE: Mapping[str, tuple[tuple[str, ...], Mapping[str, int | str]]] = {
    "shared heads": (("gqa",), {"groups": 2}),
    "windows": (("sliding_window",), {"window": 5}),
    "pages": (("paged",), {"page_size": 3}),
    "int8": (("quantized:int8",), {"quantization": "int8"}),
    "int4": (("quantized:int4",), {"quantization": "int4"}),
    "windows in pages": (("sliding_window", "paged"), {"window": 5, "page_size": 3}),
}
"""Options that caches may have beside the one that a program is about: what claims them, and how they are asked for."""
NO_WINDOW = ("", *(option for option, (claims, _) in BESIDE.items() if "sliding_window" not in claims))
"""What a window no longer shows a cache need not hold, so that nothing is said of cuts under one."""
SLOTS_OF_A_PLAN, MORE_THAN_A_BYTE = (4,), (260,)
SMALL = {"other": tuple(range(1, 21))}
"""Windows and pages of a further cache: every small one is met, however few are drawn."""
PROGRAMS, LONG_PROGRAMS, PROGRAMS_OF_OPTION, PROGRAMS_BESIDE_PLANS = 52, 10, 12, 18
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
    write: Callable[[Script], Program] = Script.program, beside: tuple[str, ...] = (),
    families: tuple[str, ...] = FAMILIES_OF_TOKENS, digits: bool = False, forks: bool = False, **each: tuple[int, ...],
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
        beside: of `BESIDE`, "" for none: a case has one of them as well, where the answer claims it and takes both.
        families: of the tokens' values.
        digits: whether the last digits count, and nothing else.
        forks: whether slots are forked as well, where the answer claims that.
        **each: values of a size or an option, by name, each of which one program has.
    """

    def written(answer: Answer, draw: Draw, case: Case) -> tuple[int, Program]:
        asked = ("memory_bytes", "fork") if forks and claimed(answer, "fork") else ("memory_bytes",)
        extras = [*needs, *(function for function in asked if answer.has(function))]
        sizes = FIXED | {size: int(case[size]) for size in (*FIXED, *axes) if size in case}
        named = (n * times for n in answer.literals for times in (1, 2, 3, 4))
        borders = {*BORDERS, *named, *_page_ends(sizes)}
        others = [options({**case, sized: n}) for n in _others(case)] if sized else ()
        chosen = dict(options(case))
        about = next(iter(chosen), "")
        if case.get("beside") and _takes_both(answer, chosen, str(case["beside"])):
            chosen |= BESIDE[str(case["beside"])][1]
            sizes["D"] += (LEAST_CODED - 1) * ("quantization" in chosen)
        writer = Script(draw, sizes, str(case["dtype"]), str(case["family"]), borders, chosen, extras, others, about)
        return draw.integer(0, 2**62), write(writer)

    def body(answer: Answer, draw: Draw, **case: int | str) -> None:
        for function in needs:
            require_offered(answer, function)
        try:
            run_program(answer, *written(answer, draw, case), digits=digits)
        except StepFailed as failed:
            raise failed.failure from None

    def shrunk(answer: Answer, draw: Draw, case: Case, failure: ProbeFailure) -> Shrunk:
        """The shortest program that fails in the same way, each tried in a process of its own."""
        seed, program = written(answer, draw, case)

        def run(shorter: Program, other: int) -> None:
            answer.fresh()
            run_program(answer, seed + other, shorter, digits=digits)

        failed, rewrites = StepFailed(failure, len(program) - 1), (of_one_cache, last_calls, named_from_zero)
        found = shortest(run, program, failed, rewrites, every_call_fits)
        found.failure.fault_of = owner = found.failure.fault_of or _find_owner(run, found)
        size = _find_magnitude(run, found)
        found.failure.title += size or _find_parity(run, found.steps)
        if size in OF_SCORES and not (owner or options(case)):
            found.failure.fault_of = "extreme_logits"
        # a plain cache has a threshold of its own, if any
        return Shrunk(case, found.failure, () if owner == WITHOUT else found.thresholds, found.after_others)

    body.__name__, body.__doc__ = name, purpose
    cost = functools.partial(_cost, **{size: n for size, n in FIXED.items() if size not in axes})
    most = MOST if axes in (SIZES, LONG, LONG_ALONE) else MOST_OF_OPTION
    settings: dict[str, tuple[int | str, ...]] = {"dtype": DTYPES, "family": ("normal",) if each else families, **each}
    settings |= (SMALL if sized else {}) | ({"beside": beside} if beside else {})
    covered = max(COVERED, *map(len, each.values())) if each else COVERED
    return probe(drawn=Drawn(axes, count, cost, most, settings, covered=covered), shrinker=shrunk)(body)


def _find_owner(run: Run, found: ShortestProgram) -> str:
    """Return the criterion whose fault a program about an option shows whatever is drawn, "" if it shows none.

    That is `WITHOUT` where the same calls go wrong in plain caches, `ITSELF` where they go right without the option.
    """
    draws, plain = (DRAWN, *OTHER_DRAWS), _in_plain_caches(found.steps)

    def outcomes(program: Program) -> set[str]:
        return {_find_outcome(run, program, draw) for draw in draws}

    if isinstance(found.failure, WorkerLost) or plain == found.steps or outcomes(found.steps) != {"wrong"}:
        return ""
    if outcomes(plain) == {"wrong"}:
        return WITHOUT
    forms = list(without_option(found.steps))
    return ITSELF if forms and all(outcomes(form) == {"right"} for form in forms) else ""


def _find_magnitude(run: Run, found: ShortestProgram) -> str:
    """Return a phrase for the magnitude of a program's tokens if others go right by every draw."""
    feeds = [step for step in found.steps if isinstance(step, Feed)]
    named = sorted({size for feed in feeds for size in (feed.family, feed.scales) if size in OF_MAGNITUDE})
    padded = any(feed.padding for feed in feeds)  # whose values may be of another size than the tokens'
    if found.failure.title not in (WRONG, INEXACT) or len(named) != 1 or padded:
        return ""
    ordinary = tuple(step.of_ordinary_size() if isinstance(step, Feed) else step for step in found.steps)
    seen = _find_outcome(run, found.steps, DRAWN) == "wrong"
    right = all(_find_outcome(run, ordinary, draw) == "right" for draw in (DRAWN, *OTHER_DRAWS))
    return OF_MAGNITUDE[named[0]] * (seen and right)


def _find_parity(run: Run, program: Program) -> str:
    """Return a phrase for an odd or even head_dim if a program fails at three such, and at none between."""
    creates = [at for at, step in enumerate(program) if isinstance(step, Create)]
    if len(creates) != 1:
        return ""
    create, at = program[creates[0]], creates[0]
    tried = [(*program[:at], create.resized("head_dim", create.head_dim + n), *program[at + 1 :]) for n in range(6)]
    by_turns = all(_find_outcome(run, form, DRAWN) == ("wrong", "right")[n % 2] for n, form in enumerate(tried))
    return f" where head_dim is {('even', 'odd')[create.head_dim % 2]}" * by_turns


def _in_plain_caches(program: Program) -> Program:
    """Return the same calls in caches without options, with a key/value head for each query head."""
    return tuple(
        replace(step, kv_heads=step.heads, groups=1, options=()) if isinstance(step, Create) else step
        for step in program
    )


def _find_outcome(run: Run, program: Program, draw: int) -> str:
    try:
        run(program, draw)
    except StepFailed:
        return "wrong"
    except Spared:
        return "spared"
    return "right"


def _takes_both(answer: Answer, options: Mapping[str, int | str], other: str) -> bool:
    """Whether the answer claims some options, and takes them beside others."""
    claims, keywords = BESIDE[other]
    if not all(claimed(answer, claim) for claim in claims):
        return False
    asked = {**options, **keywords}
    groups = asked.pop("groups", 1)
    try:
        answer.call(
            "create_cache", num_layers=1, num_heads=groups, num_kv_heads=1, head_dim=LEAST_CODED, max_batch=1,
            max_length=1, dtype="float32", returns=Keep(), **asked,
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
    LONG, LONG_PROGRAMS, lambda case: {}, write=Script.long_program,
)  # fmt: skip
every_number_held_is_right = _programs(
    "every_number_held_is_right",
    "So it is for prompts behind each small number of tokens.",
    STAIRS, len(STAIRS), lambda case: {}, write=Script.stairs,
)  # fmt: skip
every_head_dim_is_right = _programs(
    "every_head_dim_is_right",
    "So it is at each small head_dim.",
    HEADS, len(EVERY_D), lambda case: {}, write=Script.short, D=EVERY_D,
)  # fmt: skip
every_wide_head_is_right = _programs(
    "every_wide_head_is_right",
    "So it is where heads are wide.",
    HEADS, len(WIDE), lambda case: {}, write=Script.short, D=WIDE, length=(24,),
)  # fmt: skip
every_layer_is_right = _programs(
    "every_layer_is_right",
    "So it is in each of many layers.",
    HEADS, len(DTYPES), lambda case: {}, write=Script.short, layers=(MANY_LAYERS,),
)  # fmt: skip
every_slot_released_is_empty = _programs(
    "every_slot_released_is_empty",
    "So it is where slots are released again, and others are filled.",
    HEADS, len(DTYPES), lambda case: {}, write=Script.releases, B=SLOTS_OF_A_PLAN, layers=DEEP,
)  # fmt: skip
every_magnitude_is_right = _programs(
    "every_magnitude_is_right",
    "So it is where the first tokens are very small, very large, or both, or their scores are.",
    HEADS, len(EXTREME), lambda case: {}, write=Script.short, families=EXTREME,
)  # fmt: skip
every_cache_of_several_is_right = _programs(
    "every_cache_of_several_is_right",
    "So it is where a cache of other sizes is made meanwhile.",
    HEADS, len(DTYPES), lambda case: {}, write=Script.several_caches, B=SLOTS_OF_A_PLAN, layers=(2,),
)  # fmt: skip
every_slot_of_many_is_right = _programs(
    "every_slot_of_many_is_right",
    "So it is in slots past the width of a machine word or a byte.",
    HEADS, len(DTYPES), lambda case: {}, write=Script.many_slots, B=MORE_THAN_A_BYTE, length=(8,),
)  # fmt: skip
long_histories_keep_their_digits = _programs(
    "long_histories_keep_their_digits",
    "Behind hundreds of normal tokens results are as exact as sums in any order are.",
    LONG_ALONE, 2 * len(DTYPES), lambda case: {}, write=Script.long_history, families=("normal",), digits=True,
)  # fmt: skip
any_program_with_shared_heads_is_right = _programs(
    "any_program_with_shared_heads_is_right",
    "So it is where query heads share key/value heads.",
    FEWER | {"groups": Axis(2, 8)}, PROGRAMS_OF_OPTION, lambda case: {"groups": case["groups"]},
    beside=("", "windows", "pages", "int8", "int4"),
)  # fmt: skip
every_kind_of_shared_heads_is_right = _programs(
    "every_kind_of_shared_heads_is_right",
    "So it is where they share them with another option.",
    HEADS, 4, lambda case: {"groups": case["groups"]}, write=Script.releases,
    beside=("windows", "pages", "int8", "int4"), groups=(2, 5), B=SLOTS_OF_A_PLAN,
)  # fmt: skip
any_program_with_a_window_is_right = _programs(
    "any_program_with_a_window_is_right",
    "So it is under a window.",
    FEWER | {"window": Axis(1, 130)}, PROGRAMS_BESIDE_PLANS,
    lambda case: {"window": 1 + (int(case["window"]) - 1) % int(case["length"])}, sized="window",
)  # fmt: skip
every_small_window_is_right = _programs(
    "every_small_window_is_right",
    "So it is under each small window, however it is filled.",
    HEADS, len(EVERY_SIZE), lambda case: {"window": case["window"]}, write=Script.windows, window=EVERY_SIZE,
    B=SLOTS_OF_A_PLAN,
)  # fmt: skip
every_window_beside_others_is_right = _programs(
    "every_window_beside_others_is_right",
    "So it is under a window with another option.",
    HEADS, 6, lambda case: {"window": case["window"]}, write=Script.windows, beside=("pages", "int8", "int4"),
    window=(4, 7), B=SLOTS_OF_A_PLAN,
)  # fmt: skip
any_program_with_forks_is_right = _programs(
    "any_program_with_forks_is_right",
    "So it is where slots become copies of others.",
    FEWER, PROGRAMS_BESIDE_PLANS, lambda case: {}, "fork", beside=("", *BESIDE),
)  # fmt: skip
every_kind_of_fork_is_right = _programs(
    "every_kind_of_fork_is_right",
    "So it is for forks of empty slots, onto themselves and of copies, with another option too.",
    HEADS, 1 + len(BESIDE), lambda case: {}, "fork", write=Script.copies, beside=("", *BESIDE),
    B=SLOTS_OF_A_PLAN, layers=(2,),
)  # fmt: skip
any_program_with_cuts_is_right = _programs(
    "any_program_with_cuts_is_right",
    "So it is where slots are cut to their first tokens.",
    FEWER, PROGRAMS_OF_OPTION, lambda case: {}, "truncate", beside=NO_WINDOW, forks=True,
)  # fmt: skip
every_kind_of_cut_is_right = _programs(
    "every_kind_of_cut_is_right",
    "So it is for cuts to nothing, by one token and beyond what is held, with another option too.",
    HEADS, len(NO_WINDOW), lambda case: {}, "truncate", write=Script.cuts, beside=NO_WINDOW, forks=True,
    B=SLOTS_OF_A_PLAN, layers=(2,),
)  # fmt: skip
any_program_in_pages_is_right = _programs(
    "any_program_in_pages_is_right",
    "So it is with pages of any size.",
    FEWER | {"page": Axis(1, 70)}, 2 * PROGRAMS_OF_OPTION, lambda case: {"page_size": case["page"]}, sized="page",
)  # fmt: skip
every_small_page_is_right = _programs(
    "every_small_page_is_right",
    "So it is with pages of each small size.",
    HEADS, len(EVERY_SIZE), lambda case: {"page_size": case["page"]}, write=Script.short, page=EVERY_SIZE,
)  # fmt: skip
every_page_released_is_free = _programs(
    "every_page_released_is_free",
    "So it is where slots are released again, and others take their pages.",
    HEADS, 3, lambda case: {"page_size": case["page"]}, write=Script.releases, page=(1, 3, 16), B=SLOTS_OF_A_PLAN,
    layers=(2,),
)  # fmt: skip
every_page_of_many_is_right = _programs(
    "every_page_of_many_is_right",
    "So it is where more pages are in use than a byte can count.",
    HEADS, 1, lambda case: {"page_size": case["page"]}, write=Script.many_pages, page=(1,), B=SLOTS_OF_A_PLAN,
    length=(90,),
)  # fmt: skip
any_program_at_int8_stays_close = _programs(
    "any_program_at_int8_stays_close",
    "Stored at int8, every result is as near as the contract says.",
    CODED, PROGRAMS_OF_OPTION, lambda case: {"quantization": "int8"}, families=tuple(CODED_SCALES),
    beside=("", "pages"),
)  # fmt: skip
any_program_at_int4_stays_close = _programs(
    "any_program_at_int4_stays_close",
    "Stored at int4, every result is as near as the contract says.",
    CODED, PROGRAMS_OF_OPTION, lambda case: {"quantization": "int4"}, families=tuple(CODED_SCALES),
    beside=("", "pages"),
)  # fmt: skip
