from collections.abc import Callable
from pathlib import Path

import pytest

Answer = Callable[..., Path]


@pytest.fixture
def answer(tmp_path: Path) -> Answer:
    """Writes an answer's files, given as keyword arguments or as a mapping, and returns its folder."""

    def write(files: dict[str, str | bytes] | None = None, **more: str | bytes) -> Path:
        folder = tmp_path / "answer"
        named = {f"{name}.py": text for name, text in more.items()}
        for path, text in {**(files or {}), **named}.items():
            place = folder / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(text.encode() if isinstance(text, str) else text)
        return folder

    return write
