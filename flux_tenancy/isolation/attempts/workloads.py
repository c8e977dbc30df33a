"""Attempts of workloads: at the node, the network, others' volumes, and the account that Flux impersonates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flux_tenancy.components.policies.names import PolicyName
from flux_tenancy.components.tenant.annotations import SERVICE_TYPES
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.isolation.attempts.objects import (
    NAME,
    UNKNOWN_HOST,
    claim,
    claim_spec,
    container,
    deployment,
    excepted,
    made,
    pod,
    pod_spec,
    service,
    workload,
)
from flux_tenancy.isolation.attempts.reserved import on_existing
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.model import Attempt, Request
from flux_tenancy.isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
_ROLE_ADMISSION = (Layer.ROLE, Layer.ADMISSION)
_TEMPLATES = ("Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob")
_YEARS_IN_SECONDS = 10 * 365 * 24 * 3600
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_NO_CLASS = "isolation-static"
_ANY_CLASS = "the platform does not restrict storage classes"


def nodes(scene: Scene) -> Iterator[Attempt]:
    """Access to the node (threat 19)."""
    folder = [{"name": "node", "hostPath": {"path": "/"}}]
    of_the_node: dict[str, tuple[str, Manifest]] = {
        "network": ("in the node's network", pod_spec(scene, hostNetwork=True)),
        "processes": ("among the node's processes", pod_spec(scene, hostPID=True)),
        "folder": ("with a directory of the node", pod_spec(scene, volumes=folder)),
        "privileged": ("with privileged mode", _with(scene, securityContext={"privileged": True})),
        "capabilities": ("with additional capabilities", _with(scene, securityContext=_adding("SYS_ADMIN"))),
        "port": ("on a port of the node", _with(scene, ports=[{"containerPort": 8080, "hostPort": 8080}])),
    }
    for key, (how, spec) in of_the_node.items():
        yield Attempt(
            f"19-{key}",
            19,
            f"a pod {how}",
            (
                Request(made(scene, "Pod", spec), (Layer.POD_SECURITY, Layer.ADMISSION), baseline=pod(scene)),
                Request(workload(scene, "Deployment", spec), _ADMISSION, baseline=deployment(scene)),
            ),
        )
    yield Attempt.at_admission(
        "19-node-name",
        19,
        "a pod that bypasses the scheduler",
        deployment(scene, nodeName="any"),
        baseline=deployment(scene),
    )
    added = {"spec": {"ephemeralContainers": [container(scene, name=NAME, resources={})]}}
    yield Attempt(
        "19-ephemeral",
        19,
        "a container added to a running pod",
        tuple(on_existing(scene, "Pod", "ephemeralcontainers", added)),
    )


def network_and_priority(scene: Scene) -> Iterator[Attempt]:
    """Exposure and priority (threat 20; volumes are below)."""
    exposed: dict[str, tuple[str, Manifest]] = {
        "node-port": ("on a port of all nodes", {"type": "NodePort"}),
        "load-balancer": ("with a load balancer", {"type": "LoadBalancer"}),
        "external-address": ("that claims an external IP address", {"externalIPs": ["192.0.2.1"]}),
        "external-name": ("that redirects to another name", {"type": "ExternalName", "externalName": UNKNOWN_HOST}),
    }
    granted = (scene.namespace["metadata"].get("annotations") or {}).get(SERVICE_TYPES, "").split()
    for key, (how, fields) in exposed.items():
        request = Request(service(scene, **fields), (Layer.ADMISSION, Layer.QUOTA), baseline=service(scene))
        by_choice = f"a grant of the tenant allows {fields['type']}" if fields.get("type") in granted else ""
        yield Attempt(f"20-{key}", 20, f"a Service {how}", (request,), by_choice)
    yield Attempt.at_admission(
        "20-priority",
        20,
        "pods with a system priority",
        deployment(scene, priorityClassName="system-cluster-critical"),
        baseline=deployment(scene),
    )


def volumes(scene: Scene) -> Iterator[Attempt]:
    """Existing volumes, which may hold another tenant's data (threats 20 and 34)."""
    old_way = claim(scene, storageClassName=None)
    old_way["metadata"] = old_way["metadata"] | {"annotations": {_OLD_CLASS: ""}}
    claims: dict[str, tuple[int, str, Manifest]] = {
        "by-name": (20, "by name", claim(scene, volumeName="any")),
        "by-selector": (20, "by labels", claim(scene, selector={"matchLabels": {"any": "volume"}})),
        "by-empty-class": (20, "by an empty class", claim(scene, storageClassName="")),
        "by-annotation": (34, "by the class in the legacy annotation", old_way),
        "by-static-class": (34, "by a class without provisioner", claim(scene, storageClassName=_NO_CLASS)),
    }
    baseline = claim(scene)
    for key, (threat, how, manifest) in claims.items():
        yield Attempt.at_admission(
            f"{threat}-volume-{key}",
            threat,
            f"an existing volume {how}",
            manifest,
            baseline=baseline,
            by_choice=_ANY_CLASS if manifest["spec"].get("storageClassName") == _NO_CLASS else "",
        )
        template = {key: value for key, value in manifest.items() if key in ("metadata", "spec")}
        template["metadata"] = {key: value for key, value in manifest["metadata"].items() if key != "namespace"}
        yield Attempt.at_admission(
            f"{threat}-stateful-volume-{key}",
            threat,
            f"an existing volume {how}, in the template of a StatefulSet",
            _stateful(scene, template),
            baseline=_stateful(scene, {"metadata": {"name": NAME}, "spec": claim_spec(scene)}),
            by_choice=_ANY_CLASS if manifest["spec"].get("storageClassName") == _NO_CLASS else "",
        )
    default = any(
        each["metadata"].get("annotations", {}).get("storageclass.kubernetes.io/is-default-class") == "true"
        for each in scene.storage_classes
    )
    if not default:
        yield Attempt.at_admission(
            "34-volume-by-no-class",
            34,
            "an existing volume through a claim without a class, because the cluster has no default class",
            claim(scene, storageClassName=None),
        )


def identity_of_pods(scene: Scene) -> Iterator[Attempt]:
    """Pods as the account that Flux impersonates, and tokens that outlive pods (threats 18 and 33)."""
    account = {"serviceAccountName": scene.tenancy.account}
    yield Attempt.at_admission(
        "33-pod", 33, "a pod with the account that Flux impersonates", pod(scene, **account), baseline=pod(scene)
    )
    for kind in _TEMPLATES:
        yield Attempt.at_admission(
            f"33-{kind.lower()}",
            33,
            f"a {kind} whose pods use the account that Flux impersonates",
            workload(scene, kind, pod_spec(scene, **account)),
            baseline=workload(scene, kind, pod_spec(scene)),
        )
    token = {"serviceAccountToken": {"path": "token", "expirationSeconds": _YEARS_IN_SECONDS}}
    projected = [{"name": "token", "projected": {"sources": [token]}}]
    yield Attempt.at_admission(
        "33-token-of-years",
        33,
        "a pod's token that is valid for years",
        deployment(scene, volumes=projected),
        baseline=deployment(scene),
    )


def scheduling(scene: Scene) -> Iterator[Attempt]:
    """Others' nodes, CSI drivers, drains and hosts (threat 41)."""
    node = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["any"]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [node]}}}
    inline = [{"name": "inline", "csi": {"driver": "csi.example.com"}}]
    pods: dict[str, tuple[str, Manifest]] = {
        "tolerations": ("that tolerate every taint", {"tolerations": [{"operator": "Exists"}]}),
        "node-affinity": ("that choose a node by name", {"affinity": affinity}),
        "inline-driver": ("with an inline volume of a CSI driver", {"volumes": inline}),
    }
    for key, (how, fields) in pods.items():
        request = Request(deployment(scene, **fields), _ADMISSION, baseline=deployment(scene))
        by_choice = "" if key == "inline-driver" else excepted(scene, PolicyName.NODE_PLACEMENT)
        yield Attempt(f"41-{key}", 41, f"pods {how}", (request,), by_choice)
    budget: dict[str, Any] = {"selector": {"matchLabels": {"app": NAME}}}
    for key, allowed in (("none", {"maxUnavailable": 0}), ("all", {"minAvailable": "100%"})):
        yield Attempt.at_admission(
            f"41-drain-{key}",
            41,
            f"a PodDisruptionBudget that blocks node drains ({next(iter(allowed))})",
            made(scene, "PodDisruptionBudget", budget | allowed),
            baseline=made(scene, "PodDisruptionBudget", budget | {"maxUnavailable": 1}),
            by_choice=excepted(scene, PolicyName.DISRUPTION_BUDGETS),
        )
    yield Attempt.at_admission(
        "41-ingress-host",
        41,
        "an Ingress for another tenant's host",
        ingress(scene, UNKNOWN_HOST),
        by_choice="the platform does not restrict the hosts of Ingresses",
    )
    snippets = ingress(scene, UNKNOWN_HOST)
    snippets["metadata"] = snippets["metadata"] | {
        "annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": "# nothing"}
    }
    yield Attempt.at_admission(
        "41-ingress-snippet", 41, "an Ingress with a snippet of controller configuration", snippets
    )


def ingress(scene: Scene, host: str) -> Manifest:
    """An Ingress for one host."""
    backend = {"service": {"name": NAME, "port": {"number": 80}}}
    paths = [{"path": "/", "pathType": "Prefix", "backend": backend}]
    return made(scene, "Ingress", {"rules": [{"host": host, "http": {"paths": paths}}]})


def _with(scene: Scene, **fields: Any) -> Manifest:
    return pod_spec(scene, containers=[container(scene, **fields)])


def _adding(capability: str) -> Manifest:
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"], "add": [capability]}}


def _stateful(scene: Scene, template: Manifest) -> Manifest:
    manifest = workload(scene, "StatefulSet", pod_spec(scene))
    manifest["spec"]["volumeClaimTemplates"] = [template]
    return manifest


def others(scene: Scene) -> Iterator[Attempt]:
    """Controllers and nodes that all tenants share (threats 46, 48 and 50)."""
    labels = {"owner": "helm", "name": NAME, "version": "1"}
    named = {"name": f"sh.helm.release.v1.{NAME}.v1", "labels": labels}
    stored = made(scene, "Secret", metadata=named, type="helm.sh/release.v1")
    yield Attempt.at_admission(
        "46-release",
        46,
        "a Secret of a Helm release of 512 KiB",
        stored | {"stringData": {"release": "a" * 512 * 1024}},
        baseline=stored | {"stringData": {"release": "a"}},
    )
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, "namespaceSelector": {}}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    yield Attempt.at_admission(
        "48-anti-affinity",
        48,
        "pods that keep the pods of all namespaces from their nodes",
        deployment(scene, affinity=apart),
        baseline=deployment(scene),
    )
    yield Attempt.at_admission(
        "48-grace-period",
        48,
        "pods that may take a year to end",
        deployment(scene, terminationGracePeriodSeconds=365 * 24 * 3600),
        baseline=deployment(scene),
    )
    yield Attempt(
        "50-controller-revision",
        50,
        "a ControllerRevision, from which Kubernetes creates pods",
        (Request(made(scene, "ControllerRevision", revision=1), _ROLE_ADMISSION),),
    )
