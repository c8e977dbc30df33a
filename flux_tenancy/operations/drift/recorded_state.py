"""The stack's state as `pulumi stack export` prints it: what the last update has applied. Secrets stay encrypted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flux_tenancy.components.cluster.client import collection_of
from flux_tenancy.components.cluster.component import CLUSTER_TYPE
from flux_tenancy.components.config.messages import Message
from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, PROVIDER_TYPE, WEBHOOK_TYPE
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.vocabulary.manifests import Manifest, name_of
from flux_tenancy.operations.stack.pulumi_cli import run_pulumi
from flux_tenancy.project.errors import OperationError

# Marks an encrypted value. Source: sdk/go/common/resource/sig/sig.go of Pulumi
_SIGNATURE = "4dabf18193072939515e22adb298388d"
# A secret input as `--show-secrets` prints it; its value is JSON.
_SHOWN = "plaintext"
# What a preview has for a value that only the update will know. Source: sdk/go/common/resource/plugin/rpc.go of Pulumi
_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
# What a preview has for a secret. Source: pkg/backend/display/json.go of Pulumi
_MASKED = '"[secret]"'
_AT_GITHUB = (DEPLOY_KEY_TYPE, WEBHOOK_TYPE, PROVIDER_TYPE)
_OWN = "__"
_MANAGER = "__fieldManager"


@dataclass(frozen=True)
class Recorded:
    """An object of the cluster in the state.

    Attributes:
        manifest: the object as the API server had it after it was last applied.
        manager: the field manager by which Pulumi applies it.
        inputs: the object as Pulumi applies it.
    """

    urn: str
    type: str
    manifest: Manifest
    manager: str
    inputs: Manifest = field(repr=False)


@dataclass(frozen=True)
class RecordedState:
    """What the state has of the cluster.

    Attributes:
        cluster: the identity of the cluster; empty before the first update.
        pending: type and `namespace/name` of the objects that wait for their deletion.
        releases: the releases of Helm, each with its values and what it has created.
        at_github: the resources of deploy keys and webhooks, and of the providers that register them.
    """

    cluster: str
    objects: tuple[Recorded, ...]
    pending: frozenset[tuple[str, str]]
    releases: tuple[Mapping[str, Any], ...] = ()
    at_github: tuple[Mapping[str, Any], ...] = ()

    def names(self, type_: str) -> set[str]:
        """The names of its objects of a type."""
        return {name for own, name in self.keys if own == type_}

    @property
    def keys(self) -> set[tuple[str, str]]:
        """Type and `namespace/name` of its objects."""
        return {(each.type, name_of(each.manifest)) for each in self.objects}

    def created_by_charts(self) -> Iterator[tuple[str, str, str, str]]:
        """API group, kind, namespace and name of what its releases have created.

        Source: `resourceNames` of Pulumi's resource Release, by keys like `Role.rbac.authorization.k8s.io/…`
        """
        for release in self.releases:
            for key, names in (release.get("resourceNames") or {}).items():
                kind, _, group = key.partition("/")[0].partition(".")
                for each in names:
                    namespace, _, name = each.rpartition("/")
                    yield group, kind, namespace, name


def read_recorded(stack: str, project: Path, *options: str) -> RecordedState:
    """Read the state of a stack; it has no objects before the first update.

    Args:
        options: of `pulumi stack export`.

    Raises:
        OperationError: Pulumi cannot be run, or has no such stack.
    """
    exported = json.loads(run_pulumi(["stack", "export", *options], stack, project))
    return recorded_state((exported.get("deployment") or {}).get("resources") or ())


def read_applied(stack: str, project: Path) -> RecordedState:
    """As `read_recorded`, of a stack that was applied.

    Raises:
        OperationError: Pulumi cannot be run, or the stack has no objects yet.
    """
    recorded = read_recorded(stack, project)
    if not recorded.objects:
        raise OperationError(
            Message(
                "FT-OPS-050",
                f"the state of stack {stack} has no objects of a cluster",
                "apply the stack first: `pulumi up`",
            )
        )
    return recorded


def recorded_state(resources: Iterable[Mapping[str, Any]]) -> RecordedState:
    """What exported resources say about the cluster; resources outside of it are left out."""
    resources = list(resources)
    of_cluster = [each for each in resources if _is_object(each)]
    return RecordedState(
        next((each.get("outputs", {}).get("uid", "") for each in resources if each["type"] == CLUSTER_TYPE), ""),
        tuple(
            Recorded(
                each["urn"],
                each["type"],
                _manifest(each["outputs"]),
                each["outputs"][_MANAGER],
                _manifest(each["inputs"]),
            )
            for each in of_cluster
            if not each.get("delete")
        ),
        frozenset((each["type"], each["id"]) for each in of_cluster if each.get("delete")),
        tuple(
            {**each.get("outputs", {}), **each.get("inputs", {})} for each in resources if each["type"] == RELEASE_TYPE
        ),
        tuple(each for each in resources if each["type"] in _AT_GITHUB and not each.get("delete")),
    )


def read_previewed(stack: str, project: Path) -> dict[str, Manifest]:
    """The objects that the next update of a stack would apply, by resource.

    Left out are objects of which only the update will know a value, and those with a secret, which a preview hides even
    with `--show-secrets`.

    Raises:
        OperationError: Pulumi cannot be run, or the preview fails.
    """
    printed = run_pulumi(["preview", "--json", "--show-sames"], stack, project)
    states = [step["newState"] for step in json.loads(printed)["steps"] if "newState" in step]
    of_cluster = [each for each in states if collection_of(each["type"]) is not None]
    return {each["urn"]: _manifest(each["inputs"]) for each in of_cluster if _is_known(each["inputs"])}


def _is_known(inputs: Mapping[str, Any]) -> bool:
    shown = json.dumps(inputs)
    return _UNKNOWN not in shown and _MASKED not in shown


def opened(value: Any) -> Any:
    """A value that Pulumi prints with `--show-secrets`, without what marks its secrets."""
    if isinstance(value, Mapping):
        if _SIGNATURE in value:
            return opened(json.loads(value[_SHOWN]))
        return {name: opened(each) for name, each in value.items()}
    return [opened(each) for each in value] if isinstance(value, list) else value


def is_secret(value: Any) -> bool:
    """Whether a value of the state is encrypted as a whole."""
    return isinstance(value, Mapping) and _SIGNATURE in value


def is_sealed(value: Any) -> bool:
    """Whether a value of the state is encrypted, or has something encrypted in it."""
    if isinstance(value, Mapping):
        return is_secret(value) or any(is_sealed(each) for each in value.values())
    return isinstance(value, list) and any(is_sealed(each) for each in value)


def _is_object(resource: Mapping[str, Any]) -> bool:
    outputs = resource.get("outputs") or {}
    return collection_of(resource["type"]) is not None and _MANAGER in outputs and "metadata" in outputs


def _manifest(properties: Mapping[str, Any]) -> Manifest:
    return {name: value for name, value in properties.items() if not name.startswith(_OWN)}
