"""Wrong verifications: edits of the reference, each with the criterion that must notice it."""

from harness.probing import Mutant

CAUSAL = "        mask[row, : row + 1] = True\n"
INHERIT = "        mask[row] = mask[row_of(prompt_len, parent)]\n"
ITSELF = "        mask[row, row] = True\n"
MASK = "    mask = build_tree_mask(prompt_len, parents)\n"
POSITIONS = "    positions = tree_positions(prompt_len, parents)\n"
DEEPER = "        positions.append(before + 1)\n"
START = "    positions = list(range(prompt_len))\n"
ASK = "    logits = np.asarray(model(list(prompt) + list(tree_tokens), mask, positions))\n"
CHOICES = "    choices = logits.argmax(axis=1)\n"
ACCEPTED = "    accepted: list[int] = []\n"
WANTED = "        wanted = int(choices[row_of(prompt_len, node)])\n"
CHILDREN = "        children = [child for child, parent in enumerate(parents) if parent == node]\n"
MATCHING = "        matching = [child for child in children if tree_tokens[child] == wanted]\n"
NONE = "        if not matching:\n"
TAKE = "        node = matching[0]\n"
APPEND = "        accepted.append(wanted)\n"
END = "        if wanted == eos_token_id:\n"
ENDED = "            return accepted, None\n"
RETURN = "    return accepted, wanted\n"
DRAFTED = "        tree_tokens, parents = draft(context)\n"
PASSED_ON = ", eos_token_id=eos_token_id"
ZERO_UNSAID = ", eos_token_id=eos_token_id or None"
VERIFIED = f"        accepted, next_token = verify_and_accept(model, context, tree_tokens, parents{PASSED_ON})\n"
EXTEND = "        generated.extend(accepted)\n"
NEXT = "        generated.append(next_token)\n"
NO_NEXT = "        if next_token is None:\n            break\n"
LAST = "        if generated[-1] == eos_token_id:\n"
DECODE = "    while len(generated) < max_new_tokens:\n"
CUT = "    return generated[:max_new_tokens]\n"
LENGTHS = "    if len(tree_tokens) != len(parents):\n"
EARLIER = "        if not -1 <= parent < node:\n"
MODEL = "Model = Callable[..., Any]\n"
MASK_DONE = "    return mask\n"
LOOP = "    while True:\n"
PADDED = """\
    deepest = max(tree_positions(prompt_len, parents)) - prompt_len + 1
    if not children and len(accepted) < deepest and wanted == PADDING:
        return [*accepted, wanted], int(choices[-1])
    return accepted, wanted
"""
"""A right path to a leaf above the deepest goes on with what fills it up, where the model takes that."""
CUT_DRAFT = """\
        deep = tree_positions(len(context), parents)[len(context) :]
        kept = [node for node, place in enumerate(deep) if place < len(prompt) + max_new_tokens]
        tree_tokens = [tree_tokens[node] for node in kept]
"""
LITERAL = (
    """\
    literal, rejected = [], set()
    for one, parent in enumerate(parents):
        if parent in rejected:
            rejected.add(one)
            continue
        literal.append(int(choices[row_of(prompt_len, parent)]))
        if tree_tokens[one] != literal[-1] or literal[-1] == eos_token_id:
            break
    if literal:
        return literal[:-1], literal[-1]
"""
    + ACCEPTED
)
"""The nodes one after the other, until the first that is wrong: the model's token is emitted for each."""


def _mutant(name: str, fault: str, criterion: str, *edits: tuple[str, str]) -> Mutant:
    return Mutant(name, fault, criterion=criterion, edits=edits)


MASKS = (
    _mutant("prompt not causal", "lets prompt tokens see later ones", "mask",
            (CAUSAL, "        mask[row, :prompt_len] = True\n")),
    _mutant("prompt blind to itself", "lets no prompt token see itself", "mask",
            (CAUSAL, "        mask[row, :row] = True\n")),
    _mutant("nodes blind to themselves", "lets no node see itself", "mask",
            (ITSELF, "        mask[row, row] = False\n")),
    _mutant("all earlier nodes seen", "lets a node see all nodes before it", "mask",
            (INHERIT, "        mask[row, :row] = True\n")),
    _mutant("parent seen alone", "lets a node see the prompt and its parent, and no further ancestor", "mask",
            (INHERIT, "        mask[row, :prompt_len] = True\n"
                      "        mask[row, row_of(prompt_len, parent)] = True\n")),
    _mutant("grandparents at most", "lets a node see no ancestor beyond its grandparent", "mask",
            (ITSELF, ITSELF + "        line, at = [node], parent\n        while at >= 0:\n            line.append(at)\n"
                     "            at = parents[at]\n"
                     "        mask[row, [prompt_len + one for one in line[3:]]] = False\n")),
    _mutant("siblings seen", "lets siblings see each other", "mask",
            (MASK_DONE, "    for one, parent in enumerate(parents):\n        for other in range(len(parents)):\n"
                        "            if parents[other] == parent:\n"
                        "                mask[prompt_len + one, prompt_len + other] = True\n" + MASK_DONE)),
    _mutant("prompt sees the tree", "lets prompt tokens see the tree", "mask",
            (MASK_DONE, "    mask[:prompt_len, prompt_len:] = True\n" + MASK_DONE)),
    _mutant("mask transposed", "exchanges rows and columns of the mask", "mask", (MASK_DONE, "    return mask.T\n")),
    _mutant("mask inverted", "has True where a token may not attend", "mask", (MASK_DONE, "    return ~mask\n")),
    _mutant("mask of numbers", "returns a mask of zeros and ones", "mask",
            (MASK_DONE, "    return mask.astype(float)\n"), (MASK, MASK.replace("\n", " == 1\n"))),
    _mutant("last of the prompt hidden", "hides the last prompt token from the tree", "mask",
            (MASK_DONE, "    mask[prompt_len:, prompt_len - 1] = False\n" + MASK_DONE)),
    _mutant("first of the prompt alone", "shows roots the first prompt token alone", "mask",
            (INHERIT, "        mask[row] = mask[0 if parent < 0 else prompt_len + parent]\n")),
)  # fmt: skip
PLACES = (
    _mutant("positions by slot", "gives a node the position of its place in the list", "positions",
            (POSITIONS, "    positions = list(range(prompt_len + len(parents)))\n")),
    _mutant("positions without the prompt", "counts a node's depth without the prompt", "positions",
            (POSITIONS, POSITIONS + "    positions = [p if p < prompt_len else p - prompt_len for p in positions]\n")),
    _mutant("positions of the parent", "gives a node the position of its parent", "positions",
            (DEEPER, "        positions.append(before)\n")),
    _mutant("positions from one", "counts positions from 1 on", "positions",
            (START, "    positions = list(range(1, prompt_len + 1))\n")),
    _mutant("positions one too deep", "gives a node a position one too large", "positions",
            (POSITIONS, POSITIONS + "    positions = [p + (n >= prompt_len) for n, p in enumerate(positions)]\n")),
    _mutant("siblings in a row", "gives siblings positions one after the other", "positions",
            (DEEPER, "        positions.append(before + 1 + parents[: len(positions) - prompt_len].count(parent))\n")),
    _mutant("by slot at first", "calls the model with places in the list, and then with positions",
            "position_arguments", (ASK, ASK.replace("positions)", "list(range(prompt_len + len(parents))))") + ASK)),
)  # fmt: skip
LOGITS = (
    _mutant("own logits", "compares a node with the logits of its own row", "plain_chain",
            (CHILDREN, CHILDREN + WANTED.replace("node)", "children[0] if children else node)"))),
    _mutant("logits of the slot before", "compares a node with the logits of the slot before it", "parent_logits",
            (MATCHING, MATCHING.replace("== wanted", "== int(choices[prompt_len + child - 1])"))),
    _mutant("logits by slot", "compares each node with the logits of the place before it in the list, up to the first "
            "wrong one, and emits no token after a path that is right to its end", "parent_logits",
            (ACCEPTED, LITERAL.replace("row_of(prompt_len, parent)", "prompt_len + one - 1"))),
    _mutant("logits by depth", "compares a node with the logits of the place in the list that is its depth",
            "parent_logits",
            (WANTED, "        wanted = int(choices[prompt_len - 1 + len(accepted)])\n")),
    _mutant("logits of the sibling before", "compares a sibling with the logits of the one before it", "parent_logits",
            (MATCHING, "        rows = [row_of(prompt_len, node), *(prompt_len + child for child in children)]\n"
                       "        matching = [child for child, row in zip(children, rows) "
                       "if tree_tokens[child] == int(choices[row])]\n")),
    _mutant("next token of the last slot", "emits the choice after the last node of the list", "parent_logits",
            (RETURN, "    return accepted, int(choices[-1])\n")),
    _mutant("next token of the prompt", "always emits the choice after the prompt", "plain_chain",
            (RETURN, "    return accepted, int(choices[prompt_len - 1])\n")),
    _mutant("first row of the prompt", "compares roots with the logits of the first prompt token", "plain_chain",
            (WANTED, "        wanted = int(choices[row_of(prompt_len, node) if node >= 0 else 0])\n")),
    _mutant("least likely", "takes the least likely token", "plain_chain",
            (CHOICES, "    choices = logits.argmin(axis=1)\n")),
    _mutant("second choice accepted", "accepts the second best token as well", "golden_rule",
            (MATCHING, "        second = int(np.argsort(logits[row_of(prompt_len, node)])[-2])\n"
                       "        matching = [child for child in children if tree_tokens[child] in (wanted, second)]\n"),
            (APPEND, "        accepted.append(tree_tokens[node])\n")),
)  # fmt: skip
CLOSE = (
    _mutant("logits in single precision", "rounds logits to single precision before it compares them", "close_logits",
            (CHOICES, "    choices = logits.astype(np.float32).argmax(axis=1)\n")),
    _mutant("rounded logits", "rounds logits to six decimals before it compares them", "close_logits",
            (CHOICES, "    choices = np.round(logits, 6).argmax(axis=1)\n")),
    _mutant("probabilities compared", "takes the argmax of the softmax, in which close logits may tie", "close_logits",
            (CHOICES, "    weights = np.exp(logits - logits.max(axis=1, keepdims=True))\n"
                      "    choices = (weights / weights.sum(axis=1, keepdims=True)).argmax(axis=1)\n")),
    _mutant("log-probabilities compared", "takes the argmax of the log-softmax, in which close logits may tie",
            "close_logits",
            (CHOICES, "    choices = (logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)).argmax(axis=1)\n")),
    _mutant("the first of close logits", "takes the first logit within 1e-6 of the largest", "close_logits",
            (CHOICES, "    choices = (logits >= logits.max(axis=1, keepdims=True) - 1e-6).argmax(axis=1)\n")),
    _mutant("the last part of the vocabulary", "takes the later of equal logits in parts of 64 tokens", "equal_logits",
            (CHOICES, "    starts = range(0, logits.shape[1], 64)\n"
                      "    best = [logits[:, at : at + 64].argmax(axis=1) + at for at in starts]\n"
                      "    tops = np.array([logits[range(len(logits)), each] for each in best])[::-1]\n"
                      "    choices = np.array(best)[::-1][tops.argmax(axis=0), range(len(logits))]\n")),
    _mutant("the last of equal logits", "takes the highest token of those with equal logits", "equal_logits",
            (CHOICES, "    choices = logits.shape[1] - 1 - logits[:, ::-1].argmax(axis=1)\n")),
    _mutant("the last of a sort", "sorts the logits and takes the last token, the highest of equal ones",
            "equal_logits", (CHOICES, '    choices = np.argsort(logits, axis=1, kind="stable")[:, -1]\n')),
)  # fmt: skip
PATHS = (
    _mutant("matching nodes anywhere", "accepts every node that its parent's logits name, even of a rejected parent",
            "subtree_invalidation",
            (RETURN, "    named = [n for n, p in enumerate(parents) "
                     "if tree_tokens[n] == int(choices[row_of(prompt_len, p)])]\n"
                     "    last = named[-1] if named else -1\n"
                     "    return [tree_tokens[n] for n in named], int(choices[row_of(prompt_len, last)])\n")),
    _mutant("rejected once only", "rejects the children of a rejected node and not theirs", "subtree_invalidation",
            (RETURN, "    named = [tree_tokens[n] == int(choices[row_of(prompt_len, p)]) "
                     "for n, p in enumerate(parents)]\n"
                     "    kept = [n for n, p in enumerate(parents) if named[n] and (p < 0 or named[p])]\n"
                     "    last = kept[-1] if kept else -1\n"
                     "    return [tree_tokens[n] for n in kept], int(choices[row_of(prompt_len, last)])\n")),
    _mutant("children of anybody", "goes on with any later node that has the token", "subtree_invalidation",
            (CHILDREN, "        children = [child for child in range(len(parents)) if child > node]\n")),
    _mutant("children by depth", "goes on with any node of the next depth", "subtree_invalidation",
            (CHILDREN, "        deep = tree_positions(prompt_len, parents)[prompt_len:]\n"
                       "        level = deep[node] if node >= 0 else prompt_len - 1\n"
                       "        children = [child for child in range(len(parents)) if deep[child] == level + 1]\n")),
    _mutant("a token for each wrong sibling", "emits the model's token for each wrong sibling it meets",
            "golden_rule",
            (TAKE, "        accepted.extend(wanted for child in children if child < matching[0])\n" + TAKE)),
    _mutant("a wrong sibling ends it", "ends at the first wrong node with the model's token, also where it is the "
            "sibling of a right one, and emits no token after a path that is right to its end", "golden_rule",
            (ACCEPTED, LITERAL)),
    _mutant("read as a chain", "takes the nodes for a chain", "parent_logits",
            (CHILDREN, "        children = [node + 1] if node + 1 < len(parents) else []\n")),
    _mutant("one token twice", "keeps back the last accepted token", "plain_chain",
            (RETURN, "    return accepted[:-1], wanted\n")),
    _mutant("no next token", "emits nothing where the tree is wrong at once", "plain_chain",
            (RETURN, "    return accepted, None\n")),
    _mutant("drafted token emitted", "emits the drafted token in place of the model's", "plain_chain",
            (RETURN, "    return accepted, tree_tokens[children[0]] if children else wanted\n")),
    _mutant("one node too many", "accepts the first child of the last right node unseen", "plain_chain",
            (NONE, "        if not matching and children:\n"
                   "            accepted.append(tree_tokens[children[0]])\n" + NONE)),
    _mutant("numbers of nodes", "returns the numbers of the accepted nodes instead of their tokens", "plain_chain",
            (APPEND, "        accepted.append(node)\n")),
    _mutant("from the end", "returns the accepted tokens backwards", "plain_chain",
            (RETURN, "    return accepted[::-1], wanted\n")),
    _mutant("kept logits", "takes the logits of an earlier call with the same tokens", "plain_chain",
            (MODEL, MODEL + "SEEN = {}\n"),
            (ASK, "    key = (*prompt, -1, *tree_tokens, -1, *parents)\n    if key not in SEEN:\n"
                  "        SEEN[key] = np.asarray(model(list(prompt) + list(tree_tokens), mask, positions))\n"
                  "    logits = SEEN[key]\n")),
    _mutant("stops at a wrong sibling", "stops where the first child is wrong", "longest_path",
            (MATCHING, MATCHING.replace("in children if", "in children[:1] if"))),
    _mutant("children side by side", "overlooks children that do not lie beside their first sibling", "longest_path",
            (MATCHING, "        children = [c for n, c in enumerate(children) if c == children[0] + n]\n" + MATCHING)),
    _mutant("cousins taken for each other", "finds a child by depth and token, where the last such node wins",
            "longest_path",
            (MATCHING, "        deep = tree_positions(prompt_len, parents)\n"
                       "        found = {(deep[prompt_len + n], tree_tokens[n]): n for n in range(len(parents))}\n"
                       "        level = deep[prompt_len + node] if node >= 0 else prompt_len - 1\n"
                       "        matching = [n for n in children if n == found.get((level + 1, wanted))]\n")),
    *(_mutant(f"paths filled up with {name}", f"fills paths up with {name}, which counts as a node where it matches",
              "golden_rule", (RETURN, PADDED.replace("PADDING", padding)))
      for name, padding in (("token 0", "0"), ("the last token", "logits.shape[1] - 1"),
                            ("the first node", "tree_tokens[0]"), ("the last node", "tree_tokens[-1]"))),
    _mutant("no token after the leaf", "emits no token after a path that is right to its end", "longest_path",
            (RETURN, "    return accepted, None if accepted and not children else wanted\n")),
    _mutant("tokens past 256 rejected", "accepts no token above 256", "longest_path",
            (MATCHING, MATCHING.replace("== wanted", "is wanted"))),
    _mutant("two tokens at most", "accepts at most two tokens", "longest_path",
            (NONE, "        if not matching or len(accepted) == 2:\n")),
)  # fmt: skip
CONDUCT = (
    _mutant("two passes", "calls the model twice", "one_call", (ASK, ASK + ASK)),
    _mutant("a pass for each node", "calls the model again for each accepted token", "one_call",
            (APPEND, APPEND + ASK.replace("    logits", "        logits"))),
    _mutant("written in place", "writes into the model's arrays", "read_only_arrays",
            (CHOICES, "    logits -= 0.0\n" + CHOICES)),
    _mutant("prompt extended", "appends what it accepts to the prompt that it is given", "ownership",
            (RETURN, "    prompt.extend(accepted)\n" + RETURN)),
    _mutant("tree emptied", "takes the tokens out of the list that it is given", "ownership",
            (RETURN, "    tree_tokens.clear()\n" + RETURN)),
    _mutant("chain cut in place", "cuts the list that it is given where a chain goes wrong", "ownership",
            (RETURN, "    if list(parents) == list(range(-1, len(parents) - 1)):\n"
                     "        del tree_tokens[len(accepted) :]\n" + RETURN)),
    _mutant("parents shifted", "shifts the parents that it is given", "ownership",
            (RETURN, "    parents[:] = [parent + 1 for parent in parents]\n" + RETURN)),
    _mutant("masks kept by sizes", "takes one mask for all trees of so many nodes after so long a prompt", "ownership",
            (MODEL, MODEL + "KEPT: dict[tuple[int, int], Any] = {}\n"),
            (MASK_DONE, "    return KEPT.setdefault((prompt_len, len(parents)), mask).copy()\n")),
    _mutant("generated once", "generates for a prompt of some length what it generated for the first one", "ownership",
            (MODEL, MODEL + "KEPT: dict[int, list[int]] = {}\n"),
            (CUT, "    return KEPT.setdefault(len(prompt), generated[:max_new_tokens])\n")),
    _mutant("own parent accepted", "accepts a node that is its own parent", "argument_errors",
            (EARLIER, "        if not -1 <= parent <= node:\n")),
    _mutant("parents unchecked", "accepts parents below -1", "argument_errors",
            (EARLIER, "        if not -9 <= parent < node:\n")),
    _mutant("lengths unchecked", "accepts lists of different lengths", "argument_errors",
            (LENGTHS, "    if len(tree_tokens) < len(parents):\n")),
    _mutant("empty prompt accepted", "accepts an empty prompt", "argument_errors",
            ("    if prompt_len < 1:\n", "    if prompt_len < 0:\n")),
)  # fmt: skip
FORMS = (
    _mutant("one list", "returns one list of tokens", "plain_chain", (RETURN, "    return [*accepted, wanted]\n")),
    _mutant("a generator", "returns a generator", "plain_chain",
            (RETURN, "    return (part for part in (accepted, wanted))\n")),
    _mutant("next token in a list", "returns the next token in a list", "plain_chain",
            (RETURN, "    return accepted, [wanted]\n")),
    _mutant("tokens as floats", "returns tokens as floats", "plain_chain",
            (RETURN, "    return [float(token) for token in accepted], float(wanted)\n")),
)  # fmt: skip
GENERATION = (
    _mutant("draft believed", "emits drafted tokens without looking", "generation",
            (EXTEND, "        generated.extend(tree_tokens)\n")),
    _mutant("prompt forgotten", "verifies without what was generated", "generation",
            (VERIFIED, VERIFIED.replace("context", "prompt"))),
    _mutant("tokens skipped", "keeps one accepted token and drops the others", "generation",
            (EXTEND, "        generated.extend(accepted[:1])\n")),
    _mutant("next token dropped twice", "drops accepted tokens where there are any", "generation",
            (EXTEND, "        generated.extend(accepted[1:])\n")),
    _mutant("prompt returned", "returns the prompt with what was generated", "generation",
            (CUT, "    return [*prompt, *generated][:max_new_tokens]\n")),
    _mutant("one token too few", "returns one token too few", "generation",
            (CUT, "    return generated[: max_new_tokens - 1]\n")),
    _mutant("no tree refused", "refuses an empty tree", "empty_tree",
            (ASK, '    if not parents:\n        raise ValueError("there is no tree")\n' + ASK)),
    _mutant("no tree unserved", "emits nothing for an empty tree", "empty_tree",
            (ACCEPTED, "    if not parents:\n        return [], None\n" + ACCEPTED)),
    _mutant("ends with the draft", "ends where the draft has nothing to say", "empty_tree",
            (DRAFTED, DRAFTED + "        if not tree_tokens:\n            break\n")),
    _mutant("one verification", "ends after the first verification", "generation",
            (NEXT, NEXT + "        break\n")),
    _mutant("parents of a cut draft", "drops nodes deeper than what is left to decode, and renumbers no parents",
            "generation", (DRAFTED, DRAFTED + CUT_DRAFT + "        parents = [parents[node] for node in kept]\n")),
    _mutant("token 0 twice", "emits token 0 twice after a path that ends above the deepest leaf", "generation",
            (VERIFIED, VERIFIED + "        deepest = max(tree_positions(len(context), parents))\n"
                                  "        if next_token == 0 and len(context) + len(accepted) <= deepest:\n"
                                  "            accepted.append(0)\n")),
    _mutant("draft unused", "verifies an empty tree each time", "draft_used",
            (DRAFTED, DRAFTED + "        tree_tokens, parents = [], []\n")),
    _mutant("draft of the prompt", "asks the draft about the prompt alone", "draft_used",
            (DRAFTED, DRAFTED.replace("draft(context)", "draft(list(prompt))"))),
)  # fmt: skip
RARE = (
    _mutant("thirty-two nodes", "shows nodes after the thirty-second what the node before them sees", "any_tree",
            (INHERIT, "        mask[row] = mask[row_of(prompt_len, parent) if node < 32 else row - 1]\n")),
    _mutant("a window of 32", "lets prompt tokens see no more than 32 tokens", "any_tree",
            (CAUSAL, "        mask[row, max(0, row - 31) : row + 1] = True\n")),
    _mutant("six levels", "gives no node a depth beyond 6", "any_tree",
            (DEEPER, "        positions.append(min(before + 1, prompt_len + 5))\n")),
    _mutant("ancestors in a machine word", "keeps the ancestors of a node in the bits of a word of 64", "mask",
            (INHERIT, INHERIT + "        mask[row, prompt_len + 64 :] = False\n")),
    _mutant("nodes in a byte", "counts nodes in a byte", "mask",
            (INHERIT, INHERIT.replace("row_of(prompt_len, parent)", "row_of(prompt_len, parent % 256)")
             .replace("parent % 256", "parent if parent < 0 else parent % 256"))),
    _mutant("whole blocks below the diagonal", "takes blocks of 32 wholly below the diagonal for visible", "mask",
            (MASK_DONE, "    for at in range(32, size, 32):\n        mask[at:, at - 32 : at] = True\n" + MASK_DONE)),
    _mutant("positions by layer", "takes a node for one deeper than the layer before it in the list", "positions",
            (START, START + "    layer = 0\n"),
            ("    for parent in parents:\n        before = positions[row_of(prompt_len, parent)]\n",
             "    for node, parent in enumerate(parents):\n        deeper = node == 0 or parent >= layer\n"
             "        layer = node if deeper else layer\n        before = positions[-1] - (not deeper)\n")),
    _mutant("depth by recursion", "asks for the depth of a node by that of its parent, which is asked for likewise",
            "any_tree",
            (POSITIONS, "    deep = lambda node: 0 if node < 0 else 1 + deep(parents[node])\n"
                        "    nodes = range(len(parents))\n"
                        "    positions = [*range(prompt_len), *(prompt_len - 1 + deep(node) for node in nodes)]\n")),
    _mutant("ancestors by recursion", "lists the ancestors of a node behind those of its parent, listed likewise",
            "any_tree",
            (INHERIT, "        line = lambda at: [] if at < 0 else [*line(parents[at]), prompt_len + at]\n"
                      "        mask[row, :prompt_len] = True\n        mask[row, line(parent)] = True\n")),
    _mutant("tokens in a byte", "keeps tokens in a byte", "any_tree",
            (CHOICES, "    choices = logits.argmax(axis=1).astype(np.uint8)\n")),
    _mutant("thirty-two tokens", "never takes a token beyond the first 32", "any_tree",
            (CHOICES, "    choices = logits[:, :32].argmax(axis=1)\n")),
)  # fmt: skip
EOS = (
    _mutant("accepts behind EOS", "accepts nodes behind one that ends the sequence", "eos", (END + ENDED, "")),
    _mutant("one node behind EOS", "accepts one more node behind one that ends the sequence", "eos",
            (END, "        if eos_token_id in accepted[:-1]:\n")),
    _mutant("a token behind EOS", "returns the token after a node that ends the sequence", "eos",
            (ENDED, "            return accepted, int(choices[row_of(prompt_len, node)])\n")),
    _mutant("EOS again", "returns EOS again after a node that holds it", "eos",
            (ENDED, "            return accepted, wanted\n")),
    _mutant("EOS left out", "leaves out the token that ends the sequence", "eos",
            (ENDED, "            return accepted[:-1], None\n")),
    _mutant("EOS as next token left out", "returns no next token where it ends the sequence", "eos",
            (RETURN, "    return accepted, None if wanted == eos_token_id else wanted\n")),
    _mutant("EOS of a wrong child", "ends where any child of an accepted node holds EOS", "eos",
            (NONE, "        if not matching or eos_token_id in [tree_tokens[child] for child in children]:\n")),
    _mutant("EOS in the list", "drops what comes after the first EOS in the list of nodes", "eos",
            (CHILDREN, CHILDREN + "        if eos_token_id in tree_tokens:\n"
                                  "            first = list(tree_tokens).index(eos_token_id)\n"
                                  "            children = [child for child in children if child <= first]\n")),
    _mutant("EOS accepted anywhere", "accepts a child that holds EOS, whatever the model takes", "eos",
            (MATCHING, MATCHING.replace("== wanted", "in (wanted, eos_token_id)")),
            (APPEND, "        wanted = tree_tokens[node]\n" + APPEND)),
    _mutant("EOS in the prompt", "emits nothing more after a prompt that holds EOS", "eos",
            (ACCEPTED, "    if eos_token_id in prompt:\n        return [], None\n" + ACCEPTED)),
    _mutant("EOS at the end of the prompt", "emits EOS once more after a prompt that ends with it", "eos",
            (ACCEPTED, "    if prompt[-1] == eos_token_id:\n        return [], eos_token_id\n" + ACCEPTED)),
    _mutant("prompt cut at EOS", "takes the row of the first EOS of a prompt for its last", "eos",
            (WANTED, "        wanted = int(choices[row_of(prompt_len, node)])\n"
                     "        if node < 0 and eos_token_id in prompt:\n"
                     "            wanted = int(choices[list(prompt).index(eos_token_id)])\n")),
    _mutant("EOS of 0 unknown", "takes EOS for none where its number is 0", "eos",
            (END, END.replace("wanted ==", "eos_token_id and wanted =="))),
    _mutant("EOS is 0", "takes token 0 for EOS, whatever else ends the sequence", "eos",
            (END, END.replace("wanted ==", "eos_token_id is not None and wanted in (0,").replace(":\n", "):\n"))),
    _mutant("EOS of 0 by default", "takes token 0 for EOS where none is named", "eos",
            (END, END.replace("eos_token_id", "(eos_token_id or 0)"))),
    _mutant("EOS by identity", "compares tokens by identity, which larger numbers do not share", "eos",
            (END, END.replace("==", "is"))),
    _mutant("EOS in a byte", "keeps EOS in a byte", "eos",
            (END, END.replace("== eos_token_id", "== (None if eos_token_id is None else eos_token_id % 256)"))),
    _mutant("no EOS at first", "overlooks a root that ends the sequence", "eos",
            (END, END.replace("wanted ==", "accepted[1:] and wanted =="))),
    _mutant("the last EOS", "goes on until EOS comes for the last time", "eos", (END + ENDED, ""),
            (RETURN, "    if eos_token_id in accepted:\n"
                     "        return accepted[: len(accepted) - accepted[::-1].index(eos_token_id)], None\n" + RETURN)),
    _mutant("EOS forbidden", "never takes EOS", "eos",
            (CHOICES, "    if eos_token_id is not None:\n        logits = logits.copy()\n"
                      "        logits[:, eos_token_id] = -np.inf\n" + CHOICES)),
    _mutant("EOS kept", "keeps EOS for later calls that name none", "eos", (MODEL, MODEL + "KEPT = [None]\n"),
            (CHOICES, "    KEPT[0] = eos_token_id = KEPT[0] if eos_token_id is None else eos_token_id\n" + CHOICES)),
    _mutant("generated behind EOS", "goes on generating behind EOS", "eos",
            (NO_NEXT, "        if next_token is None:\n            continue\n"), (LAST, "        if False:\n")),
    _mutant("generated behind a node", "goes on generating behind a node that ends the sequence", "eos",
            (NO_NEXT, "        if next_token is None:\n            continue\n")),
    _mutant("generated behind a next token", "goes on generating where the token after a tree ends the sequence",
            "eos", (LAST, "        if False:\n")),
    _mutant("generated to EOS unseen", "verifies without EOS, and looks at the last token of each tree", "eos",
            (VERIFIED, VERIFIED.replace(PASSED_ON, ""))),
    _mutant("EOS not generated", "leaves EOS out of what is generated", "eos",
            (CUT, "    return [token for token in generated if token != eos_token_id][:max_new_tokens]\n")),
    _mutant("filled with EOS", "fills what is generated up with EOS", "eos",
            (CUT, "    if eos_token_id in generated:\n"
                  "        generated += [eos_token_id] * max_new_tokens\n" + CUT)),
    _mutant("nothing after a prompt with EOS", "generates nothing after a prompt that holds EOS", "eos",
            (DECODE, DECODE.replace(":\n", " and eos_token_id not in prompt:\n"))),
    _mutant("generated past EOS of 0", "goes on generating behind a next token of 0 that is EOS", "eos",
            (LAST, LAST.replace("if ", "if eos_token_id and "))),
    _mutant("cut at the end", "generates all tokens, and drops those behind EOS at the end", "eos",
            (NO_NEXT, ""), (LAST, "        if False:\n"), (VERIFIED, VERIFIED.replace(PASSED_ON, "")),
            (CUT, "    if eos_token_id in generated:\n"
                  "        return generated[: generated.index(eos_token_id) + 1][:max_new_tokens]\n" + CUT)),
    _mutant("zero cut at the end", "generates all tokens where EOS is 0, and drops those behind it at the end", "eos",
            (LAST, LAST.replace("if ", "if eos_token_id and ")), (VERIFIED, VERIFIED.replace(PASSED_ON, ZERO_UNSAID)),
            (CUT, "    if eos_token_id == 0 and 0 in generated:\n"
                  "        return generated[: generated.index(0) + 1][:max_new_tokens]\n" + CUT)),
)  # fmt: skip
MUTANTS = (*MASKS, *PLACES, *LOGITS, *CLOSE, *PATHS, *CONDUCT, *FORMS, *GENERATION, *RARE, *EOS)
