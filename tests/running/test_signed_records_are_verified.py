"""A record with a signature beside it is verified wherever it is read; whoever changes it must sign it again."""

import json
from pathlib import Path

import pytest

from harness.audit.board import Board
from harness.audit.regrading import AuditVerdict, audit
from harness.errors import NotFoundError, PrerequisiteError, StoreError
from harness.model.submissions.name import SubmissionName
from harness.store import file_states
from harness.store.record_store import Store
from harness.store.removal import removals, remove
from harness.store.signing import match_records, sign_records
from harness.workspace import Workspace
from harness.workspace.signatures import SecretKey, signature_path
from tests.commands import called
from tests.toy import CHALLENGE_ID

NAME = f"right/{CHALLENGE_ID}"


@pytest.fixture
def key() -> SecretKey:
    return SecretKey.new()


@pytest.fixture
def signed(graded_toy, key: SecretKey, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace whose two published records are signed."""
    monkeypatch.setattr(file_states, "SETTLED_SECONDS", -1.0)
    sign_records(graded_toy.workspace, key, match_records(graded_toy.workspace, ()))
    return graded_toy.workspace


def remark(path: Path) -> None:
    """A change that leaves the record whole and its marks as they were."""
    path.write_text(json.dumps(json.loads(path.read_text()) | {"remarks": ["best of all"]}))


@pytest.mark.parametrize("read_before", [True, False])
def test_a_signed_record_that_was_changed_is_refused_by_every_way_of_reading(
    signed: Workspace, read_before, caplog
) -> None:
    index = Store(signed).published
    boards, singles = (index.read, index.read_marks), (lambda: index.record(NAME), lambda: index.record(str(path)))
    path = signed.record_path("right", CHALLENGE_ID)
    if read_before:
        for read in (*boards, *singles):
            read()
    remark(path)
    for read in boards:
        caplog.clear()
        assert read().left_out == (NAME,)
        assert f"left out: {path}: " in caplog.text and "the file was changed after it was signed" in caplog.text
    for read in singles:
        with pytest.raises(StoreError, match="the file was changed after it was signed") as raised:
            read()
        assert str(raised.value).startswith(f"{path}: ")


def test_a_changed_signature_alone_and_a_key_that_is_gone_are_noticed(
    signed: Workspace, key: SecretKey, caplog
) -> None:
    """The index remembers what it read by the states of record, signature and keys."""
    index, path = Store(signed).published, signed.record_path("right", CHALLENGE_ID)
    index.read_marks()
    whole = signature_path(path).read_bytes()
    signature_path(path).write_bytes(signature_path(signed.record_path("wrong", CHALLENGE_ID)).read_bytes())
    assert index.read_marks().left_out == (NAME,)
    assert "does not hold" in caplog.text
    signature_path(path).write_bytes(whole)
    assert index.read_marks().left_out == ()
    (signed.keys_folder / f"{key.public.name}.pub").unlink()
    assert len(index.read_marks().left_out) == 2
    assert f"signed by key {key.public.name}, which is not trusted here" in caplog.text


def test_where_there_are_keys_what_is_not_signed_is_marked(signed: Workspace) -> None:
    """A forger who cannot sign removes the signature."""
    index = Store(signed).published
    assert index.read().doubts == {} and index.doubts(index.record(NAME)) == ()
    signature_path(signed.record_path("right", CHALLENGE_ID)).unlink()
    assert index.read().doubts == {NAME: ("unsigned",)} and index.doubts(index.record(NAME)) == ("unsigned",)
    told = {command: called(signed.root, *command.split()) for command in (
        "scoreboard", f"show {NAME}", "compare right wrong", "export --csv -", "scoreboard --format json",
        "export evidence --csv -",
    )}  # fmt: skip
    for command, ended in told.items():
        words = ended.stdout + ended.stderr
        assert ended.returncode == 0 and ("not signed" in words.lower() or "unsigned" in words), command
    called(signed.root, "report")
    for page in (signed.root / "reports" / name for name in ("scoreboard.md", f"{CHALLENGE_ID}.md", "index.html")):
        assert "Not signed" in page.read_text(), page


def test_a_new_grade_takes_the_signature_away_and_the_same_one_keeps_it(signed: Workspace) -> None:
    store, record = Store(signed), signed.record(NAME)
    place = signature_path(signed.record_path("right", CHALLENGE_ID))
    store.publish(record)
    assert place.exists()
    store.publish(record.model_copy(update={"seed": record.seed + 1}))
    assert not place.exists()
    assert signed.record(NAME).seed == record.seed + 1


def test_with_a_submission_goes_the_signature_of_its_record(signed: Workspace) -> None:
    for removal in removals(signed, [NAME]):
        remove(signed, removal)
    assert [path.name for path in signed.records_folder.rglob("right*")] == []


def test_what_its_own_evidence_does_not_bear_out_is_not_signed(signed: Workspace, key: SecretKey) -> None:
    path = signed.record_path("wrong", CHALLENGE_ID)
    document = json.loads(path.read_text())
    document["overall"]["score"] = 55.0
    path.write_text(json.dumps(document))
    with pytest.raises(StoreError, match=r"wrong\.json: overall does not follow"):
        sign_records(signed, key, [SubmissionName("wrong", CHALLENGE_ID)])
    with pytest.raises(NotFoundError, match="no published record 'rihgt'; did you mean 'right'"):
        match_records(signed, ["rihgt"])


def test_without_cryptography_a_signed_record_names_the_extra(signed: Workspace, monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cryptography", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'kernel-harness\[sign\]'"):
        signed.record(NAME)


def test_an_audit_says_who_signed_and_believes_no_key_of_the_board(
    signed: Workspace, key, toy, tmp_path_factory
) -> None:
    mine = Workspace(tmp_path_factory.mktemp("mine"))
    (mine.root / "challenges").mkdir()
    name = SubmissionName("right", CHALLENGE_ID)

    def told(*keys) -> tuple[str, str]:
        (one,) = audit(mine, Board(signed.root, mine, keys), [name])
        return one.verdict.value, one.signature

    assert told() == ("not compared", f"signed by key {key.public.name}, which is not known here: not verified")
    assert told(key.public) == ("not compared", f"signed by key {key.public.name}")
    remark(signed.record_path("right", CHALLENGE_ID))
    (one,) = audit(mine, Board(signed.root, mine, [key.public]), [name])
    assert one.verdict is AuditVerdict.REFUSED and "does not hold" in one.why
    signature_path(signed.record_path("right", CHALLENGE_ID)).unlink()
    assert told(key.public)[1] == "unsigned"
