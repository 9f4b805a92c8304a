"""The model and the draft that an answer is given: what the model says depends on exactly what a token sees.

This file is loaded into the process that serves them, where nothing but NumPy is beside it.
"""

import numpy as np

GOLDEN, MIX, MIX_2 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SHIFTS = (np.uint64(30), MIX), (np.uint64(27), MIX_2), (np.uint64(31), np.uint64(1))
TOP = 4.5
"""The two largest logits of a row that are close; all others are below 4. Where it would swallow their gap they are at
0, and all others as far below."""
HIDDEN = -1e9
"""Of an additive mask, at most this is as good as minus infinity."""
ORDERS = ("branches depth first", "branches breadth first", "branches in any order")
"""Kinds of drafts that list the same branches in different orders."""


def scripted(seed, vocab, ordered, gap=None, shift=0):
    """A model of logits: row i depends on the tokens that row i of the mask lets it see, and on their positions.

    Args:
        seed: of all rows.
        vocab: tokens.
        ordered: whether the positions that are passed count; else each token's is the number of tokens it sees, less 1.
        gap: of the two largest logits of each row, how far that of the higher token is above the other; None for any.
        shift: how much lower each token is than in the model without a shift; below 0 they go on at the highest.
    """
    pairs, logits = hashing(seed, vocab, gap, shift)

    def model(tokens, mask, positions=None):
        tokens = whole("tokens", tokens, 0, vocab)
        seen = allowed(mask, len(tokens))
        if positions is not None:
            given = whole("positions", positions, 0, 1 << 31)
            if len(given) != len(tokens):
                raise ValueError(f"there are {len(given)} positions for {len(tokens)} tokens")
        if positions is None or not ordered:
            given = seen.sum(axis=1) - 1
        return logits(seen.astype(np.uint64) @ pairs(tokens, given))

    return model


def ranking(seed, vocab, ordered, gap=None, shift=0):
    """Return a function that lists all tokens by how likely the same model finds them after a plain sequence.

    It computes the logits of the last row alone.
    """
    pairs, logits = hashing(seed, vocab, gap, shift)

    def ranked(tokens):
        (row,) = logits(pairs(tokens, range(len(tokens))).sum(keepdims=True))
        return np.argsort(-row, kind="stable").tolist()

    return ranked


def hashing(seed, vocab, gap, shift):
    """Return two functions: numbers for tokens at positions, and logits for the sums of those that rows see."""
    meant = (np.arange(vocab, dtype=np.uint64) + np.uint64(shift)) % np.uint64(vocab)
    places = (meant + np.uint64(1)) * GOLDEN

    def pairs(tokens, positions):
        return mixed(meant[list(tokens)] * GOLDEN + np.array(positions, dtype=np.uint64) * MIX_2)

    def logits(sums):
        states = mixed(sums + np.uint64(seed))
        found = (mixed(states[:, None] + places) >> np.uint64(11)).astype(float) / 2.0**50 - 4.0
        if gap is not None:
            rows, two = np.arange(len(found)), np.sort(np.argsort(-found, axis=1)[:, :2], axis=1)
            top = 0.0 if gap and TOP + gap == TOP else TOP
            found += top - TOP
            found[rows, two[:, 0]] = top
            found[rows, two[:, 1]] = top + gap
        return found

    return pairs, logits


def placed(seed, vocab, ordered, gap, shift, tokens, places):
    """The same model, which refuses positions that are not those of the tokens.

    Args:
        seed, vocab, ordered, gap, shift: of the model.
        tokens: of prompt and tree.
        places: the position of each.
    """
    model = scripted(seed, vocab, ordered, gap, shift)

    def placed_model(given, mask, positions=None):
        logits = model(given, mask, positions)
        if positions is not None and list(given) == tokens and list(positions) != places:
            raise ValueError(f"positions are {[int(one) for one in positions]} instead of {places}")
        return logits

    return placed_model


def masked(seed, vocab, ordered, gap, shift, tokens, parents):
    """The same model, which sees by the right mask where it is given prompt and tree, whatever mask it is given.

    Args:
        seed, vocab, ordered, gap, shift: of the model.
        tokens: of prompt and tree.
        parents: of the tree.
    """
    model, prompt = scripted(seed, vocab, ordered, gap, shift), len(tokens) - len(parents)
    seen = np.tril(np.ones((len(tokens), len(tokens)), dtype=bool))
    for node, parent in enumerate(parents):
        seen[prompt + node] = seen[prompt + parent]
        seen[prompt + node, prompt + node] = True

    def masked_model(given, mask, positions=None):
        logits = model(given, mask, positions)
        return model(given, seen, positions) if list(given) == tokens else logits

    return masked_model


def drafting(seed, vocab, ordered, shift, kind, depth):
    """A draft: a tree that continues a sequence.

    Args:
        seed, vocab, ordered, shift: of the model.
        kind: "right": a chain of what the model takes; "wrong": one that it does not take; "mixed": a chain of what it
            takes with a wrong sibling before each node, and children of these; "beside": the same with the siblings
            behind, which hold what the model takes after the right node; one of `ORDERS`: the same in another order,
            where the last of these children are the deepest; "half": a chain that goes wrong; "none".
        depth: of the tree.
    """
    ranked = ranking(seed, vocab, ordered, None, shift)

    def draft(tokens):
        context, found, parents, last = list(whole("tokens", tokens, 0, vocab)), [], [], -1
        for level in range(depth - (kind in ORDERS) if kind != "none" else 0):
            right = ranked(context)[0]
            wrong = (right + 1 + level % (vocab - 1)) % vocab if vocab > 1 else right
            token = wrong if kind == "wrong" or (kind == "half" and 2 * level >= depth) else right
            side, before = [wrong, ranked([*context, wrong])[0]], last
            if kind == "mixed" and vocab > 1:
                found += side
                parents += [before, len(parents)]
            found.append(token)
            parents.append(before)
            last = len(parents) - 1
            if (kind == "beside" or kind in ORDERS) and vocab > 1:
                after = ranked([*context, right])[0]
                side = side if after == right else [after, ranked([*context, after])[0]]
                found += side
                parents += [before, len(parents)]
            context.append(token)
        return listed(found, parents, kind, [seed, *context]) if kind in ORDERS else (found, parents)

    return draft


def listed(tokens, parents, order, seed):
    """The same tree with its nodes listed in one of `ORDERS`; a seed decides where they may come in any order."""
    rng, ready, nodes = np.random.default_rng(seed), [-1], []
    while ready:
        node = ready.pop({ORDERS[0]: -1, ORDERS[1]: 0}.get(order, int(rng.integers(len(ready)))))
        nodes.append(node)
        children = [child for child, parent in enumerate(parents) if parent == node]
        ready += children[::-1] if order == ORDERS[0] else children
    place = {node: at for at, node in enumerate(nodes, -1)}
    return [tokens[node] for node in nodes[1:]], [place[parents[node]] for node in nodes[1:]]


def whole(name, values, low, high):
    """A sequence of ints in range as a list.

    Raises:
        ValueError: it is none; the message says what was passed.
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "iu":
        values = values.tolist()
    if not isinstance(values, (list, tuple)):
        raise ValueError(f"{name} is {described(values)}, not a list of ints")
    if not values:
        raise ValueError(f"{name} is empty")
    if set(map(type, values)) == {int} and min(values) >= low and max(values) < high:
        return list(values)
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ValueError(f"{name}[{place}] is {described(value)}, not an int")
        if not low <= value < high:
            raise ValueError(f"{name}[{place}] is {value}, not one of {low} to {high - 1}")
    return [int(value) for value in values]


def allowed(mask, size):
    """A mask as booleans.

    Raises:
        ValueError: it is neither a boolean nor an additive one of that size; the message says what was passed.
    """
    if not isinstance(mask, np.ndarray):
        raise ValueError(f"mask is {described(mask)}, not an array")
    if mask.shape != (size, size):
        raise ValueError(f"mask is {described(mask)}, not of shape {(size, size)}")
    if mask.dtype.kind == "b":
        return mask
    if mask.dtype.kind != "f":
        raise ValueError(f"mask is {described(mask)}, neither bool nor floating")
    open_ = mask == 0
    if not (open_ | (mask <= HIDDEN)).all():
        odd = mask[~(open_ | (mask <= HIDDEN))][0]
        raise ValueError(f"mask holds {odd:g}, and an additive one holds 0 and minus infinity")
    return open_


def described(value):
    """A value in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = f"{value!r}"
    return f"the {type(value).__name__} {text[:40]}{'...' if len(text) > 40 else ''}"


def mixed(numbers):
    """Each number of 64 bits mixed until all its bits depend on each other."""
    for shift, factor in SHIFTS:
        numbers = (numbers ^ (numbers >> shift)) * factor
    return numbers
