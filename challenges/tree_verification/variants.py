"""Right verifications that work differently: files of their own, and edits of the reference."""

from harness.probing import Variant

from .mutants import (
    ACCEPTED,
    ASK,
    CHILDREN,
    CHOICES,
    CUT_DRAFT,
    DRAFTED,
    END,
    ENDED,
    EXTEND,
    LAST,
    MASK,
    MASK_DONE,
    NEXT,
    NO_NEXT,
    NONE,
    PASSED_ON,
    POSITIONS,
    RETURN,
    VERIFIED,
)

EOS = {"eos": True}
VARIANTS = (
    Variant("walked paths", "walks up from each node; an additive mask of float32, and no positions",
            file="variants/walked_paths.py", capabilities=EOS),
    Variant("one sweep", "sweeps over the nodes once and keeps those that are right; a mask of large negative numbers",
            file="variants/one_sweep.py", capabilities=EOS),
    Variant("cautious", "looks at the first child only, and emits no token after a path that is right to its end",
            file="variants/cautious.py", unmet=("longest_path",), capabilities=EOS),
    Variant("additive mask", "adds 0 and minus infinity",
            edits=((MASK_DONE, "    return np.where(mask, 0.0, -np.inf)\n"),)),
    Variant("no positions", "leaves positions to the model", edits=((POSITIONS, "    positions = None\n"),)),
    Variant("arrays passed", "passes arrays of NumPy integers",
            edits=((ASK, ASK.replace("list(prompt) + list(tree_tokens)", "np.array([*prompt, *tree_tokens])")
                    .replace("positions))", "np.array(positions, dtype=np.int32)))")),)),
    Variant("arguments by name", "passes mask and positions by name",
            edits=((ASK, ASK.replace("mask, positions", "positions=positions, mask=mask")),)),
    Variant("taken from the sorted row", "takes the first of the largest logits in a stable order",
            edits=((CHOICES, '    choices = np.argsort(-logits, axis=1, kind="stable")[:, 0]\n'),)),
    Variant("all accepted", "returns the next token among the accepted ones",
            edits=((RETURN, "    return [*accepted, wanted], None\n"),
                   (VERIFIED, VERIFIED + "        accepted, next_token = accepted[:-1], accepted[-1]\n")),
            capabilities=EOS),
    Variant("children listed first", "lists the children of every node before it looks at any",
            edits=((ACCEPTED, ACCEPTED + "    family: dict[int, list[int]] = {}\n"
                                         "    for child, parent in enumerate(parents):\n"
                                         "        family.setdefault(parent, []).append(child)\n"),
                   (CHILDREN, "        children = family.get(node, [])\n"))),
    Variant("next token verified again", "lets the next pass decide about the token after an accepted path",
            edits=((NEXT, "        if not accepted:\n            generated.append(next_token)\n"),),
            capabilities=EOS),
    Variant("cut drafts", "drops nodes that lie deeper than what is left to decode, and renumbers the parents",
            edits=((DRAFTED, DRAFTED + CUT_DRAFT +
                    "        place = {node: at for at, node in enumerate([-1, *kept], -1)}\n"
                    "        parents = [place[parents[node]] for node in kept]\n"),), capabilities=EOS),
    Variant("too many tokens", "generates as much as a pass gives, and cuts nothing off",
            edits=(("    return generated[:max_new_tokens]\n", "    return generated\n"),),
            capabilities=EOS),
    Variant("NumPy numbers", "returns tuples and NumPy integers",
            edits=((RETURN, "    return tuple(map(np.int64, accepted)), np.int32(wanted)\n"),
                   (EXTEND, "        generated.extend(map(int, accepted))\n"),
                   (NEXT, "        generated.append(int(next_token))\n")), capabilities=EOS),
    Variant("the end as next token", "accepts the node before the end of the sequence, and returns that as next token",
            edits=((NONE, "        if not matching or wanted == eos_token_id:\n"),), capabilities=EOS),
    Variant("nodes behind the end left out", "takes what hangs on the end of the sequence out of the tree at first",
            edits=((MASK, "    kept: list[int] = []\n"
                          "    for child, parent in enumerate(parents):\n"
                          "        if parent < 0 or (parent in kept and tree_tokens[parent] != eos_token_id):\n"
                          "            kept.append(child)\n"
                          "    check(prompt_len, parents)\n"
                          "    tree_tokens = [tree_tokens[child] for child in kept]\n"
                          "    place = {child: at for at, child in enumerate([-1, *kept], -1)}\n"
                          "    parents = [place[parents[child]] for child in kept]\n"
                          + MASK),), capabilities=EOS),
    Variant("cut where it is generated", "verifies without the end of the sequence, and cuts what is emitted behind it",
            edits=((VERIFIED, VERIFIED.replace(PASSED_ON, "")), (NO_NEXT, ""),
                   (LAST, "        if eos_token_id in generated:\n"
                          "            generated = generated[: generated.index(eos_token_id) + 1]\n")),
            capabilities=EOS),
    Variant("no end of the sequence", "does not offer the option",
            edits=((END + ENDED, ""), (LAST, "        if False:\n"), (NO_NEXT, ""),
                   (" *,\n    eos_token_id: int | None = None,\n", "\n"),
                   (", max_new_tokens: int, *, eos_token_id: int | None = None\n", ", max_new_tokens: int\n"),
                   (VERIFIED, VERIFIED.replace(PASSED_ON, "")))),
)  # fmt: skip
