"""A figure on the page shows what records hold, all of it, and nothing else."""

import math
from pathlib import Path

import numpy as np
import pytest
import sample_records as sample
from hypothesis import given, settings
from hypothesis import strategies as st
from page_reader import read

from harness.model import Counterexample, Loss, LossByDistance, LossMap, Observation, Outcome
from harness.probing.patterns import pattern_of
from harness.report.document import Figure, Group
from harness.report.figures import losses
from harness.report.figures.drawings import figure_blocks
from harness.report.figures.series import Point, error_ratios, exponents, time_ratios
from harness.report.views.inputs import ReportInputs
from harness.report.writers.page import page

ROOT = Path(__file__).parents[2]


def record(model="glm-5", **measured):
    """A record whose criterion `shapes` measured these figures."""
    shapes = {"outcome": Outcome.PASSED, "measured": measured}
    return sample.record(model, sample.RIGHT | {"shapes": shapes})


def by_label(lines) -> dict[str, tuple[Point, ...]]:
    return {line.label: line.points for line in lines}


def test_ratios_are_those_measured_and_those_of_failing_inputs():
    failed = sample.FUTURE | {
        "counterexample": Counterexample(measured={"error_ratio": 3.5e15}),
        "also": (
            Observation(title="another", counterexample=Counterexample(measured={"error_ratio": math.inf})),
            Observation(title="a third", detail="error ratio 7, at most 32 passes"),
        ),
    }
    lines = by_label(error_ratios(sample.CHALLENGE, [
        sample.record(), sample.record("wrong", sample.RIGHT | {"causality": failed}),
    ]))  # fmt: skip
    assert lines["prefill_then_decode"] == (Point("glm-5", 1.19), Point("wrong", 1.19))
    assert lines["causality, failing input"] == (Point("wrong", math.inf),)
    assert list(lines).index("causality, failing input") < list(lines).index("prefill_then_decode")


def test_what_is_no_number_or_no_plain_name_is_not_drawn():
    measured = {"b_error_ratio": "large", "c_error_ratio": True, "<b>_error_ratio": 2.0}
    labels = by_label(error_ratios(sample.CHALLENGE, [record(**measured)]))
    assert not [label for label in labels if label.startswith("shapes")]


def test_a_figure_carries_its_interval():
    one = record(time_ratio=0.9, time_ratio_low=0.8, time_ratio_high=1.1, decode_cost_exponent=1.2)
    assert by_label(time_ratios(sample.CHALLENGE, [one])) == {"shapes": (Point("glm-5", 0.9, 0.8, 1.1),)}
    assert by_label(exponents(sample.CHALLENGE, [one])) == {"shapes, decode cost": (Point("glm-5", 1.2),)}


def test_the_table_of_a_figure_holds_what_is_drawn():
    rows = [record("a", time_ratio=0.9, time_ratio_low=0.8, time_ratio_high=1.1), record("b", time_ratio=2.0)]
    (group,) = figure_blocks([sample.CHALLENGE], rows, ["a", "b"])["timing"]
    assert isinstance(group, Group) and isinstance(drawing := group.blocks[0], Figure) and drawing.table
    assert drawing.table.columns == ("What", "a", "b")
    assert [row.cells for row in drawing.table.rows] == [("shapes", "0.9 [0.8, 1.1]", "2")]


def test_colours_and_fonts_are_the_page_s_and_words_are_words():
    models = [f"model-{n:02d}" for n in range(12)]
    records = [record(m, time_ratio=1 + n / 10) for n, m in enumerate(models)]
    tree = read(page(ReportInputs([sample.CHALLENGE], records)))
    for svg in (s for s in tree.all("svg") if "aria-label" in s.attributes):
        for element in svg.all():
            assert "font-family" not in element.attributes
            for name in ("fill", "stroke"):
                assert element.attributes.get(name, "none").startswith(("var(--", "none"))
    drawing = next(s for s in tree.all("svg") if "time ratio" in s.attributes.get("aria-label", ""))
    assert {e.text for e in drawing.all("text")} >= {"model-00", "model-07", "shapes"}
    assert "model-08" not in drawing.text
    told = next(f for f in tree.all("figure") if "time ratio" in f.text)
    assert "the first 8 of 12 models are drawn" in told.one("summary").text
    assert "model-11" in told.one("table").text


def test_dots_lie_where_the_figures_are():
    records = [record(m, time_ratio=v) for m, v in (("a", 0.6), ("b", 1.0), ("c", 1.4))]
    tree = read(page(ReportInputs([sample.CHALLENGE], records)))
    svg = next(s for s in tree.all("svg") if "time ratio" in s.attributes.get("aria-label", ""))
    places = [e.attributes["transform"] for e in svg.all("path", class_="point")]
    a, b, c = (float(place.removeprefix("translate(").split()[0]) for place in places)
    assert b - a == pytest.approx(c - b, abs=0.02)
    assert c > b > a


def test_without_figures_every_section_says_so():
    plain = {id: {k: v for k, v in o.items() if k != "measured"} for id, o in sample.RIGHT.items()}
    made = figure_blocks([sample.CHALLENGE], [sample.record(outcomes=plain)], ["glm-5"])
    assert len(made) == 4 and not any(made.values())
    text = read(page(ReportInputs([sample.CHALLENGE], [sample.record(outcomes=plain)]))).one("main").text
    for missing in ("an error ratio", "an exponent of cost", "a time ratio"):
        assert f"No record holds {missing}." in text
    assert "No record names lost columns or rows." in text


@st.composite
def masks(draw) -> np.ndarray:
    """Lost columns that follow a residue or a range, as faults of parallel code do; some of 1,104."""
    n = np.arange(1104)
    low = draw(st.integers(0, 600))
    width = draw(st.integers(1, 500))
    modulus = draw(st.sampled_from([2, 4, 32, 256, 512, 0]))
    place = n % modulus if modulus else n
    return (place >= low % (modulus or 1104)) & (place < low % (modulus or 1104) + width)


def losing(loss: Loss):
    """A record in which one criterion has this loss."""
    return sample.record(outcomes=sample.RIGHT | {"causality": sample.FUTURE | {"loss": loss}})


@settings(max_examples=100, derandomize=True, database=None, deadline=None)
@given(masks())
def test_a_loss_map_is_the_loss_that_was_seen(mask):
    rule = pattern_of(mask)
    if rule is None or mask.all():
        return
    (loss,) = losses.losses([losing(rule.loss("columns"))])
    drawn = np.zeros(loss.size, bool)
    for begin, length in loss.runs:
        drawn[begin : begin + length] = True
    size = min(loss.size, len(mask))
    assert (drawn[:size] == mask[:size]).all()
    assert drawn.any() and not drawn.all()


@pytest.mark.parametrize(
    ("loss", "unit", "runs", "found"),
    [
        (LossMap(unit="rows", size=40, period=4, runs=((1, 3),)), "rows", ((1, 3), (5, 3)), ()),
        (LossMap(unit="rows", size=40, period=4, runs=((0, 1), (3, 1))), "rows", ((0, 1), (3, 2), (7, 1)), ()),
        (LossMap(unit="columns", size=99, runs=((8, 91),)), "columns", ((8, 3),), ()),
        (LossByDistance(found=((256, 1 / 3), (512, 0.5))), "", (), ((256, 1 / 3), (512, 0.5))),
    ],
)
def test_losses_are_drawn_over_what_shows_their_rule(loss, unit, runs, found):
    (drawn,) = losses.losses([losing(loss)])
    assert (drawn.unit, drawn.runs, drawn.found) == (unit, runs, found)
    assert losses.losses([sample.record()]) == ()


def test_a_loss_is_drawn_with_its_sentence():
    loss = LossMap(unit="columns", size=1104, period=256, runs=((10, 246),))
    tree = read(page(ReportInputs([sample.CHALLENGE], [losing(loss)])))
    words = sample.FUTURE["diagnosis"].words.replace("`", "")
    assert any(words in figure.one("figcaption").text for figure in tree.all("figure"))
