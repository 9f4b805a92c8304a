"""Right searches that work differently: files of their own, and edits of the reference."""

from harness.probing import Variant

from .mutants import ASK, BEST, ITEM, ORDER, POOL, RESULT, SCORE, STOP, SUM, TOKENS

VARIANTS = (
    Variant("lockstep", "takes all prompts through each step together, in arrays; finds the best by partition",
            file="variants/lockstep.py"),
    Variant("linked nodes", "keeps nodes that name the one before, finished and unfinished ones apart, in heaps",
            file="variants/linked_nodes.py"),
    Variant("threads", "searches in a thread for each prompt, keeps the model's answers, ranks every token",
            file="variants/threads.py"),
    Variant("step by step scores", "sums each beam anew, and asks about finished ones as well",
            file="variants/step_by_step_scores.py", unmet=("no_idle_calls",)),
    Variant("K tokens a beam", "continues each beam with its K best tokens: no further one can be among the K best",
            edits=((TOKENS, "    for token in order[:width]:\n"),)),
    Variant("all tokens", "continues each beam with every token", edits=((TOKENS, "    for token in order:\n"),)),
    Variant("sorted after a partition", "finds the 2 K likeliest of many tokens by a partition, and sorts these",
            edits=((ORDER, "    order = np.arange(len(logprobs))\n"
                           "    if len(order) > 8 * width:\n"
                           "        order = np.argpartition(logprobs, -2 * width)[-2 * width :]\n"
                           "    order = order[np.argsort(-logprobs[order])]\n"),)),
    Variant("to the last step", "goes through all steps, even where nothing is left to be continued",
            edits=((STOP, "        if not beams:\n"),)),
    Variant("NumPy numbers", "returns tokens and scores as NumPy scalars, beams as tuples",
            edits=((RESULT, "        results.append(tuple((tuple(map(np.int64, beam.tokens)), "
                            "np.float64(score(beam, alpha))) for beam in beams))\n"),)),
    Variant("arrays passed", "passes arrays of NumPy integers to the model",
            edits=((ASK, ASK.replace("prompt + list(beam.tokens)", "np.array([*prompt, *beam.tokens], np.int32)")),)),
    Variant("negative costs", "adds up costs, and multiplies by a power instead of dividing",
            edits=((SUM, "        logprob = -(-beam.logprob - float(logprobs[token]))\n"),
                   (SCORE, "    return beam.logprob * float(length) ** -alpha\n"))),
    Variant("finished last in the pool", "puts finished beams behind the candidates",
            edits=((POOL, "        pool = []\n"),
                   (BEST, "        pool.extend(beam for beam in beams if beam.finished)\n" + BEST))),
    Variant("last prompt first", "searches the prompts backwards",
            edits=(("    for prompt in prompts:\n", "    for prompt in reversed(prompts):\n"),
                   ("    return results\n", "    return results[::-1]\n"))),
    Variant("equal prompts once", "searches equal prompts once and copies what was found",
            edits=(("    results = []\n", "    results, known = [], {}\n"),
                   (ITEM, "        if tuple(prompt) not in known:\n            known[tuple(prompt)] = "
                          + ITEM.strip().removeprefix("beams = ") + "\n        beams = known[tuple(prompt)]\n"))),
)  # fmt: skip
