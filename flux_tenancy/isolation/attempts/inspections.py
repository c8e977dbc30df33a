"""What the suite inspects, by name: how Flux's controllers were started, what networks let through, what is counted.

It pushes no hostile content to a cluster, so what a controller would do with it is inspected.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_network

from flux_tenancy.components.installs.flux.lockdown_flags import DEFAULT_ACCOUNT, flags_for
from flux_tenancy.components.installs.flux.release import arguments_of, environment_of, lane_of, version_of
from flux_tenancy.components.rbac.subjects import ALL_ACCOUNTS, Subject, SubjectKind, subjects_of, user_of
from flux_tenancy.components.tenant.further_access import is_documented
from flux_tenancy.components.tenant.role import FLUX_KINDS, group_resource
from flux_tenancy.components.vocabulary.manifests import DISK, Manifest, name_of, parse_quantity, selects
from flux_tenancy.components.vocabulary.names import REQUIRED_CONTROLLERS, Controller
from flux_tenancy.isolation.model import AccessReview, Finding, Layer, Proof, State
from flux_tenancy.isolation.scene import RESOURCES, Scene

GATES = "feature-gates"
_CREDENTIALS = re.compile(r"//[^/@\s]*@")
METADATA_ADDRESS = "169.254.169.254"
"""Where clouds serve a node's identity to everything that can reach the address."""
_PLAIN_PROXY = "HTTP_PROXY"
_PROXIES = (_PLAIN_PROXY, "HTTPS_PROXY")
_EXEMPT = "NO_PROXY"
_VARIABLE = re.compile(r"\$\((\w+)\)")
_PORT = re.compile(r":\d+$")
# Of source-controller, for each kind of source.
_DEFAULT_WORKERS = {Controller.KUSTOMIZE: 4, Controller.HELM: 4, Controller.SOURCE: 2}
_SERVED_BY = {
    "Kustomization": Controller.KUSTOMIZE,
    "HelmRelease": Controller.HELM,
    "GitRepository": Controller.SOURCE,
}
# The pods of source-controller where none is found, and the port on which it serves artifacts.
_ARTIFACT_PODS, _ARTIFACT_PORTS = {"app": "source-controller"}, (9090, "http")


def looked(
    scene: Scene, controller: Controller, layer: Layer, question: Callable[[Manifest], tuple[bool, str]]
) -> Finding:
    """Ask a question about all Deployments of a controller.

    Args:
        layer: the layer that it proves.
        question: whether one Deployment holds, and what it shows.
    """
    deployments = scene.controllers.get(controller, ())
    if not deployments:
        if controller in REQUIRED_CONTROLLERS:
            message = f"no Deployment of {controller} found; name Flux's namespace with --flux-namespace"
            return Finding(layer, State.UNPROVEN, message)
        return Finding(layer, State.NOT_APPLICABLE, f"the cluster has no {controller}")
    answers = [question(deployment) for deployment in deployments]
    holds = all(answer for answer, _ in answers)
    said = next(seen for answer, seen in answers if answer is holds)
    return Finding(layer, State.HOLDS if holds else State.OPEN, f"{controller}: {said}", controller)


def has_flag(scene: Scene, controller: Controller, name: str, wanted: str | None = "true") -> Finding:
    """Whether a controller has a flag, with this value or with any if None."""

    def question(deployment: Manifest) -> tuple[bool, str]:
        value = arguments_of(deployment).get(name)
        holds = bool(value) if wanted is None else value == wanted
        return holds, f"--{name}" + (f"={value}" if value is not None else " is not set")

    return looked(scene, controller, Layer.FLUX, question)


def lacks_flags(scene: Scene, controller: Controller, names: Sequence[str]) -> Finding:
    """Whether a controller has none of these flags on."""

    def question(deployment: Manifest) -> tuple[bool, str]:
        on = [name for name in names if arguments_of(deployment).get(name, "false") not in ("false", "")]
        return not on, f"--{on[0]} is set" if on else f"without {', '.join(f'--{name}' for name in names)}"

    return looked(scene, controller, Layer.FLUX, question)


def has_gate(scene: Scene, controller: Controller, gate: str, layer: Layer) -> Finding:
    """Whether a feature gate of a controller is on."""

    def question(deployment: Manifest) -> tuple[bool, str]:
        gates = arguments_of(deployment).get(GATES, "").split(",")
        return f"{gate}=true" in gates, f"--{GATES}: {gate} is {'on' if f'{gate}=true' in gates else 'not on'}"

    return looked(scene, controller, layer, question)


def has_environment(
    scene: Scene, controller: Controller, names: Sequence[str], holds: Callable[[Mapping[str, str]], bool]
) -> Finding:
    """Whether the environment of a controller is in order.

    Args:
        names: the variables to show.
        holds: whether an environment is in order.
    """

    def question(deployment: Manifest) -> tuple[bool, str]:
        there = environment_of(deployment)
        shown = {name: _CREDENTIALS.sub("//***@", value) for name, value in there.items()}  # a proxy's password
        return holds(there), ", ".join(
            f"{name}={shown[name]}" if name in shown else f"{name} is not set" for name in names
        )

    return looked(scene, controller, Layer.CONTROLLERS, question)


# ---- network policies ----


def reaches_out(policies: Iterable[Manifest], address: str) -> str | None:
    """What lets all pods of a namespace reach an address outside of the cluster; None if nothing does.

    Only policies for all pods count: a tenant chooses the labels of its pods.
    """
    closing = [
        policy
        for policy in policies
        if "Egress" in policy["spec"].get("policyTypes", ()) and policy["spec"].get("podSelector") in ({}, None)
    ]
    if not closing:
        return "no NetworkPolicy restricts the egress of all pods"
    for policy in policies:
        for rule in policy["spec"].get("egress", ()):
            if "Egress" in policy["spec"].get("policyTypes", ("Egress",)) and _allows_address(rule, address):
                return f"the NetworkPolicy {policy['metadata']['name']} lets pods reach {address}"
    return None


def _allows_address(rule: Manifest, address: str) -> bool:
    peers = rule.get("to")
    if not peers:
        return True
    blocks = [peer["ipBlock"] for peer in peers if "ipBlock" in peer]
    return any(
        ip_address(address) in ip_network(block["cidr"])
        and not any(ip_address(address) in ip_network(each) for each in block.get("except", ()))
        for block in blocks
    )


def reaches_in(
    policies: Iterable[Manifest], pod: Mapping[str, str], ports: Sequence[object], namespace: Mapping[str, str]
) -> str | None:
    """What lets pods of another namespace reach a port of a pod; None if nothing does.

    Args:
        policies: NetworkPolicies of the pod's namespace.
        ports: the port by number and name.
        namespace: labels of the other namespace.
    """
    about = [
        policy
        for policy in policies
        if selects(policy["spec"].get("podSelector", {}), pod)
        and "Ingress" in policy["spec"].get("policyTypes", ("Ingress",))
    ]
    if not about:
        return "no NetworkPolicy selects it"
    for policy in about:
        for rule in policy["spec"].get("ingress", ()):
            open_ports = [each.get("port") for each in rule.get("ports", ())]
            of_port = not open_ports or any(port in open_ports for port in ports)
            if of_port and _allows_namespace(rule, namespace):
                return f"the NetworkPolicy {policy['metadata']['name']} lets the tenant's pods reach it"
    return None


def _allows_namespace(rule: Manifest, labels: Mapping[str, str]) -> bool:
    peers = rule.get("from")
    if not peers:
        return True
    # Pods may have any address, so a block counts as theirs.
    return any("ipBlock" in peer or selects(peer.get("namespaceSelector"), labels) for peer in peers)


def _closed_artifact_server(scene: Scene) -> Finding:
    labels = scene.namespace["metadata"].get("labels", {})
    templates = [each["spec"]["template"] for each in scene.controllers.get(Controller.SOURCE, ())]
    pods = [each.get("metadata", {}).get("labels", _ARTIFACT_PODS) for each in templates] or [_ARTIFACT_PODS]
    said = next(filter(None, (reaches_in(scene.flux_policies, each, _ARTIFACT_PORTS, labels) for each in pods)), None)
    return _of_network(said, "block the tenant's pods")


def _of_network(said: str | None, closed: str) -> Finding:
    closed = f"NetworkPolicies {closed}; whether the network enforces them was not tested"
    return Finding(Layer.NETWORK, State.HOLDS if said is None else State.OPEN, said or closed)


def _builds_without_artifacts(scene: Scene, controller: str) -> Finding:
    def hidden(there: Mapping[str, str]) -> bool:
        return _is_proxied(there) and _hides_artifacts(there, scene.flux)

    return has_environment(scene, Controller(controller), (*_PROXIES, _EXEMPT), hidden)


def _sources_without_artifacts(scene: Scene) -> Finding:
    def hidden(there: Mapping[str, str]) -> bool:
        return bool(there.get(_PLAIN_PROXY)) and _hides_artifacts(there, scene.flux)

    return has_environment(scene, Controller.SOURCE, (_PLAIN_PROXY, _EXEMPT), hidden)


def _git_goes_nowhere(there: Mapping[str, str]) -> bool:
    """Whether git may use no transport: the list names none that exists."""
    allowed = there.get("GIT_ALLOW_PROTOCOL", "")
    return bool(allowed) and not {"file", "git", "http", "https", "ssh", "ext"} & set(allowed.split(":"))


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
    address = arguments_of(deployment).get("metrics-addr", "")
    host = address.rpartition(":")[0].strip("[]")
    everywhere = host in ("", "0.0.0.0", "::", "localhost", "::1") or host.startswith("127.")
    return not everywhere, f"--metrics-addr={address}" if address else "--metrics-addr is not set"


def _isolated_builds(scene: Scene) -> Finding:
    """Whether network policies block kustomize-controller from the metadata address."""
    own = [
        policy
        for policy in scene.flux_policies
        if policy["spec"].get("podSelector", {}) in ({}, {"matchLabels": {"app": Controller.KUSTOMIZE.value}})
    ]
    everybodys = [{**policy, "spec": policy["spec"] | {"podSelector": {}}} for policy in own]
    return _of_network(reaches_out(everybodys, METADATA_ADDRESS), f"block {Controller.KUSTOMIZE}")


def _isolated_pods(scene: Scene) -> Finding:
    """Whether network policies block the tenant's pods from addresses outside of the cluster."""
    return _of_network(reaches_out(scene.of_home("NetworkPolicy"), METADATA_ADDRESS), "isolate the tenant's pods")


def _more_workers_than_objects(scene: Scene, kind: str) -> Finding:
    """Whether the controller has more workers than the namespace may have objects of the kind.

    Those of another lane do not serve it, and in a lane of its own, nobody else waits.
    """
    controller = _SERVED_BY[kind]
    counted = f"count/{group_resource(*FLUX_KINDS[kind])}"
    hard = [
        int(parse_quantity(quota["spec"]["hard"][counted]))
        for quota in scene.of_home("ResourceQuota")
        if counted in quota["spec"].get("hard", {})
    ]

    def question(deployment: Manifest) -> tuple[bool, str]:
        workers = int(arguments_of(deployment).get("concurrent", _DEFAULT_WORKERS[controller]))
        if (lane := lane_of(deployment)) != scene.lane:
            return True, f"{workers} workers, for others"
        if lane and scene.alone:
            return True, f"{workers} workers, for this tenant alone"
        if not hard:
            return False, f"{workers} workers, and no quota for {kind}s"
        return workers > min(hard), f"{workers} workers, and at most {min(hard)} {kind}s"

    return looked(scene, controller, Layer.CONTROLLERS, question)


def _default_account_if_needed(scene: Scene, name: str) -> Finding:
    """Whether a controller has a default account; not applicable to a release in which it needs none."""
    controller, flag = Controller(name), DEFAULT_ACCOUNT
    versions = {version_of(deployment) for deployment in scene.controllers.get(controller, ())}
    if any(flag not in {each.name for each in flags_for(controller, version)} for version in versions):
        message = f"{controller} of Flux {', '.join(sorted(versions))} writes only into the object's own namespace"
        return Finding(Layer.FLUX, State.NOT_APPLICABLE, message)
    return has_flag(scene, controller, flag, None)


def _powerless_default(scene: Scene, controller: str) -> Iterator[AccessReview | Finding]:
    """The default account must have no rights."""
    for deployment in scene.controllers.get(Controller(controller), ())[:1]:
        if name := arguments_of(deployment).get(DEFAULT_ACCOUNT):
            user = user_of(scene.tenancy.home, name)
            if user == scene.tenancy.user:
                yield Finding(Layer.FLUX, State.HOLDS, f"the default account {name} is the tenant's account")
            else:
                yield AccessReview("create", "apps", "deployments", scene.tenancy.home, user=user, layer=Layer.FLUX)


def _bindings_elsewhere(scene: Scene) -> Finding:
    """Bindings of the account, or of one of its groups, outside of the tenant's namespaces.

    What they allow by grants, and by Capsule, other attempts ask for.
    """
    tenant = scene.tenancy
    group = f"{ALL_ACCOUNTS}:{tenant.home}"
    own = {Subject(SubjectKind.GROUP, group), Subject(SubjectKind.ACCOUNT, tenant.account, tenant.home)}
    found = [
        each
        for each in scene.bindings
        if not is_documented(each, tenant.name) and own & {subject for subject, _ in subjects_of(each)}
    ]
    if not found:
        return Finding(
            Layer.ROLE, State.HOLDS, "no binding outside of the tenant's namespaces names the account", "RBAC"
        )
    named_so = ", ".join(f"{name_of(each)} ({each['roleRef']['name']})" for each in found)
    return Finding(Layer.ROLE, State.OPEN, f"the account also has bindings elsewhere: {named_so}")


def _counted(scene: Scene, kind: str) -> Finding:
    """Whether a quota counts the kind in every namespace of the tenant."""
    group, resource = RESOURCES[kind]
    # Of Kubernetes' core, a quota counts some resources by their plain names, too.
    counted, *plain = [f"count/{resource}.{group}"] if group else [f"count/{resource}", resource]
    if _counts(scene, (counted, *plain)):
        return Finding(Layer.QUOTA, State.HOLDS, f"a ResourceQuota counts {counted}", "ResourceQuota")
    return Finding(Layer.QUOTA, State.OPEN, f"no ResourceQuota counts {counted}")


def _limited(scene: Scene, resource: str) -> Finding:
    """Whether every container gets a limit of the resource: by default, or because a quota demands one."""
    limited = {
        each["metadata"]["namespace"]
        for each in scene.objects.get("LimitRange", ())
        for item in each["spec"]["limits"]
        if item["type"] == "Container" and resource in {**item.get("default", {}), **item.get("max", {})}
    }
    if limited.issuperset(scene.tenancy.namespaces) or _counts(scene, (f"limits.{resource}",)):
        return Finding(Layer.QUOTA, State.HOLDS, f"a LimitRange or a quota for limits.{resource} exists")
    return Finding(Layer.QUOTA, State.OPEN, f"no LimitRange for {resource}, and no quota for limits.{resource}")


def _has_bounded_disk(deployment: Manifest) -> tuple[bool, str]:
    """Whether the kubelet evicts a controller before it fills its node's disk."""
    pod = deployment["spec"]["template"]["spec"]
    if all(DISK in each.get("resources", {}).get("limits", {}) for each in pod["containers"]):
        return True, f"its containers have limits for {DISK}"
    return False, f"a container has no limit for {DISK}"


def _counts(scene: Scene, names: tuple[str, ...]) -> bool:
    return all(
        any(
            quota["metadata"]["namespace"] == namespace
            and not quota["spec"].get("scopes")
            and not quota["spec"].get("scopeSelector")
            and any(name in quota["spec"].get("hard", {}) for name in names)
            for quota in scene.objects.get("ResourceQuota", ())
        )
        for namespace in scene.tenancy.namespaces
    )


def _one(inspect: Callable[..., Finding]) -> Callable[..., Iterable[Proof]]:
    """An inspection with one finding."""
    return lambda scene, *about: (inspect(scene, *about),)


def _unseen_artifact_names(scene: Scene) -> Finding:
    """Whether the tenant cannot read the random name of an artifact server, which builds may connect to."""
    read = (each for kind in ("Kustomization", "HelmRelease", "Event") for each in scene.objects.get(kind, ()))
    said = json.dumps([(each.get("status"), each.get("message")) for each in read])
    if not scene.artifact_names:
        return Finding(Layer.CONTROLLERS, State.NOT_APPLICABLE, "no artifact server has a random name")
    if any(name in said for name in scene.artifact_names):
        return Finding(Layer.CONTROLLERS, State.OPEN, "a status or an Event has the name; the next update replaces it")
    return Finding(Layer.CONTROLLERS, State.HOLDS, "no status and no Event has the name")


INSPECTIONS: Mapping[str, Callable[..., Iterable[Proof]]] = {
    "bindings-elsewhere": _one(_bindings_elsewhere),
    "bounded-disk": _one(lambda scene, name: looked(scene, Controller(name), Layer.CONTROLLERS, _has_bounded_disk)),
    "builds-without-artifacts": _one(_builds_without_artifacts),
    "cancelled-health-checks": _one(
        lambda scene: has_gate(scene, Controller.KUSTOMIZE, "CancelHealthCheckOnNewRevision", Layer.CONTROLLERS)
    ),
    "closed-artifact-server": _one(_closed_artifact_server),
    "counted": _one(_counted),
    "default-account-if-needed": _one(_default_account_if_needed),
    "git-goes-nowhere": _one(
        lambda scene: has_environment(scene, Controller.KUSTOMIZE, ("GIT_ALLOW_PROTOCOL",), _git_goes_nowhere)
    ),
    "isolated-builds": _one(_isolated_builds),
    "isolated-pods": _one(_isolated_pods),
    "limited": _one(_limited),
    "more-workers-than-objects": _one(_more_workers_than_objects),
    "not-on-loopback": _one(
        lambda scene, name: looked(scene, Controller(name), Layer.CONTROLLERS, _is_not_on_loopback)
    ),
    "powerless-default-account": _powerless_default,
    "proxied-builds": _one(
        lambda scene: has_environment(scene, Controller.KUSTOMIZE, (*_PROXIES, _EXEMPT), _is_proxied)
    ),
    "sources-without-artifacts": _one(_sources_without_artifacts),
    "unseen-artifact-names": _one(_unseen_artifact_names),
}
"""What is inspected, by the names that rows use."""
