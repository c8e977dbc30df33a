"""Creates a deploy key and stores it encrypted in the stack. The private key is never shown."""

from __future__ import annotations

from pathlib import Path

import typer
from pydantic import TypeAdapter, ValidationError

from flux_tenancy.components.config.errors import dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.git.config import GitUrl
from flux_tenancy.components.keys.armor import InvalidKeyError
from flux_tenancy.components.keys.ssh_keys import KeyType, generate, read_private_key
from flux_tenancy.components.stack.files.project import tenant_file_name
from flux_tenancy.components.stack.files.validation_errors import message
from flux_tenancy.operations.files.described_flux import DescribedSource, platform_source, tenant_source
from flux_tenancy.operations.files.project_edits import ProjectEdits
from flux_tenancy.operations.stack.pulumi_cli import PulumiConfig
from flux_tenancy.project.described_stack import listed_tenants
from flux_tenancy.project.errors import OperationError, check_one_owner

_GIT_URL: TypeAdapter[str] = TypeAdapter(GitUrl)


def deploy_key(stack: str, tenant: str, platform: bool, type_: KeyType, project: Path) -> None:
    """Create a read-only deploy key for a repository and store it in the stack, encrypted.

    Args:
        tenant: name of the tenant; empty for the platform.
        platform: whether it is for the platform's own repository, `flux.sync`.
        type_: type of the new key.

    Raises:
        OperationError: both or neither of tenant and platform are named, the stack or the tenant does not exist, its
            URL takes no key, its file cannot be changed in this place alone, or Pulumi fails.
    """
    check_one_owner(tenant, platform, "key deploy")
    source = platform_source(stack, project) if platform else tenant_source(stack, tenant, project)
    _check_url(source)
    path, edits = (*source.path, "deployKey"), ProjectEdits(project)
    old = _fingerprint(PulumiConfig(stack, project).get(dotted(path))) if source.has_deploy_key else None
    key = generate(type_)
    is_listed = platform or tenant in listed_tenants(stack, project)
    edits.set_secret(stack, path, key.private)
    edits.apply()

    if not is_listed:
        typer.echo(f"Added tenant {tenant} to {source.file}, as described in {tenant_file_name(tenant)}")
    typer.echo(
        f"Stored a new {key.public.split()[0]} key of {source.owner}, encrypted, in {source.file}: {dotted(path)}"
    )
    typer.echo(f"Fingerprint: {key.fingerprint}")
    if old:
        typer.echo(f"Replaces:    {old}")
    if source.repository is None:
        withdraw = ", and then remove the previous key there" if old else ""
        typer.echo(f"Next: add this key with read access to the repository {source.url}:")
        typer.echo(f"  {key.public}")
        typer.echo(f"then run `pulumi preview` and `pulumi up`{withdraw}.")
    else:
        typer.echo(f"Next: run `pulumi preview` and `pulumi up`, which registers it read-only at {source.repository}.")
        if old:
            typer.echo(
                "The previous key stays registered until Flux has fetched with the new one; the next `pulumi up` "
                "removes it."
            )


def _check_url(source: DescribedSource) -> None:
    """With a deploy key for any other URL, the stack could not be applied."""
    try:
        _GIT_URL.validate_python(source.url)
        reason = "" if source.url.startswith("ssh://") else f"{source.url!r} does not begin with ssh://"
    except ValidationError as error:
        reason = message(error.errors()[0], show_input=True)
    if reason:
        raise OperationError(
            Message(
                "FT-OPS-020",
                f"{dotted(source.path)}.url: {reason}",
                "set an ssh URL first, like ssh://git@git.example.com/team/repository",
            )
        )


def _fingerprint(private: str) -> str:
    """The fingerprint of the previous value, which need not be a key."""
    try:
        return read_private_key(private).fingerprint
    except InvalidKeyError:
        return "a value that is not a usable key"
