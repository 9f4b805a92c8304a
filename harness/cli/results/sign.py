"""`harness sign`: minisign signatures beside published records."""

import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import complete, output

if TYPE_CHECKING:
    from harness.executors.base import NotGraded
    from harness.grading.submission_grade import Graded
    from harness.model import Record
    from harness.workspace import Workspace
    from harness.workspace.signatures import SecretKey


def sign(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL/CHALLENGE|MODEL|CHALLENGE",
            help="Published records to sign; all without a name.",
            autocompletion=complete.records,
        ),
    ] = None,
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="Secret key of minisign.")] = None,
    new_key: Annotated[
        Path | None, typer.Option("--new-key", metavar="FILE", help="Make a key in FILE, and FILE.pub beside it.")
    ] = None,
) -> None:
    """Sign published records with a key of minisign.

    Writes RECORD.json.minisig beside each, which `minisign -V` verifies too, and the public key into keys/. From then
    on a record that was changed without being signed again is refused wherever it is read; a new grade takes its
    signature away. The password is asked for, or read from standard input where that is no terminal.

    \b
    harness sign --new-key ~/board.key
    harness sign --key ~/board.key
    """
    from harness.store.signing import match_records, sign_records
    from harness.workspace import Workspace
    from harness.workspace.signatures import SecretKey

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
    chosen = match_records(workspace, names or ())
    sign_records(workspace, secret_key(key), chosen)
    output.line(f"signed {len(chosen)} records; {output.place(workspace.keys_folder)}/ goes along with them")


def sign_results(workspace: "Workspace", key: "SecretKey | None", results: Sequence["Graded | NotGraded"]) -> None:
    """Sign the published records among these grades, if there is a key."""
    if key is None:
        return
    from harness.executors.base import NotGraded
    from harness.store.signing import sign_records

    kept = [r.record for r in results if not isinstance(r, NotGraded)]
    names = [record.submission_name for record in kept if record.to_json() == _read_published(workspace, record)]
    sign_records(workspace, key, names)
    output.note(f"signed {len(names)} records with key {key.public.name}")


def _read_published(workspace: "Workspace", record: "Record") -> str:
    with suppress(OSError):
        return (workspace.records_folder / record.submission_name.record).read_text(encoding="utf-8")
    return ""


def secret_key(path: Path) -> "SecretKey":
    """Read a secret key, and ask for its password if it has one."""
    from harness.workspace.signatures import SecretKey

    return SecretKey.read(path, lambda: password(f"password of {path}: "))


def password(prompt: str) -> str:
    """Read a password from the terminal without echo, or from the first line of standard input."""
    if sys.stdin.isatty():
        import getpass

        return getpass.getpass(prompt)
    return sys.stdin.readline().rstrip("\n")
