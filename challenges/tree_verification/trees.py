"""A tree to ask an answer about: scripted model, prompt, nodes, what greedy decoding gives, and the comparison."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from harness.probing import (
    Answer,
    CallFailed,
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
LONGEST = 200
"""Tokens that an answer may emit before it is not asked what they are."""
RESULT = Tree(1 << 14)

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
LISTED = 40
"""Entries of a list that are shown."""
NOT_GREEDY = "what is emitted is not what greedy decoding gives"
MINDED = "what is emitted is wrong where the model minds positions"
CHANGED = "what is emitted is wrong, and changes where the model minds positions"
"""Titles of faults that other criteria depend on."""
PLACES = "positions are not those of the tokens"


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
        shift: how much lower each token is than in the model without a shift; below 0 they go on at the highest.
    """

    seed: int
    vocab: int
    prompt: tuple[int, ...]
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    ordered: bool
    gap: float | None = None
    shift: int = 0

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
        return (self.seed, self.vocab, self.ordered, self.gap, self.shift)

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

    def renumbered(self, token: int, place: str) -> "Verification":
        """Return the same tree and model with all tokens shifted until one is at a place, the lowest or the highest."""
        shift = (token + (place == "highest")) % self.vocab
        prompt, tokens = (tuple((one - shift) % self.vocab for one in given) for given in (self.prompt, self.tokens))
        return replace(self, prompt=prompt, tokens=tokens, shift=(self.shift + shift) % self.vocab)

    def holding(self, node: int, token: int) -> "Verification":
        """Return the same tree with a token in a node, and what the model takes next in its first child, and so on."""
        tokens, ranked = list(self.tokens), scripted.ranking(self.seed, self.vocab, False, shift=self.shift)
        tokens[node] = token
        for child, parent in enumerate(self.parents):
            if parent == node:
                before = [*self.prompt, *(tokens[one] for one in path_to(self.parents, parent))]
                tokens[child] = ranked(before)[0]
                siblings = [one for one, other in enumerate(self.parents) if other == parent and one != child]
                if tokens[child] in [tokens[one] for one in siblings]:
                    tokens[child] = self.tokens[child]
                node = child
        return replace(self, tokens=tuple(tokens))

    def decoded(self, count: int) -> list[int]:
        """The first tokens of greedy decoding."""
        return decode(self._script, self.prompt, count)

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
            ProbeFailure: the former gives another wrong result; nothing but the positions can be the cause.
        """
        ways = (replace(self, ordered=ordered) for ordered in (False, True))
        plain, minding = (way.ask(answer, model=way.masked) for way in ways)
        failure = self.failure(minding) if minding != plain else None
        if failure is not None:
            title = MINDED if self.failure(plain) is None else CHANGED
            detail = f"{failure.detail}; {plain} where the model does not mind positions"
            raise ProbeFailure(title, detail, where=failure.where, expected=failure.expected, got=failure.got,
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
        nodes = f"tokens {listed(self.tokens)}, parents {listed(self.parents)}"
        return f"prompt of {len(self.prompt)} token{'s' * (len(self.prompt) > 1)}, {nodes}"


def listed(numbers: Sequence[int]) -> str:
    """Return a list as text; of a long one the first entries and how many there are."""
    if len(numbers) <= LISTED:
        return str(list(numbers))
    return f"[{', '.join(map(str, numbers[:LISTED]))}, ... {len(numbers)} in all]"


def decode(script: tuple[Any, ...], prompt: tuple[int, ...], count: int) -> list[int]:
    """Return the first tokens of greedy decoding by the scripted model, each computed once."""
    found = _get_decoded(script, prompt)
    if len(found) < count:
        found += oracle.greedy(scripted.ranking(*script), (*prompt, *found), count - len(found))
    return found[:count]


@lru_cache(maxsize=256)
def _get_decoded(script: tuple[Any, ...], prompt: tuple[int, ...]) -> list[int]:
    """Return the list of a model and a prompt to which `decode` adds."""
    return []


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
