"""Values that SOPS has encrypted, in files whose secrets Pulumi encrypts: they would not be decrypted.

docs/secrets.md says which secrets Pulumi encrypts and which SOPS does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.config.errors import Problem
from components.config.messages import Message
from components.stack.messages import dotted
from components.stack.origins import Origins, tenant_file_name
from components.stack.overlay import Path

_VALUE = "ENC[AES256_GCM,"
_METADATA = "sops"


def sops_values(sections: Mapping[str, Any], origins: Origins) -> list[Problem]:
    """A problem for each such value of a stack and of its tenants' bases.

    Args:
        sections: the configuration before it is checked, each tenant merged over its base.
        origins: the tenants' bases, and which values come from them.
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
    return (
        Message(
            "FT-CFG-644", "is the metadata of a file that SOPS encrypted", "use the file as it was before encryption"
        )
        if key.rpartition(".")[2] == _METADATA
        else Message(
            "FT-CFG-645",
            "is encrypted by SOPS, which is not decrypted here",
            f"write the value itself or, if it is a secret, set it with `pulumi config set --secret --path {key}`",
        )
    )


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, str):
        if value.strip().startswith(_VALUE):
            yield path
    elif isinstance(value, Mapping):
        for name, child in value.items():
            if name == _METADATA and isinstance(child, Mapping) and "mac" in child:
                yield (*path, name)
            else:
                yield from _paths(child, (*path, name))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _paths(child, (*path, index))
