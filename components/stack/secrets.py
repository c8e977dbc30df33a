"""Secrets in the configuration: which keys take one, which values are one, which stand in plain text (threat 28)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr

from components.config.errors import Problem
from components.stack.config import StackConfig
from components.stack.messages import dotted
from components.stack.origins import Origins, tenant_file_name
from components.stack.overlay import Path
from components.stack.project_file import PROJECT_FILE
from components.stack.stack_file import StackFile, Standing, is_encrypted
from components.tenant.config import TenantConfig

ANY = None
"""In the path of a key: whatever name or number stands there."""


@dataclass(frozen=True)
class SecretValues:
    """Tells secret values of a stack from others.

    Attributes:
        keys: the top-level keys of which Pulumi says that they are or hold a secret.
        file: the stack's file, which says where in them.
    """

    keys: Collection[str]
    file: StackFile

    def hides(self, path: Path, value: Any) -> bool:
        """Whether the value at a path of the stack's own configuration is, or may be, a secret.

        It is none where Pulumi knows of no secret, nor where the very same value stands in the file in plain text.
        """
        return bool(path) and path[0] in self.keys and self.file.at(path) != value

    def standing(self, path: Path) -> Standing:
        """How what is at a path of the stack's own configuration is written in its file.

        Absent is what Pulumi has from another file, of which nobody knows whether it is encrypted there.
        """
        standing = self.file.standing(path)
        if path[0] not in self.keys:
            return Standing.PLAIN
        return Standing.ENCRYPTED if standing is Standing.ABSENT and self.file.imports else standing


@cache
def secret_keys(model: type[BaseModel]) -> tuple[tuple[str | None, ...], ...]:
    """The paths of all keys below a model that are typed as secrets, with ANY for names and numbers."""
    return tuple(_secret_keys(model))


def holds_a_secret(path: Path) -> bool:
    """Whether a secret belongs right below a path; a text in its place may be that secret, one level too high."""
    parents = {key[:-1] for key in secret_keys(StackConfig)}
    return any(
        len(parent) == len(path) and all(part in (ANY, given) for part, given in zip(parent, path, strict=True))
        for parent in parents
    )


def exposed(sections: Mapping[str, Any], secrets: SecretValues, origins: Origins) -> list[Problem]:
    """Secrets in plain text or of unknown origin, and encrypted values in files that Pulumi does not decrypt.

    Args:
        sections: the configuration before it is checked: decrypted, each tenant laid over its base.
        secrets: tells which values of the stack are encrypted.
        origins: the tenants' bases, and which values come from them.
    """
    problems = []
    option = secrets.file.option
    for key in secret_keys(StackConfig):
        shared = dict(_values_at(secrets.file.shared, key))
        for path in shared:
            problems.append(Problem(PROJECT_FILE, dotted(path), _renew(dotted(path), origins.stack_file, option)))
        for path, value in _values_at(sections, key):
            if value is None or origins.is_in_base(path) or secrets.file.at(path) is None and path in shared:
                continue
            standing = secrets.standing(path)
            if standing is Standing.PLAIN:
                problems.append(origins.problem(path, _renew(dotted(path), option=option)))
            elif standing is Standing.ABSENT:
                problems.append(origins.problem(path, _unknown(dotted(path), option)))
    for tenant, overlaid in origins.tenants.items():
        problems += _exposed_in_base(tenant, overlaid.base, origins.stack_file, option)
    return problems


def _exposed_in_base(tenant: str, base: Mapping[str, Any], stack_file: str, option: str) -> Iterator[Problem]:
    """What a tenant's base holds in plain text, also where this stack puts something else in its place."""
    file = tenant_file_name(tenant)
    for key in secret_keys(TenantConfig):
        for path, value in _values_at(base, key):
            if value is not None and not is_encrypted(value):
                yield Problem(file, dotted(path), _renew(dotted(("tenants", tenant, *path)), stack_file, option))
    for path in _encrypted_paths(base):
        yield Problem(
            file,
            dotted(path),
            f"is encrypted, which belongs to {stack_file}: each stack encrypts with a key of its own; "
            f"set it there by `pulumi config set --secret --path {dotted(('tenants', tenant, *path))}{option}`",
        )


def _renew(key: str, to: str = "", option: str = "") -> str:
    return (
        f"stands in plain text; renew it, since whoever can read the file has it, and add the new one"
        f"{f' to {to}' if to else ''} by `pulumi config set --secret --path {key}{option}`"
    )


def _unknown(key: str, option: str) -> str:
    return (
        "is in another file that Pulumi has read, so nobody knows whether it is encrypted there; set it here "
        f"by `pulumi config set --secret --path {key}{option}`, and run the command without that file"
    )


def _secret_keys(annotation: Any) -> Iterator[tuple[str | None, ...]]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is SecretStr:
        yield ()
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        for field in annotation.model_fields.values():
            yield from ((field.alias or "", *rest) for rest in _secret_keys(field.annotation))
    elif origin is dict or origin is tuple:
        yield from ((ANY, *rest) for rest in _secret_keys(arguments[origin is dict]))
    else:
        for argument in arguments:
            yield from _secret_keys(argument)


def _values_at(value: Any, key: tuple[str | None, ...], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Each value that a key of the model leads to, with its own path."""
    if not key:
        yield path, value
    elif isinstance(value, Mapping):
        for name in value if key[0] is ANY else {key[0]} & set(value):
            yield from _values_at(value[name], key[1:], (*path, name))
    elif isinstance(value, list) and key[0] is ANY:
        for index, item in enumerate(value):
            yield from _values_at(item, key[1:], (*path, index))


def _encrypted_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if is_encrypted(value):
        yield path
        return
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from _encrypted_paths(child, (*path, name))
