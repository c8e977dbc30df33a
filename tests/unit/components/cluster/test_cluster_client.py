"""What the program reads from a cluster, and the errors if it cannot."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
import yaml
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from loopback import closed_port, serving
from sample_text import ESCAPES, SHOWN

from flux_tenancy.components.cluster.client import (
    MOST_LEVELS,
    AccessDenied,
    ClusterFacts,
    ClusterUnavailable,
    ask,
    explaining,
    items,
    patch_current,
    read_definition_age,
    read_facts,
    read_webhook_configurations,
    refusal,
)
from flux_tenancy.components.cluster.config import ClusterConfig, connect
from flux_tenancy.components.config.messages import code_of
from flux_tenancy.components.plan import OWNERSHIP
from flux_tenancy.components.sync.status import read_syncs

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3",
    "gitCommit": "ab",
    "gitTreeState": "clean",
    "buildDate": "2026-01-01T00:00:00Z",
    "goVersion": "go1.26",
    "compiler": "gc",
    "platform": "linux/amd64",
}
MARKS = {
    "annotations": OWNERSHIP,
    "managedFields": [{"manager": "pulumi-kubernetes-1a2b3c4d", "operation": "Apply"}],
}
NAMESPACES = {
    "items": [
        {
            "metadata": {
                "name": "apps",
                "uid": "a",
                "labels": {"toolkit.fluxcd.io/tenant": "dev-team"},
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            }
        },
        {"metadata": {"name": "kube-system", "uid": "the-cluster"}},
        {"metadata": {"name": "flux-system", "uid": "f"} | MARKS},
    ]
}
CLUSTER = {"/version/": json.dumps(VERSION).encode(), "/api/v1/namespaces": json.dumps(NAMESPACES).encode()}
CONFIG_MAPS = "/api/v1/namespaces/apps/configmaps"
SOURCES = "/apis/source.toolkit.fluxcd.io/v1/gitrepositories"
SYNCS = "/apis/kustomize.toolkit.fluxcd.io/v1/kustomizations"
PLATFORM_SOURCES = "/apis/source.toolkit.fluxcd.io/v1/namespaces/flux-system/gitrepositories"
PLATFORM_SYNCS = "/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/flux-system/kustomizations"


def kubeconfig(server: str, **cluster: object) -> str:
    return yaml.safe_dump(
        {
            "current-context": "lab",
            "contexts": [
                {"name": "lab", "context": {"cluster": "lab", "user": "me"}},
                {"name": "spare", "context": {"cluster": "lab", "user": "me"}},
            ],
            "clusters": [{"name": "lab", "cluster": {"server": server, **cluster}}],
            "users": [{"name": "me", "user": {"token": "pa55word"}}],
        }
    )


def by_file(project, content: str | bytes, **keys) -> ClusterConfig:
    (project / "kubeconfig").write_bytes(content if isinstance(content, bytes) else content.encode())
    return ClusterConfig.model_validate({"kubeconfig": "kubeconfig"} | keys)


def client_of(server: str, project) -> client.ApiClient:
    return connect(by_file(project, kubeconfig(server)), project)


def unavailable(config: ClusterConfig, project) -> tuple[str, str, str]:
    """The key, the code and the message of the error."""
    with pytest.raises(ClusterUnavailable) as error:
        read_facts(connect(config, project))
    assert "pa55word" not in str(error.value)
    return error.value.key, code_of(error.value), str(error.value)


def test_the_clusters_identity_and_namespaces_are_read_with_the_token_of_the_kubeconfig(tmp_path):
    authorizations: list[str] = []
    with serving(CLUSTER, authorizations=authorizations) as server:
        facts = read_facts(client_of(server, tmp_path))

    assert set(authorizations) == {"Bearer pa55word"}
    assert facts == ClusterFacts(
        uid="the-cluster",
        version="v1.36.3",
        namespaces={"apps": {"toolkit.fluxcd.io/tenant": "dev-team"}, "kube-system": {}, "flux-system": {}},
        terminating=frozenset({"apps"}),
        marked=frozenset({"flux-system"}),
    )


def test_a_kubeconfig_in_the_configuration_works_like_a_file(tmp_path):
    with serving(CLUSTER) as server:
        config = ClusterConfig.model_validate({"kubeconfigContent": kubeconfig(server), "context": "spare"})
        assert read_facts(connect(config, tmp_path)).uid == "the-cluster"


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_an_exec_plugin_provides_the_token_as_for_kubectl(tmp_path, version):
    """EKS, GKE and AKS authenticate this way. Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication/"""
    api_version = f"client.authentication.k8s.io/{version}"
    credential = {"apiVersion": api_version, "kind": "ExecCredential", "status": {"token": "of-the-plugin"}}
    plugin = {"apiVersion": api_version, "command": "sh", "args": ["-c", f"echo '{json.dumps(credential)}'"]}
    authorizations: list[str] = []
    with serving(CLUSTER, authorizations=authorizations) as server:
        content = yaml.safe_load(kubeconfig(server))
        content["users"][0]["user"] = {"exec": plugin}
        read_facts(connect(by_file(tmp_path, yaml.safe_dump(content)), tmp_path))

    assert set(authorizations) == {"Bearer of-the-plugin"}


def nested(levels: int) -> str:
    return '{"a":' * levels + '{"}]":["[{"]}' + "}" * levels


@pytest.mark.parametrize("levels", [150, 900, 9_000])
def test_an_object_that_is_nested_without_end_hides_no_other(levels):
    """The API server stores 10,000 levels."""
    listed = f'{{"items": [{{"spec": {nested(levels)}, "b": [1]}}, {{"spec": {{"c": "]}}\\""}}}}], "metadata": {{}}}}'
    with serving({"/api/v1/things": listed.encode()}) as server:
        api = client.ApiClient(client.Configuration(host=server))
        first, second = items(api, "/api/v1/things")

    assert (first["b"], second) == ([1], {"spec": {"c": ']}"'}})
    depth, spec = 0, first["spec"]
    while spec and "a" in spec:
        depth, spec = depth + 1, spec["a"]
    assert depth == min(levels, MOST_LEVELS - 3)
    assert spec == ({"}]": ["[{"]} if levels < MOST_LEVELS else None)


USED = kubeconfig("https://127.0.0.1:1")


@pytest.mark.filterwarnings("ignore:SOCKS support")
@pytest.mark.parametrize(
    ("content", "refused", "said"),
    [
        (b"\xff\xfe", ("kubeconfig", "FT-CFG-020"), "UTF-8"),
        *(
            (content, ("kubeconfig", "FT-CLU-002"), "")
            for content in ("", "hello", "a: [", "- a", "kind: Config", "contexts:", "contexts: [lab]")
        ),
        (USED.replace("current-context: lab", ""), ("context", "FT-CLU-004"), "lab, spare"),
        (USED.replace("server: ", "server: 3 #"), ("kubeconfig", "FT-CLU-005"), ""),
        (USED.replace("server: ", "proxy-url: socks5://a:1\n    server: "), ("kubeconfig", "FT-CLU-005"), "socks"),
        (USED.replace("token: ", "tokenFile: /nowhere/token #"), ("kubeconfig", "FT-CLU-005"), "/nowhere/token"),
        (kubeconfig("https://a", **{"certificate-authority": "ca.crt"}), ("kubeconfig", "FT-CLU-005"), "/ca.crt"),
        (kubeconfig("https://a", **{"certificate-authority-data": "abc"}), ("kubeconfig", "FT-CLU-005"), ""),
        (kubeconfig("https://a", **{"certificate-authority-data": 5}), ("kubeconfig", "FT-CLU-005"), ""),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_an_error(tmp_path, content, refused, said):
    key, code, message = unavailable(by_file(tmp_path, content), tmp_path)

    assert (key, code) == refused and said in message


@pytest.mark.parametrize(
    ("keys", "refused", "said"),
    [
        ({"kubeconfig": "nowhere/kubeconfig"}, ("kubeconfig", "FT-CFG-020"), "nowhere/kubeconfig"),
        ({"kubeconfig": "~nosuchuser/kubeconfig"}, ("kubeconfig", "FT-CFG-020"), ""),
        ({"kubeconfig": "kube\0config"}, ("kubeconfig", "FT-CFG-020"), ""),
        # Without being shown.
        ({"kubeconfigContent": "pa55word"}, ("kubeconfigContent", "FT-CLU-002"), ""),
        ({"kubeconfigContent": USED, "context": "production"}, ("context", "FT-CLU-003"), "lab, spare"),
    ],
)
def test_a_configuration_that_leads_to_no_cluster_is_an_error(tmp_path, keys, refused, said):
    key, code, message = unavailable(ClusterConfig.model_validate(keys), tmp_path)

    assert (key, code) == refused and said in message


def test_a_certificate_path_is_relative_to_the_kubeconfig_as_with_kubectl(tmp_path):
    (tmp_path / "ca.crt").write_text("a certificate")
    config = by_file(tmp_path, kubeconfig("https://127.0.0.1:1", **{"certificate-authority": "ca.crt"}))

    assert connect(config, tmp_path).configuration.ssl_ca_cert == str(tmp_path / "ca.crt")


def test_a_server_that_does_not_answer_is_an_error(tmp_path):
    server = f"http://127.0.0.1:{closed_port()}"

    key, code, message = unavailable(by_file(tmp_path, kubeconfig(server)), tmp_path)

    assert (key, code) == ("kubeconfig", "FT-CLU-013")
    assert server in message


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        # It says to renew the credentials.
        (401, "FT-CLU-006", "(401 Unauthorized);"),
        (403, "FT-CLU-006", "(403 Forbidden);"),
        (400, "FT-CLU-008", "400 Bad Request"),
        (404, "FT-CLU-008", "404 Not Found"),
        (503, "FT-CLU-008", "503 Service Unavailable"),
    ],
)
def test_refused_credentials_and_an_unexpected_answer_are_errors(tmp_path, status, code, said):
    with serving({}, status) as server, pytest.raises(ClusterUnavailable) as refused:
        read_facts(client_of(server, tmp_path))

    assert (refused.value.key, code_of(refused.value)) == ("kubeconfig", code)
    assert server in str(refused.value) and said in str(refused.value)
    # Only a known user without the right is denied access.
    assert isinstance(refused.value, AccessDenied) is (status == 403)


@pytest.mark.parametrize(("status", "code"), [(403, "FT-CLU-006"), (422, "FT-CLU-015")])
@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('{"kind": "Status", "message": "pods \\"a\\" is forbidden\\u001b[0m"}', ': pods "a" is forbidden [0m'),
        ("<html>refused</html>", ""),
        ("[]", ""),
        (None, ""),
    ],
)
def test_what_an_api_server_refuses_is_said_as_it_says_it(status, code, body, said):
    error = ApiException(status=status, reason="Refused")
    error.body = body
    with pytest.raises(ClusterUnavailable) as refused, explaining(client.ApiClient()):
        raise error

    assert code_of(refused.value) == (code if said or status == 403 else "FT-CLU-008")
    assert f"{said}; " in str(refused.value) and "html" not in str(refused.value)


def test_an_answer_that_repeats_what_it_could_not_read_is_not_shown():
    error = ApiException(status=400, reason="Bad Request")
    error.body = '{"message": "illegal base64 data: c2VjcmV0"}'
    with pytest.raises(ClusterUnavailable) as refused, explaining(client.ApiClient()):
        raise error

    assert "c2VjcmV0" not in str(refused.value)


@pytest.mark.parametrize("answer", [b"<html>", b"{}"])
def test_a_server_that_is_not_an_api_server_is_recognized(tmp_path, answer):
    with serving({"/version/": answer}) as server:
        key, code, message = unavailable(by_file(tmp_path, kubeconfig(server)), tmp_path)

    assert (key, code) == ("kubeconfig", "FT-CLU-008") and server in message


def test_a_server_with_another_certificate_is_not_trusted(tmp_path):
    with serving(CLUSTER) as server:
        secure = server.replace("http:", "https:")
        key, code, message = unavailable(by_file(tmp_path, kubeconfig(secure)), tmp_path)

    assert (key, code) == ("kubeconfig", "FT-CLU-007")
    assert secure in message and "(SSLError " in message


def test_the_sources_and_syncs_of_the_platform_and_all_tenants_are_read(tmp_path):
    found = {
        SOURCES: {"kind": "GitRepository", "metadata": {"name": "dev-team"}},
        PLATFORM_SOURCES: {"kind": "GitRepository", "metadata": {"name": "flux-system"}},
        SYNCS: {"kind": "Kustomization", "metadata": {"name": "dev-team"}},
        PLATFORM_SYNCS: {"kind": "Kustomization", "metadata": {"name": "flux-system"}},
    }
    answers = {path: json.dumps({"items": [each]}).encode() for path, each in found.items()}

    with serving(answers) as server:
        assert read_syncs(client_of(server, tmp_path)) == list(found.values())


class Busy(dict[str, int]):
    """The statuses of a server that answers only after this number of requests."""

    def __init__(self, times: int) -> None:
        super().__init__({"": 429})
        self.times = times

    def get(self, path: str, default: Any = None) -> Any:
        self.times -= 1
        return default if self.times < 0 else 429


@pytest.mark.parametrize(("times", "requests"), [(2, 6), (99, 11)])
def test_a_request_to_a_busy_server_is_repeated_as_often_as_client_go_repeats_it(tmp_path, times, requests):
    """A server gives the same answer for a kind whose definition it has just accepted. client-go sends at most 11
    requests.
    """
    asked: list[str] = []
    answers = dict.fromkeys((SOURCES, PLATFORM_SOURCES, SYNCS, PLATFORM_SYNCS), b'{"items": []}')

    with serving(answers, headers={"Retry-After": "0"}, asked=asked, statuses=Busy(times)) as server:
        api = client_of(server, tmp_path)
        if times < 10:
            assert read_syncs(api) == []
        else:
            with pytest.raises(ClusterUnavailable, match="answers 429 Too Many Requests"):
                read_syncs(api)

    assert len(asked) == requests


class Changing(dict[str, int]):
    """The statuses of a server where somebody else writes to the object before this number of patches."""

    def __init__(self, path: str, times: int) -> None:
        super().__init__({path: 200})
        # The object is read before each patch.
        self.statuses = [200, 409] * times

    def get(self, path: str, default: Any = None) -> Any:
        return self.statuses.pop(0) if self.statuses else default


@pytest.mark.parametrize(("times", "patches"), [(0, 1), (2, 3), (99, 4)])
def test_a_patch_of_an_object_that_changes_meanwhile_is_made_anew(tmp_path, times, patches):
    path, bodies = "/api/v1/namespaces/apps", list[bytes]()

    with serving({path: b'{"read": true}'}, bodies=bodies, statuses=Changing(path, times)) as server:
        api = client_of(server, tmp_path)
        try:
            with explaining(api):
                patch_current(api, path, lambda found: {"from": found})
        except ClusterUnavailable as error:
            assert (times, code_of(error)) == (99, "FT-CLU-014")

    assert [json.loads(each) for each in bodies] == [{"from": {"read": True}}] * patches


def test_only_the_sources_and_syncs_of_the_stack_are_requested(tmp_path):
    """A tenant and the platform may have further sources and syncs."""
    asked: list[Any] = []
    answers = dict.fromkeys((SOURCES, PLATFORM_SOURCES, SYNCS, PLATFORM_SYNCS), b'{"items": []}')

    with serving(answers, asked=asked) as server:
        read_syncs(client_of(server, tmp_path))

    of_tenants, of_platform = (
        {"labelSelector": ["toolkit.fluxcd.io/tenant"], "limit": ["500"]},
        {"fieldSelector": ["metadata.name=flux-system"], "limit": ["500"]},
    )
    assert {url.path: parse_qs(url.query) for url in map(urlsplit, asked)} == {
        SOURCES: of_tenants,
        PLATFORM_SOURCES: of_platform,
        SYNCS: of_tenants,
        PLATFORM_SYNCS: of_platform,
    }


def test_syncs_that_must_not_be_read_are_an_error(tmp_path):
    with serving({}, 403) as server, pytest.raises(ClusterUnavailable, match="refuses this user"):
        read_syncs(client_of(server, tmp_path))


def test_a_cluster_without_flux_has_no_syncs(tmp_path):
    with serving({}, 404) as server:
        assert read_syncs(client_of(server, tmp_path)) == []


@pytest.mark.parametrize("name", ["a?dryRun=All", "b#c", "system:one", "a b"])
def test_a_name_is_never_taken_for_something_else_of_a_url(tmp_path, name):
    """RBAC allows nearly every name, and tenants choose theirs."""
    asked: list[Any] = []
    with serving({}, 201, asked=asked) as server:
        ask(client_of(server, tmp_path), "DELETE", f"{CONFIG_MAPS}/{name}")

    assert asked == [f"DELETE {CONFIG_MAPS}/{quote(name, safe='')}"]


def test_a_request_is_checked_with_a_dry_run(tmp_path):
    asked: list[Any] = []
    with serving({CONFIG_MAPS: b"{}"}, 201, asked=asked) as server:
        assert refusal(client_of(server, tmp_path), CONFIG_MAPS, {"kind": "ConfigMap"}) is None

    assert asked == [f"{CONFIG_MAPS}?dryRun=All"]


DENIED = "admission webhook denied the request"


@pytest.mark.parametrize(
    ("status", "message", "shown"), [*((each, DENIED, DENIED) for each in (400, 403, 422, 500)), (403, ESCAPES, SHOWN)]
)
def test_the_refusal_of_a_dry_run_has_the_clusters_own_message_escaped_for_the_terminal(
    tmp_path, status, message, shown
):
    answer = json.dumps({"kind": "Status", "message": message}).encode()
    with serving({CONFIG_MAPS: answer}, status) as server:
        assert refusal(client_of(server, tmp_path), CONFIG_MAPS, {"kind": "ConfigMap"}) == shown


def test_the_reason_of_a_status_is_escaped_for_the_terminal(tmp_path):
    with (
        pytest.raises(ClusterUnavailable, match=r"answers 500 a \[31mred ") as failure,
        explaining(client_of("http://127.0.0.1:1", tmp_path)),
    ):
        raise ApiException(500, ESCAPES)

    assert str(failure.value).isprintable()


def test_a_cluster_that_cannot_be_reached_is_not_a_refusal(tmp_path):
    with pytest.raises(ClusterUnavailable, match="cannot be reached"):
        refusal(client_of(f"http://127.0.0.1:{closed_port()}", tmp_path), CONFIG_MAPS, {})


def test_webhook_configurations_of_both_kinds_are_found_by_label(tmp_path):
    registry = "/apis/admissionregistration.k8s.io/v1"
    items = {
        f"{registry}/{kind}": json.dumps({"items": [{"metadata": {"name": kind[:4]} | marks}]}).encode()
        for kind, marks in {"validatingwebhookconfigurations": {}, "mutatingwebhookconfigurations": MARKS}.items()
    }
    asked: list[Any] = []
    with serving(items, asked=asked) as server:
        assert read_webhook_configurations(client_of(server, tmp_path), "of=kyverno") == {"vali": False, "muta": True}

    assert [parse_qs(urlsplit(url).query) for url in asked] == [{"labelSelector": ["of=kyverno"], "limit": ["500"]}] * 2


def test_the_age_of_a_definition_is_measured_by_the_clusters_clock(tmp_path):
    created = datetime.now(UTC) - timedelta(seconds=90)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/things.example.com"
    found = {"metadata": {"creationTimestamp": created.strftime("%Y-%m-%dT%H:%M:%SZ")}}

    with serving({path: json.dumps(found).encode()}) as server:
        age = read_definition_age(client_of(server, tmp_path), "things.example.com")

    assert 90 <= age < 95
