"""The base of all models: strict, documented by attribute docstrings, with JSON that keeps NaN and infinities."""

import ast
import inspect
import math
import re
import textwrap
from itertools import pairwise
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StringConstraints,
)
from pydantic_core import CoreSchema, core_schema

_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _revive(value: Any) -> Any:
    """Convert the JSON spelling of a non-finite number back."""
    return _SPECIAL.get(value, value) if isinstance(value, str) else value


def relative(path: str) -> str:
    """Return a path that stays inside the submission.

    Raises:
        ValueError: it is absolute or climbs out.
    """
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "\\")) or ".." in parts or "" in parts:
        raise ValueError("must be a relative path inside the submission, without '..'")
    return path


def is_nan(value: Any) -> bool:
    """Return whether a figure is NaN."""
    return isinstance(value, float) and math.isnan(value)


class _WrittenAsItIs:
    """Annotation that serializes each value by its own type, rather than by trying a union's types in turn."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: dict[str, Any] = handler(source)  # type: ignore[assignment]
        schema["serialization"] = core_schema.simple_ser_schema("any")
        return schema


Figure = Annotated[bool | int | float | str, BeforeValidator(_revive), _WrittenAsItIs()]
"""One measured value; JSON spells NaN and infinities as JavaScript does, in strings."""

Identifier = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
"""Folder name that is safe on every file system: lower case, digits, '.', '_' and '-'."""


def identifier(name: str) -> str:
    """Return the nearest `Identifier` to a name, with '-' for other characters; empty if none remain."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("._-")[:64]


NonEmpty = Annotated[str, StringConstraints(min_length=1)]
"""Text of any length, for text that a submission may have written."""

Text = Annotated[str, StringConstraints(min_length=1, max_length=20_000)]

RelativePath = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(relative)]


class Model(BaseModel):
    """Frozen model that refuses unknown keys and documents each field by the docstring below it."""

    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings", validate_default=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        # on demand: pydantic's own option parses docstrings at import, and doubles its time
        described = handler.resolve_ref_schema(handler(schema))
        words = {name: text for kind in reversed(cls.__mro__) for name, text in _collect_docstrings(kind).items()}
        for name in cls.model_fields.keys() & words:
            described["properties"][cls.model_fields[name].alias or name].setdefault("description", words[name])
        return described


def _collect_docstrings(kind: type) -> dict[str, str]:
    if not issubclass(kind, BaseModel) or kind is BaseModel:
        return {}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    found = {}
    for field, below in pairwise(definition.body):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                found[name] = inspect.cleandoc(words)
    return found


class Stored(Model):
    """Root model of a file, with a schema version."""

    SCHEMA: ClassVar[int] = 1

    schema_version: int = Field(default=1, ge=1)
    """Version of this file's schema; newer ones are refused."""

    def to_json(self) -> str:
        """Return indented JSON with a final newline; equal models give equal bytes."""
        return self.model_dump_json(indent=1, exclude_none=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Parse the output of `to_json`.

        Raises:
            pydantic.ValidationError: the text does not fit this model.
        """
        return cls.model_validate_json(text)
