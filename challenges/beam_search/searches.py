"""A search to ask an answer for: scripted model, prompts, settings, what it must come to, and the comparison."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np

from harness.numerics import instead
from harness.probing import (
    Answer,
    CallFailed,
    Draw,
    InputUse,
    ProbeFailure,
    RemoteObject,
    ServedFunction,
    Tree,
)

from . import oracle, scripted

SOURCE = Path(scripted.__file__).read_text(encoding="utf-8")
MARGIN = 2e-6
"""No two candidates of a pool score nearer to each other."""
NEAR = 1e-5
"""Of a score, or of 1 where that is larger: by how much a score may be off before it is another one, and not one that
lost digits."""
EXACT = 1e-12
"""The same for an answer that sums in double precision: tens of terms, each with an error of 1e-16."""
TRIES = 2000
"""Models that are drawn for one in which no two candidates are too near, and what is wanted happens."""
RESULT = Tree(1 << 14)
EOS = {"never": (-60.0, 0.0), "even": (0.0, 0.0), "frequent": (1.2, 0.0), "rare": (-3.0, 0.0), "first": (0.0, 6.0)}
"""What is added to the logit of EOS, by how often it is to be taken: everywhere, and at the first token as well; in
units of how sure the model is."""
LATER = {"even later": (0.0, -60.0), "frequent later": (1.2, -60.0)}
"""The same, where no beam takes EOS at the first token."""
CERTAIN = {"certain later": (60.0, -120.0)}
"""The same, where after one sequence of three EOS has log-probability 0 for float64, and after the others is not taken:
an answer that leaves out the log-probability of EOS finds the right beams."""
Results = list[list[tuple[list[int], float]]]


@dataclass(frozen=True)
class Search:
    """The arguments of one call.

    Attributes:
        seed: of the scripted model.
        vocab: tokens.
        prompts: lists of tokens.
        width: K.
        steps: max_new_tokens.
        alpha: of the length penalty.
        eos: the token.
        ends: how often EOS is taken, of `EOS`, `LATER` and `CERTAIN`.
        spread: how sure the model is.
        barred: which tokens are impossible, of log-probability -inf: half of them at 0, more above; None for none.
        nearest: how much better one of two sequences of two tokens scores, below 0 how much worse; None for any.
    """

    seed: int
    vocab: int
    prompts: tuple[tuple[int, ...], ...]
    width: int
    steps: int
    alpha: float
    eos: int
    ends: str
    spread: float
    barred: float | None = None
    nearest: float | None = None

    @property
    def _script(self) -> tuple[Any, ...]:
        bias, first = (one * max(self.spread, 1.0) for one in (EOS | LATER | CERTAIN)[self.ends])
        prompts = [list(prompt) for prompt in self.prompts]
        certain = self.ends in CERTAIN
        return (self.seed, self.vocab, self.eos, self.spread, bias, first, prompts, self.barred, certain, self.nearest)

    @property
    def calls_allowed(self) -> int:
        """Of the model, as the contract says."""
        return (self.width + 1) * sum(one.steps for one in self.expected)

    @cached_property
    def expected(self) -> tuple[oracle.Expected, ...]:
        """What it must come to, prompt by prompt."""
        return tuple(self._outcomes)

    @property
    def _outcomes(self) -> Iterator[oracle.Expected]:
        model = scripted.distributed(*self._script)
        for prompt in self.prompts:
            yield oracle.search(model, prompt, self.width, self.steps, self.alpha, self.eos)

    def apart(self) -> bool:
        """Whether no two candidates of a pool are too near to each other; looks no further than it has to."""
        found = list(takewhile(lambda one: one.gap >= MARGIN, self._outcomes))
        if len(found) < len(self.prompts):
            return False
        self.__dict__["expected"] = tuple(found)
        return True

    @property
    def model(self) -> ServedFunction:
        """What the answer is given; it answers far more calls than the contract allows."""
        return self._served("scripted")

    @property
    def unended(self) -> ServedFunction:
        """The same model, which refuses to continue what has taken EOS."""
        return self._served("unended")

    def _served(self, factory: str) -> ServedFunction:
        most = 1000 + 50 * self.steps * self.width * max(len(self.prompts), 1)
        return ServedFunction("model", SOURCE, factory, self._script, {"vocab_size": self.vocab}, most)

    def ask(
        self, answer: Answer, prompts: RemoteObject | None = None, inputs: InputUse = InputUse.FRESH,
        model: ServedFunction | None = None, items: Sequence[int] | None = None,
    ) -> Results:  # fmt: skip
        """What the answer returns, in the form of the contract.

        Args:
            answer: whom to ask.
            prompts: kept in its process, where they are not passed anew.
            inputs: what the arrays are like that the model gives.
            model: instead of the plain one.
            items: the prompts that are passed; all by default.
        """
        chosen = self.prompts if items is None else [self.prompts[item] for item in items]
        given = prompts if prompts is not None else [list(prompt) for prompt in chosen]
        settings = (self.width, self.steps, self.alpha, self.eos)
        used = model or self.model
        found = answer.call("batched_beam_search", used, given, *settings, returns=RESULT, inputs=inputs)
        return formed(found, len(chosen))

    def judge(self, answer: Answer, what: str = "") -> Results:
        """Ask, and compare with what it must come to; the results."""
        found = self.ask(answer)
        self.compare(found, what)
        return found

    def compare(self, found: Results, what: str = "", within: float = NEAR, title: str = "a score is wrong") -> float:
        """The largest error of a score, relative to it or to 1 where that is larger.

        Args:
            found: what the answer returned.
            what: the case in words.
            within: largest error that passes.
            title: of the failure where a score is off by more.

        Raises:
            ProbeFailure: a sequence, an order or a score is another one.
        """
        words = f"{what}: " if what else ""
        pairs = enumerate(zip(found, self.expected, strict=True))
        errors = (
            _compared(beams, one, f"results[{item}]", f" ({words}{self})", within, title)
            for item, (beams, one) in pairs
        )
        return max(errors, default=0.0)

    def logprob(self, item: int, tokens: Sequence[int]) -> float:
        """The sum of the log-probabilities of tokens after a prompt."""
        before = [(*self.prompts[item], *tokens[:n]) for n in range(len(tokens))]
        logprobs = scripted.distributed(*self._script)(before)
        return float(logprobs[range(len(tokens)), tokens].sum(dtype=np.longdouble))

    def __str__(self) -> str:
        lengths = ", ".join(str(len(prompt)) for prompt in self.prompts)
        finished = [ended for one in self.expected for ended in one.finished]
        ends = f"ends {sum(finished)} of {len(finished)} right results"
        return f"{self.settings} ({ends}), tokens in each prompt: {lengths}"

    @property
    def settings(self) -> str:
        """All but the prompts, in words."""
        return (
            f"K = {self.width}, alpha = {self.alpha:g}, at most {self.steps} new tokens, vocabulary of {self.vocab}, "
            f"EOS {self.eos}"
        )


def vars_of(search: Search) -> dict[str, Any]:
    """The fields of a search."""
    return {name: getattr(search, name) for name in Search.__dataclass_fields__}


def drawn(
    draw: Draw, *, vocab: int, lengths: Sequence[int], width: int, steps: int, alpha: float = 0.0, ends: str = "never",
    spread: float = 1.0, eos: int | None = None,
    wanted: Callable[[Search], bool] = lambda search: True,
) -> Search:  # fmt: skip
    """A search in which no two candidates are too near, and which is as `wanted`.

    Its prompts hold no EOS where there is another token: an answer may fail where one does, which is `eos`'s.

    Args:
        draw: source of model, prompts and EOS.
        vocab: tokens.
        lengths: of the prompts.
        width: K.
        steps: max_new_tokens.
        alpha: of the penalty.
        ends: how often EOS is taken.
        spread: how sure the model is.
        eos: the token; any by default.
        wanted: what must happen in it.
    """
    end = draw.integer(0, vocab - 1) if eos is None else eos
    tokens = [token for token in range(vocab) if token != end] or [end]
    prompts = tuple(tuple(tokens[draw.integer(0, len(tokens) - 1)] for _ in range(length)) for length in lengths)
    return redrawn(draw, Search(0, vocab, prompts, width, steps, alpha, end, ends, spread), wanted)


def redrawn(
    draw: Draw, given: Search, wanted: Callable[[Search], bool] = lambda search: True, tries: int = TRIES
) -> Search:
    """The same search with another model, in which no two candidates are too near, and which is as `wanted`.

    Raises:
        LookupError: there is hardly such a model.
    """
    for _ in range(tries):
        search = replace(given, seed=draw.integer(0, 2**53))
        if search.apart() and wanted(search):
            return search
    raise LookupError(f"no model was drawn in {tries} that fits: {given}")


def formed(found: Any, prompts: int) -> Results:
    """Results in the form of the contract.

    Raises:
        CallFailed: they have another one.
    """
    if not isinstance(found, (list, tuple)):
        raise _misshapen("the result", found, "a list with an entry for each prompt")
    if len(found) != prompts:
        raise CallFailed("there is not one result for each prompt", f"{len(found)} for {prompts} prompts",
                           where="results", expected=prompts, got=len(found))  # fmt: skip
    return [_beams(item, f"results[{n}]") for n, item in enumerate(found)]


def _beams(item: Any, place: str) -> list[tuple[list[int], float]]:
    if not isinstance(item, (list, tuple)):
        raise _misshapen(place, item, "a list of pairs")
    beams = []
    for n, pair in enumerate(item):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise _misshapen(f"{place}[{n}]", pair, "a pair of tokens and score")
        tokens, score = pair
        if not isinstance(tokens, (list, tuple)) or any(type(token) is not int for token in tokens):
            raise _misshapen(f"{place}[{n}][0]", tokens, "a list of ints")
        if type(score) not in (int, float):
            raise _misshapen(f"{place}[{n}][1]", score, "a number")
        beams.append((list(tokens), float(score)))
    return beams


def _misshapen(place: str, value: Any, wanted: str) -> CallFailed:
    seen = "None" if value is None else f"the {type(value).__name__} {value!r:.60}"
    return CallFailed("the results do not have the form of the contract", f"{place} is {seen}, not {wanted}",
                      where=place)  # fmt: skip


def same_results(got: Results, wanted: Results, title: str, detail: str) -> None:
    """Require of two replies of the answer the same sequences, and the same scores but for rounding."""
    for n, (mine, other) in enumerate(zip(got, wanted, strict=True)):
        tokens, scores = ([one[place] for one in mine] for place in (0, 1))
        if tokens != [one[0] for one in other] or not np.allclose(
            scores, [one[1] for one in other], rtol=NEAR, atol=NEAR, equal_nan=True
        ):
            raise ProbeFailure(
                title, f"{detail}: results[{n}] is {mine!r:.200} instead of {other!r:.200}", where=f"results[{n}]"
            )


def _compared(
    beams: list[tuple[list[int], float]], one: oracle.Expected, place: str, context: str, within: float, title: str
) -> float:
    wanted = [(list(tokens), float(score)) for tokens, score in one.beams]
    if len(beams) != len(wanted):
        number = "there are too few results" if len(beams) < len(wanted) else "there are too many results"
        raise ProbeFailure(number, f"{place} has {len(beams)} instead of {len(wanted)}{context}", where=place,
                           expected=len(wanted), got=len(beams))  # fmt: skip
    order = [tokens for tokens, _ in wanted]
    for n, (tokens, _) in enumerate(beams):
        if tokens != order[n]:
            same = sorted(tokens for tokens, _ in beams) == sorted(order)
            other = "the results are in another order" if same else "another sequence is found"
            raise ProbeFailure(other, f"{place}[{n}] is {tokens} instead of {order[n]}{context}",
                               where=f"{place}[{n}]", expected=f"{order[n]}", got=f"{tokens}")  # fmt: skip
    worst = 0.0
    for n, ((_, got), (_, right)) in enumerate(zip(beams, wanted, strict=True)):
        error = abs(got - right) / max(1.0, abs(right))
        if not error <= within or not math.isfinite(got):
            detail = f"the score of {place}[{n}] is {instead(got, right)}{context}"
            raise ProbeFailure(title, detail, where=f"{place}[{n}][1]", expected=right, got=got,
                               measured={"score_error": error})  # fmt: skip
        worst = max(worst, error)
    return worst
