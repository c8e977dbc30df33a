"""The environment of the controllers that apply: a proxy where nothing listens, and the hosts exempt from it."""

import json
from base64 import b64decode
from typing import Any

import pytest
from kubernetes import client
from loopback import serving
from pulumi.runtime import rpc
from recorded_program import run
from sample_release import names, one, release
from sample_stack import FLUX, flux_config, load

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.flux.component import FluxInstall, FluxInstallArgs
from flux_tenancy.components.installs.flux.egress import SeenNames, read_seen_names, replaced_names
from flux_tenancy.components.installs.flux.profile import NO_TENANTS, StackFacts, configured
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import Controller
from tests.support.goldens import assert_golden, differing
from tests.support.network import Network, Peer

PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"}
PLAIN = {"HTTP_PROXY", "http_proxy"}
API_SERVER = "[$(KUBERNETES_SERVICE_HOST)]:$(KUBERNETES_SERVICE_PORT)"
SERVICE = "Service flux-system/artifacts-of-source-controller"
SECRET = "Secret flux-system/artifact-hosts"


def advertised(domain: str = "cluster.local.", without: str = "source-watcher") -> list[Manifest]:
    """A miniature release with the addresses that Flux's own release advertises."""
    manifests = [manifest for manifest in release() if manifest["metadata"]["name"] != without]
    arguments = {
        "source-controller": f"--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.{domain}",
        "kustomize-controller": f"--events-addr=http://notification-controller.flux-system.svc.{domain}/",
        "helm-controller": f"--events-addr=http://notification-controller.flux-system.svc.{domain}/",
    }
    for name, argument in arguments.items():
        container(manifests, name)["args"].append(argument)
    return manifests


def container(manifests: list[Manifest], name: str) -> Manifest:
    found: Manifest = one(manifests, "Deployment", name)["spec"]["template"]["spec"]["containers"][0]
    return found


def environment(manifests: list[Manifest], name: str = "kustomize-controller") -> dict[str, Any]:
    env = container(manifests, name).get("env", [])
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in env}


NEEDED = [
    API_SERVER,
    "$(SOURCE_CONTROLLER_LOCALHOST):80",
    "notification-controller.flux-system.svc.cluster.local.:80",
]


@pytest.mark.parametrize("name", ["kustomize-controller", "helm-controller"])
def test_requests_to_hosts_that_are_not_exempt_go_to_a_closed_port(name):
    found = environment(configured(advertised(), flux_config()), name)

    assert {found[name] for name in PROXIES} == {"http://127.0.0.1:9"}
    assert found["NO_PROXY"] == found["no_proxy"] == ",".join(NEEDED)


def test_a_variable_comes_after_the_variables_that_it_refers_to():
    found = list(environment(configured(advertised(), flux_config())))

    assert found.index("SOURCE_CONTROLLER_LOCALHOST") < found.index("NO_PROXY")


@pytest.mark.parametrize("egress", [{}, {"proxy": "http://proxy.example.com:3128"}])
def test_the_single_tenant_profile_has_no_proxy(egress):
    found = configured(advertised(), flux_config(profile="single-tenant", egress=egress))

    for name in ("source-controller", "kustomize-controller"):
        assert not environment(found, name)


def variables(manifests: list[Manifest], facts: StackFacts = NO_TENANTS, **flux: Any) -> dict[str, str]:
    """The value of each variable of each controller."""
    locked = configured(manifests, flux_config(**flux), facts)
    found: dict[str, str] = {}
    for name in names(locked, "Deployment"):
        env = container(locked, name).get("env", [])
        assert len({each["name"] for each in env}) == len(env), "the last of two would win"
        found |= {f"{name} {each['name']}": str(each.get("value", each.get("valueFrom"))) for each in env}
    return found


ADDRESSES = ("https://vault.example.com:8200", "https://vault.example.org", "http://vault.internal")
VAULTS = [{"address": each, "loginPath": "auth/kubernetes/login"} for each in ADDRESSES]
PROXY = "http://proxy.example.com:3128"
HOSTS = ["files.example.com", "192.0.2.0/24", "files.example.org:443"]


@pytest.mark.golden
def test_controllers_have_exactly_these_variables():
    usual = variables(advertised())
    sending = advertised()
    container(sending, "source-controller")["args"].append(
        "--events-addr=http://notification-controller.flux-system.svc.cluster.local./"
    )
    plain = StackFacts(plain_http={Controller.SOURCE: ("charts.example.com:8080", "*.example.org")})
    others = {
        "with source-watcher": variables(advertised(without="")),
        "with events of source-controller": variables(sending),
        "with hosts without TLS": variables(advertised(), plain),
        # helm-controller decrypts nothing.
        "with vaults, key services and hosts": variables(
            advertised(), StackFacts(("kms.eu-1.amazonaws.com",)), vaults=VAULTS, egress={"hosts": HOSTS}
        ),
        # A dependency, an index or a redirect to the artifacts goes through the proxy, which refuses it.
        "with a proxy": variables(advertised(), egress={"proxy": PROXY}),
    }
    assert_golden(
        "controller-variables.yaml",
        {"usual": usual} | {name: differing(found, usual) for name, found in others.items()},
    )


@pytest.mark.parametrize("name", ["kustomize-controller", "helm-controller"])
def test_a_proxy_keeps_the_order_of_the_variables(name):
    usual, proxied = (configured(advertised(), flux_config(egress=egress)) for egress in ({}, {"proxy": PROXY}))

    assert list(environment(proxied, name)) == list(environment(usual, name))


def installed(manifests: list[Manifest], **flux: Any) -> Any:
    return run(lambda: FluxInstall("flux", FluxInstallArgs(flux_config(**flux), manifests)) and None)


def name_and_host(resources: Any) -> tuple[str, str]:
    [data] = resources[SECRET].properties["data"]["secret"].values()
    return resources[SERVICE].properties["metadata"]["name"], b64decode(data).decode()


@pytest.mark.parametrize("domain", ["cluster.local.", "k8s.example.com."])
def test_the_name_is_an_external_name_service_for_the_servers_own(domain):
    resources = installed(advertised(domain))

    name, host = name_and_host(resources)
    assert resources[SERVICE].properties["spec"] == {
        "type": "ExternalName",
        "externalName": f"source-controller.flux-system.svc.{domain}".removesuffix("."),
    }
    assert host == f"{name}.flux-system.svc.{domain}"
    assert {SERVICE, SECRET} <= resources["Deployment flux-system/kustomize-controller"].after


def test_the_name_is_random_and_does_not_change():
    found = {name_and_host(installed(advertised()))[0] for _ in range(2)}
    assert len(found) == 2 and all(len(name) == len("artifacts-") + 32 for name in found)
    assert installed(advertised())[SERVICE].ignored == {"metadata.name"}


RESOURCE = SERVICE.removeprefix("Service ")


def restarts(resources: Any, *controllers: str) -> list[Any]:
    pods = [
        resources[f"Deployment flux-system/{each}"].properties["spec"]["template"]["metadata"] for each in controllers
    ]
    return [each.get("annotations", {}).get("flux-tenancy/artifact-hosts") for each in pods]


def test_a_name_that_was_seen_is_replaced_once_and_those_who_read_it_start_again():
    manifests, config = advertised(), flux_config()
    known = {SERVICE: {"metadata": {"name": "artifacts-known", "namespace": "flux-system"}}}
    appliers = ("kustomize-controller", "helm-controller")

    def update(seen: SeenNames, state: Any) -> Any:
        return run(lambda: FluxInstall("flux", FluxInstallArgs(config, manifests, names=seen)) and None, state=state)

    before = update(SeenNames(), known)
    assert before[SERVICE].ignored == {"metadata.name"} and restarts(before, *appliers) == [None, None]

    replacing = update(SeenNames(frozenset({RESOURCE})), known)
    name, host = name_and_host(replacing)
    assert replacing[SERVICE].ignored == set() and name != "artifacts-known" and host.startswith(name)
    [first, second] = restarts(replacing, *appliers)
    assert first and first == second and restarts(replacing, "source-controller") == [None]

    state = {SERVICE: {"metadata": replacing[SERVICE].properties["metadata"]}}
    after = update(SeenNames(replaced=replaced_names(recorded(state))), state)
    assert after[SERVICE].ignored == {"metadata.name"}
    assert after[SERVICE].properties["metadata"]["annotations"] == state[SERVICE]["metadata"]["annotations"]
    assert restarts(after, *appliers) == [first, first], "nothing starts again without another name"

    again = update(SeenNames(frozenset({RESOURCE}), frozenset({RESOURCE})), state)
    assert restarts(again, *appliers) != [first, first]


def recorded(resources: Any) -> State:
    return State({("kubernetes:core/v1:Service", name.partition(" ")[2]): each for name, each in resources.items()})


KUSTOMIZATIONS = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
HELM_RELEASES = "/apis/helm.toolkit.fluxcd.io/v2/helmreleases"
EVENTS = "/api/v1/events"
NAME = "artifacts-0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("path", "said", "is_seen"),
    [
        (KUSTOMIZATIONS, {"status": {"conditions": [{"message": f"GET http://{NAME}.flux-system giving up"}]}}, True),
        (HELM_RELEASES, {"status": {"conditions": [{"message": f"GET http://{NAME}.flux-system giving up"}]}}, True),
        (EVENTS, {"message": f"GET http://{NAME}.flux-system giving up"}, True),
        (KUSTOMIZATIONS, {"status": {"conditions": [{"message": "GET http://artifacts-0.flux-system"}]}}, False),
        (KUSTOMIZATIONS, {"spec": {"path": NAME}}, False),
    ],
)
def test_a_name_is_seen_in_a_status_or_an_event(path, said, is_seen):
    state = recorded({SERVICE: {"metadata": {"name": NAME}}, "Service flux-system/other": {"metadata": {"name": "a"}}})
    asked: list[str] = []
    answers = dict.fromkeys((KUSTOMIZATIONS, HELM_RELEASES, EVENTS), b'{"items": []}')
    with serving(answers | {path: json.dumps({"items": [said]}).encode()}, asked=asked) as server:
        found = read_seen_names(client.ApiClient(client.Configuration(host=server)), state)

    assert found == ({RESOURCE} if is_seen else set())
    assert any("fieldSelector=reason%3DArtifactFailed" in each for each in asked)


def test_nothing_is_asked_where_there_is_no_such_name():
    asked: list[str] = []
    with serving({}, asked=asked) as server:
        assert read_seen_names(client.ApiClient(client.Configuration(host=server)), State({})) == frozenset()
    assert not asked


def test_a_name_that_is_not_generated_yet_is_unknown_in_a_preview():
    """An update that follows the plan generates another value than the preview would have generated."""
    manifests = advertised()
    args = FluxInstallArgs(flux_config(), manifests)

    resources = run(lambda: FluxInstall("flux", args) and None, preview=True)

    assert resources[SERVICE].properties["metadata"]["name"] == rpc.UNKNOWN
    assert rpc.UNKNOWN in str(resources[SECRET].properties["data"])


def test_a_single_tenant_cluster_has_no_such_names():
    assert not {SERVICE, SECRET} & set(installed(advertised(), profile="single-tenant"))


EVERYTHING: Manifest = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "allow-egress", "namespace": "flux-system"},
    "spec": {
        "podSelector": {},
        "policyTypes": ["Ingress", "Egress"],
        "egress": [{}],
        "ingress": [{"from": [{"podSelector": {}}]}],
    },
}
"""A NetworkPolicy as the release has it."""


def network_policies(**flux: Any) -> dict[str, Any]:
    found = configured([*release(), EVERYTHING], flux_config(**flux))
    return {each["metadata"]["name"]: each["spec"] for each in found if each["kind"] == "NetworkPolicy"}


def test_the_controllers_pod_may_connect_only_to_flux_dns_and_the_configured_networks():
    before = network_policies()
    after = network_policies(egress={"networks": ["192.0.2.0/24"]})

    own = after.pop("kustomize-controller-egress")
    others = {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["kustomize-controller"]}]}
    assert after == before | {"allow-egress": before["allow-egress"] | {"podSelector": others}}
    assert own["podSelector"] == {"matchLabels": {"app": "kustomize-controller"}}
    assert own["egress"] == [
        {"to": [{"podSelector": {}}]},
        {"ports": [{"protocol": "UDP", "port": 53}, {"protocol": "TCP", "port": 53}]},
        {"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}]},
    ]


def test_the_releases_network_policies_stay_without_networks_and_in_the_single_tenant_profile():
    assert set(network_policies()) == {"only-among-controllers", "allow-egress"}
    assert network_policies() == network_policies(profile="single-tenant", egress={"networks": ["192.0.2.0/24"]})


ENDPOINTS = [{"cidr": "192.0.2.10/32", "ports": [{"port": 6443}]}]
ALLOWED = {
    "apiServer": ENDPOINTS,
    "networks": ["203.0.113.0/24"],
    "allowed": {
        "source-controller": [{"cidr": "198.51.100.0/24", "except": ["198.51.100.128/25"], "ports": [{"port": 443}]}],
        "kustomize-controller": [],
    },
}


def network(**egress: Any) -> Network:
    found = configured([*release(), EVERYTHING], flux_config(egress=egress))
    policies = [each for each in found if each["kind"] == "NetworkPolicy"]
    return Network({"flux-system": {}, "apps": {}, "kube-system": {}}, policies)


def controller(name: str) -> Peer:
    return Peer("flux-system", {"app": name})


@pytest.mark.parametrize(
    ("source", "target", "port", "allowed"),
    [
        ("source-controller", Peer(address="198.51.100.7"), 443, True),
        ("source-controller", Peer(address="198.51.100.7"), 22, False),
        ("source-controller", Peer(address="198.51.100.200"), 443, False),
        ("source-controller", Peer(address="192.0.2.10"), 6443, True),
        ("source-controller", Peer(address="192.0.2.10"), 22, False),
        ("source-controller", Peer(address="203.0.113.1"), 443, False),
        ("source-controller", Peer(address="169.254.169.254"), 80, False),
        ("source-controller", Peer("kube-system"), 53, True),
        ("source-controller", Peer("apps"), 80, False),
        ("source-controller", controller("notification-controller"), 9090, True),
        ("kustomize-controller", Peer(address="203.0.113.1"), 443, True),
        ("kustomize-controller", Peer(address="192.0.2.10"), 6443, True),
        ("kustomize-controller", Peer(address="198.51.100.7"), 443, False),
        ("kustomize-controller", controller("source-controller"), 9090, True),
        ("helm-controller", Peer(address="198.51.100.200"), 22, True),
        ("helm-controller", controller("source-controller"), 9090, True),
    ],
)
def test_a_controller_with_a_list_reaches_only_what_is_listed(source, target, port, allowed):
    assert network(**ALLOWED).connects(controller(source), target, port) is allowed


def test_a_tenant_does_not_reach_a_restricted_controller():
    assert not network(**ALLOWED).connects(Peer("apps"), controller("source-controller"), 9090)


@pytest.mark.parametrize(
    ("egress", "path", "code"),
    [
        ({"allowed": {"source-controller": []}}, "flux.egress.allowed", "FT-TEN-530"),
        (
            {"allowed": {"image-reflector-controller": []}, "apiServer": ENDPOINTS},
            "flux.egress.allowed",
            "FT-CFG-309",
        ),
        ({"allowed": {"source": []}, "apiServer": ENDPOINTS}, "flux.egress.allowed.source", "FT-CFG-606"),
        (
            {"allowed": {"source-controller": [{"cidr": "10.0.0.1"}]}, "apiServer": ENDPOINTS},
            "flux.egress.allowed.source-controller[0].cidr",
            "FT-CFG-006",
        ),
        ({"proxy": "proxy.example.com:3128"}, "flux.egress.proxy", "FT-CFG-006"),
        ({"proxy": "http://user:pa55word@proxy.example.com:3128"}, "flux.egress.proxy", "FT-CFG-014"),
        ({"proxy": "socks5://proxy.example.com"}, "flux.egress.proxy", "FT-CFG-006"),
    ],
)
def test_bad_input_is_refused_with_its_path(tmp_path, egress, path, code):
    with pytest.raises(ConfigurationError) as raised:
        load(tmp_path, flux=FLUX | {"egress": egress})

    assert {(each.path, each.code) for each in raised.value.problems} == {(path, code)}
    assert "pa55word" not in str(raised.value)
