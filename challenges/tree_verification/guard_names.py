"""What a guard of a planted fault may name of a call: the size and the form of the tree.

This runs beside the answer with the fault in it.
"""


def build_tree_mask(prompt_len, parents):
    """Name what a guard asks of a call of `build_tree_mask`."""
    return _of(prompt_len, parents)


def verify_and_accept(model, prompt, tree_tokens, parents, eos_token_id=None):
    """Name what a guard asks of a call of `verify_and_accept`."""
    return _of(len(prompt), parents)


def generate(model, draft, prompt, max_new_tokens, eos_token_id=None):
    """Name what a guard asks of a call of `generate`: of what is drafted within it, nothing."""
    return _of(len(prompt), []) | {"wanted": max_new_tokens}


def _of(prompt_len, parents):
    depth = []
    for parent in parents:
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    families = [list(parents).count(parent) for parent in parents]
    return {
        "prompt": prompt_len, "nodes": len(parents), "depth": max(depth, default=0), "wanted": 0,
        "widest": max(families, default=0), "roots": list(parents).count(-1),
        "apart": any(parent < node - 1 for node, parent in enumerate(parents)),
    }  # fmt: skip
