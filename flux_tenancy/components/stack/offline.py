"""A stack read from its files alone, without cluster, credentials or passphrase, for those who review it.

Encrypted values stay encrypted; stand-ins take their places (`components.config.sealed`). What only a cluster can tell
is as it is before the first update: no namespace exists, and the state is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from flux_tenancy.components.cluster.client import ClusterFacts
from flux_tenancy.components.config.errors import ConfigurationError, KeyPath, Problem, dotted
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.config.sealed import SealedText
from flux_tenancy.components.config.yaml_files import read_mapping
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.recovery.missing_namespaces import LostNamespaces
from flux_tenancy.components.stack.checks.flux_specs import spec_problems
from flux_tenancy.components.stack.cluster.checks import ClusterFindings
from flux_tenancy.components.stack.cluster.preflight import Preflight, read_releases
from flux_tenancy.components.stack.cluster.protection import protected_resources
from flux_tenancy.components.stack.config import StackConfig
from flux_tenancy.components.stack.files.project_file import ProjectFile
from flux_tenancy.components.stack.files.secrets import takes_a_secret
from flux_tenancy.components.stack.files.stack_file import StackFile, is_encrypted, read_stack_file
from flux_tenancy.components.stack.loading import load_sections

if TYPE_CHECKING:
    from kubernetes import client

ENCRYPTION = ("encryptionsalt", "encryptedkey")
"""The keys of a stack's file with what its secrets are encrypted with, in encrypted form."""
_EMPTY = State({})


class _NoCluster:
    """Stands for the client of a cluster; to use it is a fault of this program."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError("a program that runs offline must not ask a cluster")


def load_offline(stack: str, project: Path, described: ProjectFile) -> tuple[StackConfig, StackFile]:
    """Read, merge and check one stack, with stand-ins for its secrets; returns its file, too.

    Args:
        stack: name of the stack.
        project: folder of the Pulumi project, which contains `tenants/`.
        described: the project's own file.

    Raises:
        ConfigurationError: with all errors of the stack, each with its file and path.
    """
    file = read_stack_file(stack, described)
    document = read_mapping(described.stack_folder / file.name, file.name, as_pulumi=True)
    if isinstance(document, Problem):
        raise ConfigurationError([document])
    problems: list[Problem] = []
    seal = sealing(document)
    sections = {key: sealed(value, (key,), seal, file.name, problems) for key, value in file.merged.items()}
    if problems:
        raise ConfigurationError(problems)
    return load_sections(sections, file.sections.keys(), project, file), file


def offline_preflight(config: StackConfig, stack: str, stack_file: str, project: Path) -> Preflight:
    """The part of the preflight that needs neither cluster nor GitHub: the pinned releases, and what is protected.

    Args:
        config: the stack.
        stack: its name.
        stack_file: name of the stack's file.
        project: folder of the Pulumi project.

    Raises:
        ConfigurationError: a release cannot be read, has another digest, or refuses a field of a Flux object.
    """
    release, chart, capsule, problems = read_releases(config, stack_file, project)
    problems += spec_problems(config, release or (), stack, stack_file)
    if problems or release is None:  # One that is missing is a problem.
        raise ConfigurationError(problems)
    facts = ClusterFacts(uid=config.cluster.uid or "", version="", namespaces={})
    lost = LostNamespaces(_EMPTY, existing=None)
    api = cast("client.ApiClient", _NoCluster())
    cluster = ClusterFindings(api, facts, lost, (), [], [])
    objects = [*release, *(capsule.definitions if capsule else ())]
    protected = protected_resources(config, objects, stack, facts, _EMPTY)
    return Preflight(release, chart, cluster, [], (), protected, capsule)


def sealing(document: Mapping[str, Any]) -> partial[SealedText]:
    """Makes the stand-ins for the encrypted values of a stack's file.

    Args:
        document: the whole file.
    """
    # What is particular to the stack's encryption, whichever secrets provider it has.
    return partial(SealedText.of, salt=str(next(filter(None, map(document.get, ENCRYPTION)), "")))


def sealed(value: Any, path: KeyPath, seal: partial[SealedText], file: str, problems: list[Problem]) -> Any:
    """A value with a stand-in for each encrypted string; dates, and what else only YAML has, are strings.

    Args:
        value: the value of a key, as its file has it.
        path: the path of the key.
        seal: makes the stand-ins.
        file: name of the file, for messages.
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
