"""Where the answers are that were rebuilt from what was published of three models: made for tests, never ranked."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
ANSWERS = ROOT / "tests" / "reconstructions" / "answers"
MODELS = ("glm-5", "minimax-m2.7", "qwen3.6-27b")


def folder_of(model: str, challenge: str) -> Path:
    """The folder of a reconstruction, or of the baseline under submissions/."""
    return (ANSWERS if model in MODELS else ROOT / "submissions") / model / challenge
