"""Signatures beside files, compatible with minisign.

The signature of `FILE` is in `FILE.minisig`; see https://jedisct1.github.io/minisign/ for the format. Signing and
verifying raise `PrerequisiteError` without the package cryptography, in the extra `sign`. Files that cannot be read or
written raise `StoreError`, bad keys `SpecError`.
"""

import base64
import hashlib
import os
import re
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from harness.errors import PrerequisiteError, SpecError, StoreError
from harness.workspace.stored_files import remedy, write_atomically

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519

SUFFIX = ".minisig"
PUBLIC_SUFFIX = ".pub"
UNTRUSTED, TRUSTED = "untrusted comment: ", "trusted comment: "
LEGACY, PREHASHED = b"Ed", b"ED"
"""Signed content: the file itself, or its BLAKE2b-512."""
SCRYPT, PLAIN, BLAKE2 = b"Sc", b"\0\0", b"B2"
ID, SEED, PUBLIC, SIGNATURE, SALT, CHECKSUM = 8, 32, 32, 64, 32, 32
"""Bytes of each part."""
OPERATIONS, MEMORY = 33_554_432, 1_073_741_824
"""Limits that minisign writes with a password: scrypt with N = 2^20, r = 8, p = 1, which needs a gibibyte."""
MOST_MEMORY = 1 << 31
"""Most bytes accepted in a key's limits."""
LONGEST = 8192
"""Most bytes read of a key or signature."""


@dataclass(frozen=True)
class PublicKey:
    """A key that verifies signatures.

    Attributes:
        id: 8 bytes that signatures name.
        bytes: the 32 bytes of the Ed25519 key.
    """

    id: bytes
    bytes: bytes

    @classmethod
    def parse(cls, text: str, place: Path | str) -> Self:
        """Parse a .pub file, or its second line alone; messages name `place`."""
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith(UNTRUSTED)]
        data = _decode_base64(lines[0]) if lines else b""
        if len(data) != len(LEGACY) + ID + PUBLIC or data[:2] != LEGACY:
            raise SpecError(place, "is no public key of minisign", hint="it begins with RW and has 56 characters")
        return cls(data[2 : 2 + ID], data[2 + ID :])

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the key in a file."""
        return cls.parse(_text(path, "public key"), path)

    @property
    def name(self) -> str:
        """Key id as minisign prints it."""
        return _name(self.id)

    def __str__(self) -> str:
        return base64.b64encode(LEGACY + self.id + self.bytes).decode()

    @property
    def text(self) -> str:
        """The content of a .pub file."""
        return f"{UNTRUSTED}minisign public key {self.name}\n{self}\n"


@dataclass(frozen=True)
class SecretKey:
    """A key that signs.

    Attributes:
        seed: the 32 bytes that the key derives from.
    """

    public: PublicKey
    seed: bytes

    @classmethod
    def new(cls) -> Self:
        """Generate a key."""
        seed = secrets.token_bytes(SEED)
        return cls(PublicKey(secrets.token_bytes(ID), _make_signer(seed).public_key().public_bytes_raw()), seed)

    @classmethod
    def read(cls, path: Path, password: Callable[[], str]) -> Self:
        """Read the key in a file, calling `password` if it has one.

        Raises:
            SpecError: not a secret key, or wrong password.
            PrerequisiteError: memory for the password is short.
        """
        lines = _text(path, "secret key").splitlines()
        data = _decode_base64(lines[1]) if len(lines) > 1 else b""
        kinds, salt, rest = data[:6], data[6 : 6 + SALT], data[6 + SALT :]
        if len(rest) != 16 + ID + SEED + PUBLIC + CHECKSUM or kinds[:2] != LEGACY or kinds[4:] != BLAKE2:
            raise SpecError(path, "is no secret key of minisign", hint="harness sign --new-key FILE makes one")
        limits, body = rest[:16], rest[16:]
        if kinds[2:4] == SCRYPT:
            operations, memory = (int.from_bytes(limits[n : n + 8], "little") for n in (0, 8))
            body = _xor(body, _stretch(path, password(), salt, operations, memory))
        elif kinds[2:4] != PLAIN:
            raise SpecError(path, "is protected in a way that is not known here")
        id, seed, public, checksum = _split(body, ID, SEED, PUBLIC, CHECKSUM)
        # minisign writes a zero checksum for a key without a password
        sums = (_compute_checksum(id, seed, public), *([bytes(CHECKSUM)] if kinds[2:4] == PLAIN else []))
        if checksum not in sums or _make_signer(seed).public_key().public_bytes_raw() != public:
            raise SpecError(path, "is damaged, or the password is wrong")
        return cls(PublicKey(id, public), seed)

    def write(self, path: Path, password: str) -> None:
        """Write the key to a new file that only this user can read, and the public key to `path`.pub.

        Args:
            password: empty for none.

        Raises:
            SpecError: the file exists, or cannot be written.
        """
        body = self.public.id + self.seed + self.public.bytes
        body += _compute_checksum(self.public.id, self.seed, self.public.bytes)
        kind, salt, limits = PLAIN, bytes(SALT), bytes(16)
        if password:
            kind, salt = SCRYPT, secrets.token_bytes(SALT)
            limits = OPERATIONS.to_bytes(8, "little") + MEMORY.to_bytes(8, "little")
            body = _xor(body, _stretch(path, password, salt, OPERATIONS, MEMORY))
        data = base64.b64encode(LEGACY + kind + BLAKE2 + salt + limits + body).decode()
        what = "minisign encrypted secret key" if password else "minisign secret key"
        public = path.with_name(path.name + PUBLIC_SUFFIX)
        if public.exists():
            raise SpecError(public, "is there already", hint="name another file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
                file.write(f"{UNTRUSTED}{what}\n{data}\n")
        except FileExistsError:
            raise SpecError(path, "is there already", hint="name another file") from None
        except OSError as error:
            raise SpecError(path, f"cannot be written: {error.strerror}", hint=remedy(error)) from error
        write_atomically(public, self.public.text)


def signature_path(path: Path) -> Path:
    """Return the path of a file's signature."""
    return path.with_name(path.name + SUFFIX)


def sign(path: Path, key: SecretKey) -> Path:
    """Sign a file as `minisign -S` does, and return the signature's path."""
    signer, place = _make_signer(key.seed), signature_path(path)
    signature = signer.sign(_hash(_content(path)))
    comment = f"timestamp:{time.time():.0f}\tfile:{path.name}\thashed"
    lines = (
        f"{UNTRUSTED}signature from harness, key {key.public.name}",
        base64.b64encode(PREHASHED + key.public.id + signature).decode(),
        f"{TRUSTED}{comment}",
        base64.b64encode(signer.sign(signature + comment.encode())).decode(),
    )
    write_atomically(place, "".join(f"{line}\n" for line in lines))
    return place


def signer_of(path: Path) -> str:
    """Return the key name that a file's signature claims, if any."""
    place = signature_path(path)
    return _name(_parts(place)[1]) if place.exists() else ""


def verify(path: Path, keys: Path | Iterable[PublicKey]) -> str:
    """Check a file's signature and return its key's name, or an empty string without one.

    Args:
        keys: trusted keys, or the folder of their .pub files.

    Raises:
        StoreError: the signature is wrong, or by an untrusted key.
    """
    place = signature_path(path)
    if not place.exists():
        return ""
    kind, id, signature, comment, whole = _parts(place)
    trusted = {key.id: key for key in (read_public_keys(keys) if isinstance(keys, Path) else keys)}
    if id not in trusted:
        raise StoreError(
            f"{path}: is signed by key {_name(id)}, which is not trusted here\n"
            f"  put its public key into keys/ of the workspace as a {PUBLIC_SUFFIX} file, or remove {place}"
        )
    content = _content(path)
    message = content if kind == LEGACY else _hash(content)
    signed: Mapping[str, tuple[bytes, bytes]] = {
        "the file was changed after it was signed, or it is another file's": (signature, message),
        "the trusted comment was changed": (whole, signature + comment),
    }
    for problem, (given, about) in signed.items():
        if not _holds(trusted[id].bytes, given, about):
            raise StoreError(
                f"{path}: its signature by key {_name(id)} does not hold: {problem}\n"
                f"  restore the file, or sign it again: harness sign"
            )
    return _name(id)


def read_public_keys(folder: Path) -> tuple[PublicKey, ...]:
    """Read the public keys in a folder's .pub files, if it exists."""
    return tuple(PublicKey.read(path) for path in sorted(folder.glob(f"*{PUBLIC_SUFFIX}")))


def _parts(place: Path) -> tuple[bytes, bytes, bytes, bytes, bytes]:
    try:
        with place.open("rb") as file:
            lines = file.read(LONGEST).splitlines()
    except OSError as error:
        raise StoreError(f"{place}: cannot be read: {error.strerror}\n  {remedy(error)}") from error
    if len(lines) >= 4 and lines[2].startswith(TRUSTED.encode()):
        data, whole = _decode_base64(lines[1].decode("latin-1")), _decode_base64(lines[3].decode("latin-1"))
        if len(data) == 2 + ID + SIGNATURE and len(whole) == SIGNATURE and data[:2] in (LEGACY, PREHASHED):
            return data[:2], data[2 : 2 + ID], data[2 + ID :], lines[2][len(TRUSTED) :], whole
    raise StoreError(f"{place}: is no signature of minisign\n  remove it, or sign again: harness sign")


def _make_signer(seed: bytes) -> "ed25519.Ed25519PrivateKey":
    _check_installed()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(seed)


def _holds(key: bytes, signature: bytes, message: bytes) -> bool:
    _check_installed()
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _check_installed() -> None:
    try:
        import cryptography  # noqa: F401  # asked for here, so that the message names the command
    except ImportError:
        raise PrerequisiteError(
            "no cryptography to check signatures with: pip install 'kernel-harness[sign]'\n"
            "  in a checkout: .venv/bin/python -m pip install -e '.[sign]'"
        ) from None


def _stretch(path: Path, password: str, salt: bytes, operations: int, memory: int) -> bytes:
    # N, r and p as in libsodium's `crypto_pwhash_scryptsalsa208sha256`
    block = 8
    operations = max(operations, 32_768)
    if operations < memory // 32:
        most, parallel = operations // (block * 4), 1
        cost = _round_to_power(most)
    else:
        most = memory // (block * 128)
        cost = _round_to_power(most)
        parallel = min(operations // 4 // cost, 0x3FFFFFFF) // block
    if 128 * block * cost > MOST_MEMORY or parallel < 1:
        raise SpecError(path, f"asks for {128 * block * cost >> 20} MiB of memory for its password")
    size = ID + SEED + PUBLIC + CHECKSUM
    # OpenSSL also counts some blocks besides the table
    room = min(128 * block * (cost + parallel + 2), MOST_MEMORY - 1)
    try:
        return hashlib.scrypt(password.encode(), salt=salt, n=cost, r=block, p=parallel, maxmem=room, dklen=size)
    except (MemoryError, ValueError) as error:
        raise PrerequisiteError(f"{path}: its password takes {room >> 20} MiB of memory: {error}") from error


def _round_to_power(most: int) -> int:
    return next(1 << bits for bits in range(1, 64) if 1 << bits > most // 2)


def _compute_checksum(id: bytes, seed: bytes, public: bytes) -> bytes:
    return hashlib.blake2b(LEGACY + id + seed + public, digest_size=CHECKSUM).digest()


def _hash(content: bytes) -> bytes:
    return hashlib.blake2b(content).digest()


def _split(data: bytes, *sizes: int) -> list[bytes]:
    parts, start = [], 0
    for size in sizes:
        parts.append(data[start : start + size])
        start += size
    return parts


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _name(id: bytes) -> str:
    return f"{int.from_bytes(id, 'little'):016X}"


def _decode_base64(line: str) -> bytes:
    text = line.strip()
    if not re.fullmatch(r"[A-Za-z0-9+/]+={0,2}", text) or len(text) % 4:
        return b""
    return base64.b64decode(text)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path}: cannot be read: {error.strerror}\n  {remedy(error)}") from error


def _text(path: Path, what: str) -> str:
    try:
        with path.open("rb") as file:
            return file.read(LONGEST).decode("latin-1")
    except OSError as error:
        raise SpecError(path, f"cannot be read as a {what}: {error.strerror}") from error
