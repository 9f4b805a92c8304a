"""Keys and signatures are those of minisign, whose own program reads ours and whose files we read."""

import shutil
import subprocess
from pathlib import Path

import pytest

from harness.errors import SpecError, StoreError
from harness.workspace.signatures import PublicKey, SecretKey, sign, signature_path, verify

needs_minisign = pytest.mark.skipif(not shutil.which("minisign"), reason="no minisign: apt-get install minisign")

# made with `minisign -G -W` and `minisign -S`, 0.11
PUBLIC = "RWRleL9IyN2QAkdJsUpMFhiPA55fmW1chPdhhVkCQ6oiM0cxTLElojNK"
SECRET = (
    "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAZXi/SMjdkAKsSSzazhLCGCM/+IlI"
    "qDQhXzWlmW8RJ4+DDchwPMoYY0dJsUpMFhiPA55fmW1chPdhhVkCQ6oiM0cxTLElojNKAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
)
TEXT = b"a mark\n"
SIGNED = """untrusted comment: signature from minisign secret key
RURleL9IyN2QAnDXyHbQQpjmf48d7kv8Lfx7RPcD16Uh0BXFqlhRHvUQPyKMdD82sQR58ds+Egi0/hg40xgH8obMb/R4spGF8wg=
trusted comment: timestamp:1795540481\tfile:record.json\thashed
hBCVNQZ1eVyJGkOk8lvC2JYH48+p8wg3DgHpBETWb0vq35KKaQXAnU4w2q6b3EJodZ8KHc2QeBaK9BdN+vVZAg==
"""


def none() -> str:
    raise AssertionError("this key has no password")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "record.json").write_bytes(TEXT)
    return tmp_path / "record.json"


def test_a_signature_that_minisign_made_holds(file: Path) -> None:
    key = PublicKey.parse(PUBLIC, "PUBLIC")
    signature_path(file).write_text(SIGNED)
    assert verify(file, [key]) == key.name


def test_a_secret_key_that_minisign_made_signs(file: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"untrusted comment: x\n{SECRET}\n")
    key = SecretKey.read(tmp_path / "key", none)
    assert str(key.public) == PUBLIC
    sign(file, key)
    assert verify(file, [key.public]) == key.public.name


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda file, s: file.write_bytes(TEXT + b" "), "the file was changed after it was signed"),
        (lambda file, s: s.write_text(s.read_text().replace("file:", "File:")), "the trusted comment was changed"),
        (lambda file, s: s.write_text("hello\n" * 4), "is no signature of minisign"),
        (lambda file, s: s.write_bytes(s.read_bytes()[:150]), "is no signature of minisign"),
        (lambda file, s: s.write_bytes(b"\xff\xfe" * 900), "is no signature of minisign"),
    ],
)
def test_a_wrong_signature_is_refused_with_its_file(file: Path, change, told: str) -> None:
    key = SecretKey.new()
    change(file, sign(file, key))
    with pytest.raises(StoreError, match=told) as raised:
        verify(file, [key.public])
    assert str(file) in str(raised.value)


def test_a_signature_by_another_key_is_refused_also_under_a_trusted_name(file: Path) -> None:
    mine, other = SecretKey.new(), SecretKey.new()
    sign(file, other)
    with pytest.raises(StoreError, match=rf"signed by key {other.public.name}, which is not trusted here"):
        verify(file, [mine.public])
    with pytest.raises(StoreError, match="does not hold"):
        verify(file, [PublicKey(other.public.id, mine.public.bytes)])


@pytest.mark.parametrize("text", ["", "RWQ", "untrusted comment: x\n", PUBLIC[:-4], "R" * 56, "\udcff\n" * 3])
def test_what_is_no_public_key_is_named(text: str) -> None:
    with pytest.raises(SpecError, match="PUBLIC: is no public key of minisign"):
        PublicKey.parse(text, "PUBLIC")


def test_a_key_is_written_once_for_this_user_alone(tmp_path: Path) -> None:
    key, path = SecretKey.new(), tmp_path / "key"
    key.write(path, "")
    assert SecretKey.read(path, none) == key
    assert PublicKey.read(tmp_path / "key.pub") == key.public
    assert path.stat().st_mode & 0o077 == 0
    for there in (path, tmp_path / "key.pub"):
        with pytest.raises(SpecError, match="is there already"):
            SecretKey.new().write(path, "")
        there.unlink()


def test_a_damaged_secret_key_signs_nothing(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"untrusted comment: x\n{SECRET[:100]}AAAA{SECRET[104:]}\n")
    with pytest.raises(SpecError, match="is damaged, or the password is wrong"):
        SecretKey.read(tmp_path / "key", none)


def minisign(*words: str, said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(["minisign", *words], input=said, capture_output=True, text=True, check=False, timeout=60)


@needs_minisign
@pytest.mark.parametrize("legacy", [[], ["-l"]], ids=["hashed", "legacy"])
def test_minisign_verifies_ours_and_we_its_own(file: Path, tmp_path: Path, legacy: list[str]) -> None:
    ours = SecretKey.new()
    ours.write(tmp_path / "ours", "")
    sign(file, ours)
    done = minisign("-V", "-p", str(tmp_path / "ours.pub"), "-m", str(file))
    assert done.returncode == 0, done.stderr
    assert minisign("-S", *legacy, "-s", str(tmp_path / "ours"), "-m", str(file)).returncode == 0
    assert verify(file, [ours.public]) == ours.public.name
    file.write_bytes(TEXT * 2)
    with pytest.raises(StoreError, match="the file was changed"):
        verify(file, [ours.public])


@needs_minisign
def test_a_key_with_a_password_is_read_both_ways(file: Path, tmp_path: Path) -> None:
    """Each of them takes scrypt a gibibyte and some seconds."""
    ours = SecretKey.new()
    ours.write(tmp_path / "ours", "ours is it")
    done = minisign("-S", "-s", str(tmp_path / "ours"), "-m", str(file), said="ours is it\n")
    assert done.returncode == 0, done.stderr
    assert verify(file, [ours.public]) == ours.public.name
    its = tmp_path / "its"
    done = minisign("-G", "-p", f"{its}.pub", "-s", str(its), said="its own\nits own\n")
    assert done.returncode == 0, done.stderr
    assert SecretKey.read(its, lambda: "its own").public == PublicKey.read(Path(f"{its}.pub"))
    with pytest.raises(SpecError, match="the password is wrong"):
        SecretKey.read(its, lambda: "another")
