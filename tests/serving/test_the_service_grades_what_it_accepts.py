"""The service gives every accepted answer its record, the one the local functions give, however it is asked."""

import asyncio
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from servers import WRONG, Server, answer, serving

import harness
from harness.errors import ServiceError, SpecError
from harness.serving.answers import lay_out
from harness.serving.requests import GradeRequest
from harness.serving.slot_process import GraderSettings, HeldExecutor, records
from harness.workspace import Workspace
from tests.toy import CHALLENGE_ID, REFERENCE, SUBMISSION

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")
REPLY = f"Sums each row.\n```python\n{REFERENCE}```\n"
DRAWN = ("made", "seed", "seconds", "outside", "evidence")
"""What two grades of the same answer need not share."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[harness.Client]:
    with harness.Client(server.url, "", patience=20) as client:
        yield client


def plain(record: harness.Record) -> dict[str, Any]:
    found = {name: value for name, value in json.loads(record.to_json()).items() if name not in DRAWN}
    del found["environment"]["unused_tiers"]  # their reasons name paths of the server's machine, and stay there
    return found


def test_an_answer_comes_back_as_the_record_of_the_local_function(server: Server, tmp_path: Path) -> None:
    given = server.grade(WRONG)
    assert given.status == 200 and given.json["state"] == "finished" and given.json["reward"] == 0
    (tmp_path / "answer.py").write_text(WRONG)
    local = harness.grade(tmp_path, CHALLENGE_ID, profile="reward", workspace=server.root)
    record = harness.Record.from_json(json.dumps(given.json["record"]))
    assert plain(record) == plain(local)


def test_who_does_not_wait_gets_an_id_to_ask_with(server: Server) -> None:
    accepted = server.grade(f"{REFERENCE}\n# later", wait=0)
    assert accepted.status == 202 and accepted.json["state"] in ("waiting", "running") and not accepted.json["record"]
    found = server.ask("GET", f"/v1/grades/{accepted.json['id']}?wait=60")
    assert found.status == 200 and found.json["reward"] == 1


def test_a_batch_keeps_its_order_and_grades_equal_answers_once(server: Server) -> None:
    before = server.metric('harness_grades_total{status="graded"}')
    sources = [f"{REFERENCE}# batch", WRONG + "# batch", f"{REFERENCE}# batch"]
    given = server.ask("POST", "/v1/batches?wait=60", {"answers": [answer(source) for source in sources]})
    assert given.status == 200 and [grade["reward"] for grade in given.json["grades"]] == [1, 0, 1]
    assert server.ask("GET", f"/v1/batches/{given.json['id']}").json == given.json
    assert server.metric('harness_grades_total{status="graded"}') == before + 2


def test_the_same_answer_from_many_at_once_is_graded_once(server: Server) -> None:
    before = server.metric('harness_grades_total{status="graded"}'), server.metric("harness_reused_total")
    with ThreadPoolExecutor(8) as threads:
        given = list(threads.map(lambda _: server.grade(f"{REFERENCE}# at once"), range(24)))
    assert {(one.status, one.json["reward"]) for one in given} == {(200, 1)}
    assert len({one.json["id"] for one in given}) == 24 and len({one.json["record"]["made"] for one in given}) == 1
    works = server.metric('harness_grades_total{status="graded"}') - before[0]
    assert works - (server.metric("harness_reused_total") - before[1]) == 1


def test_a_request_sent_again_with_its_key_is_the_same_grade(server: Server) -> None:
    first, again = (
        server.ask("POST", "/v1/grades", answer(f"{REFERENCE}# key"), Idempotency_Key="0123456789") for _ in range(2)
    )
    assert first.json["id"] == again.json["id"]
    assert server.ask("POST", "/v1/grades", answer("other"), Idempotency_Key="0123456789").status == 409


def test_a_reply_is_read_and_one_without_an_answer_earns_nothing(client: harness.Client) -> None:
    right, silent = client.grade_replies([REPLY, "I would rather not."], CHALLENGE_ID, profile="reward")
    assert right.reward == 1
    assert silent.reward == 0 and silent.build is not None and silent.build.stage == "reply"


def test_an_answer_brings_its_own_submission_toml(client: harness.Client, tmp_path: Path) -> None:
    (tmp_path / "answer.py").write_text(REFERENCE)
    (tmp_path / "submission.toml").write_text(SUBMISSION.format(model="named"))
    assert client.grade(tmp_path).model == "named"
    (tmp_path / "submission.toml").write_text(SUBMISSION.format(model="named").replace(CHALLENGE_ID, "other"))
    refused = client.grade(tmp_path, CHALLENGE_ID)
    assert refused.reward == 0 and refused.build is not None and refused.build.stage == "files"
    assert "/tmp" not in refused.to_json()


def test_what_cannot_be_told_apart_is_refused_in_words_of_the_answer(client: harness.Client, tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(REFERENCE)
    (tmp_path / "two.py").write_text("")
    refused = client.grade(tmp_path, CHALLENGE_ID)
    assert refused.build is not None and "say which is the entry" in refused.build.text
    assert client.grade(tmp_path, CHALLENGE_ID, entry="one.py", profile="reward").reward == 1


def test_a_client_says_what_it_cannot_send(client: harness.Client, tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="is no folder"):
        client.grade(tmp_path / "none", CHALLENGE_ID)
    (tmp_path / "data.bin").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match=r"data\.bin: cannot be sent"):
        client.grade(tmp_path, CHALLENGE_ID)
    with pytest.raises(ServiceError, match="no challenge 'scaled_sun'; did you mean 'scaled_sum'") as raised:
        client.grade_reply(REPLY, "scaled_sun")
    assert raised.value.status == 422
    with pytest.raises(SpecError, match="profile: is 'rewards'; did you mean 'reward'"):
        client.grade_reply(REPLY, CHALLENGE_ID, profile="rewards")
    with pytest.raises(SpecError, match="names 1 for 2 replies"):
        client.grade_replies([REPLY, REPLY], [CHALLENGE_ID])


def test_a_client_tries_again_until_its_patience_ends() -> None:
    with harness.Client("http://127.0.0.1:9", patience=1.5) as client, pytest.raises(ServiceError) as raised:
        client.grade_reply(REPLY, CHALLENGE_ID)
    assert raised.value.status == 0


def test_the_asynchronous_client_does_the_same(server: Server) -> None:
    async def graded() -> list[harness.Record]:
        async with harness.AsyncClient(server.url, "") as client:
            both = (client.grade_reply(f"{REPLY}{n}", CHALLENGE_ID, profile="reward") for n in range(2))
            return [*await asyncio.gather(*both), *await client.grade_replies([REPLY] * 70, CHALLENGE_ID)]

    records = asyncio.run(graded())
    assert len(records) == 72 and {record.reward for record in records} == {1}


def code_of(heading: str, server: Server) -> dict[str, Any]:
    """What the code below a heading of the page defines."""
    text = PAGE.partition(f"### {heading}\n")[2].partition("```python\n")[2].partition("```")[0]
    assert text and len(text.splitlines()) <= 12
    names: dict[str, Any] = {}
    with patch.dict("os.environ", {"HARNESS_TOKEN": ""}):
        exec(re.sub(r"http://[\w.]+:\d+", server.url, text), names)
    return names


def test_the_reward_function_for_verl_is_called_as_verl_calls_it(server: Server) -> None:
    """By keywords, awaited, with the address of a reward model where there is one."""
    made = code_of("verl", server)
    keywords = {"data_source": "kernels", "ground_truth": CHALLENGE_ID, "extra_info": {"num_turns": 1}}

    async def awaited() -> Any:
        async with made["client"]:
            return await made["compute_score"](
                solution_str=REPLY, **keywords, reward_router_address=None, reward_model_tokenizer=None
            )

    assert asyncio.iscoroutinefunction(made["compute_score"])  # else verl calls it in a thread
    assert asyncio.run(awaited()) == {"score": 1.0, "graded": 1.0}


def test_the_reward_function_for_trl_is_called_as_trl_calls_it(server: Server) -> None:
    """With columns of the data set and of the trainer as keywords; completions are texts or conversations."""
    made = code_of("TRL", server)
    rest = {"completion_ids": [[1], [2]], "challenge": [CHALLENGE_ID] * 2, "trainer_state": object()}
    with made["client"]:
        for wrap in (lambda text: text, lambda text: [{"role": "assistant", "content": text}]):
            completions = [wrap(REPLY), wrap("No.")]
            assert made["kernel_reward"](prompts=["p", "p"], completions=completions, **rest) == [1.0, 0.0]


def test_the_description_names_every_path_with_an_example(server: Server) -> None:
    page = server.ask("GET", "/openapi.json").json
    assert set(page["paths"]) >= {"/v1/grades", "/v1/grades/{id}", "/v1/batches", "/v1/batches/{id}", "/readyz"}
    post = page["paths"]["/v1/grades"]["post"]
    assert post["requestBody"]["content"]["application/json"]["examples"]["reply"]["value"]["challenge"]
    assert post["responses"]["200"]["content"]["application/json"]["example"]["state"] == "finished"
    referred = set(re.findall(r"#/components/schemas/(\w+)", json.dumps(page)))
    assert referred <= set(page["components"]["schemas"])
    described = page["components"]["schemas"]["GradeRequest"]["properties"]
    assert all("description" in field for field in described.values())


def test_it_says_how_it_is(server: Server) -> None:
    assert server.ask("GET", "/healthz").json == {"version": harness.__version__}
    ready = server.ask("GET", "/readyz")
    assert ready.status == 200 and all(ready.json.values())
    text = server.ask("GET", "/metrics").body.decode()
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) and "harness_grade_seconds" in names
    for line in text.splitlines():
        assert re.fullmatch(r'# TYPE \w+ \w+|\w+(\{\w+="[^"]*"\})? [\d.e+-]+', line), line


def test_the_log_tells_what_happened_and_nothing_of_an_answer(server: Server) -> None:
    server.grade(f"{REFERENCE}\nMARKER = 'zebra-in-the-answer'\nprint(MARKER)\nraise ValueError(MARKER)")
    log = server.log.read_text()
    assert "zebra" not in log and "ValueError" not in log
    events = server.events
    assert {"request", "accepted", "graded"} <= {event["event"] for event in events}
    done = next(event for event in reversed(events) if event["event"] == "graded")
    assert done["status"] == "build_failed" and {"work", "seconds", "waited"} <= set(done)


BAD_REPLIES = {
    "a folder called submission.toml": f"{REPLY}\n```submission.toml/x.py\nx = 1\n```\n",
    "a name of 256 letters": f'{REPLY}\n``` file="{"x" * 256}.py"\nx = 1\n```\n',
    "a name of 400 bytes": f'{REPLY}\n``` file="{chr(0x1F600) * 100}.py"\nx = 1\n```\n',
    "3 MiB": "x" * (3 << 20),
    "40 MiB": "\u00e9" * (20 << 20),
}


@pytest.mark.parametrize("bad", BAD_REPLIES)
def test_a_reply_that_cannot_be_read_costs_itself_alone(client: harness.Client, bad: str) -> None:
    records = client.grade_replies([REPLY, BAD_REPLIES[bad], REPLY], CHALLENGE_ID, profile="reward")
    assert [record.reward for record in records] == [1, 0, 1]
    assert records[1].status == "build_failed" and records[1].error is None


def test_files_in_the_way_of_ours_cost_their_answer_alone(server: Server) -> None:
    files = {"answer.py": REFERENCE, "submission.toml/x.py": "x = 1\n"}
    given = server.ask(
        "POST",
        "/v1/batches?wait=60",
        {"answers": [answer(REFERENCE), answer("") | {"files": files}, answer(REFERENCE)]},
    )
    assert [grade["reward"] for grade in given.json["grades"]] == [1, 0, 1]
    assert [grade["record"]["status"] for grade in given.json["grades"]] == ["graded", "build_failed", "graded"]


def test_an_exception_under_one_answer_reaches_no_other(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever escapes while an answer is laid out, those of its group keep their grades."""

    def failing(workspace: Workspace, request: GradeRequest, folder: Path) -> None:
        if request.model == "bad":
            raise OSError(5, "Input/output error")
        lay_out(workspace, request, folder)

    monkeypatch.setattr("harness.serving.answers.lay_out", failing)
    requests = [GradeRequest(challenge=CHALLENGE_ID, reply=REPLY, model=model) for model in ("a", "bad", "b")]
    workspace = Workspace.at(server.root)
    executor = HeldExecutor(workspace, GraderSettings())
    found = {place: record for place, record, _ in records(workspace, executor, requests)}
    assert [found[place].status for place in range(3)] == ["graded", "judge_error", "graded"]
