"""`make sops-key`: a new key that decrypts what is encrypted for a tenant, or for the platform, in one environment.

It is stored in the stack, encrypted, before the keys that are there already: those go on decrypting until they are
withdrawn. Private halves are never shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from components.config.printable import printable
from operations.described_sync import DescribedSync, described_sync
from operations.encrypted_files import EncryptedFile, encrypted_files
from operations.errors import Operation, OperationError, check_one_owner
from operations.pulumi_config import PulumiConfig
from operations.sops_keys import AGE, OPENPGP, POST_QUANTUM, KeyKind, SopsKey, kind_of

PROJECT = Path(__file__).parents[1]

app = typer.Typer(add_completion=False)


@app.command(cls=Operation)
def sops_key(
    stack: Annotated[str, typer.Option(help="name of the stack, which stands for an environment")],
    tenant: Annotated[str, typer.Argument(help="name of the tenant", show_default=False)] = "",
    platform: Annotated[bool, typer.Option("--platform", help="the platform's own sync, flux.sync")] = False,
    openpgp: Annotated[bool, typer.Option("--openpgp", help="an OpenPGP key, instead of one of age")] = False,
    post_quantum: Annotated[bool, typer.Option("--post-quantum", help="a hybrid post-quantum key of age")] = False,
    withdraw: Annotated[str, typer.Option(help="recipient or fingerprint of a key to take out")] = "",
    repo: Annotated[Path | None, typer.Option(help="checkout of the repository, to see what is to be done")] = None,
) -> None:
    """Make a key that decrypts for a sync, beside those that it has, or take one of those out."""
    check_one_owner(
        tenant,
        platform,
        "whose key is it?",
        "`make sops-key TENANT=… STACK=…`, or PLATFORM=1 for the platform's own sync",
    )
    if openpgp and post_quantum:
        raise OperationError("OpenPGP keys are not post-quantum", "take one of OPENPGP and POST_QUANTUM out")
    sync = described_sync(stack, tenant, PROJECT)
    files = encrypted_files(repo) if repo is not None else None
    config = PulumiConfig(stack, PROJECT)
    if withdraw:
        _withdraw(withdraw, sync, files, config)
    else:
        _add(OPENPGP if openpgp else POST_QUANTUM if post_quantum else AGE, sync, files, config)


def _add(kind: KeyKind, sync: DescribedSync, files: Sequence[EncryptedFile] | None, config: PulumiConfig) -> None:
    old = _stored(kind, sync, config)
    new = kind.generate(f"flux-tenancy {config.stack}/{sync.owner.rpartition(' ')[2]}")
    _store(kind, [new, *old], sync, config)

    typer.echo(f"Stored a new {kind.name} of {sync.owner}, encrypted, in {sync.file}: {sync.path}.{kind.secret}")
    typer.echo(f"{kind.public_name}: {new.public}")
    typer.echo("Next:")
    typer.echo("  `pulumi preview` and `pulumi up`, so that the cluster can decrypt with it;")
    typer.echo(
        f"  `make -s sops-config {sync.option} > .sops.yaml` for the repository, so that `sops` encrypts for it;"
    )
    if kind is OPENPGP:
        typer.echo("  its public half, for those who encrypt, is in the stack's outputs: docs/secrets.md;")
    if old or files:
        behind = [file for file in files or () if _is_behind(file, new, old, sync)]
        _tell_of_files(files, behind, "updatekeys --yes")
    for key in old:
        typer.echo(
            f"  {key.public} decrypts until `make sops-key {sync.option} STACK={config.stack} WITHDRAW={key.public}`"
        )


def _withdraw(public: str, sync: DescribedSync, files: Sequence[EncryptedFile] | None, config: PulumiConfig) -> None:
    kind = kind_of(public)
    keys = _stored(kind, sync, config)
    remaining = [key for key in keys if key.public != public]
    if len(remaining) == len(keys):
        has = f"it has {', '.join(key.public for key in keys)}" if keys else f"it has no {kind.name}"
        raise OperationError(f"{sync.owner} has no key {public} in {sync.file}; {has}", "name one of those")
    if not remaining:
        raise OperationError(
            f"{public} is the only {kind.name} of {sync.owner} in {sync.file}",
            f"make another first, `make sops-key {sync.option} STACK={config.stack}`, or take "
            f"{sync.path}.{kind.option if kind is AGE else 'openpgp'} out",
        )
    named = [file for file in files or () if public in file.keys]
    left = {key.public for key in remaining}
    if lost := [printable(str(file.path)) for file in named if not file.keys & left]:
        raise OperationError(
            f"nothing else decrypts {', '.join(lost)}",
            f"encrypt for {remaining[0].public} first: `sops updatekeys --yes {lost[0]}` with the .sops.yaml of "
            f"`make -s sops-config {sync.option}`",
        )
    _store(kind, remaining, sync, config)

    typer.echo(f"Took {public} out of {sync.file}: {sync.path}.{kind.secret}")
    typer.echo("Next:")
    typer.echo("  `pulumi preview` and `pulumi up`: from then on the cluster does not decrypt with it;")
    typer.echo(
        f"  `make -s sops-config {sync.option} > .sops.yaml` for the repository, so that `sops` knows it no more;"
    )
    _tell_of_files(files, named, f"rotate --in-place --rm-{kind.option} {public}")
    typer.echo("  whoever had it can still read what Git keeps of before: renew those secrets if it was lost.")


def _stored(kind: KeyKind, sync: DescribedSync, config: PulumiConfig) -> list[SopsKey]:
    """The keys that the stack has, newest first."""
    if sync.at(kind.secret) is None:
        return []
    try:
        return kind.read(config.get(f"{sync.path}.{kind.secret}"))
    except ValueError as error:
        raise OperationError(
            f"{sync.file}: {sync.path}.{kind.secret}: {error}", "take it out, or put the right one there, and try again"
        ) from None


def _store(kind: KeyKind, keys: list[SopsKey], sync: DescribedSync, config: PulumiConfig) -> None:
    config.set_secret(f"{sync.path}.{kind.secret}", kind.joined(keys))
    config.set_list(f"{sync.path}.{kind.public}", [key.public for key in keys])


def _is_behind(file: EncryptedFile, new: SopsKey, old: Sequence[SopsKey], sync: DescribedSync) -> bool:
    """Whether this environment reads the file, and the new key does not decrypt it."""
    reads = file.is_below(sync.folder) or any(key.public in file.keys for key in old)
    return reads and new.public not in file.keys


def _tell_of_files(files: Sequence[EncryptedFile] | None, behind: Sequence[EncryptedFile], command: str) -> None:
    if files is None:
        typer.echo(f"  in a checkout, `sops {command} <file>` for each encrypted file; REPO=<checkout> lists them;")
    elif behind:
        typer.echo(
            f"  in the checkout, by somebody who can decrypt them, {len(behind)} of {len(files)} encrypted files:"
        )
        for file in behind:
            # Whoever writes to the repository names the file, and the line is there to be copied.
            typer.echo(f"    sops {command} {quote(printable(str(file.path)))}")
    else:
        typer.echo(f"  nothing in the checkout, which has {len(files)} encrypted files;")


if __name__ == "__main__":
    app(prog_name="python -m operations.sops_key")
