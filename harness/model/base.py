"""What every model shares: strictness, attribute docstrings, JSON that keeps NaN and infinities."""

import math
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _revive(value: Any) -> Any:
    """Turn the JSON spelling of a non-finite number back into the number."""
    return _SPECIAL.get(value, value) if isinstance(value, str) else value


def relative(path: str) -> str:
    """A path that stays inside the submission.

    Raises:
        ValueError: it is absolute or climbs out.
    """
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "\\")) or ".." in parts or "" in parts:
        raise ValueError("must be a relative path inside the submission, without '..'")
    return path


def is_nan(value: Any) -> bool:
    """Whether a figure is not a number."""
    return isinstance(value, float) and math.isnan(value)


Figure = Annotated[bool | int | float | str, BeforeValidator(_revive)]
"""One measured value; NaN and infinities survive JSON as the strings JavaScript names them by."""

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
"""A folder name that is safe on every file system: lower case, digits, '.', '_' and '-'."""

NonEmpty = Annotated[str, StringConstraints(min_length=1)]
"""Words of any length: a submission may have written some of them."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]

RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(relative)]


class Model(BaseModel):
    """Frozen, refuses unknown keys, documents each field once, as the docstring below it."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        ser_json_inf_nan="strings",
        validate_default=True,
    )


class Stored(Model):
    """A model that is the root of a file: carries the version of its own schema."""

    SCHEMA: ClassVar[int] = 1

    schema_version: int = Field(default=1, ge=1)
    """Version of this file's schema; a newer one is refused, not guessed at."""

    def to_json(self) -> str:
        """Indented JSON with a final newline; equal models give equal bytes."""
        return self.model_dump_json(indent=1, exclude_none=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse what `to_json` wrote.

        Raises:
            pydantic.ValidationError: the text is not this model.
        """
        return cls.model_validate_json(text)
