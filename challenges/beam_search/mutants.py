"""Wrong searches: edits of the reference, each with the criterion that must notice it."""

from harness.probing import Mutant

POOL = "        pool = [beam for beam in beams if beam.finished]\n"
BEST = "        beams = best(pool, width, alpha)\n"
STOP = "        if all(beam.finished for beam in beams):\n"
START = "    beams = [Beam((), 0.0, False)]\n"
STEPS = "    for _ in range(steps):\n"
ASK = "    logprobs = np.asarray(model(prompt + list(beam.tokens)), dtype=np.float64)\n"
ORDER = "    order = np.argsort(-logprobs)\n"
TOKENS = "    for token in order[: 2 * width]:\n"
SUM = "        logprob = beam.logprob + float(logprobs[token])\n"
TAKE = "        candidates.append(Beam((*beam.tokens, token), logprob, token == eos))\n"
RANK = "    ranked = sorted(pool, key=lambda beam: score(beam, alpha), reverse=True)\n"
CUT = "    return ranked[:width]\n"
LENGTH = "    length = len(beam.tokens)\n"
PENALTY = "    penalty = float(length) ** alpha\n"
SCORE = "    return beam.logprob / penalty\n"
ITEM = "        beams = search(model, list(prompt), beam_width, max_new_tokens, alpha, eos_token_id)\n"
RESULT = "        results.append([(list(beam.tokens), score(beam, alpha)) for beam in beams])\n"
RETURN = "    return results\n"
RESULTS = "    results = []\n"
UNFINISHED = "        for beam in unfinished:\n"
GROW = "            pool.extend(expand(model, prompt, beam, width, eos))\n"
MODEL = "Model = Callable[[list[int]], Any]\n"
CHECK = "    check(model, prompts, beam_width, max_new_tokens, eos_token_id)\n"
DROPPED = "        pool = []\n"
ASIDE = (
    (START, START + "    aside = []\n"), (POOL, DROPPED),
    (BEST, BEST + "        aside += [beam for beam in beams if beam.finished]\n"
           "        beams = [beam for beam in beams if not beam.finished]\n"),
    (STOP, "        if not beams:\n"),
    ("    return beams\n", "    return best(beams + aside, width, alpha)\n"),
)  # fmt: skip
"""Finished beams are ranked again only at the end."""
FREE = "        logprob = beam.logprob + (0.0 if token == eos else float(logprobs[token]))\n"
GOES_ON = STOP + "            [model(prompt) for _ in range(steps)]\n"
THROUGH = "    with np.errstate(divide='ignore'):\n        logprobs = np.log(np.exp(logprobs))\n" + ORDER
UNCOUNTED = "    length = max(len(beam.tokens) - beam.finished, 1)\n"


def _mutant(name: str, fault: str, criterion: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


FINISHED = (
    _mutant("finished dropped", "drops beams that have taken EOS from the pool", "finished_beams",
            (POOL, DROPPED)),
    _mutant("finished added at the end", "sets finished beams aside and ranks them again only at the end",
            "finished_beams", *ASIDE),
    _mutant("finished never leave", "keeps every finished beam, however good later ones are", "finished_beams",
            (CUT, "    done = [beam for beam in ranked if beam.finished][:width]\n"
                  "    kept = done + [beam for beam in ranked if not beam.finished][: width - len(done)]\n"
                  "    return [beam for beam in ranked if beam in kept]\n")),
    _mutant("finished first", "ranks finished beams before unfinished ones", "finished_beams",
            (RANK, RANK.replace("score(beam, alpha),", "(beam.finished, score(beam, alpha)),"))),
    _mutant("finished first at the end", "returns finished beams before unfinished ones", "finished_beams",
            ("    return beams\n", "    return sorted(beams, key=lambda beam: not beam.finished)\n")),
    _mutant("unfinished first", "ranks unfinished beams before finished ones", "finished_beams",
            (RANK, RANK.replace("score(beam, alpha),", "(not beam.finished, score(beam, alpha)),"))),
    _mutant("only finished returned", "returns only finished beams where there are any", "finished_beams",
            ("    return beams\n", "    return [beam for beam in beams if beam.finished] or beams\n")),
    _mutant("ends at the first EOS", "ends a prompt when one of its beams has taken EOS", "finished_beams",
            (STOP, "        if any(beam.finished for beam in beams):\n")),
    _mutant("ends when K ever ended", "ends a prompt once K beams have taken EOS, those pushed out since among them",
            "finished_beams", (START, START + "    ended = set()\n"),
            (STOP, "        ended |= {beam.tokens for beam in beams if beam.finished}\n"
                   "        if len(ended) >= width or all(beam.finished for beam in beams):\n")),
    _mutant("ends when the best is finished", "ends a prompt when its best beam has taken EOS", "finished_beams",
            (STOP, "        if beams[0].finished:\n")),
    _mutant("finished continued", "continues beams that have taken EOS", "finished_beams",
            (TAKE, TAKE.replace("token == eos", "False"))),
    _mutant("flags stay where they were", "keeps by place, and not by beam, which have taken EOS", "finished_beams",
            (START, START + "    flags = [False] * width\n"),
            (BEST, BEST + "        flags[: len(beams)] = [old or beam.finished for old, beam in zip(flags, beams)]\n"
                   "        beams = [beam._replace(finished=flag) for beam, flag in zip(beams, flags)]\n")),
    _mutant("finished lose a bit", "lowers the log-probability of a finished beam in every further step",
            "finished_beams",
            (POOL, "        pool = [beam._replace(logprob=beam.logprob - 0.1) for beam in beams if beam.finished]\n")),
)  # fmt: skip
PENALTIES = (
    _mutant("prompt counted", "penalises by the length of prompt and generated tokens", "length_penalty",
            (START, "    global offset\n    offset = len(prompt)\n" + START),
            (LENGTH, "    length = offset + len(beam.tokens)\n")),
    _mutant("prompt counted but for a token", "penalises by the length of prompt and generated tokens, less one",
            "length_penalty", (START, "    global offset\n    offset = len(prompt) - 1\n" + START),
            (LENGTH, "    length = offset + len(beam.tokens)\n")),
    _mutant("EOS not counted", "leaves EOS out of the penalised length", "length_penalty",
            (LENGTH, UNCOUNTED)),
    _mutant("one too long", "penalises by the length plus one", "length_penalty",
            (LENGTH, "    length = len(beam.tokens) + 1\n")),
    _mutant("no penalty", "returns scores without the length penalty", "length_penalty",
            (PENALTY, "    penalty = 1.0\n")),
    _mutant("linear penalty", "divides by the length itself, whatever alpha is", "length_penalty",
            (PENALTY, "    penalty = float(length) if alpha else 1.0\n")),
    _mutant("penalty of alpha times length", "divides by alpha times the length", "length_penalty",
            (PENALTY, "    penalty = float(length) * alpha if alpha else 1.0\n")),
    _mutant("penalty from five on", "divides by ((5 + length) / 6) ** alpha", "length_penalty",
            (PENALTY, "    penalty = ((5.0 + length) / 6.0) ** alpha\n")),
    _mutant("multiplied penalty", "multiplies by the penalty", "length_penalty",
            (SCORE, "    return beam.logprob * penalty\n")),
    _mutant("ranked without penalty", "ranks by the bare log-probability and penalises what it returns",
            "length_penalty",
            (RANK, "    ranked = sorted(pool, key=lambda beam: beam.logprob, reverse=True)\n")),
    _mutant("bare scores returned", "returns log-probabilities instead of penalised scores", "length_penalty",
            (RESULT, RESULT.replace("score(beam, alpha)", "beam.logprob"))),
    _mutant("penalised when finished", "penalises finished beams only", "length_penalty",
            (PENALTY, "    penalty = float(length) ** (alpha if beam.finished else 0.0)\n")),
    _mutant("given up by its score",
            "gives a beam up that K of the pool beat, though its continuations may score better under a penalty",
            "length_penalty",
            (GROW, "            if len(pool) < width or score(best(pool, width, alpha)[-1], alpha) < beam.logprob / "
                   "max(len(beam.tokens), 1) ** alpha:\n    " + GROW)),
    _mutant("alpha at most 1", "penalises by an alpha of at most 1", "length_penalty",
            (PENALTY, "    penalty = float(length) ** min(alpha, 1.0)\n")),
)  # fmt: skip
SUMS = (
    _mutant("last term only", "scores a beam by its last token alone", "plain_search",
            (SUM, "        logprob = float(logprobs[token])\n")),
    _mutant("probabilities added", "adds probabilities instead of log-probabilities", "plain_search",
            (SUM, "        logprob = beam.logprob + float(np.exp(logprobs[token]))\n")),
    _mutant("shifted by the maximum", "subtracts the largest log-probability of each step", "plain_search",
            (ORDER, "    logprobs = logprobs - logprobs.max()\n" + ORDER)),
    _mutant("divided by two", "flattens the log-probabilities by a temperature", "plain_search",
            (ORDER, "    logprobs = logprobs / 2.0\n" + ORDER)),
    _mutant("EOS for nothing", "takes EOS without adding its log-probability", "eos_score",
            (SUM, FREE)),
    _mutant("EOS for nothing and not counted",
            "takes EOS for nothing: neither its log-probability nor its place in the length counts", "eos_score",
            (SUM, FREE), (LENGTH, UNCOUNTED)),
    _mutant("EOS for nothing, set aside",
            "takes EOS for nothing, neither its log-probability nor its place in the length counts, and sets finished "
            "beams aside", "eos_score", (SUM, FREE), (LENGTH, UNCOUNTED), *ASIDE),
    _mutant("float32 sums", "takes log-probabilities in single precision", "precision",
            (ASK, ASK.replace("float64", "float32"))),
    _mutant("rounded scores", "rounds scores to eight decimals", "precision",
            (RESULT, RESULT.replace("score(beam, alpha)", "round(score(beam, alpha), 8)"))),
)  # fmt: skip
CANDIDATES = (
    _mutant("one candidate a beam", "continues each beam with its best token only", "every_width",
            (TOKENS, "    for token in order[:1]:\n")),
    _mutant("half the candidates", "continues each beam with its best K / 2 tokens", "every_width",
            (TOKENS, "    for token in order[: (width + 1) // 2]:\n")),
    _mutant("best token left out", "leaves the best token of each beam out", "plain_search",
            (TOKENS, "    for token in order[1 : 2 * width + 1]:\n")),
    _mutant("worst first", "continues each beam with its least likely tokens", "plain_search",
            (ORDER, "    order = np.argsort(logprobs)\n")),
    _mutant("one beam a token", "keeps at most one beam for each last token", "every_width",
            (RANK, RANK + "    ranked = list({beam.tokens[-1]: beam for beam in reversed(ranked)}.values())[::-1]\n")),
    _mutant("K equal beams at first", "begins with K copies of the empty beam", "every_width",
            (START, "    beams = [Beam((), 0.0, False)] * width\n")),
    _mutant("one beam too few", "keeps K - 1 beams", "every_width", (CUT, "    return ranked[: max(width - 1, 1)]\n")),
    _mutant("one beam too many", "keeps and returns K + 1 beams", "plain_search",
            (CUT, "    return ranked[: width + 1]\n")),
    _mutant("worst beam first", "returns the beams in the wrong order", "every_width",
            ("    return beams\n", "    return beams[::-1]\n")),
    _mutant("unsorted result", "returns the beams by what they hold instead of best first", "every_width",
            ("    return beams\n", "    return sorted(beams)\n")),
    _mutant("greedy at last", "takes only the best token in the last step", "every_width",
            (STEPS, "    for left in range(steps, 0, -1):\n"),
            (UNFINISHED, "        unfinished = unfinished[: 1 if left == 1 else None]\n" + UNFINISHED)),
    _mutant("one step too few", "ends one step early", "plain_search",
            (STEPS, "    for _ in range(max(steps - 1, 1)):\n")),
    _mutant("one step too many", "ends one step late", "plain_search", (STEPS, "    for _ in range(steps + 1):\n")),
    _mutant("the best only", "returns the best beam alone", "every_width",
            ("    return beams\n", "    return beams[:1]\n")),
)  # fmt: skip
EOS = (
    _mutant("EOS is 0", "takes token 0 for EOS", "finished_beams", (TAKE, TAKE.replace("token == eos", "token == 0"))),
    _mutant("no EOS at first", "cannot end at the first token", "eos",
            (ORDER, "    if not beam.tokens:\n"
                    "        logprobs = np.where(np.arange(len(logprobs)) == eos, -1e30, logprobs)\n" + ORDER)),
    _mutant("EOS of 0 unknown", "takes EOS for none where its number is 0", "eos",
            (TAKE, TAKE.replace("token == eos", "bool(eos) and token == eos"))),
    _mutant("EOS not returned", "leaves EOS out of the tokens that it returns", "finished_beams",
            (RESULT, "        cut = [beam.tokens[:-1] if beam.finished else beam.tokens for beam in beams]\n"
                     "        results.append([(list(t), score(beam, alpha)) for t, beam in zip(cut, beams)])\n")),
    _mutant("EOS ends the prompt", "takes a prompt that holds EOS for finished", "eos",
            (ITEM, "        if eos_token_id in prompt:\n            results.append([([], 0.0)])\n            continue\n"
             + ITEM)),
    _mutant("EOS at its end ends the prompt", "takes a prompt whose last token is EOS for finished", "eos",
            (ITEM, "        if prompt[-1] == eos_token_id:\n"
                   "            results.append([([], 0.0)])\n            continue\n" + ITEM)),
    _mutant("cut at EOS", "cuts a prompt at its first EOS", "eos",
            (ITEM, "        if eos_token_id in prompt[1:]:\n"
                   "            prompt = prompt[: 1 + prompt[1:].index(eos_token_id)]\n" + ITEM)),
)  # fmt: skip
PROMPTS = (
    _mutant("prompt forgotten", "gives the model the generated tokens without the prompt", "plain_search",
            (ASK, ASK.replace("prompt + list(beam.tokens)", "list(beam.tokens) or prompt"))),
    _mutant("last token only", "gives the model the last token alone", "plain_search",
            (ASK, ASK.replace("prompt + list(beam.tokens)", "(prompt + list(beam.tokens))[-1:]"))),
    _mutant("prompts padded left", "pads shorter prompts on the left and takes padding for tokens",
            "independent_prompts",
            (ITEM, "        prompt = [0] * (max(map(len, prompts)) - len(prompt)) + list(prompt)\n" + ITEM)),
    _mutant("prompts padded right", "pads shorter prompts on the right and takes padding for tokens",
            "independent_prompts",
            (ITEM, "        prompt = list(prompt) + [0] * (max(map(len, prompts)) - len(prompt))\n" + ITEM)),
    _mutant("prompts cut", "cuts all prompts to the length of the shortest", "independent_prompts",
            (ITEM, "        prompt = prompt[: min(map(len, prompts))]\n" + ITEM)),
    _mutant("prompts share answers", "takes what the model said for one prompt for another one's too",
            "independent_prompts",
            (MODEL, MODEL + "SAID = {}\n"), (RESULTS, "    SAID.clear()\n" + RESULTS),
            (ASK, "    if beam.tokens not in SAID:\n"
                  "        SAID[beam.tokens] = np.asarray(model(prompt + list(beam.tokens)))\n"
                  "    logprobs = SAID[beam.tokens]\n")),
    _mutant("prompts share sums", "shares the sum of a sequence among all prompts that it continues",
            "independent_prompts",
            (MODEL, MODEL + "SUMS = {}\n"), (RESULTS, "    SUMS.clear()\n" + RESULTS),
            (SUM, SUM + "        logprob = SUMS.setdefault((*prompt, *beam.tokens, token), logprob)\n")),
    _mutant("prompts share ends", "takes a prompt for finished where it is an earlier one with a beam that has ended",
            "independent_prompts",
            (MODEL, MODEL + "ENDED = set()\n"), (RESULTS, "    ENDED.clear()\n" + RESULTS),
            (ITEM, "        if tuple(prompt) in ENDED:\n            results.append([([], 0.0)])\n            continue\n"
             + ITEM),
            (TAKE, TAKE + "        ENDED.update([(*prompt, *beam.tokens, token)] if token == eos else [])\n")),
    _mutant("answers kept over calls", "takes what the model of an earlier call said for that of a later one's",
            "plain_search",
            (MODEL, MODEL + "SAID = {}\n"),
            (ASK, "    key = (*prompt, *beam.tokens)\n    if key not in SAID:\n"
                  "        SAID[key] = np.asarray(model(list(key)))\n    logprobs = SAID[key]\n")),
    _mutant("all end together", "ends all prompts as soon as one has ended", "independent_prompts",
            (ITEM, ITEM + "        max_new_tokens = min(max_new_tokens, max(len(beam.tokens) for beam in beams))\n")),
    _mutant("equal prompts merged", "returns one result for prompts that are equal", "independent_prompts",
            (RETURN, "    return [results[n] for n, prompt in enumerate(prompts) if prompt not in prompts[:n]]\n")),
    _mutant("prompts sorted", "returns results in the order of the prompts' lengths", "independent_prompts",
            (CHECK, CHECK + "    prompts = sorted(prompts, key=len)\n")),
    _mutant("prompts extended", "appends to the prompts that it is given", "ownership",
            (RESULT, RESULT + "        prompt.append(beams[0].tokens[0])\n")),
    _mutant("prompts emptied", "takes the prompts out of the list that it is given", "ownership",
            (RETURN, "    prompts.clear()\n" + RETURN)),
)  # fmt: skip
CONDUCT = (
    _mutant("a call for each candidate", "asks the model about every candidate", "model_calls",
            (TAKE, "        model([*prompt, *beam.tokens, token])\n" + TAKE)),
    _mutant("asks again", "asks the model three times for each beam", "model_calls",
            (ASK, ASK + "    for _ in range(2):\n        model(prompt + list(beam.tokens))\n")),
    _mutant("finished cost calls", "asks the model about finished beams in every step", "no_idle_calls",
            (POOL, POOL + "        for beam in pool:\n            model(prompt + list(beam.tokens))\n")),
    _mutant("goes on after the end", "asks about the prompt in each step that is left when all beams have ended",
            "no_idle_calls", (STOP, GOES_ON)),
    _mutant("written in place", "writes into the model's arrays", "read_only_arrays",
            (ORDER, "    logprobs -= 0.0\n" + ORDER)),
    _mutant("sizes unchecked", "accepts a beam_width of 0", "argument_errors",
            ("    if width < 1 or steps < 1:\n", "    if steps < 1:\n")),
    _mutant("steps unchecked", "accepts max_new_tokens = 0", "argument_errors",
            ("    if width < 1 or steps < 1:\n", "    if width < 1:\n")),
    _mutant("empty prompts accepted", "accepts an empty prompt", "argument_errors",
            ('        raise ValueError("a prompt is empty")\n', "        return\n"),
            (ASK, ASK.replace("prompt + list(beam.tokens)", "prompt + list(beam.tokens) or [0]"))),
    _mutant("EOS unchecked", "accepts an EOS that is no token", "argument_errors",
            ("    if not 0 <= eos < model.vocab_size:\n", "    if eos < 0:\n")),
    _mutant("no prompts refused", "refuses an empty list of prompts", "no_prompts",
            (CHECK, CHECK + '    if not prompts:\n        raise ValueError("there are no prompts")\n')),
    _mutant("no prompts crash", "crashes on an empty list of prompts", "no_prompts",
            (CHECK, CHECK + "    longest = max(len(prompt) for prompt in prompts)\n")),
)  # fmt: skip
DIGITS = (
    _mutant("through probabilities", "takes exponentials and logarithms again", "tiny_probabilities",
            (ORDER, THROUGH)),
    _mutant("a floor of 1e-10", "adds 1e-10 to probabilities before it takes their logarithms", "tiny_probabilities",
            (ORDER, "    logprobs = np.log(np.exp(logprobs) + 1e-10)\n" + ORDER)),
    _mutant("cut at -100", "raises log-probabilities below -100 to it", "tiny_probabilities",
            (ORDER, "    logprobs = np.maximum(logprobs, -100.0)\n" + ORDER)),
)  # fmt: skip
FORMS = (
    _mutant("prompt returned", "returns the prompt with the generated tokens", "plain_search",
            (RESULT, RESULT.replace("list(beam.tokens)", "[*prompt, *beam.tokens]"))),
    _mutant("tokens alone", "returns tokens without scores", "plain_search",
            (RESULT, "        results.append([list(beam.tokens) for beam in beams])\n")),
    _mutant("scores first", "returns the score before the tokens", "plain_search",
            (RESULT, "        results.append([(score(beam, alpha), list(beam.tokens)) for beam in beams])\n")),
    _mutant("one list for all", "returns the results of all prompts in one list", "independent_prompts",
            (RETURN, "    return [beam for beams in results for beam in beams] if len(results) > 1 else results\n")),
    _mutant("a generator", "returns a generator", "plain_search",
            (RETURN, "    return (beams for beams in results)\n")),
    _mutant("filled up", "repeats the last beam where fewer than K exist", "small_vocabularies",
            ("    return beams\n", "    return [*beams, *[beams[-1]] * (width - len(beams))]\n")),
    _mutant("K at most the vocabulary", "keeps no more beams than there are tokens", "small_vocabularies",
            (ITEM, ITEM.replace("beam_width", "min(beam_width, model.vocab_size)"))),
    _mutant("2K tokens needed", "fails where there are fewer than 2K tokens", "small_vocabularies",
            (ORDER, '    if len(logprobs) < 2 * width:\n        raise IndexError("too few tokens")\n' + ORDER)),
)  # fmt: skip
IMPOSSIBLE = (
    _mutant("impossible tokens taken", "takes tokens of log-probability -inf", "impossible_tokens",
            ("        if logprobs[token] == -np.inf:  # impossible here\n            break\n", "")),
    _mutant("impossible tokens unlikely", "takes a log-probability of -inf for a very small one", "impossible_tokens",
            (ORDER, "    logprobs = np.maximum(logprobs, -1e9)\n" + ORDER)),
    _mutant("impossible tokens before possible ones",
            "stops at the first impossible one of the 2 K likeliest of many tokens, which it does not sort",
            "impossible_tokens",
            (ORDER, ORDER + "    if len(logprobs) > 8 * width:\n        order = order[: 2 * width][::-1]\n")),
    _mutant("impossible tokens end a beam", "drops a beam of which some token is impossible", "impossible_tokens",
            (ORDER, ORDER + "    if np.isneginf(logprobs).any():\n        return []\n")),
)  # fmt: skip
RARE = (
    _mutant("calls itself for each step", "counts its steps by a function that calls itself", "any_search",
            (STEPS, "    count = lambda n: n and count(n - 1)\n    count(steps)\n" + STEPS)),
    _mutant("long prompts cut", "keeps only the last 32 tokens of a prompt", "any_search",
            (ITEM, ITEM.replace("list(prompt)", "list(prompt)[-32:]"))),
    _mutant("sixteen steps", "ends after 16 tokens", "any_search", (STEPS, "    for _ in range(min(steps, 16)):\n")),
    _mutant("thirty-two tokens", "never takes a token beyond the first 32", "any_search",
            (ORDER, "    order = np.argsort(-logprobs[:32])\n")),
    _mutant("K at most 64", "keeps no more than 64 beams", "any_search",
            (ITEM, ITEM.replace("beam_width", "min(beam_width, 64)"))),
    _mutant("tokens in a byte", "keeps tokens in a byte", "any_search",
            ("        token = int(token)\n", "        token = int(token) & 0xFF\n")),
    _mutant("EOS past 256 unknown", "does not know an EOS whose number is above 256", "any_search",
            (TAKE, TAKE.replace("token == eos", "token is eos"))),
    _mutant("four prompts", "gives every prompt after the fourth the results of the first", "any_search",
            (RETURN, "    return [*results[:4], *[results[0]] * (len(results) - 4)]\n")),
    _mutant("ranked in single precision", "ranks scores rounded to single precision, and returns them as they are",
            "any_search", (RANK, RANK.replace("score(beam, alpha),", "np.float32(score(beam, alpha)),"))),
    _mutant("likely tokens only", "drops tokens with a probability below one in a hundred and fifty", "any_search",
            (TOKENS,
             "    for token in [one for one in order[: 2 * width] if logprobs[one] > -5.0] or [order[0]]:\n")),
    _mutant("penalty up to six tokens", "penalises no length beyond 6", "any_search",
            (PENALTY, "    penalty = float(min(length, 6)) ** alpha\n")),
)  # fmt: skip
BESIDE = (
    _mutant("EOS for nothing, dropped", "takes EOS for nothing, and drops beams that have taken it from the pool",
            "finished_beams", (SUM, FREE), (POOL, DROPPED)),
    _mutant("EOS for nothing, goes on", "takes EOS for nothing, and asks about the prompt when all beams have ended",
            "no_idle_calls", (SUM, FREE), (STOP, GOES_ON)),
    _mutant("EOS for nothing, through probabilities",
            "takes EOS for nothing, and exponentials and logarithms again", "tiny_probabilities",
            (SUM, FREE), (ORDER, THROUGH)),
)  # fmt: skip
"""Last, so that of two faults that fit an answer the single one is named."""
MUTANTS = (*FINISHED, *PENALTIES, *SUMS, *CANDIDATES, *EOS, *PROMPTS, *CONDUCT, *DIGITS, *FORMS, *IMPOSSIBLE, *RARE,
           *BESIDE)  # fmt: skip
