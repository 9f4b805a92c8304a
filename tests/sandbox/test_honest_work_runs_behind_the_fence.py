"""Behind the whole fence NumPy computes, compilers compile and an answer's own tests run."""

import fcntl
import os
import shutil
import signal
import socket
import struct
from pathlib import Path

import pytest

from harness.sandbox.inside import seccomp
from tests.sandbox import fenced

pytestmark = [fenced.needs_landlock, fenced.needs_seccomp]

KERNEL = '#include <cstdio>\n__global__ void k(float *x) { *x = 1; }\nint main() { std::puts("hello"); }\n'


def test_numpy_and_scipy_compute(tmp_path: Path) -> None:
    body = """
        import numpy as np, scipy.linalg, scipy.special
        a = np.random.default_rng(0).normal(size=(60, 60))
        u, s, v = np.linalg.svd(a)
        assert np.allclose(u * s @ v, a)
        assert np.allclose(np.fft.ifft(np.fft.fft(a)).real, a)
        assert np.all(np.diff(np.sort(a.ravel())) >= 0)
        assert np.isfinite(scipy.linalg.expm(a / 100)).all() and scipy.special.erf(0.0) == 0
        big = np.ones(1 << 22)
        big.resize(1 << 23, refcheck=False)
        tell(float(big.sum()))
    """
    assert fenced.run(body, fenced.plan(scratch=tmp_path)) == 1 << 22


def test_threads_timers_and_files_of_its_own_work(tmp_path: Path) -> None:
    body = """
        import concurrent.futures, random, select, shutil, signal, time, uuid
        import numpy as np
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            assert sum(pool.map(len, ["ab"] * 8)) == 16
        with tempfile.TemporaryDirectory() as folder:
            kept = np.memmap(folder + "/kept", dtype="float64", mode="w+", shape=(100,))
            kept[:] = 2
            kept.flush()
            shutil.copyfile(folder + "/kept", folder + "/copy")
            assert os.path.getsize(folder + "/copy") == 800 and len(os.listdir(folder)) == 2
        assert not os.listdir(os.environ["TMPDIR"])
        ticks = []
        signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        time.sleep(0.05)
        poller = select.epoll()
        poller.close()
        random.random(), uuid.uuid4(), os.urandom(8), os.uname(), os.times(), os.sysconf("SC_NPROCESSORS_ONLN")
        tell(len(ticks))
    """
    assert fenced.run(body, fenced.plan(scratch=tmp_path), environment={"TMPDIR": str(tmp_path)}) == 1


def test_sealed_files_of_the_parent_are_read_and_answered() -> None:
    body = """
        import numpy as np
        _, (given, wanted), _, _ = socket.recv_fds(control, 64, 2)
        x = np.frombuffer(mmap.mmap(given, 0, prot=mmap.PROT_READ), dtype="float64")
        os.pwrite(wanted, (x * 2).tobytes(), 0)
        sealed = [attempt(os.pwrite, given, b"x", 0), attempt(os.ftruncate, wanted, 9), attempt(os.fork)]
        control.send(json.dumps(sealed).encode())
        tell("done")
    """
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    given, wanted = (os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING) for name in ("given", "wanted"))
    os.write(given, struct.pack("=2d", 1.5, 2.5))
    os.ftruncate(wanted, 16)
    fcntl.fcntl(given, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    fcntl.fcntl(wanted, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    with ours, its:
        socket.send_fds(ours, [b"work"], [given, wanted])
        before = f"control = socket.socket(fileno={its.fileno()})"
        assert fenced.run(body, fenced.plan(), before=before, pass_fds=[its.fileno()]) == "done"
        assert ours.recv(64) == b'["EPERM", "EPERM", "EPERM"]'
    assert struct.unpack("=2d", os.pread(wanted, 16, 0)) == (3.0, 5.0)
    os.close(given)
    os.close(wanted)


def test_machine_code_made_at_run_time_runs() -> None:
    body = """
        page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        page.write(bytes.fromhex(WORLD["code"]))
        tell(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))())
    """
    code = {"x86_64": "b807000000c3", "aarch64": "e0008052c0035fd6"}[os.uname().machine]  # return 7
    assert fenced.run(body, fenced.plan(), {"code": code}) == 7


def test_a_crash_is_still_a_crash() -> None:
    done = fenced.finish(fenced.command("os.abort()", fenced.plan()))
    assert done.returncode == -signal.SIGABRT


def test_a_run_starts_no_other_program() -> None:
    assert fenced.run("tell(attempt(subprocess.run, ['/bin/true']))", fenced.plan()) == "EPERM"


@pytest.mark.parametrize("compiler", ["g++", "clang++", "nvcc"])
def test_compilers_compile_and_what_they_made_runs(compiler: str, tmp_path: Path) -> None:
    found = shutil.which(compiler)
    if found is None:
        pytest.skip(f"{compiler} is not on PATH")
    source = tmp_path / ("hello.cu" if compiler == "nvcc" else "hello.cpp")
    source.write_text(KERNEL if compiler == "nvcc" else '#include <cstdio>\nint main() { std::puts("hello"); }\n')
    body = """
        made = WORLD["source"] + ".out"
        done = subprocess.run([WORLD["compiler"], WORLD["source"], "-o", made], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        tell(subprocess.run([made], capture_output=True, text=True, check=True).stdout)
    """
    world = {"compiler": found, "source": str(source)}
    plan = fenced.plan(seccomp.BUILD, tmp_path, allow=["chmod"])  # as where files that last are mounted read-only
    assert fenced.run(body, plan, world, environment={"TMPDIR": str(tmp_path)}) == "hello\n"


def test_own_tests_run(tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(
        "import subprocess\n"
        "def test_right(tmp_path):\n"
        "    (tmp_path / 'f').write_text('x')\n"
        "    subprocess.run(['/bin/true'], check=True)\n"
        "def test_wrong():\n    assert 1 == 2\n"
    )
    body = """
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", WORLD["folder"]]
        tell(subprocess.run(words, capture_output=True, text=True, cwd=WORLD["folder"]).stdout)
    """
    plan = fenced.plan(seccomp.BUILD, tmp_path)
    said = fenced.run(body, plan, {"folder": str(tmp_path)}, environment={"TMPDIR": str(tmp_path)})
    assert "1 failed, 1 passed" in said
