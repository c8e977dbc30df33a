"""A tenant's `.sops.yaml`, with which `sops` encrypts each file for the environments that read it.

Source: https://getsops.io/docs/#using-sops-yaml-conf-to-select-kms-pgp-and-age-for-new-files
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

from flux_tenancy.components.config.yaml_files import Dumper

# Flux has to read a manifest's kind and name, so only these fields may be encrypted.
ENCRYPTED_REGEX = "^(data|stringData)$"
MANIFEST = r".*\.ya?ml$"


@dataclass(frozen=True)
class Environment:
    """A folder that a cluster reads, and the recipients of its files.

    Attributes:
        path: folder of the repository, such as `./staging`.
        keys: recipients by key of a creation rule, e.g. by `age`; newest first.
    """

    path: str
    keys: Mapping[str, tuple[str, ...]]


def sops_config(environments: Iterable[Environment]) -> str:
    """The content of the file. Environments that read the same folder share its rules, since all have to decrypt it."""
    folders: dict[str, dict[str, dict[str, None]]] = {}
    for environment in environments:
        folder = folders.setdefault(_folder(environment.path), {})
        for kind, keys in environment.keys.items():
            folder.setdefault(kind, {}).update(dict.fromkeys(keys))
    # The first rule that matches wins, so a folder comes before its parent.
    deepest_first = sorted(folders, key=lambda path: (-path.count("/"), path))
    rules = [rule for path in deepest_first for rule in _rules(path, folders[path])]
    return yaml.dump({"creation_rules": rules}, Dumper=Dumper, sort_keys=False)


def _folder(path: str) -> str:
    """`staging/` for `./staging`; empty for the whole repository."""
    normal = PurePosixPath(path).as_posix()
    return "" if normal == "." else f"{normal}/"


def _rules(folder: str, keys: Mapping[str, Iterable[str]]) -> list[dict[str, Any]]:
    """The rules of a folder: of manifests only the data is encrypted, all other files as a whole."""
    beginning = "^" + re.sub(r"([.+*?()\[\]{}^$|\\])", r"\\\1", folder)
    recipients = {kind: ",".join(several) for kind, several in keys.items()}
    return [
        {"path_regex": beginning + MANIFEST, "encrypted_regex": ENCRYPTED_REGEX} | recipients,
        {"path_regex": beginning} | recipients,
    ]
