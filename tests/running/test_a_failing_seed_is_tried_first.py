"""A seed that once failed an answer is tried first on the same files from then on, and on no others."""

import pytest

from harness.grading.options import Options
from harness.grading.submission_grade import grade_one
from harness.model import Outcome
from harness.probing.evidence.criteria import seed_of
from harness.sandbox import hash_folder
from harness.store.record_store import Store
from tests.toy import CHALLENGE_ID, PROBES, TOML, add_submission, make_workspace

DRAWN = """
from harness.probing.sizes import Axis, Drawn

@probe(drawn=Drawn({"D": Axis(1, 900)}, 4))
def any_row_is_right(answer, draw, *, D):
    x = draw.grid(1, D)
    expect.same("out", ask(answer, x, 1.0), x.sum(axis=-1), "a row is wrong", within=1e-9)
"""
ANY_SIZE = """
[[criteria]]
id = "any_size"
dimension = "correctness"
severity = "critical"
title = "Right at any size"
probes = ["any_row_is_right"]
"""
RARELY_WRONG = "def scaled(x, scale):\n    return x.sum(axis=-1) * scale + (x.shape[-1] % 9 == 7)\n"


@pytest.fixture
def workspace(tmp_path):
    return make_workspace(tmp_path, toml=TOML + ANY_SIZE, probes=PROBES + DRAWN)


def any_size(workspace, folder, **options):
    record = grade_one(workspace, folder, Options(force=True, **options)).record
    return next(e for e in record.evidence if e.criterion == "any_size")


def first_failing_seed(workspace, folder):
    tried = (any_size(workspace, folder) for _ in range(40))
    return next(e.seed for e in tried if e.outcome is Outcome.FAILED)


def test_the_seed_decides_every_later_grade_of_these_files(workspace):
    folder = add_submission(workspace, "m", RARELY_WRONG)
    seed = first_failing_seed(workspace, folder)
    again = [any_size(workspace, folder) for _ in range(3)]
    assert {(e.outcome, e.seed) for e in again} == {(Outcome.FAILED, seed)}
    other = add_submission(workspace, "other", f"{RARELY_WRONG}# other files\n")
    kept = Store(workspace).failing_seeds(CHALLENGE_ID, hash_folder(other))
    assert kept.of("any_size") is None


def test_a_mended_answer_is_free_of_it(workspace):
    folder = add_submission(workspace, "m", RARELY_WRONG)
    first_failing_seed(workspace, folder)
    add_submission(workspace, "m", "def scaled(x, scale):\n    return x.sum(axis=-1) * scale\n")
    assert any_size(workspace, folder).outcome is Outcome.PASSED


def test_a_seed_chosen_by_hand_is_neither_kept_nor_replaced(workspace):
    folder = add_submission(workspace, "m", RARELY_WRONG)
    by_hand = [any_size(workspace, folder, seed=seed) for seed in range(12)]
    assert {e.outcome for e in by_hand} == {Outcome.FAILED, Outcome.PASSED}
    assert [e.seed for e in by_hand] == [seed_of(seed, "any_size") for seed in range(12)]
    assert Store(workspace).failing_seeds(CHALLENGE_ID, hash_folder(folder)).of("any_size") is None
