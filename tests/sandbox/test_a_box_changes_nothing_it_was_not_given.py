"""Opening an answer to the box's own user follows no link out of its folder, and users of boxes are drawn apart."""

import os
import re
import stat
import subprocess
import sys

import pytest

from harness.sandbox import run
from harness.sandbox.confinement import box_user, scratch, visible_files
from harness.sandbox.confinement.implementations import new_sandbox
from harness.sandbox.confinement.protocol import FileAccess
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
    monkeypatch.setattr(box_user, "reaches", lambda uid, paths: True)
    users = set()
    for _ in range(3):
        sandbox = new_sandbox(confined)
        sandbox.prepare(FileAccess(visible_files.BOOT), 1 << 30, 64)
        users.add(sandbox.limit("run", {}, 64).fence["uid"])
        sandbox.end(None)
    assert len(users) == 1 and users <= set(box_user.UIDS)
    # drawn 40 times of 4336, fewer than 35 different ones come less than once in a million runs: C(780,6) / 4336^6
    assert len({box_user._own_uid(grader) for grader in range(40)}) >= 35


@pytest.mark.parametrize("confined", HELD)
def test_a_command_writes_to_the_scratch_folder_that_it_is_given(confined):
    # the compiler of a GPU's build does, for an answer that lies where every user may read it
    with scratch.folder() as place:
        (place / "out").mkdir()
        words = ["/bin/sh", "-c", "echo written > {out}/log"]
        done = run(words, visible_files.BOOT, tier=confined, seconds=20, writable={"out": place / "out"})
        assert (done.returncode, (place / "out" / "log").read_text()) == (0, "written\n"), done.output


def test_root_of_a_user_namespace_with_one_id_keeps_that_one_and_still_isolates():
    words = (
        sys.executable,
        "-P",
        "-c",
        "from harness.sandbox import box_user, detect; print(box_user.draw_uid(), detect())",
    )
    alone = ("unshare", "--user", "--map-root-user")
    if subprocess.run((*alone, "true"), check=False).returncode != 0:
        pytest.skip("this user may not make a user namespace")
    done = subprocess.run((*alone, *words), capture_output=True, text=True, check=True)
    assert re.fullmatch(r"None [ABC]\n", done.stdout), done.stdout


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("status", "CapEff:\t000001ffffffff3f\n"),  # neither CAP_SETGID nor CAP_SETUID
        ("setgroups", "deny\n"),
        ("uid_map", "0 1000 1\n1 100000 60000\n"),
        ("gid_map", "0 1000 1\n"),
    ],
)
def test_root_that_may_not_become_another_user_is_recognised(tmp_path, file, text):
    whole = "0 0 4294967295\n"
    found = {
        "status": "Name:\tx\nCapEff:\t000001ffffffffff\n",
        "setgroups": "allow\n",
        "uid_map": whole,
        "gid_map": whole,
    }
    for name, content in found.items():
        (tmp_path / name).write_text(content)
    assert box_user.may_change_user(tmp_path)
    box_user.may_change_user.cache_clear()
    (tmp_path / file).write_text(text)
    assert not box_user.may_change_user(tmp_path)


@needs_root
def test_a_scratch_folder_lets_boxes_through_and_no_other_user():
    uid = box_user.draw_uid()
    with scratch.folder() as place:
        assert (mode(place), place.stat().st_gid) == (0o710, uid)
        assert box_user.reaches(uid, [str(place)]) and not box_user.reaches(uid + 1, [str(place)])


def test_a_scratch_folder_closed_to_its_owner_is_removed():
    folder = scratch.make()
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").touch()
    (folder / "a" / "b").chmod(0)
    (folder / "a").chmod(0o300)
    scratch.remove(folder)
    assert not folder.exists()
