"""All errors of a stack are reported at once, each with its file, key and remedy."""

import time
from itertools import pairwise
from typing import Any

import pytest
from pydantic import TypeAdapter
from sample_sources import own_source
from sample_stack import CLUSTER_KEYS, DEV_TEAM_BASE, FLUX, load, problems

from flux_tenancy.components.config.errors import MISSING, ConfigurationError
from flux_tenancy.components.config.types import Quantity
from flux_tenancy.components.config.yaml_files import UNREADABLE_FILE
from flux_tenancy.components.installs.flux.lockdown_flags import FORBIDDEN_FLAGS
from flux_tenancy.components.tenant.config import FOREIGN_TARGET_NAMESPACE, TenantConfig
from flux_tenancy.components.vocabulary.names import Controller
from tests.support.messages import said

A_LABEL = said("FT-CFG-006", "a DNS label", "dev-team, with at most 63 lowercase letters, digits and dashes")
NO_GIT_SCHEME = said(
    "FT-CFG-006",
    "a URL that begins with http:// or https:// or ssh://",
    "https://git.example.com/team/repository or ssh://git@git.example.com/team/repository",
)


@pytest.mark.parametrize(
    ("argument", "code", "flag"),
    [
        ("--no-cross-namespace-refs=false", "FT-CFG-402", "no-cross-namespace-refs"),
        ("--no-remote-bases=false", "FT-CFG-402", "no-remote-bases"),
        ("--default-service-account=kustomize-controller", "FT-CFG-402", "default-service-account"),
        ("--default-decryption-service-account=", "FT-CFG-402", "default-decryption-service-account"),
        ("--default-kubeconfig-service-account=", "FT-CFG-402", "default-kubeconfig-service-account"),
        ("--insecure-kubeconfig-exec=true", "FT-CFG-310", "insecure-kubeconfig-exec"),
        ("--insecure-kubeconfig-tls=true", "FT-CFG-310", "insecure-kubeconfig-tls"),
        ("--sops-age-secret=fallback", "FT-CFG-310", "sops-age-secret"),
    ],
)
def test_an_argument_that_undoes_the_lockdown_is_refused_and_single_tenant_takes_it(tmp_path, argument, code, flag):
    flux = FLUX | {"extraArgs": {"kustomize-controller": [argument]}}

    why = [FORBIDDEN_FLAGS[flag]] if flag in FORBIDDEN_FLAGS else []
    problem = said(code, f"--{flag}", "the multi-tenant profile", *why)
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


LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n" for before, name in pairwise("abcdefghij")
)
"""Ten values, repeated ten times, ten times over: a billion of them in 400 bytes."""


@pytest.mark.parametrize(
    ("base", "problem"),
    [
        ("- namespaces", said("FT-CFG-610", "a mapping", "something else", "write each key as `key: value`")),
        ("dev-team", said("FT-CFG-610", "a mapping", "something else", "write each key as `key: value`")),
        ("sync: {}\nsource: {}\nsync: {}\n", said("FT-CFG-022", 3, "sync")),
        ("sync:\n  path: a\n  path: b\n", said("FT-CFG-022", 3, "path")),
        ("sync: [", said("FT-CFG-021", "line 2: did not find expected node content")),
        ("sync:\n\tpath: .", said("FT-CFG-021", "line 2: found character that cannot start any token")),
        (
            "{{ name }}: 1",
            said("FT-CFG-023", 1),
        ),
        ("branch: 2024-13-01", said("FT-CFG-021", "month must be in 1..12")),
        (b"path: \xe4", UNREADABLE_FILE(reason="it is not UTF-8 text")),
        (f"a: {'[' * 100_000}", said("FT-CFG-025", 1, 50)),
        (f"a: {'{a: ' * 3_000}1{'}' * 3_000}", said("FT-CFG-025", 1, 50)),
        (LAUGHS, said("FT-CFG-026", 5, 100_000)),
        ("a: &a {b: *a}", said("FT-CFG-027", 1, "a")),
    ],
)
def test_a_base_file_that_is_no_mapping_in_yaml_is_named(tmp_path, base, problem):
    began = time.process_time()
    assert problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {}}) == [
        f"tenants/dev-team.yaml: {problem}"
    ]
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("there", "name", "hint"),
    [
        ((), "dev-team", ""),
        (("dev-team.yaml",), "dev-taem", "did you mean 'dev-team'? If not, "),
        (("ops-team.yml",), "ops-team", "rename ops-team.yml, or "),
    ],
    ids=["no file", "misspelled", "other ending"],
)
def test_a_tenant_of_the_stack_needs_a_base_file(tmp_path, there, name, hint):
    (tmp_path / "tenants").mkdir()
    for file in there:
        (tmp_path / "tenants" / file).write_text("")

    assert problems(tmp_path, bases={}, tenants={name: {}}) == [
        f"tenants/{name}.yaml: " + said("FT-CFG-629", "Pulumi.staging.yaml", name, hint)
    ]


def test_a_folder_is_no_base(tmp_path):
    (tmp_path / "tenants/ops-team.yaml").mkdir(parents=True)

    assert problems(tmp_path, tenants={"ops-team": {}}, bases={}) == ["tenants/ops-team.yaml: " + said("FT-CFG-631")]


def test_an_empty_base_file_lacks_what_the_stack_does_not_say_either(tmp_path):
    assert problems(tmp_path, bases={"dev-team": ""}, tenants={"dev-team": {"namespaces": [{"name": "apps"}]}}) == [
        "tenants/dev-team.yaml: source: " + MISSING()
    ]


@pytest.mark.parametrize("entry", ["on", 1, True, False, [], ["apps"]])
def test_the_entry_of_a_tenant_is_a_mapping(tmp_path, entry):
    assert problems(tmp_path, tenants={"dev-team": entry}) == [
        "Pulumi.staging.yaml: tenants.dev-team: "
        + said("FT-CFG-610", "a mapping", "something else", "write {} to take the tenant's base unchanged")
    ]


@pytest.mark.parametrize(
    "name", ["flux-system", "kube-public", "kyverno", "kyverno-reports", "default", "cert-manager"]
)
def test_names_of_the_clusters_own_parts_are_reserved(tmp_path, name):
    namespaces = {"namespaces": [{"name": name}], "sync": {"targetNamespace": name}}
    reserved = said("FT-CFG-001", "the cluster's own components").of(name)

    assert set(problems(tmp_path, tenants={name: {}, "dev-team": namespaces})) == {
        f"Pulumi.staging.yaml: tenants.{name}: {reserved}",
        f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: {reserved}",
        f"Pulumi.staging.yaml: tenants.dev-team.sync.targetNamespace: {reserved}",
    }


@pytest.mark.parametrize(
    "name", ["Dev", "dev_team", "-dev", "dev-", "dev.team", "../dev", "d" * 64, "d" * 300, "dev\n"]
)
def test_tenants_and_namespaces_are_dns_labels(tmp_path, name):
    assert set(problems(tmp_path, tenants={name: {}, "dev-team": {"namespaces": [{"name": name}]}})) == {
        f"Pulumi.staging.yaml: tenants.{name}: {A_LABEL.of(name)}",
        f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: {A_LABEL.of(name)}",
    }


def test_a_bad_name_is_told_before_its_base_file_is_asked_for(tmp_path):
    assert problems(tmp_path, bases={}, tenants={"kyverno": {}}) == [
        "Pulumi.staging.yaml: tenants.kyverno: " + said("FT-CFG-001", "the cluster's own components").of("kyverno")
    ]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:3000/a/b.git", "https://git.example.com/a", "https://[2001:db8::1]:8443/a"]
)
def test_git_urls_without_credentials_are_taken(tmp_path, url):
    config = load(tmp_path, tenants={"dev-team": {"source": {"url": url}}}, policies={"sources": {"plainHttp": True}})
    assert own_source(config).url == url


def test_a_namespace_has_one_tenant_and_the_file_that_claims_it_again_is_named(tmp_path):
    bases = dict.fromkeys(("dev-team", "ops-team", "qa-team"), DEV_TEAM_BASE)
    tenants = {"dev-team": {}, "ops-team": {}, "qa-team": {"namespaces": [{"name": "qa"}, {"name": "apps"}]}}

    assert problems(tmp_path, bases=bases, tenants=tenants) == [
        "Pulumi.staging.yaml: tenants.qa-team.namespaces[1].name: "
        + said("FT-CFG-001", "the tenant dev-team").of("apps"),
        "tenants/ops-team.yaml: namespaces[0].name: " + said("FT-CFG-001", "the tenant dev-team").of("apps"),
    ]


def test_all_problems_come_at_once_each_with_the_file_that_it_came_from(tmp_path):
    base = """\
namespaces:
  - name: Apps
source:
  url: git.example.com
sync:
  targetNamespace: elsewhere
1: one
"""
    tenants = {"dev-team": {"source": {"interval": "often"}, "sync": {"path": "/"}}, "missing": {}}

    assert problems(tmp_path, bases={"dev-team": base}, flux=FLUX | {"sha256": "?"}, tenants=tenants) == [
        "Pulumi.staging.yaml: flux.sha256: "
        + said("FT-CFG-006", "a SHA-256 digest", "9f86d08…, with 64 lowercase hexadecimal digits").of("?"),
        "Pulumi.staging.yaml: tenants.dev-team.source.interval: "
        + said("FT-CFG-006", "a duration", "30s, 5m or 1h30m").of("often"),
        "Pulumi.staging.yaml: tenants.dev-team.sync.path: "
        + said("FT-CFG-006", "a folder inside the repository", "./staging").of("/"),
        "tenants/dev-team.yaml: [1]: "
        + said(
            "FT-CFG-602",
            f"the keys here are {', '.join(str(field.alias) for field in TenantConfig.model_fields.values())}",
        ),
        "tenants/dev-team.yaml: namespaces[0].name: " + A_LABEL.of("Apps"),
        "tenants/dev-team.yaml: source.url: " + NO_GIT_SCHEME.of("git.example.com"),
        "tenants/missing.yaml: " + said("FT-CFG-629", "Pulumi.staging.yaml", "missing", ""),
    ]


def test_the_base_is_named_where_it_alone_points_outside_and_the_stack_where_it_does(tmp_path):
    outside = DEV_TEAM_BASE + "  targetNamespace: elsewhere\n"
    tenants = {"dev-team": {"sync": {"path": "./staging"}}, "ops-team": {"sync": {"targetNamespace": "elsewhere"}}}
    ops = DEV_TEAM_BASE.replace("apps", "tools")

    assert problems(tmp_path, bases={"dev-team": outside, "ops-team": ops}, tenants=tenants) == [
        "Pulumi.staging.yaml: tenants.ops-team.sync.targetNamespace: "
        + FOREIGN_TARGET_NAMESPACE(choices="tools").of("elsewhere"),
        "tenants/dev-team.yaml: sync.targetNamespace: " + FOREIGN_TARGET_NAMESPACE(choices="apps").of("elsewhere"),
    ]


def test_problems_in_a_list_that_the_stack_replaced_are_the_stacks(tmp_path):
    base = DEV_TEAM_BASE.replace("- name: apps", "- name: Never_Seen")

    assert problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {"namespaces": [{"name": "Apps"}]}}) == [
        "Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: " + A_LABEL.of("Apps")
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
    problem = (
        said("FT-CFG-610", "a string", "a number", "put it in quotes")
        if isinstance(content, int)
        else said("FT-CFG-609", "a string", "another value")
    )

    assert problems(tmp_path, cluster={"kubeconfigContent": content}, secret_keys={"cluster"}) == [
        f"Pulumi.staging.yaml: cluster.kubeconfigContent: {problem}"
    ]


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        (
            {"cluster": "pa55word"},
            "cluster: " + said("FT-CFG-610", "a mapping", "this value", f"write its keys below it: {CLUSTER_KEYS}"),
        ),
        (
            {"cluster": {"kubeconfig": ["pa55word"]}},
            "cluster.kubeconfig: " + said("FT-CFG-609", "a string", "a list"),
        ),
        (
            {"flux": FLUX | {"sha256": "pa55word"}},
            "flux.sha256: " + said("FT-CFG-006", "a SHA-256 digest", "9f86d08…, with 64 lowercase hexadecimal digits"),
        ),
        (
            {"flux": FLUX | {"profile": "pa55word"}},
            "flux.profile: " + said("FT-CFG-606", "this value", "'multi-tenant' or 'single-tenant'", ""),
        ),
        (
            {"tenants": {"dev-team": {"source": {"url": "pa55word"}}}},
            "tenants.dev-team.source.url: " + NO_GIT_SCHEME,
        ),
        (
            {"tenants": {"dev-team": {"sync": {"prune": "pa55word"}}}},
            "tenants.dev-team.sync.prune: " + said("FT-CFG-609", "true or false", "this value"),
        ),
        ({"pa55words": "pa55word"}, "pa55words: " + said("FT-CFG-602", "did you mean 'password'?")),
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
    assert flux.url == f"https://github.com/fluxcd/flux2/releases/download/v{flux.version}/install.yaml"


def test_a_controller_that_may_read_all_secrets_may_keep_them_in_memory(tmp_path):
    arguments = {"extraArgs": {"helm-controller": ["--feature-gates=CacheSecretsAndConfigMaps=true"]}}

    assert load(tmp_path, flux=FLUX | arguments | {"controllerRights": "release"}).flux.extra_args


@pytest.mark.parametrize("quantity", ["4", "0.5", "500m", "100u", "8Gi", "128e6", "1E3"])
def test_a_quantity_may_be_written_in_every_way_that_kubernetes_reads(quantity):
    assert TypeAdapter(Quantity).validate_python(quantity) == quantity


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("./staging", "./staging"),
        ("staging", "./staging"),
        ("staging/", "./staging"),
        ("./staging/", "./staging"),
        ("clusters//staging", "./clusters/staging"),
        ("clusters/./staging", "./clusters/staging"),
        ("./", "./"),
        (".", "./"),
        ("", ""),
        ("./.config", "./.config"),
    ],
)
def test_a_folder_is_the_same_however_it_is_written(tmp_path, written, path):
    flux = FLUX | {"sync": {"source": {"url": "https://git.example.com/fleet"}, "path": written}}

    config = load(tmp_path, flux=flux, tenants={"dev-team": {"sync": {"path": written}}})

    assert config.tenants["dev-team"].sync.path == path
    assert config.flux.sync is not None
    assert config.flux.sync.path == path


def test_an_empty_mapping_that_pulumi_has_stored_as_a_string_is_one(tmp_path):
    """As `pulumi config set --path github.owners.acme '{}'` does."""
    config = load(tmp_path, tenants={"dev-team": "{}"}, github={"owners": {"acme": "{}"}})

    assert list(config.tenants) == ["dev-team"]
    assert config.github.owners["acme"].token is None
