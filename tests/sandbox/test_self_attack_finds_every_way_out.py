"""Before an answer runs, every way out of the box is tried, and one that is open is found and named."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.errors import BoxError, PrerequisiteError
from harness.sandbox import Tier, self_test
from harness.sandbox.confinement import bubblewrap, protocol
from harness.sandbox.inside import attacker
from harness.sandbox.session import tiers

SENTENCES = {attack.breach: attack.function for attack in self_test.ATTACKS}
SCRUBBED = {"environment", "descriptors"}
"""What no launch hands over, whatever the tier."""
OTHER_RIGHTS = {"trace_parent", "open_memory"}
"""What the kernel refuses a process that has fewer capabilities than the grader, or may trace its children only."""


@pytest.fixture(autouse=True)
def anew():
    """Each test attacks for itself, and leaves no verdict on a weakened box behind."""
    self_test.breaches.cache_clear()
    yield
    self_test.breaches.cache_clear()


@pytest.fixture
def walled() -> Tier:
    """A tier with namespaces, to weaken."""
    works = [tier for tier in (Tier.B, Tier.A) if tiers.why_not(tier) is None]
    if not works:
        pytest.skip(f"no namespaces: {tiers.why_not(Tier.B)}")
    return works[0]


def functions(tier: Tier) -> set[str]:
    return {SENTENCES[sentence] for sentence in self_test.breaches(tier)}


def without_fence(monkeypatch: pytest.MonkeyPatch) -> None:
    def unfenced(*given, **named):
        return {**protocol.fence_plan(*given, **named), "landlock": None, "seccomp": False, "notify": False}

    monkeypatch.setattr(bubblewrap, "fence_plan", unfenced)


def with_prefix(monkeypatch: pytest.MonkeyPatch, *, leave_out: str = "", bind: str = "") -> None:
    """Start bubblewrap with one option less, or one mount more."""
    prepare = bubblewrap.Bubblewrap.prepare

    def weakened(self, *given, **named):
        prepare(self, *given, **named)
        words = [word for word in self._command if word != leave_out]
        at = words.index("--remount-ro", words.index("/submission"))
        # folders on the way that bubblewrap makes unasked let nobody but root through
        way = [word for path in reversed(Path(bind).parents[:-1]) for word in ("--perms", "0755", "--dir", str(path))]
        self._command = (*words[:at], *way, *(("--bind", bind, bind) if bind else ()), *words[at:])

    monkeypatch.setattr(bubblewrap.Bubblewrap, "prepare", weakened)


@pytest.mark.parametrize("strong", [Tier.A, Tier.B, Tier.C], ids=str)
def test_nothing_gets_out_of_a_box_that_holds(strong):
    if reason := tiers.why_not(strong):
        pytest.skip(f"no tier {strong} here: {reason}")
    assert self_test.breaches(strong) == ()
    self_test.assert_holds(strong)


def test_without_isolation_every_attack_works():
    everything = {attack.function for attack in self_test.ATTACKS}
    found = functions(Tier.UNSAFE)
    assert everything - SCRUBBED - OTHER_RIGHTS <= found <= everything - SCRUBBED


def test_a_tier_that_promises_nothing_is_not_refused():
    self_test.assert_holds(Tier.UNSAFE)


def test_without_its_fence_a_box_of_namespaces_lets_processes_through(walled, monkeypatch):
    without_fence(monkeypatch)
    assert functions(walled) == {"fork", "execute", "memory_file"}
    with pytest.raises(PrerequisiteError, match=r"does not hold(.*\n)+  - .*processes\n(.*\n)+  see .*harness doctor"):
        self_test.assert_holds(walled)


def test_a_network_that_was_not_taken_away_is_found(walled, monkeypatch):
    without_fence(monkeypatch)
    with_prefix(monkeypatch, leave_out="--unshare-net")
    assert {"connect_tcp", "connect_abstract"} <= functions(walled)


def test_a_mount_too_many_is_found(walled, monkeypatch):
    # away from /tmp, where every worker has a file system of its own
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        Path(folder).chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        with_prefix(monkeypatch, bind=folder)
        assert functions(walled) == set(), "the fence holds what the mounts let through"
        self_test.breaches.cache_clear()
        without_fence(monkeypatch)
        assert {"read", "write", "connect_path"} <= functions(walled)


def test_an_attack_that_ends_its_worker_does_not_spare_the_box_the_others(monkeypatch):
    expected = functions(Tier.UNSAFE)
    self_test.breaches.cache_clear()
    monkeypatch.setattr(self_test, "ATTACKS", self_test.ATTACKS[::-1])
    assert functions(Tier.UNSAFE) == expected


def test_it_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = dict(os.environ)
    self_test.breaches(Tier.UNSAFE)
    assert not list(tmp_path.iterdir())
    assert dict(os.environ) == before


def test_a_machine_without_room_for_it_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(BoxError, match=r"self-attack of tier unsafe cannot be set up: .*No such file"):
        self_test.breaches(Tier.UNSAFE)


def naked(code: str, **options: object) -> str:
    """What an attack gets from a process that was started with no care at all."""
    folder = str(Path(attacker.__file__).parent)
    words = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {folder!r}); import attacker; print({code})"]
    return subprocess.run(words, capture_output=True, text=True, check=True, **options).stdout


def test_an_environment_handed_over_is_found(monkeypatch):
    monkeypatch.setenv("CANARY", "tweet")
    assert "tweet" in naked("attacker.environment()")


def test_an_open_file_handed_over_is_found(tmp_path):
    (tmp_path / "canary").write_text("tweet")
    with (tmp_path / "canary").open() as file:
        assert "tweet" in naked("attacker.descriptors()", pass_fds=(file.fileno(),))
        assert "tweet" not in naked("attacker.descriptors()")


@pytest.mark.parametrize("function", sorted(OTHER_RIGHTS))
def test_a_process_with_the_graders_rights_can_trace_it(function):
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if os.geteuid() != 0 and (scope.exists() and scope.read_text().strip() != "0"):
        pytest.skip("on this machine a process may trace its children only")
    code = "import sys, time; print(flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as victim:
        assert victim.stdin and victim.stdout
        victim.stdout.readline()
        assert naked(f"attacker.{function}({victim.pid})").strip() in ("traced", "opened")
        victim.stdin.close()
        assert victim.wait(10) == 0, "it runs on, unharmed"
