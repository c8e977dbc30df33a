"""`make deploy-key`: creates a deploy key and stores it encrypted in the stack. The private key is never shown."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from components.config.messages import Message
from components.git.config import GitUrl
from components.keys.ssh_keys import SshKeyError, generate, read_private_key
from components.stack.files.names import tenant_file_name
from components.stack.files.validation_errors import message
from operations.described_source import DescribedSource, platform_source, tenant_source
from operations.described_stack import listed_tenants
from operations.errors import Operation, OperationError, check_one_owner
from operations.pulumi_config import PulumiConfig

PROJECT = Path(__file__).parents[1]
_GIT_URL: TypeAdapter[str] = TypeAdapter(GitUrl)

app = typer.Typer(add_completion=False)


@app.command(cls=Operation)
def deploy_key(
    stack: Annotated[str, typer.Option(help="name of the stack, one for each environment")],
    tenant: Annotated[str, typer.Argument(help="name of the tenant", show_default=False)] = "",
    platform: Annotated[bool, typer.Option("--platform", help="the platform's own repository, flux.sync")] = False,
) -> None:
    """Create a read-only deploy key for a repository and store it in the stack, encrypted."""
    source = _source(stack, tenant, platform)
    _check_url(source)
    config, path = PulumiConfig(stack, PROJECT), f"{source.path}.deployKey"
    old = _fingerprint(config.get(path)) if source.has_deploy_key else None
    key = generate()
    is_listed = platform or tenant in listed_tenants(stack, PROJECT)
    config.set_secret(path, key.private)

    if not is_listed:
        typer.echo(f"Added tenant {tenant} to {source.file}, as described in {tenant_file_name(tenant)}")
    typer.echo(f"Stored a new {key.public.split()[0]} key of {source.owner}, encrypted, in {source.file}: {path}")
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


def _source(stack: str, tenant: str, platform: bool) -> DescribedSource:
    check_one_owner(
        tenant,
        platform,
        "run `make deploy-key TENANT=… STACK=…`, or with PLATFORM=1 for the platform's own repository",
    )
    return platform_source(stack, PROJECT) if platform else tenant_source(stack, tenant, PROJECT)


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
                f"{source.path}.url: {reason}",
                "set an ssh URL first, like ssh://git@git.example.com/team/repository",
            )
        )


def _fingerprint(private: str) -> str:
    """The fingerprint of the previous value, which need not be a key."""
    try:
        return read_private_key(private).fingerprint
    except SshKeyError:
        return "a value that is not a usable key"


if __name__ == "__main__":
    app(prog_name="python -m operations.deploy_key")
