"""Cases of what an attention may claim: heads that share keys, and other numbers of queries than of keys."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from harness.probing import Answer, Draw, Drawn, FaultElsewhere, ProbeFailure, expect, probe
from harness.probing.probe import Probe
from harness.probing.sizes import Case

DTYPES = ("float32", "float64")
KINDS = [(D, dtype, share, causal) for D, dtype, share in ((5, "float64", 1), (64, "float32", 2))
         for causal in (True, False)]  # fmt: skip
SHARED = ((4, 2, 1), (4, 1, 10), (6, 2, 10), (6, 3, 10), (4, 2, 10), (8, 4, 10))
"""Heads, how many sets of keys and values they share, and their length."""
FEWER = ((1, 9, 4), (3, 10, 4), (5, 6, 1), (7, 20, 30), (9, 19, 8))
"""Queries, more keys, and the tile size; the mask crosses one tile of keys, or two."""
BLIND = ((9, 1, 4), (10, 3, 4), (6, 5, 1), (20, 7, 30), (24, 9, 5), (7, 2, 5))
"""Queries, fewer keys, and the tile size: tiles of which no row sees anything, the first ones, and the last one."""
MANY = {"N": 2, "M": 2**16 + 1, "tile": 10_000, "causal": True, "dtype": "float64", "D": 2, "share": 1, "B": 1, "G": 1}
"""Few queries and one key more than numbers of two bytes count: what they do not count is hidden, or not, by chance."""
COUNTED = (2**16, 2**15)
"""Numbers of keys that two bytes count, without a sign and with one."""
DECODED = {"N": 1, "M": 2, "tile": 2, "causal": True, "dtype": "float32", "D": 132, "share": 1, "B": 2, "G": 1_030}
"""Single queries of more than 2,048 heads over the batch, with more than 128 features: kernels divide their work in
other ways there."""
SHARING = " where heads share keys and values"
AS_MANY = 1_000
"""Keys up to which as many queries are tried where fewer give wrong results."""
SHARES = (1, 2, 3, 5)
"""How many heads share keys and values."""
CHOICES = {"dtype": DTYPES, "causal": (True, False), "share": SHARES}
SHARED_CHOICES = {**CHOICES, "share": SHARES[1:]}
SHARED_CASES = [
    {"G": G, "share": H // G, "N": N, "M": N, "D": D, "tile": 4, "causal": causal, "dtype": dtype}
    for H, G, N in SHARED for D, dtype, _, causal in KINDS
]  # fmt: skip
FEWER_CASES, BLIND_CASES = (
    [{"N": N, "M": M, "tile": tile, "causal": causal, "dtype": dtype, "D": D, "share": share}
     for N, M, tile in lengths for D, dtype, share, causal in KINDS]
    for lengths in (FEWER, BLIND)
)  # fmt: skip
FEWER_CASES += [MANY, DECODED]
Judge = Callable[[Any], object]
"""Makes a call of some inputs and requires its results to be right."""


@dataclass(frozen=True)
class Contract:
    """How a challenge draws, calls and judges what may have heads that share keys, or fewer queries than keys.

    Attributes:
        draw: as `draw_inputs`, of as many queries as keys, in heads of their own.
        of_queries: names of the arrays that have a row for each query.
        judge: makes a call and requires its results to be right.
    """

    draw: Callable[..., Any]
    of_queries: tuple[str, ...]
    judge: Callable[[Answer, Draw, Any], object]

    def inputs(
        self, draw: Draw, B: int, G: int, share: int, N: int, M: int, D: int, tile: int, dtype: str, causal: bool
    ) -> Any:
        """Draw normal inputs of N queries in G * share heads, and M keys in G."""
        given = self.draw(draw, B, G, M, D, tile, dtype, causal=causal)
        return given.but(**{name: draw.normal(B, G * share, N, D) for name in self.of_queries})

    def probes(self, result: str, most: int, sizes: Callable[..., Drawn]) -> tuple[Probe, Probe, Probe]:
        """Return the probes of shared heads, of fewer queries than keys, and of more.

        Args:
            result: the subject of "is wrong".
            most: tiles of keys or queries that an answer has time for.
            sizes: as `Drawn`, without choices.
        """

        @probe(*SHARED_CASES, B=2, drawn=sizes(SHARED_CHOICES, adjust=equal), fit=as_many)
        def heads_share_keys_and_values(answer: Answer, draw: Draw, *, share: int, N: int, M: int, **case: Any) -> None:
            """Query head h has the keys and values of number h // (H / G)."""
            given = self.inputs(draw, share=share, N=N, M=N, **case)
            k, v = (shared.repeat(share, axis=1) for shared in (given.k, given.v))
            title = f"{result} is wrong{SHARING}"
            right_beside(partial(self.judge, answer, draw), given, title, [given.but(k=k, v=v)])

        @probe(*FEWER_CASES, B=2, G=2, drawn=sizes(CHOICES, adjust=partial(fewer, most)), fit=with_fewer)
        def fewer_queries_see_the_last_keys(answer: Answer, draw: Draw, *, share: int, **case: Any) -> None:
            """The last of N queries stands at the last of M keys; heads share these where that is claimed and right."""
            title = f"{result} is wrong where there are fewer queries than keys"
            of = partial(self.inputs, draw, **case)
            right_beside_as_many(partial(self.judge, answer, draw), of, share, title)

        @probe(*BLIND_CASES, B=2, G=2, drawn=sizes(CHOICES, adjust=partial(more, most)), fit=with_more)
        def queries_before_all_keys_give_zeros(answer: Answer, draw: Draw, *, share: int, **case: Any) -> None:
            """With the mask the first N - M of N queries see none of M keys, and give zeros; others are as ever."""
            title = f"{result} is wrong where there are more queries than keys"
            of = partial(self.inputs, draw, **case)
            right_beside_as_many(partial(self.judge, answer, draw), of, share, title)

        return heads_share_keys_and_values, fewer_queries_see_the_last_keys, queries_before_all_keys_give_zeros


def fewer(most: int, **sizes: int) -> Mapping[str, int]:
    """Sizes with fewer queries than keys, in `most` tiles: an answer takes its time over every pair of tiles."""
    N, M = sorted((sizes["N"], sizes["M"]))
    return {**sizes, "N": N, "M": M + (M == N), "tile": max(sizes["tile"], M // most)}


def more(most: int, **sizes: int) -> Mapping[str, int]:
    """Sizes with more queries than keys."""
    turned = fewer(most, **sizes)
    return {**turned, "N": turned["M"], "M": turned["N"]}


def equal(**sizes: int) -> Mapping[str, int]:
    """Sizes with as many queries as keys."""
    return {**sizes, "M": sizes["N"]}


def as_many(answer: Answer, case: Case) -> Case:
    """Return a case with as many queries as keys."""
    return {**case, "M": case["N"]}


def with_fewer(answer: Answer, case: Case) -> Case:
    """Return a case with fewer queries than keys, of heads that share these only where that is claimed."""
    return {**case, "M": max(int(case["M"]), int(case["N"]) + 1), "share": _share(answer, case)}


def with_more(answer: Answer, case: Case) -> Case:
    """Return a case with more queries than keys, of heads that share these only where that is claimed."""
    return {**case, "N": max(int(case["N"]), int(case["M"]) + 1), "share": _share(answer, case)}


def as_claimed(answer: Answer, case: Case) -> Case:
    """Return a case with fewer queries than keys only where that is claimed, or no option at all."""
    claimed = not answer.capabilities or "fewer_queries" in answer.capabilities
    return {**case, "M": max(int(case["M"]), int(case["N"])) if claimed else case["N"]}


def _share(answer: Answer, case: Case) -> int:
    """Return how many heads may share keys and values; a reference, which claims no option, has them all."""
    return int(case["share"]) if not answer.capabilities or "gqa" in answer.capabilities else 1


def right_beside_as_many(judge: Judge, of: Callable[..., Any], share: int, title: str) -> None:
    """Require right results where calls with as many queries as keys, of either number, are right.

    Where those are wrong for heads that share, heads of their own are judged.

    Args:
        of: makes the inputs of a share, and of lengths other than those of the case.
    """
    given = of(share=share)
    queries, keys = given.q.shape[2], given.k.shape[2]
    plain = (of(share=share, N=length, M=length) for length in (queries, keys) if length <= AS_MANY)
    try:
        right_beside(judge, given, title, plain)
    except FaultElsewhere:
        if share == 1:
            raise
        right_beside_as_many(judge, of, 1, title)
    except ProbeFailure as why:
        if share > 1 and _is_right(judge, of(share=1)):
            why.title = f"{title} that heads share"
        elif keys > AS_MANY and (held := next((M for M in COUNTED if _is_right(judge, of(share=share, M=M))), 0)):
            why.title = f"{title}, with {keys:,} keys and not with {held:,}"
        raise


def _is_right(judge: Judge, given: Any) -> bool:
    """Return whether an answer serves a call rightly."""
    try:
        judge(given)
    except ProbeFailure:
        return False
    return True


def right_beside(judge: Judge, given: Any, title: str, plain: Iterable[Any]) -> None:
    """Require right results where other calls, which lack what is asked for alone, are right."""

    def without() -> None:
        for like_it in plain:
            judge(like_it)

    with expect.only_beside(without), expect.renamed(title):
        judge(given)
