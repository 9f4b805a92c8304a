"""`harness sign`: minisign signatures beside published records."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.signatures import SecretKey


def sign(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL/CHALLENGE|MODEL|CHALLENGE", help="Published records to sign; all without a name.",
            autocompletion=complete.records,
        ),
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="Secret key of minisign.")] = None,
    new_key: Annotated[
        Path | None, typer.Option("--new-key", metavar="FILE", help="Make a key in FILE, and FILE.pub beside it.")
    ] = None,
) -> None:  # fmt: skip
    """Sign published records with a key of minisign.

    Writes RECORD.json.minisig beside each, which `minisign -V` verifies too, and the public key into keys/. From then
    on a record that was changed without being signed again is refused wherever it is read; a new grade takes its
    signature away. The password is asked for, or read from standard input where that is no terminal.

    \b
    harness sign --new-key ~/board.key
    harness sign --key ~/board.key
    """
    from harness.running.record_signing import recorded_as, sign_records
    from harness.signatures import SecretKey
    from harness.workspace import Workspace

    if (key is None) == (new_key is None):
        raise typer.BadParameter("name a key: --key FILE signs with it, --new-key FILE makes one")
    if new_key is not None:
        if names:
            raise typer.BadParameter("--new-key signs nothing: sign with --key afterwards")
        SecretKey.new().write(new_key, password("password for the new key (empty for none): "))
        output.line(f"wrote {new_key}, which you keep to yourself, and {new_key}.pub, which others verify with")
        return
    assert key is not None
    workspace = Workspace.find()
    chosen = recorded_as(workspace, names or ())
    sign_records(workspace, secret_key(key), chosen)
    output.line(f"signed {len(chosen)} records; {output.place(workspace.keys_folder)}/ goes along with them")


def secret_key(path: Path) -> "SecretKey":
    """The key in a file, its password asked for where it has one."""
    from harness.signatures import SecretKey

    return SecretKey.read(path, lambda: password(f"password of {path}: "))


def password(prompt: str) -> str:
    """What is typed unseen, or the first line of standard input where that is no terminal."""
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(prompt)
    return sys.stdin.readline().rstrip("\n")
