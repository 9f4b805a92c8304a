"""The calls that programs are made of: what each is, what of it can be left out, and how a script writes it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from harness.probing import InputUse
from harness.probing.programs import Program, Size

PLAIN_LENGTH, PLAIN_SLOTS, PLAIN_HEADS, PLAIN_DIM, PLAIN_LAYERS = 33, 4, 7, 33, 4
"""Sizes that other probes go up to."""
LEAST_CODED = 32
"""head_dim from which on keys of random directions are far enough apart for codes."""
NEVER = 1 << 30
"""A size that is never worth a word."""
FAMILY, FILL = "normal", "normal"
"""The plainest tokens, and the plainest padding."""


class Row(NamedTuple):
    """A row of a call: its slot, how many tokens it takes, and the number by which they are drawn."""

    slot: int
    length: int
    number: int


class Fixed:
    """A call without sizes, of which nothing can be left out."""

    def sizes(self) -> Mapping[str, Size]:
        return {}

    def plainer(self) -> Iterator["Fixed"]:
        return iter(())

    def resized(self, name: str, size: int) -> "Fixed":
        return self


@dataclass(frozen=True)
class Create:
    """`create_cache`.

    Attributes:
        cache: what the program calls the handle.
        layers: num_layers.
        kv_heads: num_kv_heads.
        groups: query heads a key/value head.
        head_dim: D.
        slots: max_batch.
        room: max_length.
        dtype: float32 or float64.
        options: keywords and their values.
        about: the option that the program is about, which it keeps; none where it is about something else.
    """

    cache: str
    layers: int
    kv_heads: int
    groups: int
    head_dim: int
    slots: int
    room: int
    dtype: str
    options: tuple[tuple[str, int | str], ...] = ()
    about: str = ""

    @property
    def heads(self) -> int:
        """num_heads."""
        return self.kv_heads * self.groups

    def option(self, name: str) -> int | str | None:
        """The value of an option, if it is given."""
        return dict(self.options).get(name)

    def sizes(self) -> Mapping[str, Size]:
        """As `Step.sizes`."""
        coded = self.option("quantization") is not None
        own = {
            "num_layers": Size(self.layers, 1, PLAIN_LAYERS),
            "num_kv_heads": Size(self.kv_heads, 1, PLAIN_HEADS),
            "head_dim": Size(self.head_dim, LEAST_CODED if coded else 1, PLAIN_DIM),
            "max_batch": Size(self.slots, 1, PLAIN_SLOTS),
            "max_length": Size(self.room, 1, NEVER),
        }
        shared = {"query heads a key/value head": Size(self.groups, 2, PLAIN_HEADS)} if self.groups > 1 else {}
        return own | shared | {name: Size(n, 1, PLAIN_LENGTH) for name, n in self.options if isinstance(n, int)}

    def resized(self, name: str, size: int) -> "Create":
        """As `Step.resized`."""
        fields = {"num_layers": "layers", "num_kv_heads": "kv_heads", "head_dim": "head_dim", "max_batch": "slots",
                  "max_length": "room", "query heads a key/value head": "groups"}  # fmt: skip
        if name in fields:
            return replace(self, **{fields[name]: size})
        return replace(self, options=tuple((key, size if key == name else value) for key, value in self.options))

    def plainer(self) -> Iterator["Create"]:
        """As `Step.plainer`."""
        for option, _ in self.options:
            if option != self.about:
                yield replace(self, options=tuple(other for other in self.options if other[0] != option))
        if self.groups > 1:
            yield replace(self, groups=1)
        if self.dtype != "float64":
            yield replace(self, dtype="float64")

    def without_option(self, heads: str) -> "Create":
        """Return the cache without the option that its program is about, with so many heads of each kind."""
        if self.about == "groups":
            return replace(self, kv_heads=getattr(self, heads), groups=1)
        kept = tuple(option for option in self.options if option[0] != self.about or self.about == "page_size")
        return replace(self, options=kept)

    def line(self) -> str:
        """The call in a script."""
        options = "".join(f", {name}={value!r}" for name, value in self.options)
        return (
            f"{self.cache} = create_cache(num_layers={self.layers}, num_heads={self.heads}, "
            f"num_kv_heads={self.kv_heads}, head_dim={self.head_dim}, max_batch={self.slots}, "
            f"max_length={self.room}, dtype={self.dtype!r}{options})"
        )


@dataclass(frozen=True)
class Feed:
    """`prefill` or `decode`.

    Attributes:
        cache: the handle.
        layer: the layer.
        rows: of the call.
        number: of the call in its program; its tokens are drawn by it.
        decode: whether it is a `decode`.
        padding: positions beyond the longest row.
        family: of the tokens' values.
        scales: how large the tokens are where they are to be held in codes, a name of `tokens.CODED_SCALES`.
        parts: which of q, k and v are of that family, where the others are normal.
        fill: of padding: normal, zero or large.
        inputs: what the caller does with its arrays.
        keep: whether the result is looked at again in the end.
    """

    cache: str
    layer: int
    rows: tuple[Row, ...]
    number: int
    decode: bool = False
    padding: int = 0
    family: str = FAMILY
    scales: str = ""
    parts: str = "qkv"
    fill: str = FILL
    inputs: InputUse = InputUse.FRESH
    keep: bool = False

    @property
    def slots(self) -> list[int]:
        """The slots, in the order of the rows."""
        return [row.slot for row in self.rows]

    @property
    def lengths(self) -> list[int]:
        """Tokens that each row takes."""
        return [row.length for row in self.rows]

    @property
    def span(self) -> int:
        """S: positions of the arrays."""
        return max(self.lengths) + self.padding

    def sizes(self) -> Mapping[str, Size]:
        """As `Step.sizes`."""
        each = [] if self.decode else [Size(row.length, 1, PLAIN_LENGTH) for row in self.rows]
        return {f"lengths[{index}]": size for index, size in enumerate(each)}

    def resized(self, name: str, size: int) -> "Feed":
        """As `Step.resized`."""
        index = list(self.sizes()).index(name)
        rows = (*self.rows[:index], self.rows[index]._replace(length=size), *self.rows[index + 1 :])
        return replace(self, rows=rows)

    def plainer(self) -> Iterator["Feed"]:
        """As `Step.plainer`."""
        count = len(self.rows)
        size = count // 2
        while size:
            for start in range(0, count, size):
                rest = self.rows[:start] + self.rows[start + size :]
                if rest:
                    yield replace(self, rows=rest)
            size //= 2
        plain = {"family": FAMILY, "fill": FILL, "padding": 0, "inputs": InputUse.FRESH, "keep": False}
        for name, value in plain.items():
            # codes of tokens of another size than their neighbours' may be off by more
            if getattr(self, name) != value and not (name == "family" and self.scales):
                yield replace(self, **{name: value})

    def of_ordinary_size(self) -> "Feed":
        """Return the call with tokens of ordinary size."""
        return replace(self, scales=FAMILY) if self.scales else replace(self, family=FAMILY)

    def line(self) -> str:
        """The call in a script."""
        call = f"layer={self.layer}, slots={self.slots}"
        name = "decode" if self.decode else "prefill"
        lengths = "" if self.decode else f", lengths={self.lengths}"
        return f"{name}({self.cache}, {call}{lengths}){self._remarks()}"

    def _remarks(self) -> str:
        of = "" if self.parts == "qkv" else f" in {', '.join(self.parts)}"
        said = [f"{self.family} tokens{of}"] if self.family != FAMILY else []
        said += [f"of {self.scales} size"] if self.scales not in ("", FAMILY) else []
        said += [f"padded by {self.padding}, {self.fill}"] if self.padding else []
        said += [f"arguments {self.inputs.value}"] if self.inputs is not InputUse.FRESH else []
        return f"  # {'; '.join(said)}" if said else ""


@dataclass(frozen=True)
class Release(Fixed):
    """`release`."""

    cache: str
    slot: int

    def line(self) -> str:
        """The call in a script."""
        return f"release({self.cache}, {self.slot})"


@dataclass(frozen=True)
class Fork(Fixed):
    """`fork`."""

    cache: str
    src: int
    dst: int

    def line(self) -> str:
        """The call in a script."""
        return f"fork({self.cache}, {self.src}, {self.dst})"


@dataclass(frozen=True)
class Truncate(Fixed):
    """`truncate`."""

    cache: str
    slot: int
    length: int

    def line(self) -> str:
        """The call in a script."""
        return f"truncate({self.cache}, {self.slot}, {self.length})"


@dataclass(frozen=True)
class Ask(Fixed):
    """`memory_bytes`; what it says is another probe's matter."""

    cache: str

    def line(self) -> str:
        """The call in a script."""
        return f"memory_bytes({self.cache})"


@dataclass(frozen=True)
class Wrong(Fixed):
    """A call that must be refused, and then changes nothing.

    Attributes:
        feed: what would be legal.
        fault: what is wrong with it, of `FAULTS`.
    """

    feed: Feed
    fault: str

    @property
    def cache(self) -> str:
        """The handle."""
        return self.feed.cache

    def line(self) -> str:
        """The call in a script."""
        return f"{self.feed.line().split('  #')[0]}  # refused: {FAULTS[self.fault]}"


FAULTS = {
    "layer": "one layer too far",
    "slot": "one slot too far",
    "negative slot": "a slot of -1",
    "twice": "its first slot twice",
    "head_dim": "keys and values of head_dim + 1",
    "heads": "one query head too many",
    "values": "values one position longer than the keys",
    "lengths": "a length of 0",
    "beyond": "a length beyond the arrays",
}
"""What can be wrong with a call, in words."""


def of_one_cache(program: Program) -> Iterator[Program]:
    """The program without one of its caches."""
    caches = list(dict.fromkeys(step.cache for step in program))
    for cache in caches[::-1] if len(caches) > 1 else ():
        yield tuple(step for step in program if step.cache != cache)


def without_option(program: Program) -> Iterator[Program]:
    """Yield the same calls in caches without the option that the program is about, if some have it.

    Heads that were shared are as many as the key/value heads, or as the query heads. Pages are left out: where they end
    early, a plain cache may go wrong late.
    """
    for head_of in ("kv_heads", "heads"):
        form = tuple(step.without_option(head_of) if isinstance(step, Create) else step for step in program)
        if form != program:
            yield form


def last_calls(program: Program) -> Iterator[Program]:
    """The last call of the program, its last two, four and so on, with no more room than they take."""
    made, calls = ([step for step in program if isinstance(step, Create) is kind] for kind in (True, False))
    for count in (*(2**n for n in range(len(calls).bit_length()) if 2**n < len(calls)), len(calls)):
        form = _in_no_more_room((*made, *calls[-count:]))
        if form != program:
            yield form


def _in_no_more_room(program: Program) -> Program:
    """The program in caches whose room is what it gives to one slot, if that is less."""
    fed: Counter[tuple[str, int, int]] = Counter()
    for step in program:
        for row in step.rows if isinstance(step, Feed) else ():
            fed[step.cache, step.layer, row.slot] += row.length
    most = {cache: max(n for (other, *_), n in fed.items() if other == cache) for cache, *_ in fed}
    return tuple(
        replace(step, room=min(step.room, most.get(step.cache, 1))) if isinstance(step, Create) else step
        for step in program
    )


def named_from_zero(program: Program) -> Iterator[Program]:
    """The program with its caches, and the layers and slots of each, named from the first on."""
    renamed = tuple(_renamed(step, program) for step in program)
    if renamed != program:
        yield renamed


def _renamed(step: "Call", program: Program) -> "Call":
    names = list(dict.fromkeys(other.cache for other in program))
    cache = "abcdefgh"[names.index(step.cache)]
    slots, layers = _used(program, step.cache)
    if isinstance(step, Feed):
        rows = tuple(row._replace(slot=slots.index(row.slot)) for row in step.rows)
        return replace(step, cache=cache, layer=layers.index(step.layer), rows=rows)
    if isinstance(step, Wrong):
        return replace(step, feed=_renamed(step.feed, program))
    if isinstance(step, Release | Truncate):
        return replace(step, cache=cache, slot=slots.index(step.slot))
    if isinstance(step, Fork):
        return replace(step, cache=cache, src=slots.index(step.src), dst=slots.index(step.dst))
    return replace(step, cache=cache)


def _used(program: Program, cache: str) -> tuple[list[int], list[int]]:
    """The slots and layers that a program uses of a cache, in order."""
    slots, layers = set(), set()
    for step in program:
        if step.cache != cache:
            continue
        feed = step.feed if isinstance(step, Wrong) else step
        if isinstance(feed, Feed):
            slots |= set(feed.slots)
            layers.add(feed.layer)
        elif isinstance(feed, Release | Truncate):
            slots.add(feed.slot)
        elif isinstance(feed, Fork):
            slots |= {feed.src, feed.dst}
    return sorted(slots), sorted(layers)


Call = Create | Feed | Release | Fork | Truncate | Ask | Wrong


def every_call_fits(program: Program) -> bool:
    """Whether each cache has the slots and layers that its calls name."""
    for create in (step for step in program if isinstance(step, Create)):
        slots, layers = _used(program, create.cache)
        if max(slots, default=0) >= create.slots or max(layers, default=0) >= create.layers:
            return False
    return True
