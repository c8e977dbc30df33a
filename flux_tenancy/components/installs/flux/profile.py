"""Security profiles as pure functions over a release's manifests.

Source: Flux RFC-0003 and https://fluxcd.io/flux/installation/configuration/multitenancy/

The release's own network policies let only pods of flux-system connect to source-controller's artifacts, and let every
pod of flux-system connect to anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flux_tenancy.components.config.networks import egress_rules
from flux_tenancy.components.installs.flux.config import CONCURRENT, FluxConfig, Profile
from flux_tenancy.components.installs.flux.controller_rights import (
    CONFIG_WATCHERS,
    CONFIG_WATCHERS_OFF,
    VAULT_ARGUMENT,
    annotations_only,
    is_powerful,
    own_objects_only,
    restricted,
    token_objects,
    vault_config_map,
)
from flux_tenancy.components.installs.flux.egress import artifact_hosts, egress_variables, plain_http_variables, proxied
from flux_tenancy.components.installs.flux.lockdown_flags import (
    HELM_INDEX_LIMIT,
    POD_ADDRESS,
    arguments_for,
    variables_for,
)
from flux_tenancy.components.installs.flux.release import (
    APP_LABEL,
    container_of,
    deployments_of,
    instances_of,
    lane_of,
    with_lanes,
)
from flux_tenancy.components.sync.decryption import decryption_account
from flux_tenancy.components.vocabulary.manifests import DISK, Manifest, parse_quantity
from flux_tenancy.components.vocabulary.names import (
    FLUX_NAMESPACE,
    LANE_LABEL,
    PLATFORM_META,
    RECONCILERS,
    Controller,
    account_of,
)

if TYPE_CHECKING:
    from flux_tenancy.components.installs.flux.config import FluxEgress

_ALL_OF_FLUX: Manifest = {"podSelector": {}}
PLATFORM_PODS: Manifest = {"podSelector": {"matchExpressions": [{"key": LANE_LABEL, "operator": "DoesNotExist"}]}}
"""Flux's pods that belong to no lane."""
# Events of all lanes go to one, and ArtifactGenerators of all lanes are served by the other.
_SHARED_SERVERS = (Controller.NOTIFICATION, Controller.SOURCE_WATCHER)
_DNS = [{"protocol": protocol, "port": 53} for protocol in ("UDP", "TCP")]


def restrict_egress(manifests: list[Manifest], egress: FluxEgress, lanes: Collection[str] = ()) -> None:
    """Let the controllers that have a list connect to DNS, to pods of flux-system, and to what is listed.

    NetworkPolicies are additive, so the release's policies that allow all egress are changed to select the other pods.
    """
    if not (allowed := _allowed(egress)):
        return
    names = [name for controller in allowed for name in instances_of(controller, lanes)]
    others = {"matchExpressions": [{"key": APP_LABEL, "operator": "NotIn", "values": names}]}
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy" and _allows_all_egress(manifest["spec"]):
            manifest["spec"]["podSelector"] = others
    manifests += [_policy(controller, rules, lanes) for controller, rules in allowed.items()]


def separate_lanes(manifests: list[Manifest], lanes: Collection[str]) -> None:
    """Let pods of a lane be reached only by their own lane and the platform's pods; lanes reach what serves them all.

    Without it, every pod of flux-system may read the artifacts of all lanes.
    """
    if not lanes:
        return
    for manifest in manifests:
        if manifest["kind"] == "NetworkPolicy":
            for rule in manifest["spec"].get("ingress") or ():
                rule["from"] = [PLATFORM_PODS if each == _ALL_OF_FLUX else each for each in rule.get("from", ())]
    shared = [each.value for each in _SHARED_SERVERS]
    in_lanes = {"podSelector": {"matchExpressions": [{"key": LANE_LABEL, "operator": "Exists"}]}}
    manifests.append(_ingress("lanes", {"matchExpressions": [_in(APP_LABEL, shared)]}, in_lanes))
    for lane in lanes:
        pods = {"matchLabels": {LANE_LABEL: lane}}
        manifests.append(_ingress(f"lane-{lane}", pods, {"podSelector": pods}))


def _allowed(egress: FluxEgress) -> Mapping[Controller, Sequence[Manifest]]:
    """The egress rules of each controller that has a list, without those that all of them have."""
    rules: dict[Controller, list[Manifest]] = {}
    if egress.networks:
        rules[Controller.KUSTOMIZE] = [{"to": [{"ipBlock": {"cidr": network}} for network in egress.networks]}]
    for controller, ranges in egress.allowed.items():
        rules.setdefault(controller, []).extend(egress_rules(ranges))
    return {controller: [*egress_rules(egress.api_server), *rules[controller]] for controller in sorted(rules)}


def _allows_all_egress(spec: Manifest) -> bool:
    return not spec.get("podSelector") and {} in (spec.get("egress") or ())


def _in(key: str, values: Sequence[str]) -> Manifest:
    return {"key": key, "operator": "In", "values": list(values)}


def _ingress(name: str, pods: Manifest, sender: Manifest) -> Manifest:
    return _network_policy(name, pods, ingress=[{"from": [sender]}])


def _policy(controller: Controller, rules: Sequence[Manifest], lanes: Collection[str]) -> Manifest:
    flux: list[Manifest] = [dict(_ALL_OF_FLUX)]
    names = instances_of(controller, lanes)
    pods: Manifest = (
        {"matchExpressions": [_in(APP_LABEL, names)]} if lanes else {"matchLabels": {APP_LABEL: controller.value}}
    )
    egress = [{"to": flux}, {"ports": _DNS}, *rules]
    return _network_policy(f"{controller}-egress", pods, ingress=[{"from": flux}], egress=egress)


def _network_policy(name: str, pods: Manifest, **rules: list[Manifest]) -> Manifest:
    """A NetworkPolicy of the directions that it has rules for."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": name, "namespace": FLUX_NAMESPACE},
        "spec": {"podSelector": pods, "policyTypes": [each.capitalize() for each in rules], **rules},
    }


@dataclass(frozen=True)
class Phases:
    """The objects of a release, split into the phases in which they are created.

    `powers` are bindings to cluster-admin that the controllers no longer need. When an older installation is updated,
    its running controllers keep them until the new ones are available.
    """

    namespaces: list[Manifest]
    definitions: list[Manifest]
    access: list[Manifest]
    controllers: list[Manifest]
    powers: list[Manifest]


def in_phases(manifests: list[Manifest], config: FluxConfig) -> Phases:
    """Namespaces and custom resource definitions, then access, services and policies, then the controllers."""
    phases = Phases([], [], [], [], [])
    by_kind = {
        "Namespace": phases.namespaces,
        "CustomResourceDefinition": phases.definitions,
        "Deployment": phases.controllers,
    }
    for manifest in manifests:
        if config.impersonates and is_powerful(manifest):
            phases.powers.append(manifest)
        else:
            by_kind.get(manifest["kind"], phases.access).append(manifest)
    return phases


FEATURE_GATES = "--feature-gates="
# The controllers' own default: the number of workers that other tenants still have.
RELEASE_WORKERS = 4
# Two artifacts of each source are kept, beside what is being fetched; others unpack what they apply (docs/sizing.md).
_DISK, _DISK_OF_SERVERS = "4Gi", "8Gi"
_SERVERS = (Controller.SOURCE, Controller.SOURCE_WATCHER)
# Without a request, Kubernetes would reserve the limit. The kubelet keeps up to 50 MiB of a container's logs.
_RESERVED_DISK = "64Mi"
_POD_ADDRESS: Manifest = {"name": POD_ADDRESS, "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}


@dataclass(frozen=True)
class StackFacts:
    """What the profile needs to know about the rest of the stack.

    Attributes:
        key_services: hosts of key management services that decrypt for the stack's syncs.
        kustomizations: how many Kustomizations a tenant may have; kustomize-controller gets more workers than that.
        helm_releases: the same for HelmReleases and helm-controller.
        sources: how many sources of one kind, or HelmCharts; source-controller has workers for each kind.
        plain_http: hosts that a controller may connect to without TLS; `*` for all.
    """

    key_services: tuple[str, ...] = ()
    kustomizations: int = 0
    helm_releases: int = 0
    sources: int = 0
    plain_http: Mapping[Controller, tuple[str, ...]] = field(default_factory=dict)


NO_TENANTS = StackFacts()


def configured(manifests: Iterable[Manifest], config: FluxConfig, facts: StackFacts = NO_TENANTS) -> list[Manifest]:
    """The release's manifests with this configuration applied; the manifests passed in are not changed."""
    result = with_lanes([deepcopy(manifest) for manifest in manifests], config.lanes)
    for controller, deployment in deployments_of(result):
        _apply_user_settings(deployment, controller, config)
    if config.vaults:
        result.append(vault_config_map(config.vaults))
    if config.profile is Profile.MULTI_TENANT:
        result = lock_down(result, config, facts)
    if not config.impersonates:
        platform = config.sync.decryption if config.sync is not None else None
        needs_token = platform is not None and platform.workload_identity is not None
        accounts = [decryption_account(PLATFORM_META.name)] if needs_token else []
        return [*result, *token_objects(PLATFORM_META, accounts, config)]
    annotating = annotations_only() if Controller.NOTIFICATION in config.components else []
    return [*restricted(result, config), *annotating, *own_objects_only(config)]


def lock_down(manifests: list[Manifest], config: FluxConfig, facts: StackFacts = NO_TENANTS) -> list[Manifest]:
    """Apply the multi-tenant profile. The manifests are changed in place."""
    all_hosts = artifact_hosts(manifests)
    restrict_egress(manifests, config.egress, config.lanes)
    separate_lanes(manifests, config.lanes)
    for controller, deployment in deployments_of(manifests):
        lane = lane_of(deployment)
        hosts = [each for each in all_hosts if each.serves(controller, lane)]
        _add_arguments(deployment, arguments_for(controller, config.default_service_account, config.version))
        if config.impersonates:
            _add_arguments(deployment, [CONFIG_WATCHERS_OFF] if controller in CONFIG_WATCHERS else [])
            deployment["spec"]["template"]["spec"]["serviceAccountName"] = account_of(controller, lane)
        _add_arguments(deployment, _default_arguments(controller, config.arguments_of(controller, lane), facts))
        variables: list[Manifest] = [{"name": each.name, "value": each.value} for each in variables_for(controller)]
        if controller in RECONCILERS:
            variables += egress_variables(controller, deployment, hosts, config, facts.key_services)
        elif config.egress.proxy is None:
            variables += plain_http_variables(controller, deployment, hosts, facts.plain_http.get(controller, ()))
        if (proxy := config.egress.proxy) is not None:
            variables = proxied(controller, variables, deployment, hosts, proxy)
        _set_variables(deployment, [_POD_ADDRESS, *variables])
        _bound_disk(deployment["spec"]["template"]["spec"], _DISK_OF_SERVERS if controller in _SERVERS else _DISK)
    for manifest in manifests:
        if manifest["kind"] in ("ClusterRole", "Role") and not config.workload_identity:
            _forbid_token_minting(manifest)
    return manifests


def _apply_user_settings(deployment: Manifest, controller: Controller, config: FluxConfig) -> None:
    """Apply the user's own arguments and resources."""
    lane = lane_of(deployment)
    _add_arguments(deployment, config.arguments_of(controller, lane))
    if controller is Controller.KUSTOMIZE and config.vaults:
        _add_arguments(deployment, [VAULT_ARGUMENT])
    container = container_of(deployment)
    for resources in config.resources_of(controller, lane):
        for part in ("requests", "limits"):
            container.setdefault("resources", {}).setdefault(part, {}).update(getattr(resources, part))


def _default_arguments(controller: Controller, given: Sequence[str], facts: StackFacts) -> list[str]:
    """What the user's arguments do not replace: more workers than one tenant can occupy, and what bounds memory."""
    most = {
        Controller.SOURCE: facts.sources,
        Controller.KUSTOMIZE: facts.kustomizations,
        Controller.HELM: facts.helm_releases,
    }.get(controller, 0)
    defaults = [f"{CONCURRENT}{most + RELEASE_WORKERS}"] if most else []
    if controller is Controller.SOURCE:
        defaults.append(HELM_INDEX_LIMIT)
    own = {argument.partition("=")[0] for argument in given}
    return [argument for argument in defaults if argument.partition("=")[0] not in own]


def _add_arguments(deployment: Manifest, arguments: Sequence[str]) -> None:
    """Append arguments. Feature gates are joined into one flag, since the controllers read only the last one."""
    if not arguments:
        return
    container = container_of(deployment)
    everything = [*container.get("args", ()), *arguments]
    gates = [argument.removeprefix(FEATURE_GATES) for argument in everything if argument.startswith(FEATURE_GATES)]
    container["args"] = [argument for argument in everything if not argument.startswith(FEATURE_GATES)]
    if gates:
        container["args"].append(FEATURE_GATES + ",".join(gates))


def _set_variables(deployment: Manifest, variables: Sequence[Manifest]) -> None:
    """Set environment variables; they replace existing ones with the same names."""
    if variables:
        container = container_of(deployment)
        names = {variable["name"] for variable in variables}
        kept = [variable for variable in container.get("env", ()) if variable["name"] not in names]
        container["env"] = [*kept, *variables]


def _bound_disk(pod: Manifest, most: str) -> None:
    """Limit what a controller, and each volume of it, takes of the node's disk, where the user has not.

    Args:
        most: the limit; the kubelet evicts a pod above it, instead of other pods of the node.
    """
    resources = pod["containers"][0].setdefault("resources", {})
    limits, requests = (resources.setdefault(part, {}) for part in ("limits", "requests"))
    limit = limits.setdefault(DISK, max(most, requests.get(DISK, most), key=parse_quantity))
    requests.setdefault(DISK, min(_RESERVED_DISK, limit, key=parse_quantity))
    for volume in pod.get("volumes", ()):
        if "emptyDir" in volume:
            volume["emptyDir"] = {"sizeLimit": limit} | (volume["emptyDir"] or {})


def _forbid_token_minting(role: Manifest) -> None:
    """Remove `create` on `serviceaccounts/token` from a role: it would let a controller become any account."""
    rules = []
    for rule in role["rules"]:
        resources = [resource for resource in rule.get("resources", ()) if resource != "serviceaccounts/token"]
        if resources or "nonResourceURLs" in rule:
            rules.append(rule | {"resources": resources} if resources else rule)
    role["rules"] = rules
