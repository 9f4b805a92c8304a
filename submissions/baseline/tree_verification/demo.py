"""Three trees against one model, and decoding with a draft that is often right. Run: python demo.py"""

from hashed_model import HashedModel, greedy
from tree_verification import generate, verify_and_accept


def main() -> None:
    """Print what each tree emits, beside what greedy decoding gives."""
    model, prompt = HashedModel(12, seed=3), [5, 0, 2]
    right = greedy(model, prompt, 13)
    wrong = next(token for token in range(12) if token not in right[:2])
    print("greedy:", right)
    for name, tokens, parents in (
        ("a right chain", right[:3], [-1, 0, 1]),
        ("a wrong root", [wrong, right[0]], [-1, 0]),
        ("a right path beside a wrong one", [wrong, right[0], right[1], right[1]], [-1, -1, 0, 1]),
    ):
        accepted, choice = verify_and_accept(model, prompt, tokens, parents)
        print(f"{name}: {tokens} {parents} -> {accepted} then {choice}")
        assert [*accepted, choice] == right[: len(accepted) + 1]
    model.calls = 0

    def draft(text: list[int]) -> tuple[list[int], list[int]]:
        done = len(text) - len(prompt)
        return [wrong, *right[done : done + 2]], [-1, -1, 1][: 1 + len(right[done : done + 2])]

    assert generate(model, draft, prompt, 12) == right[:12]
    print(f"12 tokens with {model.calls} passes")


if __name__ == "__main__":
    main()
