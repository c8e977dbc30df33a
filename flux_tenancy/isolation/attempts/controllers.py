"""Attempts at Flux's controllers, which process tenants' content: their rights, their network access, and their load.

Most of it is found by inspecting how they were started: the suite pushes no hostile content to a cluster.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from flux_tenancy.components.installs.flux.lanes import lane_of
from flux_tenancy.components.tenant.kinds import FLUX_KINDS, group_resource
from flux_tenancy.components.vocabulary.manifests import RBAC, Manifest
from flux_tenancy.components.vocabulary.names import Controller
from flux_tenancy.components.vocabulary.quantities import parse_quantity
from flux_tenancy.isolation.attempts.looking import (
    METADATA_ADDRESS,
    arguments,
    has_environment,
    has_gate,
    looked,
    reaches_in,
    reaches_out,
)
from flux_tenancy.isolation.attempts.objects import NAME, helm_release, kustomization, made, named
from flux_tenancy.isolation.choices import Layer
from flux_tenancy.isolation.model import Access, Attempt, Finding, Request, State
from flux_tenancy.isolation.scene import Scene

_ADMISSION = (Layer.ADMISSION,)
_YEAR = "8760h"
_PLAIN_PROXY = "HTTP_PROXY"
_PROXIES = (_PLAIN_PROXY, "HTTPS_PROXY")
_EXEMPT = "NO_PROXY"
_VARIABLE = re.compile(r"\$\((\w+)\)")
_PORT = re.compile(r":\d+$")
_DEFAULT_WORKERS = 4
_APPLIED_BY = {"Kustomization": Controller.KUSTOMIZE, "HelmRelease": Controller.HELM}
# The pods of source-controller where none is found, and the port on which it serves artifacts.
_ARTIFACT_PODS, _ARTIFACT_PORTS = {"app": "source-controller"}, (9090, "http")
# What annotations of a service account choose. Source: https://fluxcd.io/flux/integrations/object-identity/
_LOGINS = {
    "login": ("transit-engine.auth.fluxcd.io/login-path", "a login at a vault that the platform does not list"),
    "role": ("transit-engine.auth.fluxcd.io/role", "a login at a vault under a role that the tenant chooses"),
    "audience": ("credential.auth.fluxcd.io/audiences", "a token for an audience that the tenant chooses"),
    "unknown": (f"{NAME}.auth.fluxcd.io/any", "a setting of logins that no release of Flux knows yet"),
}
# What a controller that runs a tenant's content must not be able to do.
_POWERS = (
    ("create", RBAC, "clusterrolebindings", ""),
    ("create", "", "pods", "kube-system"),
    ("list", "", "secrets", "kube-system"),
    ("impersonate", "", "users", ""),
    ("impersonate", "", "groups", ""),
    ("impersonate", "", "serviceaccounts", "kube-system"),
)


def programs(scene: Scene) -> Iterator[Attempt]:
    """Builds that run a program, and what that program could do (threat 29)."""
    yield Attempt(
        "29-git",
        29,
        "a remote base whose URL makes the controller's git run a program",
        (has_environment(scene, Controller.KUSTOMIZE, ("GIT_ALLOW_PROTOCOL",), _git_goes_nowhere),),
    )
    for controller in (Controller.KUSTOMIZE, Controller.HELM):
        user = scene.controller_user(controller)
        for verb, group, resource, namespace in _POWERS:
            where = f" in {namespace}" if namespace else ""
            proof = (
                Access(verb, group, resource, namespace, user=user, layer=Layer.CONTROLLERS)
                if user
                else Finding(Layer.CONTROLLERS, State.UNPROVEN, f"no Deployment of {controller} found")
            )
            yield Attempt(
                f"29-{controller}-{verb}-{resource}",
                29,
                f"{verb} {resource}{where} with the rights of {controller}",
                (proof,),
            )


def remote_files(scene: Scene) -> Iterator[Attempt]:
    """What a build, a source, or a pod can fetch (threats 21, 30 and 45)."""
    controller = Controller.KUSTOMIZE
    yield Attempt(
        "30-remote-files",
        30,
        "remote files in a build from metadata addresses and cluster services",
        (
            has_environment(scene, controller, (*_PROXIES, _EXEMPT), _is_proxied),
            _controllers_way_out(scene),
        ),
    )
    yield Attempt(
        "30-artifacts",
        30,
        "other tenants' artifacts as remote files in a build",
        (
            has_environment(
                scene,
                controller,
                (*_PROXIES, _EXEMPT),
                lambda there: _is_proxied(there) and _hides_artifacts(there, scene.flux),
            ),
        ),
    )
    yield Attempt(
        "45-artifacts",
        45,
        "other tenants' artifacts by a chart's dependency, an index or a redirect",
        (
            has_environment(
                scene,
                Controller.SOURCE,
                (_PLAIN_PROXY, _EXEMPT),
                lambda there: bool(there.get(_PLAIN_PROXY)) and _hides_artifacts(there, scene.flux),
            ),
        ),
    )
    for each in (Controller.KUSTOMIZE, Controller.SOURCE):
        yield Attempt(
            f"45-{each}-ports",
            45,
            f"metrics and profiles of {each}, fetched through its loopback address",
            (looked(scene, each, Layer.CONTROLLERS, _is_not_on_loopback),),
        )
    labels = scene.namespace["metadata"].get("labels", {})
    templates = [each["spec"]["template"] for each in scene.controllers.get(Controller.SOURCE, ())]
    pods = [each.get("metadata", {}).get("labels", _ARTIFACT_PODS) for each in templates] or [_ARTIFACT_PODS]
    reached = (reaches_in(scene.flux_policies, each, _ARTIFACT_PORTS, labels) for each in pods)
    said = next(filter(None, reached), None)
    closed = "NetworkPolicies block the tenant's pods; whether the network enforces them was not tested"
    state = State.HOLDS if said is None else State.OPEN
    yield Attempt(
        "21-artifacts",
        21,
        "all tenants' artifacts, fetched from source-controller by a pod",
        (Finding(Layer.NETWORK, state, said or closed), _pods_way_out(scene, None)),
    )
    yield Attempt(
        "21-metadata",
        21,
        "cloud metadata, fetched by a pod",
        (_pods_way_out(scene, METADATA_ADDRESS),),
    )


def logins(scene: Scene) -> Iterator[Attempt]:
    """Logins with tokens of a tenant's accounts, chosen by annotations that controllers read (threat 17)."""
    account = scene.tenancy.account
    for key, (annotation, name) in _LOGINS.items():
        annotated = {"annotations": {annotation: NAME}}
        # The closed proxy stops connections to another vault. What is chosen at a listed one, only admission refuses.
        proxied = (
            (has_environment(scene, Controller.KUSTOMIZE, (*_PROXIES, _EXEMPT), _is_proxied),) if key == "login" else ()
        )
        created = made(scene, "ServiceAccount", metadata=annotated)
        yield Attempt(
            f"17-{key}-new",
            17,
            f"{name}, by a new service account",
            (Request(created, _ADMISSION, baseline=made(scene, "ServiceAccount")), *proxied),
        )
        own = named(scene, "ServiceAccount", account)
        yield Attempt(
            f"17-{key}-own",
            17,
            f"{name}, by the tenant's own account",
            (Request(own, _ADMISSION, "patch", change={"metadata": annotated}), *proxied),
        )


def bounds(scene: Scene) -> Iterator[Attempt]:
    """Load on a controller that all tenants share (threats 31 and 47)."""
    baseline = kustomization(scene)
    for kind, make in (("Kustomization", kustomization), ("HelmRelease", helm_release)):
        yield Attempt.at_admission(
            f"31-{kind.lower()}-timeout",
            31,
            f"a {kind} with a timeout of a year",
            make(scene, timeout=_YEAR),
            baseline=make(scene),
        )
    # A HelmRelease without a timeout waits five minutes, whatever its interval.
    yield Attempt.at_admission(
        "31-kustomization-interval",
        31,
        "a Kustomization without a timeout, whose interval of a year then counts as timeout",
        kustomization(scene, interval=_YEAR),
        baseline=baseline,
    )
    check = {"apiVersion": "v1", "kind": "ConfigMap"}
    growing = "size('a') + " * 200 + "1 > 0"
    yield Attempt.at_admission(
        "31-expression",
        31,
        "a health check with an expression that is long enough to be expensive",
        kustomization(scene, healthCheckExprs=[check | {"current": growing}]),
        baseline=baseline,
    )
    checks = [check | {"name": f"{NAME}-{number}", "namespace": scene.tenancy.home} for number in range(1000)]
    yield Attempt.at_admission(
        "31-health-checks",
        31,
        "a Kustomization with a thousand health checks",
        kustomization(scene, healthChecks=checks),
        baseline=baseline,
    )
    yield Attempt(
        "31-fix-waits",
        31,
        "a fixed sync that waits for the health checks of its previous revision",
        (has_gate(scene, Controller.KUSTOMIZE, "CancelHealthCheckOnNewRevision", Layer.CONTROLLERS),),
    )
    for kind, controller in _APPLIED_BY.items():
        yield Attempt(
            f"47-{kind.lower()}-workers",
            47,
            f"{kind}s of one namespace that occupy all workers of {controller}",
            (_workers(scene, kind, controller),),
        )


def _git_goes_nowhere(there: Mapping[str, str]) -> bool:
    """Whether git may use no transport: the list names none that exists."""
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
    """Whether requests to the well-known name of source-controller go through the proxy."""
    known = [f"source-controller.{flux}{rest}" for rest in ("", ".svc", ".svc.cluster.local", ".svc.cluster.local.")]
    # Kubernetes expands other variables; the value of one from a Secret is unknown.
    value = _VARIABLE.sub(lambda found: there.get(found[1], ""), there.get(_EXEMPT, ""))
    hosts = (_PORT.sub("", each.strip()) for each in value.split(","))
    exempt = [host.lstrip("*") for host in hosts if host]
    return not any(
        name == each.lstrip(".") or name.endswith(f".{each.lstrip('.')}") for name in known for each in exempt
    )


def _is_not_on_loopback(deployment: Manifest) -> tuple[bool, str]:
    """Whether a controller's port for metrics and profiles answers only at other addresses than loopback."""
    address = arguments(deployment).get("metrics-addr", "")
    host = address.rpartition(":")[0].strip("[]")
    everywhere = host in ("", "0.0.0.0", "::", "localhost", "::1") or host.startswith("127.")
    return not everywhere, f"--metrics-addr={address}" if address else "--metrics-addr is not set"


def _controllers_way_out(scene: Scene) -> Finding:
    """Whether network policies block kustomize-controller from the metadata address."""
    own = [
        policy
        for policy in scene.flux_policies
        if policy["spec"].get("podSelector", {}) in ({}, {"matchLabels": {"app": Controller.KUSTOMIZE.value}})
    ]
    everybodys = [{**policy, "spec": policy["spec"] | {"podSelector": {}}} for policy in own]
    said = reaches_out(everybodys, METADATA_ADDRESS)
    closed = f"NetworkPolicies block {Controller.KUSTOMIZE}; whether the network enforces them was not tested"
    return Finding(Layer.NETWORK, State.HOLDS if said is None else State.OPEN, said or closed)


def _pods_way_out(scene: Scene, address: str | None) -> Finding:
    """Whether network policies block the tenant's pods from an address; from other namespaces if None."""
    said = reaches_out(scene.of_home("NetworkPolicy"), address or METADATA_ADDRESS)
    closed = "NetworkPolicies isolate the tenant's pods; whether the network enforces them was not tested"
    return Finding(Layer.NETWORK, State.HOLDS if said is None else State.OPEN, said or closed)


def _workers(scene: Scene, kind: str, controller: Controller) -> Finding:
    """Whether the controller has more workers than the namespace may have objects of the kind.

    Those of another lane do not serve it, and in a lane of its own, nobody else waits.
    """
    counted = f"count/{group_resource(*FLUX_KINDS[kind])}"
    hard = [
        int(parse_quantity(quota["spec"]["hard"][counted]))
        for quota in scene.of_home("ResourceQuota")
        if counted in quota["spec"].get("hard", {})
    ]

    def question(deployment: Manifest) -> tuple[bool, str]:
        workers = int(arguments(deployment).get("concurrent", _DEFAULT_WORKERS))
        if (lane := lane_of(deployment)) != scene.lane:
            return True, f"{workers} workers, for others"
        if lane and scene.alone:
            return True, f"{workers} workers, for this tenant alone"
        if not hard:
            return False, f"{workers} workers, and no quota for {kind}s"
        return workers > min(hard), f"{workers} workers, and at most {min(hard)} {kind}s"

    return looked(scene, controller, Layer.CONTROLLERS, question)
