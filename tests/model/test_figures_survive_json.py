"""Every figure survives JSON, NaN and infinities included, and every stored root prints its schema."""

import json
import math

import pytest

from harness.model import Challenge, Counterexample, Evidence, Outcome, Record, Review, Severity, Submission


def test_special_values_come_back_as_numbers_from_strict_json():
    figures = {"up": math.inf, "down": -math.inf, "n": 3, "x": 0.1, "yes": True, "s": "text"}
    example = Counterexample(where="y[0]", expected=math.nan, got=-math.inf)
    evidence = Evidence(
        criterion="c", dimension="d", severity=Severity.MAJOR, outcome=Outcome.FAILED, title="is wrong",
        measured=figures, counterexample=example,
    )  # fmt: skip
    text = evidence.model_dump_json()
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    back = Evidence.model_validate_json(text)
    assert math.isnan(back.counterexample.expected)
    assert back.measured == figures
    assert [type(v) for v in back.measured.values()] == [float, float, int, float, bool, str]
    assert back.counterexample.got == -math.inf


@pytest.mark.parametrize("root", [Challenge, Submission, Record, Review])
def test_every_field_of_a_root_is_documented_in_its_schema(root):
    schema = root.model_json_schema()
    parts = [schema, *(part for part in schema.get("$defs", {}).values() if "properties" in part)]
    bare = [
        f"{part['title']}.{name}"
        for part in parts
        for name, field in part["properties"].items()
        if "description" not in field
    ]
    assert not bare
    assert all(part.get("additionalProperties") is False for part in parts)
