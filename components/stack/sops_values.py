"""Values that SOPS has encrypted, where Pulumi's belong: nobody would decrypt them.

Of a value either Pulumi keeps the key or SOPS does, never both: docs/secrets.md says which lives where.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from components.config.errors import Problem
from components.stack.messages import dotted
from components.stack.origins import Origins, tenant_file_name
from components.stack.overlay import Path

_VALUE = "ENC[AES256_GCM,"
_METADATA = "sops"


def sops_values(sections: Mapping[str, Any], origins: Origins) -> list[Problem]:
    """Every such value of a stack and of its tenants' bases.

    Args:
        sections: the configuration before it is checked, each tenant laid over its base.
        origins: the tenants' bases, and which values come from them.
    """
    problems = [origins.problem(path, _remedy(dotted(path))) for path in _paths(sections)]
    for tenant, overlaid in origins.tenants.items():
        # Also what this stack puts something else in the place of.
        problems += [
            Problem(tenant_file_name(tenant), dotted(path), _remedy(dotted(("tenants", tenant, *path))))
            for path in _paths(overlaid.base)
        ]
    return problems


def _remedy(key: str) -> str:
    if key.rpartition(".")[2] == _METADATA:
        return "is what SOPS adds to a file that it encrypts; take the file as it was before `sops`"
    return (
        "is encrypted by SOPS, which nobody decrypts here; put the value itself there, or, if it is a secret, set it "
        f"by `pulumi config set --secret --path {key}`"
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
