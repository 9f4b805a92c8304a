"""This process's own control groups are found whatever the machine mounts, and each gets the words of its version."""

import re
from pathlib import Path

import pytest

from harness.errors import BoxError
from harness.sandbox.confinement import cgroup
from harness.sandbox.confinement.cgroup import Cgroup, Folder

BOTH = frozenset({"memory", "pids"})


def machine(tmp_path: Path, groups: str, *mounts: str) -> Path:
    """A folder like /proc/self; `{}` in a mount stands for a folder that takes the place of /sys/fs/cgroup."""
    process = tmp_path / "process"
    process.mkdir()
    (process / "cgroup").write_text(groups)
    lines = [f"{number} 1 0:{number} {mount}\n".replace("{}", str(tmp_path)) for number, mount in enumerate(mounts, 30)]
    (process / "mountinfo").write_text("".join(["1 0 8:1 / / rw - ext4 /dev/sda rw\n", *lines]))
    return process


def group(path: Path, offered: str = "", passed: str = "") -> Path:
    """A group of version 2."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "cgroup.controllers").write_text(offered)
    (path / "cgroup.subtree_control").write_text(passed)
    return path


def found(process: Path) -> list[Folder]:
    return list(cgroup.folders_of(process))


def test_version_1_gives_a_folder_a_controller(tmp_path):
    process = machine(
        tmp_path,
        "9:name=systemd:/\n5:pids:/\n4:memory:/service/x\n3:cpu,cpuacct:/\n",
        "/ {}/pids rw - cgroup cgroup rw,pids",
        "/ {}/memory rw shared:3 - cgroup cgroup rw,memory",
        "/ {}/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
        "/ {}/systemd rw - cgroup cgroup rw,name=systemd",
    )
    for name in ("pids", "memory/service/x", "cpu,cpuacct", "systemd"):
        (tmp_path / name).mkdir(parents=True)
    assert {(f.path.relative_to(tmp_path).as_posix(), f.version, *f.controllers) for f in found(process)} == {
        ("pids", 1, "pids"), ("memory/service/x", 1, "memory"), ("cpu,cpuacct", 1, "cpuacct"),
    }  # fmt: skip


def test_a_container_sees_its_part_of_a_hierarchy(tmp_path):
    process = machine(
        tmp_path, "4:memory:/docker/ab/inner\n", r"/docker/ab {}/with\040space rw - cgroup cgroup rw,memory"
    )
    (tmp_path / "with space" / "inner").mkdir(parents=True)
    assert [f.path for f in found(process)] == [tmp_path / "with space" / "inner"]


@pytest.mark.parametrize("path", ["/other", "/../other", "/docker/ab/../../other"])
def test_a_group_outside_what_is_mounted_is_not_used(tmp_path, path):
    process = machine(tmp_path, f"4:memory:{path}\n", "/docker/ab {}/memory rw - cgroup cgroup rw,memory")
    (tmp_path / "memory").mkdir()
    (tmp_path / "other").mkdir()
    assert not found(process)


def test_version_2_passes_its_controllers_on(tmp_path):
    process = machine(tmp_path, "0::/own\n", "/ {}/all rw - cgroup2 cgroup2 rw,nsdelegate")
    own = group(tmp_path / "all" / "own", offered="cpu memory pids")
    found(process)
    assert (own / "cgroup.subtree_control").read_text() == "+memory +pids"  # the kernel answers with the names
    (own / "cgroup.subtree_control").write_text("memory pids")
    assert found(process) == [Folder(own, 2, BOTH)]


def test_version_2_uses_the_group_above_where_the_own_one_holds_processes(tmp_path):
    process = machine(tmp_path, "0::/slice/session\n", "/ {}/all rw - cgroup2 cgroup2 rw")
    slice = group(tmp_path / "all" / "slice", offered="memory pids", passed="cpu memory pids")
    group(slice / "session", offered="memory pids")
    assert found(process) == [Folder(slice, 2, BOTH)]


def test_version_2_without_controllers_limits_nothing(tmp_path):
    process = machine(tmp_path, "0::/\n", "/ {}/unified rw - cgroup2 cgroup2 rw")
    group(tmp_path / "unified", offered="hugetlb")
    assert found(process) == [Folder(tmp_path / "unified", 2, frozenset())]
    with pytest.raises(BoxError, match="limits memory or pids"):
        cgroup.make(1 << 20, 8, found(process))


def test_no_proc_means_no_groups(tmp_path):
    assert not found(tmp_path / "nothing")


def files(path: Path, *names: str) -> Path:
    path.mkdir()
    for name in names:
        (path / name).touch()
    return path


def written(path: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in path.iterdir() if file.read_text()}


def test_version_2_is_limited_in_its_words(tmp_path):
    path = files(tmp_path / "g", "memory.max", "memory.swap.max", "memory.oom.group", "pids.max")
    Folder(path, 2, BOTH).limit(1 << 30, 64)
    assert written(path) == {
        "memory.max": str(1 << 30), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "64",
    }  # fmt: skip


def test_version_1_is_limited_in_its_words(tmp_path):
    path = files(tmp_path / "g", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes", "pids.max")
    Folder(path, 1, BOTH).limit(1 << 30, 64)
    assert written(path) == {
        "memory.limit_in_bytes": str(1 << 30), "memory.memsw.limit_in_bytes": str(1 << 30), "pids.max": "64",
    }  # fmt: skip


@pytest.mark.parametrize(("version", "name"), [(1, "memory.limit_in_bytes"), (2, "memory.max")])
def test_a_kernel_without_accounting_for_swap_still_limits_memory(tmp_path, version, name):
    path = files(tmp_path / "g", name)
    Folder(path, version, frozenset({"memory"})).limit(1 << 30, 64)
    assert written(path) == {name: str(1 << 30)}


def test_a_limit_that_cannot_be_set_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Folder(files(tmp_path / "g", "memory.max"), 2, BOTH).limit(1 << 30, 64)


def test_version_2_kills_by_one_word(tmp_path):
    path = files(tmp_path / "g", "cgroup.kill", "pids.max")
    Folder(path, 2, BOTH).kill()
    assert written(path) == {"cgroup.kill": "1"}


def test_without_that_word_nothing_can_be_added_while_it_kills(tmp_path):
    path = files(tmp_path / "g", "pids.max", "cgroup.procs")
    Folder(path, 1, BOTH).kill()
    assert written(path) == {"pids.max": "0"}


def test_processor_time_is_read_in_the_unit_of_the_version(tmp_path):
    old, new = files(tmp_path / "old", "cpuacct.usage"), files(tmp_path / "new", "cpu.stat")
    (old / "cpuacct.usage").write_text("1500000000\n")
    (new / "cpu.stat").write_text("nr_periods 7\nusage_usec 2500000\nuser_usec 1\n")
    assert Cgroup([Folder(old, 1, BOTH)]).processor_seconds() == 1.5
    assert Cgroup([Folder(tmp_path, 2, BOTH), Folder(new, 2, BOTH)]).processor_seconds() == 2.5
    assert str(Cgroup([Folder(tmp_path, 1, BOTH)]).processor_seconds()) == "nan"


def test_paths_are_quoted_for_the_shell(tmp_path):
    (script,) = re.findall(r"echo.*", Cgroup([Folder(tmp_path / "a b; exit", 2, BOTH)]).enter_prefix()[2])
    assert script.startswith(f"echo 0 >'{tmp_path}/a b; exit/cgroup.procs' && exec")
