"""A file of probes counts as soon as it lies beside challenge.toml: no list has to name it."""

import pytest

from harness.errors import SpecError

HEAD = "from harness.probing import probe\n\n@probe(n=1)\n"


def test_a_new_file_of_probes_is_found(toy):
    folder = toy.workspace.challenge_folder("scaled_sum")
    (folder / "probes_extra.py").write_text(HEAD + "def extra_holds(answer, draw, *, n): ...\n")
    assert sorted(toy.probes) == ["doubling_doubles", "extra_holds", "rows_match_the_oracle"]


def test_two_probes_of_one_name_are_refused(toy):
    folder = toy.workspace.challenge_folder("scaled_sum")
    (folder / "probes_extra.py").write_text(HEAD + "def doubling_doubles(answer, draw, *, n): ...\n")
    with pytest.raises(SpecError, match=r"probes_extra.py.*'doubling_doubles'"):
        _ = toy.probes


def test_a_helper_that_imports_a_probe_defines_it_only_once(toy):
    folder = toy.workspace.challenge_folder("scaled_sum")
    (folder / "probes_extra.py").write_text("from .probes import doubling_doubles\n")
    assert "doubling_doubles" in toy.probes


def test_a_criterion_that_names_no_probe_is_told_the_nearest(toy):
    criterion = toy.challenge.criteria[0].model_copy(update={"probes": ("doubling_double",)})
    with pytest.raises(SpecError, match="doubling_doubles"):
        toy.probes_of(criterion)
