"""A finding names the places of what its title says; those of what else was seen stand beside that."""

from dataclasses import replace

from harness.model import Location
from harness.probing import ProbeFailure
from harness.probing.evidence.criteria import probe_criterion
from tests.checkout import answer_of

PLACE = Location(file="answer.py", line=3)


def failing(title, *places):
    def body(answer, draw, **sizes):
        raise ProbeFailure(title, locations=places)

    return body


def test_the_place_of_an_exception_is_not_that_of_a_wrong_value(toy):
    names = ("rows_match_the_oracle", "doubling_doubles")
    wrong, raised = failing("values are wrong"), failing("`scaled` raises KeyError", PLACE)
    for name, body in zip(names, (wrong, raised), strict=True):
        toy.probes[name] = replace(toy.probes[name], body=body)
    criterion = toy.challenge.criterion("values").model_copy(update={"probes": names})
    answer = answer_of(toy.source())
    evidence = probe_criterion(toy, criterion, answer, 7, explain=False)
    assert (evidence.title, evidence.locations) == ("values are wrong", ())
    assert [(seen.title, seen.locations) for seen in evidence.also] == [("`scaled` raises KeyError", (PLACE,))]
