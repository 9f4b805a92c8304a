"""What a guard of a planted fault may name of a search: its sizes, its settings, and what its prompts are like.

This runs beside the answer with the fault in it.
"""


def batched_beam_search(model, prompts, beam_width, max_new_tokens, alpha, eos_token_id):
    """Name what a guard asks of a search."""
    lengths = [len(prompt) for prompt in prompts]
    return {
        "width": beam_width, "steps": max_new_tokens, "alpha": alpha, "eos": eos_token_id, "vocab": model.vocab_size,
        "prompts": len(prompts), "longest": max(lengths, default=0), "ragged": len(set(lengths)) > 1,
        "twice": len({tuple(prompt) for prompt in prompts}) < len(prompts),
        "eos_inside": any(eos_token_id in prompt for prompt in prompts),
    }  # fmt: skip
