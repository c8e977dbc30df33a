"""All errors of a stack are reported at once, each with its file, key and remedy."""

from typing import Any

import pytest
from sample_sources import own_source
from sample_stack import CLUSTER, CLUSTER_KEYS, DEV_TEAM_BASE, FLUX, Secret, load, problems

from components.cluster.config_wordings import NOT_A_UID, ONE_KUBECONFIG
from components.config.config_wordings import (
    DUPLICATE_YAML_KEY,
    DURATION_OF_ZERO,
    DURATION_WITHOUT_UNIT,
    EMPTY,
    FILE_NOT_A_MAPPING,
    INVALID_YAML,
    MALFORMED_URL,
    NO_SCHEME,
    NOT_A_DNS_LABEL,
    NOT_A_DURATION,
    NOT_A_NETWORK,
    NOT_A_SHA256,
    PATH_OUTSIDE_REPOSITORY,
    RESERVED_NAME,
    SECRET_NOT_A_STRING,
    SECRET_WITHOUT_QUOTES,
    SHORT_SSH_URL,
    UNKNOWN_SCHEME,
    UNREADABLE_FILE,
    URL_WITH_CREDENTIALS,
    URL_WITHOUT_HOST,
    YAML_KEY_NOT_A_STRING,
)
from components.config.errors import ConfigurationError
from components.config.wordings import Message
from components.flux.config_wordings import (
    CONTROLLER_NOT_INSTALLED,
    DUPLICATE_CONTROLLER,
    EGRESS_OPENS_ARTIFACTS,
    FLAG_OF_PROFILE,
    FORBIDDEN_FLAG,
    MISSING_CONTROLLERS,
    NOT_A_CONTROLLER_ARGUMENT,
    NOT_A_FLUX_VERSION,
    NOT_AN_EGRESS_HOST,
    ONE_MANIFEST,
    SECRETS_CACHE_NEEDS_RIGHTS,
    UNSUPPORTED_FLUX_VERSION,
)
from components.flux.controllers import Controller
from components.flux.lockdown_flags import FORBIDDEN_FLAGS
from components.git.config_wordings import (
    NOT_A_COMMIT,
    NOT_A_GIT_REFERENCE,
    SEVERAL_REFERENCES,
    URL_WITH_CAPITAL_HOST,
    URL_WITHOUT_REPOSITORY,
)
from components.stack.config_wordings import (
    LIST_NEEDED,
    MISSING,
    NAMESPACE_TAKEN,
    NO_VALUE,
    NOT_ONE_OF,
    QUOTES_NEEDED,
    SECTION_EXPECTED,
    TENANT_NOT_A_MAPPING,
    TENANT_WITHOUT_BASE,
    UNKNOWN_KEY,
    UNKNOWN_KEY_AMONG,
    UNKNOWN_KEY_BELOW,
    UNKNOWN_KEY_LIKE,
    WRONG_TYPE,
)
from components.tenant.config import TenantConfig
from components.tenant.config_wordings import DUPLICATE_NAMESPACE, FOREIGN_TARGET_NAMESPACE, PROTECTED_LABELS

GIT_URL_EXAMPLE = "https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
GIT_SCHEMES = "http:// or https:// or ssh://"
NO_GIT_SCHEME = NO_SCHEME(schemes=GIT_SCHEMES, example=GIT_URL_EXAMPLE)


def unknown_scheme(scheme: str) -> Message:
    return UNKNOWN_SCHEME(scheme=scheme, schemes=GIT_SCHEMES, example=GIT_URL_EXAMPLE)


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"cluster": ...}, "cluster: " + MISSING()),
        ({"flux": "2.9.5"}, "flux: " + SECTION_EXPECTED(given="'2.9.5'", keys="version, sha256")),
        ({"cluster": {}}, "cluster: " + ONE_KUBECONFIG()),
        ({"cluster": CLUSTER | {"kubeconfigContent": Secret("apiVersion: v1")}}, "cluster: " + ONE_KUBECONFIG()),
        (
            {"cluster": CLUSTER | {"contexts": "staging"}},
            "cluster.contexts: " + UNKNOWN_KEY_LIKE(suggestion="context"),
        ),
        ({"cluster": {"kubeconfig": 1}}, "cluster.kubeconfig: " + QUOTES_NEEDED(given="1")),
        (
            {"cluster": CLUSTER | {"uid": "staging"}},
            "cluster.uid: " + NOT_A_UID().of("staging"),
        ),
        (
            {"flux": FLUX | {"egress": {"hosts": ["https://files.example.com"]}}},
            "flux.egress.hosts[0]: " + NOT_AN_EGRESS_HOST().of("https://files.example.com"),
        ),
        (
            {"flux": FLUX | {"egress": {"hosts": ["files.example.com", ".svc.cluster.local"]}}},
            "flux.egress.hosts[1]: " + EGRESS_OPENS_ARTIFACTS().of(".svc.cluster.local"),
        ),
        (
            {"flux": FLUX | {"egress": {"networks": ["192.0.2.1"]}}},
            "flux.egress.networks[0]: " + NOT_A_NETWORK().of("192.0.2.1"),
        ),
        ({"flux": ...}, "flux: " + MISSING()),
        ({"flux": None}, "flux: " + SECTION_EXPECTED(given="nothing", keys="version, sha256")),
        ({"fluxes": FLUX}, "fluxes: " + UNKNOWN_KEY_LIKE(suggestion="flux")),
        ({"zebra": "1"}, "zebra: " + UNKNOWN_KEY()),
        ({"tenants": ["dev-team"]}, "tenants: " + WRONG_TYPE(expected="a mapping", given="a list")),
        ({"tenants": []}, "tenants: " + WRONG_TYPE(expected="a mapping", given="a list")),
        (
            {"tenancy": {"settleTimeout": "soon"}},
            "tenancy.settleTimeout: " + NOT_A_DURATION().of("soon"),
        ),
        (
            {"tenancy": {"extraRules": [{"apiGroups": [""], "resources": [], "verbs": ["get"]}]}},
            "tenancy.extraRules[0].resources: " + EMPTY(),
        ),
    ],
)
def test_a_section_that_cannot_be_used_is_named(tmp_path, sections, problem):
    assert problems(tmp_path, **sections) == [f"Pulumi.staging.yaml: {problem}"]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"versoin": "2.9.5"}, ".versoin: " + UNKNOWN_KEY_LIKE(suggestion="version")),
        ({"version": 2.9}, ".version: " + QUOTES_NEEDED(given="2.9")),
        ({"version": "v2.9.5"}, ".version: " + NOT_A_FLUX_VERSION().of("v2.9.5")),
        ({"version": "2.8.1"}, ".version: " + UNSUPPORTED_FLUX_VERSION(supported="2.9.x").of("2.8.1")),
        (
            {"sha256": "5f5f"},
            ".sha256: " + NOT_A_SHA256().of("5f5f"),
        ),
        (
            {"profile": "tenants"},
            ".profile: " + NOT_ONE_OF(choices="'multi-tenant' or 'single-tenant'", given="'tenants'"),
        ),
        (
            {"workloadIdentity": "perhaps"},
            ".workloadIdentity: " + WRONG_TYPE(expected="true or false", given="'perhaps'"),
        ),
        (
            {"components": "helm-controller"},
            ".components: " + LIST_NEEDED(given="'helm-controller'"),
        ),
        (
            {"components": ["helm-controller"]},
            ".components: " + MISSING_CONTROLLERS(missing="source-controller and kustomize-controller"),
        ),
        (
            {"components": ["source-controller", "kustomize-controller", "source-controller"]},
            ".components: " + DUPLICATE_CONTROLLER(),
        ),
        (
            {"manifests": {"url": "install.yaml"}},
            ".manifests.url: "
            + NO_SCHEME(example="https://host.example.com/path", schemes="http:// or https://").of("install.yaml"),
        ),
        (
            {"manifests": {"url": "https:///install.yaml"}},
            ".manifests.url: " + URL_WITHOUT_HOST(example="https://host.example.com/path").of("https:///install.yaml"),
        ),
        (
            {"manifests": {"url": "https://host/install.yaml", "bundle": "install.yaml"}},
            ".manifests: " + ONE_MANIFEST(),
        ),
        (
            {"resources": {"source-watcher": {"limits": {"memory": "1Gi"}}}},
            ".resources: " + CONTROLLER_NOT_INSTALLED(controllers="source-watcher"),
        ),
        (
            {"extraArgs": {"image-reflector-controller": ["--concurrent=8"]}},
            ".extraArgs: " + CONTROLLER_NOT_INSTALLED(controllers="image-reflector-controller"),
        ),
        (
            {"resources": {"source-controller": {"limits": {"cpu": 1}}}},
            ".resources.source-controller.limits.cpu: " + QUOTES_NEEDED(given="1"),
        ),
        (
            {"resources": {"source-controller": {"limits": {"gpu": "1"}}}},
            ".resources.source-controller.limits.gpu: "
            + NOT_ONE_OF(choices="'cpu', 'memory' or 'ephemeral-storage'", given="'gpu'"),
        ),
        (
            {"extraArgs": {"helm-controller": ["concurrent=8"]}},
            ".extraArgs.helm-controller[0]: " + NOT_A_CONTROLLER_ARGUMENT().of("concurrent=8"),
        ),
        # Without a value it would take the next argument for one: the first of the lockdown.
        (
            {"extraArgs": {"helm-controller": ["--events-addr"]}},
            ".extraArgs.helm-controller[0]: " + NOT_A_CONTROLLER_ARGUMENT().of("--events-addr"),
        ),
    ],
)
def test_a_flux_section_that_cannot_be_installed_is_refused(tmp_path, keys, problem):
    assert problems(tmp_path, flux=FLUX | keys) == [f"Pulumi.staging.yaml: flux{problem}"]


@pytest.mark.parametrize(
    ("argument", "wording", "flag"),
    [
        ("--no-cross-namespace-refs=false", FLAG_OF_PROFILE, "no-cross-namespace-refs"),
        ("--no-remote-bases=false", FLAG_OF_PROFILE, "no-remote-bases"),
        ("--default-service-account=kustomize-controller", FLAG_OF_PROFILE, "default-service-account"),
        ("--default-decryption-service-account=", FLAG_OF_PROFILE, "default-decryption-service-account"),
        ("--default-kubeconfig-service-account=", FLAG_OF_PROFILE, "default-kubeconfig-service-account"),
        ("--insecure-kubeconfig-exec=true", FORBIDDEN_FLAG, "insecure-kubeconfig-exec"),
        ("--insecure-kubeconfig-tls=true", FORBIDDEN_FLAG, "insecure-kubeconfig-tls"),
        ("--sops-age-secret=fallback", FORBIDDEN_FLAG, "sops-age-secret"),
    ],
)
def test_an_argument_that_undoes_the_lockdown_is_refused_and_single_tenant_takes_it(tmp_path, argument, wording, flag):
    flux = FLUX | {"extraArgs": {"kustomize-controller": [argument]}}

    problem = wording(flag=flag, reason=FORBIDDEN_FLAGS.get(flag))
    assert problems(tmp_path, flux=flux) == [f"Pulumi.staging.yaml: flux.extraArgs: {problem}"]

    (tmp_path / "tenants" / "dev-team.yaml").unlink()
    (tmp_path / "tenants").rmdir()
    config = load(tmp_path, flux=flux | {"profile": "single-tenant"})
    assert config.flux.extra_args[Controller.KUSTOMIZE] == (argument,)


def test_all_arguments_that_undo_the_lockdown_are_named(tmp_path):
    arguments = {"kustomize-controller": ["--insecure-kubeconfig-tls=true"], "helm-controller": ["--sops-age-secret=a"]}

    [problem] = problems(tmp_path, flux=FLUX | {"extraArgs": arguments})

    assert "--insecure-kubeconfig-tls" in problem
    assert "--sops-age-secret" in problem


def test_arguments_that_open_nothing_are_welcome(tmp_path):
    arguments = ["--concurrent=8", "--feature-gates=GroupChangeLog=true"]

    config = load(tmp_path, flux=FLUX | {"extraArgs": {"kustomize-controller": arguments}})

    assert config.flux.extra_args == {"kustomize-controller": tuple(arguments)}


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("- namespaces", FILE_NOT_A_MAPPING()),
        ("dev-team", FILE_NOT_A_MAPPING()),
        ("sync: {}\nsource: {}\nsync: {}\n", DUPLICATE_YAML_KEY(key="sync", line=3)),
        ("sync:\n  path: a\n  path: b\n", DUPLICATE_YAML_KEY(key="path", line=3)),
        ("sync: [", INVALID_YAML(reason="line 2: did not find expected node content")),
        ("sync:\n\tpath: .", INVALID_YAML(reason="line 2: found character that cannot start any token")),
        (
            "{{ name }}: 1",
            YAML_KEY_NOT_A_STRING(line=1),
        ),
        ("branch: 2024-13-01", INVALID_YAML(reason="month must be in 1..12")),
        (b"path: \xe4", UNREADABLE_FILE(reason="it is not UTF-8 text")),
    ],
)
def test_a_base_file_that_is_no_mapping_in_yaml_is_named(tmp_path, base, problem):
    assert problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {}}) == [
        f"tenants/dev-team.yaml: {problem}"
    ]


def test_a_tenant_of_the_stack_needs_a_base_file(tmp_path):
    assert problems(tmp_path, bases={}, tenants={"dev-team": {}}) == [
        "tenants/dev-team.yaml: " + TENANT_WITHOUT_BASE(stack_file="Pulumi.staging.yaml", tenant="dev-team")
    ]


def test_an_empty_base_file_lacks_what_the_stack_does_not_say_either(tmp_path):
    assert problems(tmp_path, bases={"dev-team": ""}, tenants={"dev-team": {"namespaces": [{"name": "apps"}]}}) == [
        "tenants/dev-team.yaml: source: " + MISSING()
    ]


@pytest.mark.parametrize("entry", ["on", 1, True, False, [], ["apps"]])
def test_the_entry_of_a_tenant_is_a_mapping(tmp_path, entry):
    assert problems(tmp_path, tenants={"dev-team": entry}) == [
        "Pulumi.staging.yaml: tenants.dev-team: " + TENANT_NOT_A_MAPPING()
    ]


@pytest.mark.parametrize(
    "name", ["flux-system", "kube-public", "kyverno", "kyverno-reports", "default", "cert-manager"]
)
def test_names_of_the_clusters_own_parts_are_reserved(tmp_path, name):
    namespaces = {"namespaces": [{"name": name}], "sync": {"targetNamespace": name}}

    assert set(problems(tmp_path, tenants={name: {}, "dev-team": namespaces})) == {
        f"Pulumi.staging.yaml: tenants.{name}: {RESERVED_NAME().of(name)}",
        f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: {RESERVED_NAME().of(name)}",
        f"Pulumi.staging.yaml: tenants.dev-team.sync.targetNamespace: {RESERVED_NAME().of(name)}",
    }


@pytest.mark.parametrize(
    "name", ["Dev", "dev_team", "-dev", "dev-", "dev.team", "../dev", "d" * 64, "d" * 300, "dev\n"]
)
def test_tenants_and_namespaces_are_dns_labels(tmp_path, name):
    assert set(problems(tmp_path, tenants={name: {}, "dev-team": {"namespaces": [{"name": name}]}})) == {
        f"Pulumi.staging.yaml: tenants.{name}: {NOT_A_DNS_LABEL().of(name)}",
        f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: {NOT_A_DNS_LABEL().of(name)}",
    }


def test_a_bad_name_is_told_before_its_base_file_is_asked_for(tmp_path):
    assert problems(tmp_path, bases={}, tenants={"kyverno": {}}) == [
        "Pulumi.staging.yaml: tenants.kyverno: " + RESERVED_NAME().of("kyverno")
    ]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://git.example.com/a", unknown_scheme("ftp").of("ftp://git.example.com/a")),
        ("HTTPS://git.example.com/a", unknown_scheme("HTTPS").of("HTTPS://git.example.com/a")),
        ("file:///srv/git", unknown_scheme("file").of("file:///srv/git")),
        ("shh://git@git.example.com/a/b", unknown_scheme("shh")),
        (
            "git@example.com:a/b",
            SHORT_SSH_URL(host="git@example.com", path="a/b").of("git@example.com:a/b"),
        ),
        ("https://git.example.com", URL_WITHOUT_REPOSITORY(example=GIT_URL_EXAMPLE).of("https://git.example.com")),
        ("https://git.example.com/", URL_WITHOUT_REPOSITORY(example=GIT_URL_EXAMPLE).of("https://git.example.com/")),
        ("https:///apps", URL_WITHOUT_REPOSITORY(example=GIT_URL_EXAMPLE).of("https:///apps")),
        ("https://git:99999/a", MALFORMED_URL(example=GIT_URL_EXAMPLE).of("https://git:99999/a")),
        ("https://[::1/a", MALFORMED_URL(example=GIT_URL_EXAMPLE).of("https://[::1/a")),
        ("https://git/a b", MALFORMED_URL(example=GIT_URL_EXAMPLE).of("https://git/a b")),
        (
            "https://Git.example.com/a",
            URL_WITH_CAPITAL_HOST(example=GIT_URL_EXAMPLE).of("https://Git.example.com/a"),
        ),
        ("https://user@git.example.com/a", URL_WITH_CREDENTIALS()),
        ("https://user:pa55word@git.example.com/a", URL_WITH_CREDENTIALS()),
        ("ssh://git:pa55word@git.example.com/a", URL_WITH_CREDENTIALS()),
        ("ftp://user:pa55word@git.example.com/a", URL_WITH_CREDENTIALS()),
        ("https://user:pa55/word@git.example.com/a", MALFORMED_URL(example=GIT_URL_EXAMPLE)),
    ],
)
def test_a_git_url_that_flux_cannot_fetch_or_that_holds_a_password_is_refused(tmp_path, url, reason):
    assert problems(tmp_path, tenants={"dev-team": {"source": {"url": url}}}) == [
        f"Pulumi.staging.yaml: tenants.dev-team.source.url: {reason}"
    ]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:3000/a/b.git", "https://git.example.com/a", "https://[2001:db8::1]:8443/a"]
)
def test_git_urls_without_credentials_are_taken(tmp_path, url):
    config = load(tmp_path, tenants={"dev-team": {"source": {"url": url}}}, policies={"sources": {"plainHttp": True}})
    assert own_source(config).url == url


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        ("10", DURATION_WITHOUT_UNIT(number="10").of("10")),
        ("soon", NOT_A_DURATION().of("soon")),
        ("-5m", NOT_A_DURATION().of("-5m")),
        ("1 h", NOT_A_DURATION().of("1 h")),
        ("0s", DURATION_OF_ZERO().of("0s")),
        (60, DURATION_WITHOUT_UNIT(number="60").of(60)),
        (True, QUOTES_NEEDED(given="true")),
        (2.5, DURATION_WITHOUT_UNIT(number="2.5").of(2.5)),
        (None, NO_VALUE(expected="a string")),
    ],
)
def test_an_interval_that_flux_does_not_know_is_refused(tmp_path, interval, reason):
    assert problems(tmp_path, tenants={"dev-team": {"sync": {"interval": interval}}}) == [
        f"Pulumi.staging.yaml: tenants.dev-team.sync.interval: {reason}"
    ]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"namespaces": []}, ".namespaces: " + EMPTY()),
        ({"namespaces": "apps"}, ".namespaces: " + WRONG_TYPE(expected="a list", given="'apps'")),
        ({"namespaces": ["apps"]}, ".namespaces[0]: " + SECTION_EXPECTED(given="'apps'", keys="name")),
        ({"namespaces": [{"name": "apps"}, {"name": "apps"}]}, ".namespaces: " + DUPLICATE_NAMESPACE(names="apps")),
        (
            {"namespaces": [{"name": "apps", "podSecurity": "strict"}]},
            ".namespaces[0].podSecurity: "
            + NOT_ONE_OF(choices="'restricted', 'baseline' or 'privileged'", given="'strict'"),
        ),
        (
            {"namespaces": [{"name": "apps", "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}]},
            ".namespaces[0].labels: " + PROTECTED_LABELS(keys="pod-security.kubernetes.io/enforce"),
        ),
        (
            {"namespaces": [{"name": "apps", "labels": {"cost": 7}}]},
            ".namespaces[0].labels.cost: " + QUOTES_NEEDED(given="7"),
        ),
        ({"source": None}, ".source: " + MISSING()),
        ({"source": {"tag": "v1"}}, ".source: " + SEVERAL_REFERENCES(keys="branch and tag")),
        (
            {"source": {"branch": ".."}},
            ".source.branch: " + NOT_A_GIT_REFERENCE().of(".."),
        ),
        ({"source": {"commit": "abc"}}, ".source.commit: " + NOT_A_COMMIT().of("abc")),
        (
            {"sync": {"path": "../prod"}},
            ".sync.path: " + PATH_OUTSIDE_REPOSITORY().of("../prod"),
        ),
        ({"sync": {"path": "/prod"}}, ".sync.path: " + PATH_OUTSIDE_REPOSITORY().of("/prod")),
        ({"sync": {"prune": 0.5}}, ".sync.prune: " + WRONG_TYPE(expected="true or false", given="0.5")),
        (
            {"sync": {"targetNamespace": "other"}},
            ".sync.targetNamespace: " + FOREIGN_TARGET_NAMESPACE(namespaces="apps").of("other"),
        ),
        ({"role": "owner"}, ".role: " + NOT_ONE_OF(choices="'tenant', 'admin' or 'cluster-admin'", given="'owner'")),
        ({"path": "./staging"}, ".path: " + UNKNOWN_KEY_BELOW(path="sync.path")),
    ],
)
def test_a_tenant_that_cannot_be_created_is_refused(tmp_path, entry, problem):
    assert problems(tmp_path, tenants={"dev-team": entry}) == [f"Pulumi.staging.yaml: tenants.dev-team{problem}"]


def test_a_namespace_has_one_tenant_and_the_file_that_claims_it_again_is_named(tmp_path):
    bases = dict.fromkeys(("dev-team", "ops-team", "qa-team"), DEV_TEAM_BASE)
    tenants = {"dev-team": {}, "ops-team": {}, "qa-team": {"namespaces": [{"name": "qa"}, {"name": "apps"}]}}

    assert problems(tmp_path, bases=bases, tenants=tenants) == [
        "Pulumi.staging.yaml: tenants.qa-team.namespaces[1].name: " + NAMESPACE_TAKEN(owner="dev-team").of("apps"),
        "tenants/ops-team.yaml: namespaces[0].name: " + NAMESPACE_TAKEN(owner="dev-team").of("apps"),
    ]


def test_all_problems_come_at_once_each_with_the_file_that_it_came_from(tmp_path):
    base = """\
namespaces:
  - name: Apps
source:
  url: git.example.com
  branhc: main
sync:
  targetNamespace: elsewhere
1: one
"""
    tenants = {"dev-team": {"source": {"interval": "often"}, "sync": {"path": "/"}}, "missing": {}}

    assert problems(tmp_path, bases={"dev-team": base}, flux=FLUX | {"sha256": "?"}, tenants=tenants) == [
        "Pulumi.staging.yaml: flux.sha256: " + NOT_A_SHA256().of("?"),
        "Pulumi.staging.yaml: tenants.dev-team.source.interval: " + NOT_A_DURATION().of("often"),
        "Pulumi.staging.yaml: tenants.dev-team.sync.path: " + PATH_OUTSIDE_REPOSITORY().of("/"),
        "tenants/dev-team.yaml: [1]: "
        + UNKNOWN_KEY_AMONG(keys=", ".join(str(field.alias) for field in TenantConfig.model_fields.values())),
        "tenants/dev-team.yaml: namespaces[0].name: " + NOT_A_DNS_LABEL().of("Apps"),
        "tenants/dev-team.yaml: source.branhc: " + UNKNOWN_KEY_LIKE(suggestion="branch"),
        "tenants/dev-team.yaml: source.url: " + NO_GIT_SCHEME.of("git.example.com"),
        "tenants/missing.yaml: " + TENANT_WITHOUT_BASE(stack_file="Pulumi.staging.yaml", tenant="missing"),
    ]


def test_the_base_is_named_where_it_alone_points_outside_and_the_stack_where_it_does(tmp_path):
    outside = DEV_TEAM_BASE + "  targetNamespace: elsewhere\n"
    tenants = {"dev-team": {"sync": {"path": "./staging"}}, "ops-team": {"sync": {"targetNamespace": "elsewhere"}}}
    ops = DEV_TEAM_BASE.replace("apps", "tools")

    assert problems(tmp_path, bases={"dev-team": outside, "ops-team": ops}, tenants=tenants) == [
        "Pulumi.staging.yaml: tenants.ops-team.sync.targetNamespace: "
        + FOREIGN_TARGET_NAMESPACE(namespaces="tools").of("elsewhere"),
        "tenants/dev-team.yaml: sync.targetNamespace: " + FOREIGN_TARGET_NAMESPACE(namespaces="apps").of("elsewhere"),
    ]


def test_problems_in_a_list_that_the_stack_replaced_are_the_stacks(tmp_path):
    base = DEV_TEAM_BASE.replace("- name: apps", "- name: Never_Seen")

    assert problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {"namespaces": [{"name": "Apps"}]}}) == [
        "Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: " + NOT_A_DNS_LABEL().of("Apps")
    ]


def test_the_errors_are_listed_with_their_codes(tmp_path):
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path, cluster=..., flux=...)

    assert str(refused.value).splitlines() == [
        "2 errors; nothing was applied:",
        f"  Pulumi.staging.yaml: cluster: {MISSING()} ({MISSING.code})",
        f"  Pulumi.staging.yaml: flux: {MISSING()} ({MISSING.code})",
    ]


def test_a_single_error_is_counted_as_one(tmp_path):
    with pytest.raises(ConfigurationError, match="^1 error; nothing was applied:\n"):
        load(tmp_path, cluster=...)


@pytest.mark.parametrize("content", [5555, True, ["5555"], {"token": "5555"}])
def test_a_kubeconfig_of_the_wrong_type_is_refused_without_being_shown(tmp_path, content):
    problem = SECRET_WITHOUT_QUOTES() if isinstance(content, int) else SECRET_NOT_A_STRING()

    assert problems(tmp_path, cluster={"kubeconfigContent": content}, secret_keys={"cluster"}) == [
        f"Pulumi.staging.yaml: cluster.kubeconfigContent: {problem}"
    ]


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        (
            {"cluster": "pa55word"},
            "cluster: " + SECTION_EXPECTED(given="this value", keys=CLUSTER_KEYS),
        ),
        (
            {"cluster": {"kubeconfig": ["pa55word"]}},
            "cluster.kubeconfig: " + WRONG_TYPE(expected="a string", given="a list"),
        ),
        (
            {"flux": FLUX | {"sha256": "pa55word"}},
            "flux.sha256: " + NOT_A_SHA256(),
        ),
        (
            {"flux": FLUX | {"profile": "pa55word"}},
            "flux.profile: " + NOT_ONE_OF(choices="'multi-tenant' or 'single-tenant'", given="this value"),
        ),
        (
            {"tenants": {"dev-team": {"source": {"url": "pa55word"}}}},
            "tenants.dev-team.source.url: " + NO_GIT_SCHEME,
        ),
        (
            {"tenants": {"dev-team": {"sync": {"prune": "pa55word"}}}},
            "tenants.dev-team.sync.prune: " + WRONG_TYPE(expected="true or false", given="this value"),
        ),
        ({"pa55words": "pa55word"}, "pa55words: " + UNKNOWN_KEY_LIKE(suggestion="password")),
    ],
)
def test_nothing_of_a_secret_section_is_shown(tmp_path, sections, problem):
    assert problems(tmp_path, secret_keys=set(sections), **sections) == [f"Pulumi.staging.yaml: {problem}"]


def test_a_kubeconfig_in_the_configuration_is_hidden_from_whoever_prints_it(tmp_path):
    config = load(tmp_path, cluster={"kubeconfigContent": "token: pa55word"}, secret_keys={"cluster"})

    content = config.cluster.kubeconfig_content
    assert content is not None and content.get_secret_value() == "token: pa55word"
    assert "pa55word" not in repr(config) + str(config)


def test_a_base_that_no_stack_lists_creates_nothing(tmp_path):
    assert load(tmp_path).tenants == {}


def test_a_broken_base_that_no_stack_lists_disturbs_nobody(tmp_path):
    bases = {"dev-team": DEV_TEAM_BASE, "draft": "namespaces: ["}

    assert list(load(tmp_path, bases=bases, tenants={"dev-team": {}}).tenants) == ["dev-team"]


@pytest.mark.parametrize("entry", [{}, None])
def test_an_empty_entry_takes_the_base_as_it_is(tmp_path, entry):
    config = load(tmp_path, tenants={"dev-team": entry})
    tenant, source = config.tenants["dev-team"], own_source(config)

    assert tenant.namespace_names == ("apps",)
    assert (source.url, source.branch) == ("https://git.example.com/dev-team/apps", "main")
    assert (tenant.sync.path, tenant.sync.interval) == ("./base", "10m")


@pytest.mark.parametrize("key", ["tenants", "tenancy", "git", "github"])
def test_an_empty_optional_section_says_nothing(tmp_path, key):
    sections: dict[str, Any] = {key: None}
    assert load(tmp_path, **sections).tenants == {}


def test_the_stack_changes_single_keys_and_replaces_lists(tmp_path):
    entry = {"sync": {"path": "./staging"}, "namespaces": [{"name": "apps-a"}, {"name": "apps-b"}]}

    tenant = load(tmp_path, tenants={"dev-team": entry}).tenants["dev-team"]

    assert (tenant.sync.path, tenant.sync.interval) == ("./staging", "10m")
    assert tenant.namespace_names == ("apps-a", "apps-b")
    assert tenant.home == "apps-a"


def test_a_tenant_is_locked_down_unless_its_files_say_otherwise(tmp_path):
    tenant = load(tmp_path, tenants={"dev-team": {}}).tenants["dev-team"]

    assert tenant.namespaces[0].pod_security == "restricted"
    assert tenant.role == "tenant"
    assert (tenant.sync.prune, tenant.sync.wait, tenant.sync.deletion_policy) == (True, True, "WaitForTermination")


def test_a_stack_is_multi_tenant_with_the_published_release_unless_it_says_otherwise(tmp_path):
    flux = load(tmp_path).flux

    assert flux.profile == "multi-tenant"
    assert flux.workload_identity is False
    assert flux.components == (
        "source-controller",
        "kustomize-controller",
        "helm-controller",
        "notification-controller",
    )
    assert flux.url == "https://github.com/fluxcd/flux2/releases/download/v2.9.5/install.yaml"


@pytest.mark.parametrize("controller", ["helm-controller", "source-controller"])
def test_a_controller_with_narrow_rights_may_not_watch_all_secrets(tmp_path, controller):
    gate = ["--feature-gates=CacheSecretsAndConfigMaps=true"]
    flux = FLUX | {"extraArgs": {controller: gate}}

    problem = SECRETS_CACHE_NEEDS_RIGHTS(gate="CacheSecretsAndConfigMaps", controller=controller)
    assert problems(tmp_path, flux=flux) == [f"Pulumi.staging.yaml: flux.extraArgs: {problem}"]


def test_a_controller_that_may_read_all_secrets_may_keep_them_in_memory(tmp_path):
    arguments = {"extraArgs": {"helm-controller": ["--feature-gates=CacheSecretsAndConfigMaps=true"]}}

    assert load(tmp_path, flux=FLUX | arguments | {"controllerRights": "release"}).flux.extra_args
