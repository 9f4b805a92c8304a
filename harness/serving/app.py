"""The routes of the service and their OpenAPI description."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from pydantic.json_schema import models_json_schema

import harness
from harness.serving.guard import RefusedRequest
from harness.serving.job_queue import JobState, QueuedJob
from harness.serving.requests import BatchRequest, GradeRequest
from harness.serving.service import GradingService, read_key, read_request, read_wait

EXAMPLES = {
    "files": {"challenge": "kv_cache", "profile": "reward", "files": {"answer.py": "def create_cache(...): ..."}},
    "reply": {"challenge": "kv_cache", "profile": "reward", "reply": "Here it is:\n```python\n...\n```\n"},
}
_GRADE = {
    "id": "9f0c5a60c1f94d1c8a3a4b9a4f0b7c11",
    "state": "finished",
    "challenge": "kv_cache",
    "profile": "reward",
    "status": "graded",
    "reward": 0.59,
    "record": {"...": "see docs/data.md"},
}
_WAITING = {**_GRADE, "state": "waiting", "status": None, "reward": None, "record": None}
_WAIT = {
    "name": "wait",
    "in": "query",
    "schema": {"type": "number", "default": 0},
    "description": "seconds to wait for the record; the server may wait less",
}
_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "schema": {"type": "string"},
    "description": "sent again with the same key, the same request is the same grade",
}
_REFUSALS = {
    401: "no valid token",
    403: "the token does not allow it",
    404: "no such grade",
    409: "the key was used before",
    413: "too large",
    415: "not plain JSON",
    422: "not a request for a grade",
    429: "too much; see Retry-After",
    503: "not now; see Retry-After",
}


def grade_json(job: QueuedJob) -> dict[str, Any]:
    """Return a job as its client sees it."""
    record = json.loads(job.record) if job.record else None
    return {
        "id": job.id,
        "state": job.state.name.lower(),
        "challenge": job.challenge,
        "profile": job.profile,
        "status": record and record["status"],
        "reward": record and record["reward"],
        "record": record,
    }


def make_app(service: GradingService) -> FastAPI:
    """Return the application, without its guard."""
    routes = _Routes(service)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.attach()
        house = asyncio.ensure_future(service.keep_house())
        yield
        house.cancel()

    app = FastAPI(
        title="harness",
        version=harness.__version__,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        description="Grades model-generated ML kernels by running them.",
    )
    both = _describe_request(GradeRequest, EXAMPLES, [_WAIT, _KEY])
    many = _describe_request(BatchRequest, {"two": {"answers": list(EXAMPLES.values())}}, [_WAIT, _KEY])
    get: Sequence[tuple[str, Callable[..., Any], str]] = (
        ("/v1/grades/{id}", routes.grade, "A grade"),
        ("/v1/batches/{id}", routes.batch, "The grades of a batch"),
    )
    app.add_api_route("/v1/grades", routes.post_grade, methods=["POST"], summary="Send an answer", openapi_extra=both)
    app.add_api_route("/v1/batches", routes.post_batch, methods=["POST"], summary="Send many", openapi_extra=many)
    for path, route, summary in get:
        extra = {"parameters": [{"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}, _WAIT]}
        app.add_api_route(path, route, methods=["GET"], summary=summary, openapi_extra=extra)
    app.add_api_route("/metrics", routes.metrics, methods=["GET"], summary="Counts, for Prometheus")
    app.add_api_route("/healthz", routes.health, methods=["GET"], summary="Whether the server runs")
    app.add_api_route("/readyz", routes.ready, methods=["GET"], summary="Whether it takes answers and grades them")
    app.add_exception_handler(RefusedRequest, _refuse)
    made = app.openapi

    def openapi() -> dict[str, Any]:
        page: dict[str, Any] = made()
        _, schemas = models_json_schema(
            [(GradeRequest, "validation"), (BatchRequest, "validation")], ref_template="#/components/schemas/{model}"
        )
        page.setdefault("components", {}).setdefault("schemas", {}).update(schemas["$defs"])
        page["components"]["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        page["security"] = [{"token": []}, {}]
        _describe_responses(page)
        return page

    app.openapi = openapi  # type: ignore[method-assign,unused-ignore]
    return app


class _Routes:
    """Handlers of the paths; FastAPI publishes their docstrings."""

    def __init__(self, service: GradingService) -> None:
        self._service = service

    async def post_grade(self, request: Request) -> Response:
        """Accept one submission: 200 with its record if it finishes in time, else 202."""
        seconds, key = _read_wait(request), read_key(request.headers.get("idempotency-key"))
        asked = read_request(await request.body(), GradeRequest)
        (job,) = await self._service.accept([asked], request.state.token, key, False)
        return await self._respond_when_finished(request, job.id, False, seconds)

    async def post_batch(self, request: Request) -> Response:
        """Accept several submissions, all or none."""
        seconds, key = _read_wait(request), read_key(request.headers.get("idempotency-key"))
        asked = read_request(await request.body(), BatchRequest)
        if len(asked.answers) > self._service.limits.batch:
            raise RefusedRequest(413, "too_many", f"a batch has at most {self._service.limits.batch} answers")
        jobs = await self._service.accept(asked.answers, request.state.token, key, True)
        return await self._respond_when_finished(request, jobs[0].batch or "", True, seconds)

    async def grade(self, request: Request) -> Response:
        """Return a grade, with its record once finished."""
        seconds, id = _read_wait(request), request.path_params["id"]
        await self._service.readable(id, False, request.state.token)
        return await self._respond_when_finished(request, id, False, seconds)

    async def batch(self, request: Request) -> Response:
        """Return the grades of a batch, in the order of its submissions."""
        seconds, id = _read_wait(request), request.path_params["id"]
        await self._service.readable(id, True, request.state.token)
        return await self._respond_when_finished(request, id, True, seconds)

    async def metrics(self) -> Response:
        """Return the metrics as text."""
        return Response(await self._service.metrics_text(), media_type="text/plain; version=0.0.4")

    async def health(self) -> Response:
        """Return the version of the running server."""
        return _respond_json(200, {"version": harness.__version__})

    async def ready(self) -> Response:
        """Return each readiness condition, with status 503 if one fails."""
        found = await self._service.readiness()
        return _respond_json(200 if all(found.values()) else 503, found)

    async def _respond_when_finished(self, request: Request, id: str, batch: bool, seconds: float) -> Response:
        jobs = await self._service.wait(id, batch, seconds, lambda: _wait_until_gone(request))
        finished = all(job.state is JobState.FINISHED for job in jobs)
        return _respond_json(200 if finished else 202, _format_batch(jobs) if batch else grade_json(jobs[0]))


def _format_batch(jobs: Sequence[QueuedJob]) -> dict[str, Any]:
    finished = all(job.state is JobState.FINISHED for job in jobs)
    state = "finished" if finished else "waiting"
    return {"id": jobs[0].batch, "state": state, "grades": [grade_json(job) for job in jobs]}


async def _wait_until_gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _read_wait(request: Request) -> float:
    return read_wait(request.query_params.get("wait"))


def _respond_json(status: int, value: Any) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedRequest)
    return Response(error.body, error.status, headers=error.headers)


def _describe_request(kind: type, examples: dict[str, Any], parameters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    schema = {"$ref": f"#/components/schemas/{kind.__name__}"}
    shown = {name: {"value": value} for name, value in examples.items()}
    content = {"application/json": {"schema": schema, "examples": shown}}
    return {"requestBody": {"required": True, "content": content}, "parameters": list(parameters)}


def _describe_responses(page: dict[str, Any]) -> None:
    """Add the routes' responses, which FastAPI cannot infer: they return raw JSON."""
    for path, methods in page["paths"].items():
        batch, grades = "/batches" in path, path.startswith("/v1/")
        for operation in methods.values():
            if not grades:
                operation["responses"].pop("422", None)
                continue
            told = {200: ("finished", _GRADE), 202: ("not finished yet: ask again by its id", _WAITING)}
            shown = {
                str(status): {
                    "description": words,
                    "content": {"application/json": {"example": _wrap_in_batch(grade) if batch else grade}},
                }
                for status, (words, grade) in told.items()
            }
            error = {"application/json": {"example": {"error": "queue_full", "message": "..."}}}
            refused = {str(s): {"description": words, "content": error} for s, words in _REFUSALS.items()}
            operation["responses"] = shown | refused


def _wrap_in_batch(grade: dict[str, Any]) -> dict[str, Any]:
    return {"id": grade["id"], "state": grade["state"], "grades": [{**grade, "id": f"{grade['id']}-0"}]}
