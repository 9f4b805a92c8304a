"""The model that a search is given: every exact sequence of tokens has a distribution of its own.

This file is loaded into the process that serves the model, where nothing but NumPy is beside it.
"""

import numpy as np

SEEN = 96
"""Last tokens that tell a sequence from others of its length: all, but in a search so long that all would cost much."""
LEVEL = 72.0
"""How far apart the two likeliest tokens are where two sequences of two tokens score alike; all others are further
below."""
GOLDEN, MIX, ROUND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, (1 << 64) - 1
MIXED = tuple((np.uint64(shift), np.uint64(factor)) for shift, factor in ((30, MIX), (27, 0x94D049BB133111EB), (31, 1)))
"""By how much numbers of 64 bits are shifted and multiplied until all their bits depend on each other."""


def scripted(seed, vocab, *script):
    """A model of log-probabilities that is called with one sequence; the script is that of `distributed`."""
    distributions = distributed(seed, vocab, *script)

    def model(tokens):
        return distributions([checked(tokens, vocab)])[0]

    return model


def distributed(seed, vocab, eos, spread, bias, first_bias, prompts, barred=None, certain=False, nearest=None):
    """The same model for several sequences at once, tuples of tokens: a row of log-probabilities for each.

    Args:
        seed: of all distributions.
        vocab: tokens.
        eos: the token that `bias` makes likelier.
        spread: of the logits before they are normalised: the larger, the surer the model is.
        bias: added to the logit of EOS.
        first_bias: added to it as well where the sequence is one of `prompts`.
        prompts: lists of tokens.
        barred: below which of about normal numbers from -2 to 2 a token is impossible, of log-probability -inf; one
            token is possible after any sequence. None for none.
        certain: whether `bias` is taken away, and not added, after two sequences of three.
        nearest: how much better than the second beam of one token, with its likeliest next token, the first scores with
            its second likeliest; None for any.
    """
    starts = {tuple(prompt) for prompt in prompts}
    places = np.arange(1, vocab + 1, dtype=np.uint64) * np.uint64(GOLDEN)

    def bias_of(sequence):
        away = certain and hashed(seed + 3, sequence) % 3
        return (-bias if away else bias) + (first_bias if sequence in starts else 0.0)

    def distributions(sequences):
        logits = spread * numbers([hashed(seed, sequence) for sequence in sequences], places)
        logits[:, eos] += [bias_of(sequence) for sequence in sequences]
        if barred is not None:
            odd = numbers([hashed(seed + 1, sequence) for sequence in sequences], places) < barred
            odd[range(len(sequences)), [hashed(seed + 2, sequence) % vocab for sequence in sequences]] = False
            logits[odd] = -np.inf
        if nearest is not None:
            rows, two = np.arange(len(logits)), np.argsort(-logits, axis=1)[:, :2]
            logits -= 4 * LEVEL
            logits[rows, two[:, 0]] = 0.0
            logits[rows, two[:, 1]] = [nearest * (sequence not in starts) - LEVEL for sequence in sequences]
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)

    return distributions


def unended(seed, vocab, eos, *script):
    """The same model, which refuses sequences that hold EOS; no prompt may hold it."""
    model = scripted(seed, vocab, eos, *script)

    def unended_model(tokens):
        if eos in checked(tokens, vocab):
            raise ValueError(f"tokens is {list(tokens)}, which has taken EOS ({eos}) and is not continued")
        return model(tokens)

    return unended_model


def checked(tokens, vocab):
    """The tokens as a tuple of ints.

    Raises:
        ValueError: they are no sequence of tokens; the message says what was passed.
    """
    if isinstance(tokens, np.ndarray) and tokens.ndim == 1 and tokens.dtype.kind in "iu":
        tokens = tokens.tolist()
    if not isinstance(tokens, (list, tuple)):
        raise ValueError(f"tokens is {described(tokens)}, not a list of ints")
    if not tokens:
        raise ValueError("tokens is empty")
    if set(map(type, tokens)) == {int} and min(tokens) >= 0 and max(tokens) < vocab:
        return tuple(tokens)
    for place, token in enumerate(tokens):
        if isinstance(token, bool) or not isinstance(token, (int, np.integer)):
            raise ValueError(f"tokens[{place}] is {described(token)}, not an int")
        if not 0 <= token < vocab:
            raise ValueError(f"tokens[{place}] is {token}, and the vocabulary has {vocab} tokens")
    return tuple(map(int, tokens))


def described(value):
    """A value in a few words."""
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    text = f"{value!r}"
    return f"the {type(value).__name__} {text[:40]}{'...' if len(text) > 40 else ''}"


def hashed(seed, sequence):
    """A number of 64 bits for a sequence: for its length and its last tokens."""
    state = (seed * GOLDEN + len(sequence)) & ROUND
    for token in sequence[-SEEN:]:
        state = ((state ^ (token + 1)) * MIX) & ROUND
        state ^= state >> 29
    return state


def numbers(states, places):
    """About normal numbers, one for each state and place: two uniform ones summed."""
    mixed = np.array(states, dtype=np.uint64)[:, None] + places
    for shift, factor in MIXED:
        mixed ^= mixed >> shift
        mixed *= factor
    halves = mixed.view(np.uint32).astype(float)
    return (halves[:, ::2] + halves[:, 1::2]) / 2.0**31 - 2.0
