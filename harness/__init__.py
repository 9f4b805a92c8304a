"""harness: a grader for model-generated ML kernels.

In Python, call `harness.grade(folder) -> Record` and `harness.grade_many(folders) -> list[Record]`; see `harness.api`.
`harness.records()`, `harness.evidence()` and `harness.scoreboard()` return pandas data frames of the published records.
`harness.Client` and `harness.AsyncClient` talk to a grading service.
"""

from typing import TYPE_CHECKING, Any

from harness import (
    interpreter as interpreter,
)  # imported first: it resolves a path relative to the current folder, which may change

if TYPE_CHECKING:
    from harness.api import Record, evidence, grade, grade_many, grade_many_async, grade_stream, records, scoreboard
    from harness.serving.client import AsyncClient, Client

__version__ = "0.1.0"
__all__ = [
    "AsyncClient",
    "Client",
    "Record",
    "__version__",
    "evidence",
    "grade",
    "grade_many",
    "grade_many_async",
    "grade_stream",
    "records",
    "scoreboard",
]


def __getattr__(name: str) -> Any:
    # loaded on first use: importing the grader takes ten times as long as `harness --help` should
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in ("AsyncClient", "Client"):
        from harness.serving import client

        return getattr(client, name)
    from harness import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
