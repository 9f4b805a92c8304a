"""A server that holds answers less well than it could says so when it starts; clients learn the cause, no path."""

from pathlib import Path

import pytest

from harness.sandbox import Tier
from harness.sandbox.session.tiers import FORCED, why_not
from tests.broken_bubblewrap import WORDS, path_with
from tests.serving.servers import serving
from tests.toy import REFERENCE


@pytest.mark.skipif(why_not(Tier.C) is not None, reason=f"no tier C: {why_not(Tier.C)}")
def test_the_operator_reads_the_words_and_a_client_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = f"{WORDS} in {tmp_path}"
    monkeypatch.setenv("PATH", path_with(tmp_path / "bin", words))
    monkeypatch.delenv(FORCED, raising=False)
    with serving(tmp_path / "workspace") as server:
        given = server.grade(REFERENCE)
        log = server.log.read_text()
    assert log.count("weaker isolation than this machine is set up for: tier C") == 1 and log.count(words) == 1
    assert str(tmp_path).encode() not in given.body
    where = given.json["record"]["environment"]
    assert where["tier"] == "C" and {"B", "failed"} <= set(where["unused_tiers"][-1].values())
