"""An answer that does less never has a higher mark or reward: what it lacks is not met, and never left out."""

from pathlib import Path

import pytest

import harness

ROOT = Path(__file__).parents[2]
GONE = """

def {name}(*args, **options):
    raise NotImplementedError("{name}")
"""
CHAINS = {
    "kv_cache": (("fork", "memory_bytes"), ("release",), ("decode",), ("prefill",)),
    "tree_verification": (("generate",), ("build_tree_mask",), ("verify_and_accept",)),
    "flash_attention_backward": (("flash_attention_bwd",), ("flash_attention_fwd",)),
}
"""Functions of a right answer in the order in which they are taken out."""


@pytest.mark.parametrize("challenge", CHAINS)
def test_less_of_a_right_answer_earns_no_more(challenge: str, tmp_path: Path) -> None:
    source = (ROOT / "references" / challenge / "reference.py").read_text("utf-8")
    marks, rewards = [], []
    for place, names in enumerate(((), *CHAINS[challenge])):
        source += "".join(GONE.format(name=name) for name in names)
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / "answer.py").write_text(source, encoding="utf-8")
        record = harness.grade(
            folder, challenge, entry="answer.py", seed=5, force=True, profile="reward", workspace=ROOT
        )
        marks.append(record.overall.score)
        rewards.append(record.reward)
    assert (marks[0], rewards[0]) == (100, 1)
    assert (marks[-1], rewards[-1]) == (0, 0)
    assert marks == sorted(marks, reverse=True)
    assert rewards == sorted(rewards, reverse=True)
