"""The environment of the controllers that apply: a proxy where nothing listens, and the hosts exempt from it."""

import json
from base64 import b64decode
from typing import Any

import pytest
from kubernetes import client
from loopback import serving
from pulumi.runtime import rpc
from recorded_program import run
from sample_release import one, release
from sample_stack import FLUX, flux_config, load

from flux_tenancy.components.config.errors import ConfigurationError
from flux_tenancy.components.engine.state import State
from flux_tenancy.components.installs.flux.component import FluxInstall, FluxInstallArgs
from flux_tenancy.components.installs.flux.egress import SeenNames, read_seen_names, replaced_names
from flux_tenancy.components.installs.flux.profile import StackFacts, configured
from flux_tenancy.components.vocabulary.manifests import Manifest
from flux_tenancy.components.vocabulary.names import Controller
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


def exempt(*key_services: str, **flux: Any) -> list[str]:
    found: str = environment(configured(advertised(), flux_config(**flux), StackFacts(key_services)))["NO_PROXY"]
    return found.split(",")


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
    names = list(environment(configured(advertised(), flux_config())))

    assert names.index("SOURCE_CONTROLLER_LOCALHOST") < names.index("NO_PROXY")


def test_the_other_controllers_send_only_plain_http_to_the_closed_port():
    locked = configured(advertised(), flux_config())

    for name in ("source-controller", "notification-controller"):
        found = environment(locked, name)
        assert {found[variable] for variable in PLAIN} == {"http://127.0.0.1:9"}
        assert not found.keys() & (PROXIES - PLAIN)


def test_only_those_that_fetch_artifacts_may_reach_their_servers():
    locked = configured(advertised(without=""), flux_config())

    assert environment(locked, "source-watcher")["NO_PROXY"].startswith("source-controller.flux-system.svc.")
    assert "source-controller" not in environment(locked, "helm-controller")["NO_PROXY"]
    assert not environment(locked, "source-controller").keys() & {"NO_PROXY", "no_proxy"}
    events = "notification-controller.flux-system.svc.cluster.local."
    container(sending := advertised(), "source-controller")["args"].append(f"--events-addr=http://{events}/")
    assert environment(configured(sending, flux_config()), "source-controller")["NO_PROXY"] == f"{events}:80"


def test_hosts_that_the_stack_allows_without_tls_are_exempt_for_their_controller():
    facts = StackFacts(plain_http={Controller.SOURCE: ("charts.example.com:8080", "*.example.org")})
    locked = configured(advertised(), flux_config(), facts)

    assert environment(locked, "source-controller")["no_proxy"] == "charts.example.com:8080,*.example.org"
    assert "no_proxy" not in environment(locked, "notification-controller")


@pytest.mark.parametrize("egress", [{}, {"proxy": "http://proxy.example.com:3128"}])
def test_the_single_tenant_profile_has_no_proxy(egress):
    found = configured(advertised(), flux_config(profile="single-tenant", egress=egress))

    for name in ("source-controller", "kustomize-controller"):
        assert not environment(found, name)


def test_vaults_key_services_and_configured_hosts_are_also_exempt():
    addresses = ("https://vault.example.com:8200", "https://vault.example.org", "http://vault.internal")
    vaults = [{"address": each, "loginPath": "auth/kubernetes/login"} for each in addresses]

    found = exempt("kms.eu-1.amazonaws.com", vaults=vaults, egress={"hosts": ["files.example.com", "192.0.2.0/24"]})

    assert found == [
        *NEEDED,
        "vault.example.com:8200",
        "vault.example.org:443",
        "vault.internal:80",
        "kms.eu-1.amazonaws.com:443",
        "files.example.com",
        "192.0.2.0/24",
    ]


def test_helm_controller_decrypts_nothing_and_needs_no_vault():
    vaults = [{"address": "https://vault.example.com:8200", "loginPath": "auth/kubernetes/login"}]
    config = flux_config(vaults=vaults, egress={"hosts": ["files.example.com:443"]})

    found = environment(configured(advertised(), config, StackFacts(("kms.eu-1.amazonaws.com",))), "helm-controller")

    assert found["NO_PROXY"].split(",") == [*NEEDED, "files.example.com:443"]


@pytest.mark.parametrize("name", ["kustomize-controller", "helm-controller"])
def test_each_artifact_server_has_its_own_name(name):
    found = environment(configured(advertised(without=""), flux_config()), name)

    assert found["SOURCE_WATCHER_LOCALHOST"] == {"secretKeyRef": {"name": "artifact-hosts", "key": "source-watcher"}}
    assert "$(SOURCE_WATCHER_LOCALHOST):80" in found["NO_PROXY"]


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
    names = {name_and_host(installed(advertised()))[0] for _ in range(2)}
    assert len(names) == 2 and all(len(name) == len("artifacts-") + 32 for name in names)
    assert installed(advertised())[SERVICE].ignored == {"metadata.name"}


RESOURCE = SERVICE.removeprefix("Service ")


def restarts(resources: Any, *names: str) -> list[Any]:
    pods = [resources[f"Deployment flux-system/{name}"].properties["spec"]["template"]["metadata"] for name in names]
    return [each.get("annotations", {}).get("flux-tenancy/artifact-hosts") for each in pods]


def test_a_name_that_was_seen_is_replaced_once_and_those_who_read_it_start_again():
    manifests, config = advertised(), flux_config()
    known = {SERVICE: {"metadata": {"name": "artifacts-known", "namespace": "flux-system"}}}
    appliers = ("kustomize-controller", "helm-controller")

    def update(names: SeenNames, state: Any) -> Any:
        return run(lambda: FluxInstall("flux", FluxInstallArgs(config, manifests, names=names)) and None, state=state)

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


PROXY = "http://proxy.example.com:3128"


@pytest.mark.parametrize("name", ["source-controller", "notification-controller"])
def test_through_a_proxy_a_controller_reaches_only_the_api_server_directly(name):
    """A dependency, an index or a redirect to the artifacts goes through the proxy, which refuses it."""
    variables = environment(configured(advertised(), flux_config(egress={"proxy": PROXY})), name)

    assert {variables[each] for each in PROXIES} == {PROXY}
    assert variables["NO_PROXY"] == variables["no_proxy"] == API_SERVER


@pytest.mark.parametrize("name", ["kustomize-controller", "helm-controller"])
def test_through_a_proxy_a_controller_that_applies_keeps_its_exemptions(name):
    before = environment(configured(advertised(), flux_config()), name)
    after = environment(configured(advertised(), flux_config(egress={"proxy": PROXY})), name)

    assert {name for name in after if after[name] != before[name]} == PROXIES
    assert {after[name] for name in PROXIES} == {PROXY} and list(after) == list(before)
    env = container(configured(advertised(), flux_config(egress={"proxy": PROXY})), name)["env"]
    assert len({each["name"] for each in env}) == len(env)


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
