"""Attempts at Flux's controllers, which work on a tenant's text: what they may do, reach, and be kept busy by.

Most of it is found by looking at how they were started: what a tenant would push is not tried on anybody's cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from components.flux.controllers import Controller
from isolation.attempts.looking import (
    METADATA_ADDRESS,
    arguments,
    has_environment,
    has_gate,
    looked,
    reaches_in,
    reaches_out,
)
from isolation.attempts.objects import NAME, helm_release, kustomization
from isolation.kinds import RBAC
from isolation.model import Access, Attempt, Finding, Layer, State
from isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
_YEAR = "8760h"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY")
_EXEMPT = "NO_PROXY"
_VARIABLE = re.compile(r"\$\((\w+)\)")
_DEFAULT_WORKERS = 4
# The pods of source-controller, and the port on which it gives artifacts away.
_ARTIFACT_PODS, _ARTIFACT_PORTS = {"app": "source-controller"}, (9090, "http")
# What a controller with a tenant's text in it must not be able to do.
_POWERS = (
    ("create", RBAC, "clusterrolebindings", ""),
    ("create", "", "pods", "kube-system"),
    ("list", "", "secrets", "kube-system"),
    ("impersonate", "", "users", ""),
    ("impersonate", "", "groups", ""),
    ("impersonate", "", "serviceaccounts", "kube-system"),
)


def programs(scene: Scene) -> Iterator[Attempt]:
    """Threat 29: a build that runs a program, and what that program could do."""
    yield Attempt(
        "29-git",
        29,
        "a remote base whose address makes the controller's git run something",
        (has_environment(scene, Controller.KUSTOMIZE, ("GIT_ALLOW_PROTOCOL",), _git_goes_nowhere),),
    )
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        user = scene.controller_user(controller)
        for verb, group, resource, namespace in _POWERS:
            where = f" in {namespace}" if namespace else ""
            proof = (
                Access(verb, group, resource, namespace, user=user, layer=Layer.CONTROLLERS)
                if user
                else Finding(Layer.CONTROLLERS, State.UNPROVEN, f"no Deployment of {controller} was found")
            )
            yield Attempt(
                f"29-{controller}-{verb}-{resource}",
                29,
                f"with the rights of {controller}: to {verb} {resource}{where}",
                (proof,),
            )


def remote_files(scene: Scene) -> Iterator[Attempt]:
    """Threats 21 and 30: what a build, or a pod, can fetch."""
    controller = Controller.KUSTOMIZE
    yield Attempt(
        "30-remote-files",
        30,
        "remote files in a build: metadata addresses and inner services",
        (
            has_environment(scene, controller, (*_PROXIES, _EXEMPT), _is_proxied),
            _controllers_way_out(scene),
        ),
    )
    yield Attempt(
        "30-artifacts",
        30,
        "other tenants' artifacts as remote files in a build",
        (has_environment(scene, controller, (*_PROXIES, _EXEMPT), lambda there: _hides_artifacts(there, scene.flux)),),
    )
    labels = scene.namespace["metadata"].get("labels", {})
    said = reaches_in(scene.flux_policies, _ARTIFACT_PODS, _ARTIFACT_PORTS, labels)
    closed = "NetworkPolicies keep the tenant's pods from it; that the network heeds them was not tried"
    state = State.HOLDS if said is None else State.OPEN
    yield Attempt(
        "21-artifacts",
        21,
        "artifacts of all tenants, fetched from source-controller by a pod",
        (Finding(Layer.NETWORK, state, said or closed), _pods_way_out(scene, None)),
    )
    yield Attempt(
        "21-metadata",
        21,
        "the cloud's metadata, fetched by a pod",
        (_pods_way_out(scene, METADATA_ADDRESS),),
    )


def bounds(scene: Scene) -> Iterator[Attempt]:
    """Threat 31: what keeps a controller that others share busy."""
    beside = kustomization(scene)
    for kind, make in (("Kustomization", kustomization), ("HelmRelease", helm_release)):
        yield Attempt.at_admission(
            f"31-{kind.lower()}-timeout",
            31,
            f"a {kind} that waits for a year",
            make(scene, timeout=_YEAR),
            beside=make(scene),
        )
    # A HelmRelease without one waits for five minutes, whatever its interval.
    yield Attempt.at_admission(
        "31-kustomization-interval",
        31,
        "a Kustomization without a timeout, which then follows from an interval of a year",
        kustomization(scene, interval=_YEAR),
        beside=beside,
    )
    check = {"apiVersion": "v1", "kind": "ConfigMap"}
    growing = "size('a') + " * 200 + "1 > 0"
    yield Attempt.at_admission(
        "31-expression",
        31,
        "a health check whose expression is long enough to grow",
        kustomization(scene, healthCheckExprs=[check | {"current": growing}]),
        beside=beside,
    )
    checks = [check | {"name": f"{NAME}-{number}", "namespace": scene.tenancy.home} for number in range(1000)]
    yield Attempt.at_admission(
        "31-health-checks",
        31,
        "a thousand health checks of one Kustomization",
        kustomization(scene, healthChecks=checks),
        beside=beside,
    )
    yield Attempt(
        "31-fix-waits",
        31,
        "a sync that is fixed, and waits for the health checks of what it was before",
        (has_gate(scene, Controller.KUSTOMIZE, "CancelHealthCheckOnNewRevision", Layer.CONTROLLERS),),
    )
    yield Attempt(
        "31-workers",
        31,
        "Kustomizations of one namespace that hold all workers of kustomize-controller",
        (_workers(scene),),
    )


def _git_goes_nowhere(there: Mapping[str, str]) -> bool:
    """Whether git may use no transport: a list that names none of those that there are."""
    allowed = there.get("GIT_ALLOW_PROTOCOL", "")
    return bool(allowed) and not {
        "file",
        "git",
        "http",
        "https",
        "ssh",
        "ext",
    } & set(allowed.split(":"))


def _is_proxied(there: Mapping[str, str]) -> bool:
    exempt = [each.strip() for each in there.get(_EXEMPT, "").split(",")]
    return all(there.get(name) for name in _PROXIES) and not {"*", ".", "0.0.0.0/0"} & set(exempt)


def _hides_artifacts(there: Mapping[str, str], flux: str) -> bool:
    """Whether the proxy stands before the name of source-controller that everybody knows."""
    known = [f"source-controller.{flux}{rest}" for rest in ("", ".svc", ".svc.cluster.local", ".svc.cluster.local.")]
    # Kubernetes puts other variables in; a name that a Secret holds is not known.
    value = _VARIABLE.sub(lambda found: there.get(found[1], ""), there.get(_EXEMPT, ""))
    exempt = [each.strip().lstrip("*") for each in value.split(",") if each.strip()]
    return _is_proxied(there) and not any(
        name == each.lstrip(".") or name.endswith(f".{each.lstrip('.')}") for name in known for each in exempt
    )


def _controllers_way_out(scene: Scene) -> Finding:
    """Whether network policies keep kustomize-controller from the metadata address."""
    own = [
        policy
        for policy in scene.flux_policies
        if policy["spec"].get("podSelector", {}) in ({}, {"matchLabels": {"app": Controller.KUSTOMIZE.value}})
    ]
    everybodys = [{**policy, "spec": policy["spec"] | {"podSelector": {}}} for policy in own]
    said = reaches_out(everybodys, METADATA_ADDRESS)
    closed = f"NetworkPolicies keep {Controller.KUSTOMIZE} from it; that the network heeds them was not tried"
    return Finding(Layer.NETWORK, State.HOLDS if said is None else State.OPEN, said or closed)


def _pods_way_out(scene: Scene, address: str | None) -> Finding:
    """Whether network policies keep the tenant's pods from an address; from other namespaces where None."""
    said = reaches_out(scene.of_home("NetworkPolicy"), address or METADATA_ADDRESS)
    closed = "NetworkPolicies keep the tenant's pods to themselves; that the network heeds them was not tried"
    return Finding(Layer.NETWORK, State.HOLDS if said is None else State.OPEN, said or closed)


def _workers(scene: Scene) -> Finding:
    """Whether the controller has more workers than the namespace may have Kustomizations."""
    counted = "count/kustomizations.kustomize.toolkit.fluxcd.io"
    hard = [
        int(quota["spec"]["hard"][counted])
        for quota in scene.of_home("ResourceQuota")
        if counted in quota["spec"].get("hard", {})
    ]

    def question(deployment: dict[str, object]) -> tuple[bool, str]:
        workers = int(arguments(deployment).get("concurrent", _DEFAULT_WORKERS))
        if not hard:
            return False, f"{workers} workers, and no quota of Kustomizations"
        return workers > min(hard), f"{workers} workers, and {min(hard)} Kustomizations at most"

    return looked(scene, Controller.KUSTOMIZE, Layer.CONTROLLERS, question)
