"""Opening an answer to the box's own user follows no link out of its folder, and users of boxes are drawn apart."""

import os
import stat

import pytest

from harness.sandbox import box_user, scratch, visible_files
from harness.sandbox.implementations import new_sandbox
from harness.sandbox.protocol import FileAccess
from tests.tiers_here import HELD

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives a box a user of its own")


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_private_answer_is_opened_and_what_its_links_name_is_not(tmp_path):
    outside, folder = tmp_path / "outside", tmp_path / "answer"
    for place in (outside, folder, folder / "deep"):
        place.mkdir(mode=0o700)
    for file in (outside / "secret", folder / "answer.py", folder / "deep" / "more.py"):
        file.write_text("")
        file.chmod(0o600)
    (folder / "link").symlink_to(outside / "secret")
    (folder / "linked").symlink_to(outside)
    os.mkfifo(folder / "pipe")  # opening it must not wait for a writer
    box_user.open_up(folder)
    assert [mode(p) for p in (folder, folder / "deep", folder / "answer.py", folder / "deep" / "more.py")] == [
        0o755, 0o755, 0o644, 0o644,
    ]  # fmt: skip
    assert (mode(outside), mode(outside / "secret")) == (0o700, 0o600)


@needs_root
@pytest.mark.parametrize("confined", HELD)
def test_a_graders_boxes_get_a_user_of_their_own(confined, monkeypatch):
    # in tier C only where that user reaches the interpreter, which here may lie in a folder of root's
    monkeypatch.setattr(box_user, "_open_to_all", lambda path: True)
    users = set()
    for _ in range(3):
        sandbox = new_sandbox(confined)
        sandbox.prepare(FileAccess(visible_files.BOOT), 1 << 30, 64)
        users.add(sandbox.limit("run", {}, 64).fence["uid"])
        sandbox.end(None)
    assert len(users) == 1 and users <= set(box_user.UIDS)
    # drawn 40 times of 4336, fewer than 35 different ones come less than once in a million runs: C(780,6) / 4336^6
    assert len({box_user._own_uid(grader) for grader in range(40)}) >= 35


def test_a_scratch_folder_closed_to_its_owner_is_removed():
    folder = scratch.make()
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").touch()
    (folder / "a" / "b").chmod(0)
    (folder / "a").chmod(0o300)
    scratch.remove(folder)
    assert not folder.exists()
