"""Programs whose calls are fixed, and only their tokens are drawn: what shows a known kind of fault by every seed."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from harness.probing.programs import Program

from .calls import FAMILY, Create, Feed
from .drawing import LAST, Writer
from .tokens import CODED, EVEN

PADDINGS = ((0, "normal"), (3, "large"), (1, "zero"))
"""How many positions of padding the prompts of a plan have in turn, and what those hold."""

FAR_CUTS = (50, 33, 17)
"""Tokens to which a slot of more than 64 is cut: two inside blocks of 16 and 32, and one just behind their ends."""

SINGLE = 4
"""The largest window that is filled by decodes alone; larger ones get a prompt that leaves one token for a decode."""

FORKED, FURTHER = 41, 26
"""Tokens of a slot that is copied, inside a block of 16 or 32, and those that take it past 64."""

PACKED = 66
"""Tokens that fill a block of 64; two query heads a key/value head make more than 128 queries of them."""


class Script(Writer):
    """Writes programs of one plan each; a plan needs four slots, unless it says how many."""

    def long_history(self) -> Program:
        """A prompt of hundreds of normal tokens, and others one by one."""
        self._create()
        create = self.caches["a"]
        self._feed(create, 0, [0], [self.sizes["length"] - LAST])
        for _ in range(LAST):
            self._feed(create, 0, [0], [1], decode=True)
        return tuple(replace(step, family=FAMILY) if isinstance(step, Feed) else step for step in self.steps)

    def releases(self) -> Program:
        """Release slots twice and slots that were never used, then fill others: no two of them share anything."""
        create, long, short = self._started()
        if create.groups > 1:
            self._fill_far(create)
        self._fill_each(create, [2, 0], [long, short])
        for slot in (2, 2, 1):
            self._drop(create, slot)
        self._fill_each(create, [1], [long])
        self._fill_each(create, [3], [long])
        self._step_each(create, [3, 1, 0])
        self._fill_each(create, [2], [short])
        self._step_each(create, [0, 1, 2, 3])
        for slot in (0, 0, 3, 1):
            self._drop(create, slot)
        self._fill_each(create, [1, 0, 3], [short, long, short])
        self._step_each(create, [2, 3, 0, 1])
        return tuple(self.steps)

    def copies(self) -> Program:
        """Fork empty slots, slots onto themselves and copies of copies, some emptied at once; go on, release either."""
        create, long, short = self._started()
        if create.option("quantization"):
            self._copy_far(create)
        self._copy_full(create)
        self._fill_each(create, [0, 3], [long, short])
        self._copy(create, 0, 3)
        self._copy(create, 1, 3)
        self._copy(create, 0, 0)
        self._step_each(create, [3, 0])
        self._copy(create, 0, 1)
        self._fill_each(create, [1], [short])
        self._fill_each(create, [0], [2])
        self._copy(create, 1, 2)
        self._step_each(create, [2, 1, 0])
        self._drop(create, 1)
        self._fill_each(create, [1], [long])
        self._step_each(create, [0, 1, 2])
        self._copy(create, 2, 0)
        self._drop(create, 0)
        self._copy(create, 2, 1)
        self._fill_each(create, [2, 0], [3, short])
        self._step_each(create, [1, 2, 0])
        return tuple(self.steps)

    def cuts(self) -> Program:
        """Cut a slot to nothing, to one, by one and to more than it holds, also where it was copied, and go on.

        At the end one layer, each in turn, holds more than is left, and the others nothing or one token.
        """
        create, long, short = self._started()
        if create.option("quantization"):
            self._cut_far(create)
        self._fill_each(create, [0, 1, 2], [long, short, long])
        for slot, length in ((0, long - 1), (1, 1), (2, 0), (2, 5), (3, 4)):
            self._cut(create, slot, length)
        self._step_each(create, [3, 2, 1, 0])
        for length in (short, short - 1):
            if self.forks:
                self._copy(create, 0, 1)
            self._cut(create, 0, length)
            self._fill_each(create, [0, 3], [3, short])
        self._step_each(create, [0, 1, 2, 3])
        for layer, others_hold in itertools.product(range(create.layers), (False, True)):
            self._drop(create, 2)
            if others_hold:
                self._fill_each(create, [2], [1])
            self._feed(create, layer, [2], [long])
            self._cut(create, 2, short)
            self._step_each(create, [2])
        return tuple(self.steps)

    def _cut_far(self, create: Create) -> None:
        """Cut a slot of more tokens than codes share a scale or a block, inside and near the ends; a copy keeps all."""
        held = self.sizes["length"]
        self._fill_each(create, [3], [held - 2])
        if self.forks:
            self._copy(create, 3, 1)
        for length in FAR_CUTS:
            self._cut(create, 3, length)
            self._step_each(create, [3])
        if self.forks:
            self._feed(create, 0, [1], [1], decode=True)
            self._drop(create, 1)
        self._drop(create, 3)

    def _copy_far(self, create: Create) -> None:
        """Copy a slot inside a block of tokens that share a scale, and take source and copy past its end in turns."""
        self._feed(create, 0, [3], [FORKED])
        self._copy(create, 3, 1)
        for slot in (3, 1):
            self._feed(create, 0, [slot], [FURTHER])
        self._feed(create, 0, [3, 1], [1, 1], decode=True)
        for slot in (3, 1):
            self._drop(create, slot)

    def _copy_full(self, create: Create) -> None:
        """Copy a slot of more tokens than a block of 64, and take source and copy, which share it, on in one call."""
        self._feed(create, 0, [3], [PACKED])
        self._copy(create, 3, 1)
        self._feed(create, 0, [3, 1], [1, 1], decode=True)
        for slot in (3, 1):
            self._drop(create, slot)

    def _fill_far(self, create: Create) -> None:
        """Give two slots, one of them empty, prompts of more queries for each key/value head than a block of 128."""
        self._feed(create, 0, [2], [2])
        self._feed(create, 0, [0, 2], [PACKED, PACKED])
        self._feed(create, 0, [2, 0], [1, 1], decode=True)
        for slot in (2, 0):
            self._drop(create, slot)

    def windows(self) -> Program:
        """Windows that are filled by decodes, by a prompt and past their end, and then move on."""
        self._create()
        create = self.caches["a"]
        window = int(create.option("window") or 1)
        self._feed(create, 0, [0, 3, 1], [max(1, window - 1), window + 1, window])
        for _ in range(window if window <= SINGLE else 0):
            self._feed(create, 0, [2], [1], decode=True)
        for _ in range(2):
            self._feed(create, 0, [2, 0, 1, 3], [1] * 4, decode=True)
        self._feed(create, 0, [1, 0], [2, window])
        for _ in range(2):
            self._feed(create, 0, [0, 1, 2, 3], [1] * 4, decode=True)
        return tuple(self.steps)

    def many_slots(self) -> Program:
        """Slots on both sides of where a machine word or a byte ends, and many in one call, of several lengths."""
        self._create()
        create = self.caches["a"]
        ends = [slot + off for slot in (1, 64, 128, 256) for off in (-1, 0, 1)]
        self._feed(create, 0, ends, [2] * len(ends))
        self._feed(create, 0, ends[::-1], [1] * len(ends), decode=True)
        many = range(139, 59, -1)
        self._feed(create, 0, many, [1 + slot % 3 for slot in many])
        self._feed(create, 0, many, [1] * len(many), decode=True)
        for slot in (64, 0):
            self._drop(create, slot)
        self._feed(create, 0, ends, [1] * len(ends), decode=True)
        return tuple(self.steps)

    def several_caches(self) -> Program:
        """Make a cache of other sizes while one is in use, and go on with both in turns."""
        create, long, short = self._started()
        other = replace(create, cache="b", layers=1, kv_heads=create.kv_heads + 1, head_dim=create.head_dim // 2,
                        slots=2, room=create.room // 2)  # fmt: skip
        self._fill_each(create, [0, 1], [short, long])
        self.steps.append(other)
        self._step_each(create, [1, 0])
        self._fill_each(other, [1, 0], [short, 2])
        self._step_each(create, [0, 1])
        self._step_each(other, [0, 1])
        self._fill_each(create, [1, 2], [short, long])
        return tuple(self.steps)

    def many_pages(self) -> Program:
        """Every slot filled in one call, and again behind it: more pages than a byte can count."""
        self._create()
        create, slots = self.caches["a"], [2, 0, 3, 1]
        self._feed(create, 0, slots, [self.sizes["length"] - 6] * 4)
        for _ in range(2):
            self._feed(create, 0, slots, [1] * 4, decode=True)
        self._feed(create, 0, slots[1:], [2] * 3)
        return tuple(self.steps)

    def _fed(
        self, create: Create, layer: int, slots: Sequence[int], lengths: Sequence[int], decode: bool = False
    ) -> Feed:
        feed = super()._fed(create, layer, slots, lengths, decode)
        if decode:
            # a needle shows a token that is missing, even weights one too many
            return replace(feed, family=(CODED, EVEN)[self.written % 2]) if feed.scales else feed
        padding, fill = PADDINGS[self.written % len(PADDINGS)]
        return replace(feed, padding=padding, fill=fill)

    def _started(self) -> tuple[Create, int, int]:
        """The cache, and the lengths of a long and of a short prompt."""
        self._create()
        long = max(2, self.sizes["length"] // 3)
        return self.caches["a"], long, long // 2 + 1

    def _fill_each(self, create: Create, slots: list[int], lengths: list[int]) -> None:
        """A prompt, or a chunk behind what is held, in every layer."""
        for layer in range(create.layers):
            self._feed(create, layer, slots, lengths)

    def _step_each(self, create: Create, slots: list[int]) -> None:
        """A token in every layer, and another one in the last: what one of several slots overwrites shows there."""
        for layer in range(create.layers):
            for _ in range(1 + (layer == create.layers - 1)):
                self._feed(create, layer, slots, [1] * len(slots), decode=True)
