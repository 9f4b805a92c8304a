"""How programs of calls are drawn: legal histories of any kind, long enough to cross what a cache grows by."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from harness.probing import Draw, InputUse
from harness.probing.programs import Program

from .calls import FAULTS, LEAST_CODED, Ask, Call, Create, Feed, Fork, Release, Row, Truncate, Wrong
from .tokens import CODED, CODED_SCALES, EVEN, MAGNITUDES, TELLING

T = TypeVar("T")
SHARE = 0.4
"""How often a slot is filled up to the length of the case, or to where something may end."""
WORK = 1.2e7
"""Multiplications of keys and queries of a whole program, over which no call is added."""
FILLS = ("normal", "zero", "large")
"""What padding holds: what is not finite in it is a criterion of its own."""
LAST = 12
"""Tokens one by one at the end of a program of hundreds of tokens."""
ALONE = 2
"""Calls at the beginning of a program whose tokens are all of a family that shows little behind others: what the first
stored shows in the second."""
SHORT, LONG = 7, 20
"""Calls of most programs; one in eight is three times as long."""


class Writer:
    """Writes one program.

    Args:
        draw: the source.
        sizes: layers, H (key/value heads), D, B and length of the first cache.
        dtype: of it.
        family: of its tokens.
        borders: lengths where something may end: pages, literals of the answer.
        options: of every cache; `groups`, no keyword, is how many query heads a key/value head has.
        extras: functions beyond those every answer has.
        others: options of the second and the third cache, where they are not those of the first.
        about: the option that the program is about, if it is about one.
    """

    def __init__(
        self, draw: Draw, sizes: Mapping[str, int], dtype: str, family: str, borders: Collection[int],
        options: Mapping[str, int | str], extras: Collection[str], others: Sequence[Mapping[str, int | str]] = (),
        about: str = "",
    ) -> None:  # fmt: skip
        self.draw = draw
        self.sizes = sizes
        self.family = family
        self.borders = [n for n in sorted(borders) if 1 < n <= sizes["length"]]
        self.options, self.others, self.about = dict(options), others, about
        self.near = {border + off for border in self.borders for off in (-1, 0, 1)}
        self.groups = int(self.options.pop("groups", 1))
        self.forks, self.asks, self.truncates = ("fork" in extras, "memory_bytes" in extras, "truncate" in extras)
        self.steps: list[Call] = []
        self.caches: dict[str, Create] = {}
        self.lengths: dict[tuple[str, int, int], int] = {}
        self.work = 0.0
        self.written = 0
        self.dtype = dtype
        self.least = LEAST_CODED if "quantization" in options else 1

    def program(self) -> Program:
        """A program."""
        self._create()
        self._fill(self.caches["a"], far=True)
        count = self._between(SHORT, LONG) * (3 if self._chance(1 / 8) else 1)
        others = len(self.others) or self._between(0, 2)
        while len(self.steps) < count and self.work < WORK:
            if len(self.caches) <= others and self._chance(0.4 if self.others else 0.2):
                self._create()
            names = list(self.caches)
            create = self.caches[names[0] if self._chance(0.6) else self._one(names)]
            kinds = [self._fill, self._fill, self._decode, self._decode, self._decode, self._other, self._other]
            self._one(kinds + [self._fork] * 2 * self.forks + [self._truncate] * 2 * self.truncates)(create)
        self._decode_all(self.caches["a"])
        return tuple(self.steps)

    def long_program(self) -> Program:
        """A program, and then tokens behind the longest slot, one by one: a fault of long slots may show seldom."""
        self.program()
        create, prompt = self.caches["a"], self.sizes["length"] - LAST
        held = {(layer, slot): n for (name, layer, slot), n in self.lengths.items() if name == create.cache}
        layer, slot = max(held, key=held.__getitem__) if held else (0, 0)
        if not prompt <= self._held(create, layer, slot) <= create.room - LAST:
            self._drop(create, slot)
            self._feed(create, layer, [slot], [prompt])
        for _ in range(LAST):
            self._feed(create, layer, range(create.slots), [1] * create.slots, decode=True)
        return tuple(self.steps)

    def stairs(self) -> Program:
        """Prompts of two tokens behind every number of tokens up to the length: two slots climb, one of them odd."""
        self._create()
        create = self.caches["a"]
        layer = create.layers - 1
        self._feed(create, layer, [1], [1], decode=True)
        while self._held(create, layer, 1) + 2 <= self.sizes["length"]:
            self._feed(create, layer, [0, 1], [2, 2])
        return tuple(self.steps)

    def short(self) -> Program:
        """Two slots in every layer: prompts of a third of the length, a token each, and chunks behind them.

        In pages it is two tokens, of which the second may be the first of a page.
        """
        self._create()
        create, longest = self.caches["a"], self.sizes["length"] // 3
        for layer in range(create.layers):
            self._feed(create, layer, [1, 0], [longest, longest // 2 + 1])
            for _ in range(2 if create.option("page_size") else 1):
                self._feed(create, layer, [0, 1], [1, 1], decode=True)
            self._feed(create, layer, [0, 1], [longest // 2 + 1, longest])
        return tuple(self.steps)

    def _create(self) -> None:
        """The cache of the case, or a further one: as it, as it in the other dtype, or a small one."""
        name, sizes, dtype, options = "abc"[len(self.caches)], self.sizes, self.dtype, self.options
        if self.others and self.caches:
            options = self.others[len(self.caches) - 1]
        if self.caches:
            kind = self._one(("same", "dtype", "small", "small"))
            if kind != "same" and "quantization" not in self.options:
                dtype = {"float32": "float64", "float64": "float32"}[dtype]
            if kind == "small":
                sizes = {"layers": self._between(1, min(3, sizes["layers"])), "H": self._between(1, 3),
                         "B": self._between(1, 4), "D": self._one((sizes["D"], max(self.least, sizes["D"] // 2))),
                         "length": min(sizes["length"], 40)}  # fmt: skip
        room = sizes["length"] + self._one((0, 0, 1, 3, sizes["length"]))
        create = Create(name, sizes["layers"], sizes["H"], self.groups, sizes["D"], sizes["B"], room, dtype,
                        tuple(options.items()), self.about)  # fmt: skip
        self.caches[name] = create
        self.steps.append(create)

    def _fill(self, create: Create, far: bool = False) -> None:
        """A prompt, or a further chunk of one, for some slots of a layer, or of all layers."""
        slots = self._slots(create)
        layers = self._layers(create)
        lead = self._held(create, layers[0], slots[0])
        target = self._target(create, lead, far)
        longest = max(1, min(target - lead, create.room - lead))
        if self._chance(0.3):
            lengths = [longest] * len(slots)
        else:
            lengths = [longest, *(self._between(1, longest) for _ in slots[1:])]
            turn = self._between(0, len(slots) - 1)  # the longest is not always the first
            slots, lengths = slots[-turn:] + slots[:-turn], lengths[-turn:] + lengths[:-turn]
        for layer in layers:
            self._feed(create, layer, slots, lengths)
        if target in self.near:  # what a border spoils shows in the calls that cross it
            for _ in range(2):
                self._feed(create, layers[-1], slots[:3], [1] * len(slots[:3]), decode=True)

    def _decode(self, create: Create) -> None:
        """One token each, or some one after the other."""
        slots, layers = self._slots(create), self._layers(create)
        for _ in range(self._one((1, 1, 2, 3))):
            for layer in layers:
                self._feed(create, layer, slots, [1] * len(slots), decode=True)

    def _decode_all(self, create: Create) -> None:
        """Two tokens each for all slots at once: a fault of late rows alone shows in no smaller batch."""
        slots, layer = [int(slot) for slot in self.draw.permutation(create.slots)], self._layers(create)[-1]
        for _ in range(2):
            self._feed(create, layer, slots, [1] * len(slots), decode=True)

    def _other(self, create: Create) -> None:
        """A release, a question, or a call that must be refused."""
        slot = self._between(0, create.slots - 1)
        kind = self._one(["release", "refused", "refused"] + ["ask"] * self.asks)
        if kind == "release":
            self._drop(create, slot)
        elif kind == "ask":
            self.steps.append(Ask(create.cache))
        else:
            self._refused(create)

    def _fork(self, create: Create) -> None:
        """A copy of a slot, most often of one that holds something, and a decode of both."""
        held = [slot for slot in range(create.slots) if self._held(create, 0, slot)] or [0]
        source = self._one(held) if self._chance(0.8) else self._between(0, create.slots - 1)
        copy = self._between(0, create.slots - 1)
        self._copy(create, source, copy)
        layers = dict.fromkeys((self._between(0, create.layers - 1), create.layers - 1))
        for layer, slot in itertools.product(layers, dict.fromkeys((source, copy))):
            self._feed(create, layer, [slot], [1], decode=True)
        self._feed(create, create.layers - 1, [source], [1], decode=True)

    def _copy(self, create: Create, source: int, copy: int) -> None:
        self.steps.append(Fork(create.cache, source, copy))
        for layer in range(create.layers):
            self.lengths[create.cache, layer, copy] = self._held(create, layer, source)

    def _truncate(self, create: Create) -> None:
        """A slot cut to some of its tokens, to where something may end or a few less, and a decode of it."""
        layer, slot = self._between(0, create.layers - 1), self._between(0, create.slots - 1)
        held = self._held(create, layer, slot)
        ends = [n for n in self.borders if n < held]
        self._cut(create, slot, self._one(ends) if ends and self._chance(SHARE) else max(0, held - self._between(0, 5)))
        self._feed(create, layer, [slot], [1], decode=True)

    def _cut(self, create: Create, slot: int, length: int) -> None:
        self.steps.append(Truncate(create.cache, slot, length))
        for layer in range(create.layers):
            self.lengths[create.cache, layer, slot] = min(length, self._held(create, layer, slot))

    def _drop(self, create: Create, slot: int) -> None:
        self.steps.append(Release(create.cache, slot))
        self._forget(create, slot)

    def _refused(self, create: Create) -> None:
        """A call that has no room or is wrong, and then, most often, a decode that would show its traces."""
        slots, layer = self._slots(create, self._one((2, 3))), self._layers(create)[0]
        self._refusal(create, layer, slots)
        if self._chance(0.7):
            self._feed(create, layer, slots[:3], [1] * len(slots[:3]), decode=True)

    def _refusal(self, create: Create, layer: int, slots: Sequence[int]) -> None:
        if self._chance(0.5):
            lengths = [self._between(1, 3) for _ in slots]
            # late more often than not: the rows before it may have been stored
            at = max(self._between(0, len(slots) - 1), self._between(0, len(slots) - 1))
            lengths[at] = create.room - self._held(create, layer, slots[at]) + self._one((1, 1, 2, 5))
            if max(lengths) <= 2 * self.sizes["length"]:
                self.steps.append(self._fed(create, layer, slots, lengths))
            return
        decode = self._chance(0.5)
        lengths = [1 if decode else self._between(1, 4) for _ in slots]
        fault = self._one([name for name in FAULTS if not decode or name not in ("lengths", "beyond")])
        self.steps.append(Wrong(self._fed(create, layer, slots, lengths, decode), fault))

    def _feed(
        self, create: Create, layer: int, slots: Sequence[int], lengths: Sequence[int], decode: bool = False
    ) -> None:
        """A call that fits: rows that have no room are left out."""
        rows = [(slot, n) for slot, n in zip(slots, lengths, strict=True)
                if self._held(create, layer, slot) + n <= create.room]  # fmt: skip
        if not rows:
            self._drop(create, slots[0])
            return
        feed = self._fed(create, layer, [slot for slot, _ in rows], [n for _, n in rows], decode)
        self.steps.append(feed)
        for slot, n in rows:
            held = self._held(create, layer, slot)
            self.work += create.heads * create.head_dim * n * (held + n)
            self.lengths[create.cache, layer, slot] = held + n

    def _fed(
        self, create: Create, layer: int, slots: Sequence[int], lengths: Sequence[int], decode: bool = False
    ) -> Feed:
        self.written += 1
        rows = tuple(Row(slot, n, number) for number, (slot, n) in enumerate(zip(slots, lengths, strict=True)))
        coded = "quantization" in self.options
        plain = (self.family, self.family, self.family, "normal", "normal", *TELLING)
        # in a prompt, even weights would charge a missing causal mask to the codes
        stored = (CODED, CODED, EVEN) if decode else (CODED,)
        alone = self.written <= ALONE and self.family in MAGNITUDES and not coded
        family = self.family if alone else self._one(stored if coded else plain)
        inputs = self._one((InputUse.FRESH, InputUse.REUSED, InputUse.OVERWRITTEN, InputUse.READ_ONLY))
        lasting = inputs in (InputUse.FRESH, InputUse.READ_ONLY)
        scales = (self.family if self.family in CODED_SCALES else "normal") if coded else ""
        parts = "qkv" if alone else self._one(("qkv", "qkv", "k", "v", "q", "kv"))
        return Feed(
            create.cache, layer, rows, self.written, decode, 0 if decode else self._one((0, 0, 1, 3)), family,
            scales, parts, self._one(FILLS), inputs, lasting and self._chance(0.2),
        )  # fmt: skip

    def _target(self, create: Create, held: int, far: bool) -> int:
        """Tokens that a slot shall hold: near the length of the case, near a border, or a few more than now."""
        border = [n for n in self.borders if n > held]
        if border and self._chance(SHARE):
            return self._one(border) + self._one((-1, 0, 1))
        if far or self._chance(SHARE):
            return min(self.sizes["length"], create.room) - self._one((0, 1, 1, 2))
        return held + self._between(1, 8)

    def _slots(self, create: Create, least: int = 1) -> list[int]:
        """Some slots of a cache in some order: few, or, more rarely where there are many, any number or all."""
        order, few = [int(slot) for slot in self.draw.permutation(create.slots)], min(create.slots, 5)
        rest = create.slots if self._chance(0.5) else self._between(1, create.slots)
        return order[: max(least, self._one((1, few, self._between(1, few), rest)))]

    def _layers(self, create: Create) -> Sequence[int]:
        """One layer, or all in order as a model does."""
        return range(create.layers) if self._chance(0.4) else [self._between(0, create.layers - 1)]

    def _held(self, create: Create, layer: int, slot: int) -> int:
        return self.lengths.get((create.cache, layer, slot), 0)

    def _forget(self, create: Create, slot: int) -> None:
        self.lengths = {key: n for key, n in self.lengths.items() if (key[0], key[2]) != (create.cache, slot)}

    def _between(self, low: int, high: int) -> int:
        return self.draw.integer(low, max(low, high))

    def _chance(self, share: float) -> bool:
        return bool(self.draw.rng.random() < share)

    def _one(self, items: Sequence[T]) -> T:
        return items[self.draw.integer(0, len(items) - 1)]
