"""A tree to ask an answer about: scripted model, prompt, nodes, what greedy decoding gives, and the comparison."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

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
MOST_CALLS = 2000
"""Calls of the model or the draft that are answered: many times what any of these trees needs."""
TRIES = 500
"""Trees that are drawn for one that is as wanted."""
LONGEST = 200
"""Tokens that an answer may emit before it is not asked what they are."""
RESULT = Tree(1 << 14)
COUSINS = 3
"""The lure of `drawn` by which wrong nodes hold what the right node of their depth holds."""

SHAPES: dict[str, tuple[int, ...]] = {
    "empty": (),
    "one node": (-1,),
    "chain": (-1, 0, 1, 2, 3),
    "roots": (-1, -1, -1, -1),
    "roots, then a chain": (-1, -1, -1, 2, 3, 4),
    "chain, then a root": (-1, 0, 1, -1, 3, 4),
    "two chains in turn": (-1, -1, 0, 1, 2, 3, 4, 5),
    "siblings at each level": (-1, -1, 1, 1, 3, 3, 5, 5),
    "right after wrong siblings": (-1, -1, -1, 2, 2, 2, 5, 5, 5),
    "binary": (-1, -1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5),
    "comb": (-1, 0, 0, 2, 2, 4, 4, 6, 6),
    "children far away": (-1, -1, -1, 0, 1, 2, 0, 1, 2, 3, 4, 5),
    "deep beside wide": (-1, 0, 1, 2, 3, -1, -1, 5, 6, 4),
    "children apart": (-1, 0, -1, 0, 3, 2, 3),
    "children of the last": (-1, -1, 1, -1, 3, 3, 5, -1, 7, 8),
    "right before wrong siblings": (-1, 0, 0, 1, 1, 3, 3, 5),
    "many roots": (*[-1] * 12, 11, 12, 3, 14),
    "large family": (-1, *[0] * 12, 12, 13),
    "long chain": (*range(-1, 14), 13, 15),
}
"""Parents, by the form of the tree."""
NOT_GREEDY = "what is emitted is not what greedy decoding gives"
MINDED = "what is emitted is wrong where the model minds positions"
"""Titles of faults that other criteria depend on."""
PLACES = "positions are not those of the tokens"
DEEPER = 4
"""Of what nodes off the right path may hold: what greedy decoding gives one deeper."""
DRAFTS = ("right", "wrong", "half", "mixed")
"""What the nodes hold: the whole path of greedy decoding, none of it, the first half of it, any part of it."""


@dataclass(frozen=True)
class Verification:
    """The arguments of one call.

    Attributes:
        seed: of the scripted model.
        vocab: tokens.
        prompt: tokens.
        tokens: of the nodes.
        parents: of the nodes.
        ordered: whether the model minds positions.
        gap: between the two largest logits of each row; None for any.
    """

    seed: int
    vocab: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    ordered: bool
    gap: float | None = None

    @property
    def model(self) -> ServedFunction:
        """What the answer is given."""
        return self._served("scripted")

    @property
    def placed(self) -> ServedFunction:
        """The same model, which refuses positions that do not go by depth."""
        length = len(self.prompt)
        return self._served("placed", [*range(length), *(length + one - 1 for one in depths(self.parents))])

    @property
    def by_slot(self) -> ServedFunction:
        """The same model, which refuses positions that do not go by the place in the list."""
        return self._served("placed", list(range(len(self.prompt) + len(self.parents))))

    @property
    def masked(self) -> ServedFunction:
        """The same model, which sees by the right mask whatever it is asked."""
        return self._served("masked", list(self.parents))

    def _served(self, factory: str, *more: Any) -> ServedFunction:
        given = [[*self.prompt, *self.tokens], *more] if more else []
        return served("model", factory, (*self._script, *given))

    @property
    def _script(self) -> tuple[Any, ...]:
        return (self.seed, self.vocab, self.ordered, self.gap)

    @cached_property
    def wanted(self) -> list[int]:
        """What greedy decoding gives, as far as one verification can get."""
        return self.decoded(self.longest + 1)

    @cached_property
    def longest(self) -> int:
        """How much of it the tree holds."""
        return oracle.longest(self.tokens, self.parents, self.decoded(depth_of(self.parents)))

    @cached_property
    def path(self) -> list[int]:
        """The right nodes, from the root on."""
        wanted = self.decoded(self.longest)
        paths = (path_to(self.parents, node) for node in range(len(self.parents)))
        return next((path for path in paths if [self.tokens[node] for node in path] == wanted), [])

    @cached_property
    def named(self) -> list[int]:
        """The token that each row of the model names, from the last of the prompt on: that of node i is at i + 1."""
        model = scripted.scripted(*self._script)
        logits = model([*self.prompt, *self.tokens], oracle.mask(len(self.prompt), self.parents))
        return [int(token) for token in logits[len(self.prompt) - 1 :].argmax(axis=1)]

    def holding(self, node: int, token: int) -> "Verification":
        """Return the same tree with a token in a node, and what the model takes next in its first child, and so on."""
        tokens = list(self.tokens)
        tokens[node] = token
        for child, parent in enumerate(self.parents):
            if parent == node:
                before = [*self.prompt, *(tokens[one] for one in path_to(self.parents, parent))]
                tokens[child] = scripted.chosen(scripted.scripted(self.seed, self.vocab, False), before)
                siblings = [one for one, other in enumerate(self.parents) if other == parent and one != child]
                if tokens[child] in [tokens[one] for one in siblings]:
                    tokens[child] = self.tokens[child]
                node = child
        return replace(self, tokens=tuple(tokens))

    def decoded(self, count: int) -> list[int]:
        """The first tokens of greedy decoding."""
        return oracle.greedy(scripted.scripted(*self._script), self.prompt, count)

    def ask(
        self, answer: Answer, kept: Sequence[RemoteObject] | None = None, inputs: InputUse = InputUse.FRESH,
        model: ServedFunction | None = None, **options: Any,
    ) -> list[int]:  # fmt: skip
        """What the answer emits.

        Args:
            answer: whom to ask.
            kept: prompt, tokens and parents where they are in its process.
            inputs: what the arrays are like that the model gives.
            model: instead of the plain one.
            **options: what else it is given by name.
        """
        given = kept or [list(self.prompt), list(self.tokens), list(self.parents)]
        used = model or self.model
        return emitted(answer.call("verify_and_accept", used, *given, returns=RESULT, inputs=inputs, **options))

    def judge(self, answer: Answer, what: str = "", *, whole: bool = False) -> list[int]:
        """Ask, and compare with greedy decoding; what is emitted.

        Args:
            answer: whom to ask.
            what: the case in words.
            whole: whether all that can be emitted must be.
        """
        found = self.ask(answer)
        self.compare(found, what, whole=whole)
        return found

    def compare(self, found: list[int], what: str = "", *, whole: bool = False) -> None:
        """What is emitted must be what greedy decoding gives.

        Raises:
            ProbeFailure: it is not.
        """
        context = f" ({what + ': ' if what else ''}{self})"
        if not found:
            raise CallFailed("nothing is emitted", f"neither an accepted nor a next token{context}",
                             where="emitted", expected=f"{self.wanted[:1]}", got="[]")  # fmt: skip
        if len(found) > LONGEST:
            raise ProbeFailure("more is emitted than the tree holds", f"{len(found)} tokens{context}", where="emitted",
                               expected=len(self.wanted), got=len(found))  # fmt: skip
        right = self.wanted if len(found) <= len(self.wanted) else self.decoded(len(found))
        for place, (got, expected) in enumerate(zip(found, right, strict=False)):
            if got != expected:
                detail = f"emitted[{place}] is {got} instead of {expected}: {found} instead of {self.wanted}{context}"
                raise ProbeFailure(NOT_GREEDY, detail, where=f"emitted[{place}]", expected=expected,
                                   got=got)  # fmt: skip
        if whole and len(found) < len(self.wanted):
            detail = f"{found} instead of {self.wanted}{context}"
            raise ProbeFailure("less is emitted than could be", detail, where="emitted", expected=len(self.wanted),
                               got=len(found))  # fmt: skip

    def failure(self, found: list[int]) -> ProbeFailure | None:
        """Return what is wrong with what was emitted, None where it is what greedy decoding gives.

        Raises:
            CallFailed: nothing was emitted.
        """
        try:
            self.compare(found)
        except CallFailed:
            raise
        except ProbeFailure as failure:
            return failure
        return None

    def mind(self, answer: Answer) -> list[int]:
        """Require that a model which minds positions is decoded like one that does not; what the latter gives.

        Both see by the right mask, so that a wrong one is not taken for wrong positions.

        Raises:
            ProbeFailure: only what the former gives is wrong; nothing but the positions can be the cause.
        """
        ways = (replace(self, ordered=ordered) for ordered in (False, True))
        plain, minding = (way.ask(answer, model=way.masked) for way in ways)
        failure = self.failure(minding) if self.failure(plain) is None else None
        if failure is not None:
            detail = f"{failure.detail}; {plain} where the model does not mind positions"
            raise ProbeFailure(MINDED, detail, where=failure.where, expected=failure.expected, got=failure.got,
                               diagnosis=self._placed_by(answer))  # fmt: skip
        return plain

    def place(self, answer: Answer) -> None:
        """Require that the model is called with the position of each token in its own sequence, or with none."""
        try:
            self.ask(answer, model=self.placed)
        except CallFailed as failure:
            self.ask(answer)
            raise ProbeFailure(PLACES, f"{failure.detail} ({self})", where="positions", locations=failure.locations,
                               diagnosis=self._placed_by(answer)) from None  # fmt: skip

    def _placed_by(self, answer: Answer) -> str | None:
        """Say what the positions are, where they are places in the list."""
        return "each token gets the position of its place in the list" if self._slots(answer) else None

    def _slots(self, answer: Answer) -> bool:
        """Whether the positions are places in the list."""
        try:
            self.ask(answer, model=self.by_slot)
        except CallFailed:
            return False
        return True

    def __str__(self) -> str:
        nodes = f"tokens {list(self.tokens)}, parents {list(self.parents)}"
        return f"prompt of {len(self.prompt)} token{'s' * (len(self.prompt) > 1)}, {nodes[:300]}"


def served(name: str, factory: str, arguments: tuple[Any, ...]) -> ServedFunction:
    """A function of the script."""
    return ServedFunction(name, SOURCE, factory, arguments, most=MOST_CALLS)


def depth_of(parents: Sequence[int]) -> int:
    """Nodes on the longest path."""
    return max(depths(parents), default=0)


def depths(parents: Sequence[int]) -> list[int]:
    """Of each node the nodes on its path, itself included."""
    found: list[int] = []
    for parent in parents:
        found.append(1 + (found[parent] if parent >= 0 else 0))
    return found


def path_to(parents: Sequence[int], node: int) -> list[int]:
    """The nodes from the root to one."""
    path = []
    while node >= 0:
        path.append(node)
        node = parents[node]
    return path[::-1]


def drawn(
    draw: Draw, parents: Sequence[int], *, prompt: int, vocab: int, draft: str, ordered: bool, last: bool | None = None,
    lure: int | None = None, end: int | None = None, gap: float | None = None,
) -> Verification:  # fmt: skip
    """A tree of some form, of whose nodes those of one path are right, as far as the draft says.

    The others hold what a careless check takes for right: what the model would take there or second best, what it would
    take after the slot before, what greedy decoding gives so deep or one deeper.

    Args:
        draw: source of model, prompt and tokens.
        parents: the form; its widest family must have fewer children than there are tokens.
        prompt: its length.
        vocab: tokens.
        draft: of `DRAFTS`.
        ordered: whether the model minds positions.
        last: whether the path ends at the last of the deepest nodes, or at the first; either by default.
        lure: which of these things the others hold, from 0 on; any by default.
        end: the node that the path ends at, -1 for none; one of the deepest by default.
        gap: between the two largest logits of each row; any by default.
    """
    seed = draw.integer(0, 2**53)
    model = scripted.scripted(seed, vocab, ordered, gap)
    start = [draw.integer(0, vocab - 1) for _ in range(prompt)]
    depth = depths(parents)
    ends = [node for node, level in enumerate(depth) if level == max(depth)]
    if end is None:
        end = -1 if not ends else ends[-1 if last else 0] if last is not None else ends[draw.integer(0, len(ends) - 1)]
    path = path_to(parents, end)
    kept = {"right": len(path), "wrong": 0, "half": len(path) // 2}.get(draft, draw.integer(0, len(path)))
    right, golden = set(path[:kept]), oracle.greedy(model, start, max(depth, default=0) + 1)
    tokens: list[int] = []
    for node, parent in enumerate(parents):
        if node in right:
            tokens.append(golden[depth[node] - 1])
            continue
        taken = {tokens[one] for one in range(node) if parents[one] == parent}
        if parent in right or parent < 0:  # what greedy decoding takes here is another node's, or nobody's
            taken.add(golden[depth[node] - 1])
        tempting = _tempting(model, start, [tokens[one] for one in path_to(parents, parent)], tokens, parents)
        tempting = (*tempting, *golden[depth[node] - 1 : depth[node] + 1])[draw.integer(0, 4) if lure is None else lure]
        if tempting not in taken:
            tokens.append(tempting)
            continue
        free = [token for token in range(vocab) if token not in taken]
        tokens.append(free[draw.integer(0, len(free) - 1)])
    return Verification(seed, vocab, tuple(start), tuple(tokens), tuple(parents), ordered, gap)


def lured(draw: Draw, parents: Sequence[int], end: int, *, prompt: int, vocab: int) -> Verification:
    """A tree that is right down to a node, whose other nodes hold nothing that any row of the model names.

    Raises:
        LookupError: there is hardly such a tree.
    """
    for _ in range(TRIES):
        base = drawn(draw, parents, prompt=prompt, vocab=vocab, draft="right", ordered=False, end=end)
        golden, path = base.decoded(base.longest + 1), base.path
        plain = [draw.integer(0, vocab - 1) for _ in parents]
        tokens = tuple(base.tokens[node] if node in path else plain[node] for node in range(len(parents)))
        tree = replace(base, tokens=tokens)
        others = [token for node, token in enumerate(tokens) if node not in path]
        if len({*golden, *others}) == len(golden) + len(others) and not {*others} & {*tree.named}:
            return tree
    raise LookupError("no tree was drawn that fits")


def _tempting(
    model: Any, start: list[int], before: list[int], tokens: list[int], parents: Sequence[int]
) -> tuple[int, int, int]:
    """What the model takes after a path, its second choice there, and what it takes after the slot before the next."""
    first, second = scripted.ranked(model, [*start, *before])[:2]
    slot = [tokens[one] for one in path_to(parents, len(tokens) - 1)]
    return first, second, scripted.chosen(model, [*start, *slot])


def with_model(draw: Draw, verification: Verification, wanted: Callable[[Verification], bool]) -> Verification:
    """The same tree with another model, for which it is as wanted."""
    for _ in range(100):
        other = replace(verification, seed=draw.integer(0, 2**53))
        if wanted(other):
            return other
    raise LookupError("no model was drawn that fits")


def emitted(found: Any) -> list[int]:
    """What a result emits.

    Raises:
        CallFailed: it does not have the form of the contract.
    """
    if not isinstance(found, (list, tuple)) or len(found) != 2:
        raise misshapen("the result", found, "a pair of accepted tokens and next token")
    accepted, next_token = found
    if not isinstance(accepted, (list, tuple)) or any(type(token) is not int for token in accepted):
        raise misshapen("accepted", accepted, "a list of ints")
    if next_token is not None and type(next_token) is not int:
        raise misshapen("next_token", next_token, "an int or None")
    return [*accepted, *([] if next_token is None else [next_token])]


def misshapen(place: str, value: Any, wanted: str) -> CallFailed:
    """The failure of a value that has another form than the contract gives it."""
    seen = "None" if value is None else f"the {type(value).__name__} {value!r:.60}"
    title = "the result does not have the form of the contract"
    return CallFailed(title, f"{place} is {seen}, not {wanted}", where=place)
