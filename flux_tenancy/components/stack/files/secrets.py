"""Secrets in the configuration: which keys take one, which values are one, and which are in plain text.

A secret in a file of the repository is readable by everyone who can read the repository, for as long as its history is.
Values that SOPS has encrypted would not be decrypted: docs/secrets.md says which secrets Pulumi encrypts and which SOPS
does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, partial
from typing import Any, get_args, get_origin

from pydantic import BaseModel, SecretStr

from flux_tenancy.components.config.errors import KeyPath, Problem, dotted
from flux_tenancy.components.config.messages import Message, Wording
from flux_tenancy.components.config.section import Passed, Section, sections_in
from flux_tenancy.components.config.types import SealedText
from flux_tenancy.components.config.yaml_files import walk
from flux_tenancy.components.engine import PROJECT_FILE
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project import Origins, tenant_file_name
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted, with_shared
from flux_tenancy.components.tenant.config import TenantConfig

ENCRYPTION = ("encryptionsalt", "encryptedkey")
"""The keys of a stack's file with what its secrets are encrypted with, in encrypted form."""
_VALUE = "ENC[AES256_GCM,"
_METADATA = "sops"


def sops_values(sections: Mapping[str, Any], origins: Origins) -> list[Problem]:
    """A problem for each such value of a stack and of its tenants' bases.

    Args:
        sections: the configuration before it is checked, each tenant merged over its base.
    """
    problems = [origins.problem(path, _reason(dotted(path))) for path in _paths(sections)]
    for tenant, merged in origins.tenants.items():
        # Also values that this stack replaces.
        problems += [
            Problem(tenant_file_name(tenant), dotted(path), _reason(dotted(("tenants", tenant, *path))))
            for path in _paths(merged.base)
        ]
    return problems


def _reason(key: str) -> Message:
    by_hand = f"write the value itself or, if it is a secret, set it with `pulumi config set --secret --path {key}`"
    return Message(
        "FT-CFG-645",
        "is encrypted by SOPS, which is not decrypted here",
        "use the file from before its encryption" if key.rpartition(".")[2] == _METADATA else by_hand,
    )


def _paths(value: Any) -> list[KeyPath]:
    found = walk(value, _is_metadata)
    return [
        path
        for path, each in found
        if _is_metadata(path, each) or isinstance(each, str) and each.strip().startswith(_VALUE)
    ]


def _is_metadata(path: KeyPath, value: Any) -> bool:
    return path[-1:] == (_METADATA,) and isinstance(value, Mapping) and "mac" in value


ANY = None
"""In the path of a key: any name or index."""
_VALUES = ("tenants", ANY, "releases", ANY, "values")
"""The path of a Helm release's values."""


@dataclass(frozen=True)
class SecretValues:
    """Distinguishes the secret values of a stack from others.

    Attributes:
        keys: the top-level keys that are or contain a secret, according to Pulumi.
        file: the stack's file, which shows where they contain it.
    """

    keys: Collection[str]
    file: StackFile

    def hides(self, path: KeyPath, value: Any) -> bool:
        """Whether the value at a path of the stack's own configuration is, or may be, a secret.

        It is not where Pulumi knows of no secret, nor where the file contains the same value in plain text.
        """
        return bool(path) and path[0] in self.keys and self.file.at(path) != value


@cache
def secret_keys(model: type[BaseModel]) -> tuple[tuple[str | None, ...], ...]:
    """The paths of all keys below a model that are typed as secrets, with ANY for names and indexes."""
    return tuple(_secret_keys(model))


def takes_a_secret(path: KeyPath) -> bool:
    """Whether the value at a path of a stack is typed as a secret."""
    return _leads_to(path, secret_keys(StackConfig))


def is_passed(path: KeyPath) -> bool:
    """Whether the value at a path of a stack is part of a Flux object's `spec`, without a key of its own."""
    models: set[type[Section]] = {StackConfig}
    is_name = False
    for part in path:
        if is_name:
            is_name = False
            continue
        fields = [each for model in models for each in model.model_fields.values() if each.alias == part]
        if not fields:
            return any(issubclass(model, Passed) for model in models)
        found = [sections_in(each.annotation) for each in fields]
        models = {model for sections, _ in found for model in sections}
        is_name = any(several is not None for _, several in found)
    return False


def holds_a_secret(path: KeyPath) -> bool:
    """Whether a secret belongs directly below a path; a string there may be that secret, one level too high."""
    return _leads_to(path, {key[:-1] for key in secret_keys(StackConfig)})


def exposed(sections: Mapping[str, Any], secrets: SecretValues, origins: Origins) -> list[Problem]:
    """Problems of secrets in plain text or of unknown origin, and of encrypted values that Pulumi does not decrypt.

    Args:
        sections: the configuration before it is checked: decrypted, each tenant merged over its base.
    """
    problems = []
    option = secrets.file.option
    for key in secret_keys(StackConfig):
        shared = dict(_values_at(with_shared({}, secrets.file.shared), key))
        for path in shared:
            problems.append(Problem(PROJECT_FILE, dotted(path), _plain_text(path, origins.stack_file, option)))
        for path, value in _values_at(sections, key):
            if value is None or origins.is_in_base(path) or path in shared and not secrets.file.sets(path):
                continue
            if key[0] not in secrets.keys or not secrets.file.encrypts(path):
                problems.append(origins.problem(path, _PLAIN_TEXT(where="", path=dotted(path), option=option)))
    for path in _encrypted_paths(secrets.file.sections):
        if _leads_to(path[: len(_VALUES)], [_VALUES]) or is_passed(path):
            problems.append(
                origins.problem(
                    path,
                    Message(
                        "FT-TEN-320",
                        "is encrypted, but would be in plain text in Flux's object",
                        "use secretValues of the Helm release, or a Secret with substituteFrom",
                    ),
                )
            )
    for tenant, merged in origins.tenants.items():
        problems += _exposed_in_base(tenant, merged.base, origins.stack_file, option)
    return problems


def _exposed_in_base(tenant: str, base: Mapping[str, Any], stack_file: str, option: str) -> Iterator[Problem]:
    """Problems of the secrets in a tenant's base, also of those that this stack replaces."""
    file = tenant_file_name(tenant)
    for key in secret_keys(TenantConfig):
        for path, value in _values_at(base, key):
            if value is not None and not is_encrypted(value):
                yield Problem(file, dotted(path), _plain_text(("tenants", tenant, *path), stack_file, option))
    for path in _encrypted_paths(base):
        in_stack = dotted(("tenants", tenant, *path))
        yield Problem(
            file,
            dotted(path),
            Message(
                "FT-CFG-643",
                "is encrypted, but each stack has its own encryption key",
                f"set it in {stack_file} with `pulumi config set --secret --path {in_stack}{option}`",
            ),
        )


def _leads_to(path: KeyPath, keys: Iterable[tuple[str | None, ...]]) -> bool:
    return any(
        len(key) == len(path) and all(part in (ANY, given) for part, given in zip(key, path, strict=True))
        for key in keys
    )


_PLAIN_TEXT = Wording(
    "FT-CFG-640",
    "is in plain text, and anyone who can read the file has it",
    "rotate it, and set the new value{where} with `pulumi config set --secret --path {path}{option}`",
)


def _plain_text(path: KeyPath, stack_file: str, option: str) -> Message:
    return _PLAIN_TEXT(where=f" in {stack_file}", path=dotted(path), option=option)


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


def _values_at(value: Any, key: tuple[str | None, ...], path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Each value that a key of the model leads to, with its own path."""
    if not key:
        yield path, value
    elif isinstance(value, Mapping):
        for name in value if key[0] is ANY else {key[0]} & set(value):
            yield from _values_at(value[name], key[1:], (*path, name))
    elif isinstance(value, list) and key[0] is ANY:
        for index, item in enumerate(value):
            yield from _values_at(item, key[1:], (*path, index))


def _encrypted_paths(value: Any) -> list[KeyPath]:
    found = walk(value, lambda _, each: is_encrypted(each))
    return [path for path, each in found if is_encrypted(each)]


def sealing(document: Mapping[str, Any]) -> partial[SealedText]:
    """Makes the stand-ins for the encrypted values of a stack's file."""
    # What is particular to the stack's encryption, whichever secrets provider it has.
    return partial(SealedText.of, salt=str(next(filter(None, map(document.get, ENCRYPTION)), "")))


def sealed(value: Any, path: KeyPath, seal: partial[SealedText], file: str, problems: list[Problem]) -> Any:
    """A value with a stand-in for each encrypted string; dates, and what else only YAML has, are strings.

    Args:
        problems: gets a problem for each value that is encrypted but is not a secret.
    """
    if is_encrypted(value):
        if not takes_a_secret(path):
            problems.append(
                Problem(
                    file,
                    dotted(path),
                    Message(
                        "FT-CFG-649",
                        "is encrypted but is not a secret, so a review cannot read it",
                        "if it is not a secret, set it again as plain text; if it is one, move it to a key of the "
                        "type secret (docs/secrets.md): `pulumi config set --secret --path <key>` reads it from "
                        "standard input",
                    ),
                )
            )
        return seal(dotted(path), value["secure"])
    if isinstance(value, Mapping):
        return {str(key): sealed(child, (*path, str(key)), seal, file, problems) for key, child in value.items()}
    if isinstance(value, list):
        return [sealed(child, (*path, index), seal, file, problems) for index, child in enumerate(value)]
    if isinstance(value, date):
        return value.isoformat()
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)
