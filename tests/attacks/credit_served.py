"""Cheats with the functions that an answer is given: counts forged, stubs kept, results taken from other models."""

from pathlib import Path

from tests.attacks.attack import Attack, Expect

KIND = "functions that are served"
BEAM, TREE = "beam_search", "tree_verification"
ROOT = Path(__file__).parents[2]
HONEST = {id: (ROOT / "references" / id / "reference.py").read_text(encoding="utf-8") for id in (BEAM, TREE)}
THREADS = (ROOT / "challenges" / BEAM / "variants" / "threads.py").read_text(encoding="utf-8")

SEARCH = """
import honest

def batched_beam_search(model, prompts, K, steps, alpha, eos):
"""
VERIFY = """
import honest
from honest import build_tree_mask, generate

def verify_and_accept(model, prompt, tokens, parents):
"""
RAW = """
import json

def asked(link, name, args):
    head = json.dumps([name, {"tuple": [{"list": list(args)}]}, {"dict": []}]).encode()
    link.send(len(head).to_bytes(4, "little") + head)
    link.recv(200_000)
"""

CHEATS = {
    # fools a judge whose count is in the answer's process
    (BEAM, "count set to nothing"): (("model_calls",), SEARCH + """
    calls = lambda tokens: [model(tokens) for _ in range(9)][-1]
    calls.vocab_size = model.vocab_size
    found = honest.batched_beam_search(calls, prompts, K, steps, alpha, eos)
    for name in ("calls", "count", "_calls", "fault", "most"):
        setattr(model, name, 0)
    return found
"""),
    # fools a judge that counts in the stub
    (BEAM, "asked behind the stub"): (("model_calls",), RAW + SEARCH + """
    def calls(tokens):
        for _ in range(9):
            asked(model._link._socket, "model", tokens)
        return model(tokens)
    calls.vocab_size = model.vocab_size
    return honest.batched_beam_search(calls, prompts, K, steps, alpha, eos)
"""),
    # fools a judge that sees only what is raised
    (BEAM, "rubbish passed and caught"): ((), SEARCH + """
    for rubbish in (None, [], [1.5], prompts, [10 ** 9]):
        try:
            model(rubbish)
        except Exception:
            pass
    return honest.batched_beam_search(model, prompts, K, steps, alpha, eos)
"""),
    # fools a judge that asks about one model
    (BEAM, "the first model kept"): ((), "KEPT = []\n" + SEARCH + """
    KEPT.append(model)
    try:
        return honest.batched_beam_search(KEPT[0], prompts, K, steps, alpha, eos)
    except RuntimeError:
        return [[(list(prompt), -1.0)] for prompt in prompts]
"""),
    (BEAM, "results kept by prompts"): ((), "KEPT = {}\n" + SEARCH + """
    key = (str(prompts), K, steps, alpha, eos)
    if key not in KEPT:
        KEPT[key] = honest.batched_beam_search(model, prompts, K, steps, alpha, eos)
    return KEPT[key]
"""),
    # fools a judge that compares the best beam
    (BEAM, "greedy K times"): (("every_width",), SEARCH + """
    best = honest.batched_beam_search(model, prompts, 1, steps, alpha, eos)
    return [beams * K for beams in best]
"""),
    (TREE, "a second pass behind the stub"): (("one_call",), VERIFY + """
    mask = build_tree_mask(len(prompt), parents)
    socket, head = model._link._socket, b'["model",{"tuple":[{"list":[0]}]},{"dict":[]}]'
    socket.send(len(head).to_bytes(4, "little") + head)
    socket.recv(200_000)
    return honest.verify_and_accept(model, prompt, tokens, parents)
"""),
    (TREE, "results kept by tokens"): ((), "KEPT = {}\n" + VERIFY + """
    key = str((prompt, tokens, parents))
    if key not in KEPT:
        KEPT[key] = honest.verify_and_accept(model, prompt, tokens, parents)
    return KEPT[key]
"""),
    # fools a judge that draws chains
    (TREE, "every tree a chain"): (("longest_path",), VERIFY + """
    return honest.verify_and_accept(model, prompt, tokens, list(range(-1, len(tokens) - 1)))
"""),
    # fools a judge that believes what is drafted
    (TREE, "the draft accepted"): ((), VERIFY + """
    return list(tokens), None if tokens else honest.verify_and_accept(model, prompt, [], [])[1]
"""),
}  # fmt: skip

ATTACKS = [
    *(
        Attack(name, KIND, id, {"answer.py": code, "honest.py": HONEST[id]}, criteria=criteria)
        for (id, name), (criteria, code) in CHEATS.items()
    ),
    Attack("threads that share a model", KIND, BEAM, {"answer.py": THREADS}, expect=Expect.HONEST,
           criteria=("plain_search", "independent_prompts", "model_calls")),
]  # fmt: skip
