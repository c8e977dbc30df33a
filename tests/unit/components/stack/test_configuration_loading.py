"""What is wrong with a stack is told all at once, each problem with its file, its key and its remedy."""

from typing import Any

import pytest
from sample_stack import CLUSTER, DEV_TEAM_BASE, FLUX, Secret, load, problems

from components.config.errors import ConfigurationError
from components.flux.controllers import Controller

GIT_URL_EXAMPLE = "write it like https://git.example.com/team/repository or ssh://git@git.example.com/team/repository"
NO_SCHEME = f"must begin with http:// or https:// or ssh://; {GIT_URL_EXAMPLE}"
DURATION_EXAMPLE = "write it like 30s, 5m or 1h30m"
NOT_A_LABEL = "is not a DNS label: at most 63 lower-case letters, digits and '-', e.g. dev-team"
RESERVED = "is reserved for the cluster's own parts; choose another name"
CREDENTIALS = "holds credentials; take them out, they would be readable in the cluster and in the state"
ONE_KUBECONFIG = "name the cluster by exactly one of kubeconfig (a path) and kubeconfigContent (a secret)"
NO_VALUE = "is not a controller argument with its value; write it like --concurrent=8"


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        ({"cluster": ...}, "cluster: is required and missing"),
        ({"flux": "2.9.5"}, "flux: must be a mapping, got '2.9.5'; write its keys below it: version, sha256"),
        ({"cluster": {}}, f"cluster: {ONE_KUBECONFIG}"),
        ({"cluster": CLUSTER | {"kubeconfigContent": Secret("apiVersion: v1")}}, f"cluster: {ONE_KUBECONFIG}"),
        (
            {"cluster": CLUSTER | {"contexts": "staging"}},
            "cluster.contexts: is an unknown key; did you mean 'context'?",
        ),
        ({"cluster": {"kubeconfig": 1}}, "cluster.kubeconfig: must be a string, got 1; put it in quotes"),
        (
            {"cluster": CLUSTER | {"uid": "staging"}},
            "cluster.uid: 'staging' is not a uid; take it from "
            "`kubectl get namespace kube-system -o jsonpath={.metadata.uid}`",
        ),
        (
            {"flux": FLUX | {"egress": {"hosts": ["https://files.example.com"]}}},
            "flux.egress.hosts[0]: 'https://files.example.com' is not a host, as URLs name it, a domain or a network; "
            "write it like files.example.com, .example.com or 192.0.2.0/24",
        ),
        (
            {"flux": FLUX | {"egress": {"hosts": ["files.example.com", ".svc.cluster.local"]}}},
            "flux.egress.hosts[1]: '.svc.cluster.local' would open the artifacts of all tenants to each of them; name "
            "single hosts outside of Flux",
        ),
        (
            {"flux": FLUX | {"egress": {"networks": ["192.0.2.1"]}}},
            "flux.egress.networks[0]: '192.0.2.1' is not a network in CIDR notation; write it like 192.0.2.0/24",
        ),
        ({"flux": ...}, "flux: is required and missing"),
        ({"flux": None}, "flux: must be a mapping, got nothing; write its keys below it: version, sha256"),
        ({"fluxes": FLUX}, "fluxes: is an unknown key; did you mean 'flux'?"),
        ({"zebra": "1"}, "zebra: is an unknown key"),
        ({"tenants": ["dev-team"]}, "tenants: must be a mapping, got a list"),
        ({"tenants": []}, "tenants: must be a mapping, got a list"),
        (
            {"tenancy": {"settleTimeout": "soon"}},
            f"tenancy.settleTimeout: 'soon' is not a duration; {DURATION_EXAMPLE}",
        ),
        (
            {"tenancy": {"extraRules": [{"apiGroups": [""], "resources": [], "verbs": ["get"]}]}},
            "tenancy.extraRules[0].resources: must not be empty",
        ),
    ],
)
def test_a_section_that_cannot_be_used_is_named(tmp_path, sections, problem):
    assert problems(tmp_path, **sections) == [f"Pulumi.staging.yaml: {problem}"]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"versoin": "2.9.5"}, ".versoin: is an unknown key; did you mean 'version'?"),
        ({"version": 2.9}, ".version: must be a string, got 2.9; put it in quotes"),
        ({"version": "v2.9.5"}, ".version: 'v2.9.5' is not a release of Flux; write it like 2.9.5"),
        ({"version": "2.8.1"}, ".version: '2.8.1' is a Flux version that this program does not know; it knows 2.9.x"),
        (
            {"sha256": "5f5f"},
            ".sha256: '5f5f' is not a sha256 digest: 64 hexadecimal digits in lower case",
        ),
        ({"profile": "tenants"}, ".profile: 'tenants' is not one of 'multi-tenant' or 'single-tenant'"),
        ({"workloadIdentity": "perhaps"}, ".workloadIdentity: must be true or false, got 'perhaps'"),
        (
            {"components": "helm-controller"},
            ".components: must be a list, got 'helm-controller'; write ['helm-controller']",
        ),
        (
            {"components": ["helm-controller"]},
            ".components: must include source-controller and kustomize-controller; no tenant is reconciled without",
        ),
        (
            {"components": ["source-controller", "kustomize-controller", "source-controller"]},
            ".components: names a controller twice",
        ),
        (
            {"manifests": {"url": "install.yaml"}},
            ".manifests.url: 'install.yaml' must begin with http:// or https://; "
            "write it like https://host.example.com/path",
        ),
        (
            {"manifests": {"url": "https:///install.yaml"}},
            ".manifests.url: 'https:///install.yaml' names no host; write it like https://host.example.com/path",
        ),
        (
            {"manifests": {"url": "https://host/install.yaml", "bundle": "install.yaml"}},
            ".manifests: give url or bundle, not both",
        ),
        (
            {"resources": {"source-watcher": {"limits": {"memory": "1Gi"}}}},
            ": resources is for source-watcher, which components does not install",
        ),
        (
            {"extraArgs": {"image-reflector-controller": ["--concurrent=8"]}},
            ": extraArgs is for image-reflector-controller, which components does not install",
        ),
        (
            {"resources": {"source-controller": {"limits": {"cpu": 1}}}},
            ".resources.source-controller.limits.cpu: must be a string, got 1; put it in quotes",
        ),
        (
            {"resources": {"source-controller": {"limits": {"gpu": "1"}}}},
            ".resources.source-controller.limits.gpu: 'gpu' is not one of 'cpu', 'memory' or 'ephemeral-storage'",
        ),
        (
            {"extraArgs": {"helm-controller": ["concurrent=8"]}},
            f".extraArgs.helm-controller[0]: 'concurrent=8' {NO_VALUE}",
        ),
        # Without a value it would take the next argument for one: the first of the lockdown.
        (
            {"extraArgs": {"helm-controller": ["--events-addr"]}},
            f".extraArgs.helm-controller[0]: '--events-addr' {NO_VALUE}",
        ),
    ],
)
def test_a_flux_section_that_cannot_be_installed_is_refused(tmp_path, keys, problem):
    assert problems(tmp_path, flux=FLUX | keys) == [f"Pulumi.staging.yaml: flux{problem}"]


@pytest.mark.parametrize(
    ("argument", "reason"),
    [
        (
            "--no-cross-namespace-refs=false",
            "--no-cross-namespace-refs is set by the multi-tenant profile; use profile: single-tenant to go without",
        ),
        (
            "--no-remote-bases=false",
            "--no-remote-bases is set by the multi-tenant profile; use profile: single-tenant to go without",
        ),
        (
            "--default-service-account=kustomize-controller",
            "--default-service-account is set by the multi-tenant profile; use profile: single-tenant to go without",
        ),
        (
            "--default-decryption-service-account=",
            "--default-decryption-service-account is set by the multi-tenant profile; "
            "use profile: single-tenant to go without",
        ),
        (
            "--default-kubeconfig-service-account=",
            "--default-kubeconfig-service-account is set by the multi-tenant profile; "
            "use profile: single-tenant to go without",
        ),
        (
            "--insecure-kubeconfig-exec=true",
            "--insecure-kubeconfig-exec is not allowed under the multi-tenant profile: "
            "a tenant's kubeconfig could run any program inside the controller",
        ),
        (
            "--insecure-kubeconfig-tls=true",
            "--insecure-kubeconfig-tls is not allowed under the multi-tenant profile: "
            "a tenant's kubeconfig could turn off certificate checks",
        ),
        (
            "--sops-age-secret=fallback",
            "--sops-age-secret is not allowed under the multi-tenant profile: "
            "every tenant could decrypt with the cluster-wide fallback key",
        ),
    ],
)
def test_an_argument_that_undoes_the_lockdown_is_refused_and_single_tenant_takes_it(tmp_path, argument, reason):
    flux = FLUX | {"extraArgs": {"kustomize-controller": [argument]}}

    assert problems(tmp_path, flux=flux) == [f"Pulumi.staging.yaml: flux: extraArgs: {reason}"]

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
        ("- namespaces", "must be a mapping of keys to values"),
        ("dev-team", "must be a mapping of keys to values"),
        ("sync: {}\nsource: {}\nsync: {}\n", "is not valid YAML: line 3: the key 'sync' stands twice"),
        ("sync:\n  path: a\n  path: b\n", "is not valid YAML: line 3: the key 'path' stands twice"),
        ("sync: [", "is not valid YAML: line 1: expected the node content, but found '<stream end>'"),
        ("sync:\n\tpath: .", "is not valid YAML: line 2: found character '\\t' that cannot start any token"),
        (
            "{{ name }}: 1",
            "is not valid YAML: line 1: a key must be a text; put quotes around what begins with { or [",
        ),
        ("branch: 2024-13-01", "is not valid YAML: month must be in 1..12"),
        (b"path: \xe4", "cannot be read: it is not UTF-8 text"),
    ],
)
def test_a_base_file_that_is_no_mapping_in_yaml_is_named(tmp_path, base, problem):
    assert problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {}}) == [
        f"tenants/dev-team.yaml: {problem}"
    ]


def test_a_tenant_of_the_stack_needs_a_base_file(tmp_path):
    assert problems(tmp_path, bases={}, tenants={"dev-team": {}}) == [
        "tenants/dev-team.yaml: does not exist, but Pulumi.staging.yaml lists the tenant dev-team; "
        "write the tenant's base there"
    ]


def test_an_empty_base_file_lacks_what_the_stack_does_not_say_either(tmp_path):
    assert problems(tmp_path, bases={"dev-team": ""}, tenants={"dev-team": {"namespaces": [{"name": "apps"}]}}) == [
        "tenants/dev-team.yaml: source: is required and missing"
    ]


@pytest.mark.parametrize("entry", ["on", 1, True, False, [], ["apps"]])
def test_the_entry_of_a_tenant_is_a_mapping(tmp_path, entry):
    assert problems(tmp_path, tenants={"dev-team": entry}) == [
        "Pulumi.staging.yaml: tenants.dev-team: must be a mapping, or {} for the tenant as its base has it"
    ]


@pytest.mark.parametrize(
    "name", ["flux-system", "kube-public", "kyverno", "kyverno-reports", "default", "cert-manager"]
)
def test_names_of_the_clusters_own_parts_are_reserved(tmp_path, name):
    namespaces = {"namespaces": [{"name": name}], "sync": {"targetNamespace": name}}

    assert set(problems(tmp_path, tenants={name: {}, "dev-team": namespaces})) == {
        f"Pulumi.staging.yaml: tenants.{name}: '{name}' {RESERVED}",
        f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: '{name}' {RESERVED}",
        f"Pulumi.staging.yaml: tenants.dev-team.sync.targetNamespace: '{name}' {RESERVED}",
    }


@pytest.mark.parametrize(
    "name", ["Dev", "dev_team", "-dev", "dev-", "dev.team", "../dev", "d" * 64, "d" * 300, "dev\n"]
)
def test_tenants_and_namespaces_are_dns_labels(tmp_path, name):
    assert set(problems(tmp_path, tenants={name: {}, "dev-team": {"namespaces": [{"name": name}]}})) == {
        f"Pulumi.staging.yaml: tenants.{name}: {name!r} {NOT_A_LABEL}",
        f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: {name!r} {NOT_A_LABEL}",
    }


def test_a_bad_name_is_told_before_its_base_file_is_asked_for(tmp_path):
    assert problems(tmp_path, bases={}, tenants={"kyverno": {}}) == [
        f"Pulumi.staging.yaml: tenants.kyverno: 'kyverno' {RESERVED}"
    ]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://git.example.com/a", f"'ftp://git.example.com/a' has the unknown scheme ftp://; it {NO_SCHEME}"),
        ("HTTPS://git.example.com/a", f"'HTTPS://git.example.com/a' has the unknown scheme HTTPS://; it {NO_SCHEME}"),
        ("file:///srv/git", f"'file:///srv/git' has the unknown scheme file://; it {NO_SCHEME}"),
        ("shh://git@git.example.com/a/b", f"has the unknown scheme shh://; it {NO_SCHEME}"),
        (
            "git@example.com:a/b",
            "'git@example.com:a/b' is the short form of SSH, which Flux does not read; write ssh://git@example.com/a/b",
        ),
        ("https://git.example.com", f"'https://git.example.com' names no host or no repository; {GIT_URL_EXAMPLE}"),
        ("https://git.example.com/", f"'https://git.example.com/' names no host or no repository; {GIT_URL_EXAMPLE}"),
        ("https:///apps", f"'https:///apps' names no host or no repository; {GIT_URL_EXAMPLE}"),
        ("https://git:99999/a", f"'https://git:99999/a' is not a well-formed URL; {GIT_URL_EXAMPLE}"),
        ("https://[::1/a", f"'https://[::1/a' is not a well-formed URL; {GIT_URL_EXAMPLE}"),
        ("https://git/a b", f"'https://git/a b' is not a well-formed URL; {GIT_URL_EXAMPLE}"),
        (
            "https://Git.example.com/a",
            f"'https://Git.example.com/a' names its host in capital letters; {GIT_URL_EXAMPLE}",
        ),
        ("https://user@git.example.com/a", CREDENTIALS),
        ("https://user:pa55word@git.example.com/a", CREDENTIALS),
        ("ssh://git:pa55word@git.example.com/a", CREDENTIALS),
        ("ftp://user:pa55word@git.example.com/a", CREDENTIALS),
        ("https://user:pa55/word@git.example.com/a", f"is not a well-formed URL; {GIT_URL_EXAMPLE}"),
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
    assert config.tenants["dev-team"].source.url == url


@pytest.mark.parametrize(
    ("interval", "reason"),
    [
        ("10", "'10' has no unit; write it like 10s or 10m"),
        ("soon", f"'soon' is not a duration; {DURATION_EXAMPLE}"),
        ("-5m", f"'-5m' is not a duration; {DURATION_EXAMPLE}"),
        ("1 h", f"'1 h' is not a duration; {DURATION_EXAMPLE}"),
        ("0s", f"'0s' must be longer than nothing; {DURATION_EXAMPLE}"),
        (60, "60 has no unit; write it like 60s or 60m"),
        (True, "must be a string, got true; put it in quotes"),
        (2.5, "2.5 has no unit; write it like 2.5s or 2.5m"),
        (None, "must be a string, got nothing; give it a value, or take the key out"),
    ],
)
def test_an_interval_that_flux_does_not_know_is_refused(tmp_path, interval, reason):
    assert problems(tmp_path, tenants={"dev-team": {"sync": {"interval": interval}}}) == [
        f"Pulumi.staging.yaml: tenants.dev-team.sync.interval: {reason}"
    ]


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"namespaces": []}, ".namespaces: must not be empty"),
        ({"namespaces": "apps"}, ".namespaces: must be a list, got 'apps'"),
        ({"namespaces": ["apps"]}, ".namespaces[0]: must be a mapping, got 'apps'; write its keys below it: name"),
        ({"namespaces": [{"name": "apps"}, {"name": "apps"}]}, ".namespaces: lists apps twice"),
        (
            {"namespaces": [{"name": "apps", "podSecurity": "strict"}]},
            ".namespaces[0].podSecurity: 'strict' is not one of 'restricted', 'baseline' or 'privileged'",
        ),
        (
            {"namespaces": [{"name": "apps", "labels": {"pod-security.kubernetes.io/enforce": "privileged"}}]},
            ".namespaces[0].labels: sets pod-security.kubernetes.io/enforce, which the platform sets itself; "
            "use podSecurity and the like",
        ),
        (
            {"namespaces": [{"name": "apps", "labels": {"cost": 7}}]},
            ".namespaces[0].labels.cost: must be a string, got 7; put it in quotes",
        ),
        ({"source": None}, ".source: must be a mapping, got nothing; write its keys below it: url"),
        ({"source": {"tag": "v1"}}, ".source: follows branch and tag at once; keep one of them"),
        (
            {"source": {"branch": ".."}},
            ".source.branch: '..' is not a name that Git accepts for a branch or tag, e.g. main",
        ),
        ({"source": {"commit": "abc"}}, ".source.commit: 'abc' is not a full commit id: 40 hexadecimal digits"),
        (
            {"sync": {"path": "../prod"}},
            ".sync.path: '../prod' must stay inside the repository; write it like ./staging",
        ),
        ({"sync": {"path": "/prod"}}, ".sync.path: '/prod' must stay inside the repository; write it like ./staging"),
        ({"sync": {"prune": 0.5}}, ".sync.prune: must be true or false, got 0.5"),
        (
            {"sync": {"targetNamespace": "other"}},
            ".sync.targetNamespace: 'other' is none of the tenant's namespaces: apps",
        ),
        ({"role": "owner"}, ".role: 'owner' is not one of 'tenant', 'admin' or 'cluster-admin'"),
        ({"path": "./staging"}, ".path: is an unknown key here; did you mean sync.path?"),
    ],
)
def test_a_tenant_that_cannot_be_created_is_refused(tmp_path, entry, problem):
    assert problems(tmp_path, tenants={"dev-team": entry}) == [f"Pulumi.staging.yaml: tenants.dev-team{problem}"]


def test_a_namespace_has_one_tenant_and_the_file_that_claims_it_again_is_named(tmp_path):
    bases = dict.fromkeys(("dev-team", "ops-team", "qa-team"), DEV_TEAM_BASE)
    tenants = {"dev-team": {}, "ops-team": {}, "qa-team": {"namespaces": [{"name": "qa"}, {"name": "apps"}]}}

    assert problems(tmp_path, bases=bases, tenants=tenants) == [
        "Pulumi.staging.yaml: tenants.qa-team.namespaces[1].name: "
        "'apps' already belongs to the tenant dev-team; a namespace has one tenant",
        "tenants/ops-team.yaml: namespaces[0].name: "
        "'apps' already belongs to the tenant dev-team; a namespace has one tenant",
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
        "Pulumi.staging.yaml: flux.sha256: '?' is not a sha256 digest: 64 hexadecimal digits in lower case",
        f"Pulumi.staging.yaml: tenants.dev-team.source.interval: 'often' is not a duration; {DURATION_EXAMPLE}",
        "Pulumi.staging.yaml: tenants.dev-team.sync.path: '/' must stay inside the repository; write it like ./staging",
        "tenants/dev-team.yaml: [1]: is an unknown key; the keys here are namespaces, source, sync, role, "
        "serviceAccountName, policies",
        f"tenants/dev-team.yaml: namespaces[0].name: 'Apps' {NOT_A_LABEL}",
        "tenants/dev-team.yaml: source.branhc: is an unknown key; did you mean 'branch'?",
        f"tenants/dev-team.yaml: source.url: 'git.example.com' {NO_SCHEME}",
        "tenants/missing.yaml: does not exist, but Pulumi.staging.yaml lists the tenant missing; "
        "write the tenant's base there",
    ]


def test_the_base_is_named_where_it_alone_points_outside_and_the_stack_where_it_does(tmp_path):
    outside = DEV_TEAM_BASE + "  targetNamespace: elsewhere\n"
    tenants = {"dev-team": {"sync": {"path": "./staging"}}, "ops-team": {"sync": {"targetNamespace": "elsewhere"}}}
    ops = DEV_TEAM_BASE.replace("apps", "tools")

    assert problems(tmp_path, bases={"dev-team": outside, "ops-team": ops}, tenants=tenants) == [
        "Pulumi.staging.yaml: tenants.ops-team.sync.targetNamespace: "
        "'elsewhere' is none of the tenant's namespaces: tools",
        "tenants/dev-team.yaml: sync.targetNamespace: 'elsewhere' is none of the tenant's namespaces: apps",
    ]


def test_problems_in_a_list_that_the_stack_replaced_are_the_stacks(tmp_path):
    base = DEV_TEAM_BASE.replace("- name: apps", "- name: Never_Seen")

    assert problems(tmp_path, bases={"dev-team": base}, tenants={"dev-team": {"namespaces": [{"name": "Apps"}]}}) == [
        f"Pulumi.staging.yaml: tenants.dev-team.namespaces[0].name: 'Apps' {NOT_A_LABEL}"
    ]


def test_the_error_reads_as_a_list_of_things_to_mend(tmp_path):
    with pytest.raises(ConfigurationError) as refused:
        load(tmp_path, cluster=..., flux=...)

    assert str(refused.value) == (
        "2 errors; nothing was applied:\n"
        "  Pulumi.staging.yaml: cluster: is required and missing\n"
        "  Pulumi.staging.yaml: flux: is required and missing"
    )


def test_a_single_problem_is_not_called_problems(tmp_path):
    with pytest.raises(ConfigurationError, match="^1 error; nothing was applied:\n"):
        load(tmp_path, cluster=...)


@pytest.mark.parametrize("content", [5555, True, ["5555"], {"token": "5555"}])
def test_a_kubeconfig_of_the_wrong_type_is_refused_without_being_shown(tmp_path, content):
    assert problems(tmp_path, cluster={"kubeconfigContent": content}, secret_keys={"cluster"}) == [
        "Pulumi.staging.yaml: cluster.kubeconfigContent: must be a string"
        + ("; put it in quotes" if isinstance(content, int) else "")
    ]


@pytest.mark.parametrize(
    ("sections", "problem"),
    [
        (
            {"cluster": "pa55word"},
            "cluster: must be a mapping, got this value; write its keys below it: kubeconfig, kubeconfigContent, "
            "context, uid, adopt",
        ),
        ({"cluster": {"kubeconfig": ["pa55word"]}}, "cluster.kubeconfig: must be a string, got a list"),
        (
            {"flux": FLUX | {"sha256": "pa55word"}},
            "flux.sha256: is not a sha256 digest: 64 hexadecimal digits in lower case",
        ),
        (
            {"flux": FLUX | {"profile": "pa55word"}},
            "flux.profile: this value is not one of 'multi-tenant' or 'single-tenant'",
        ),
        (
            {"tenants": {"dev-team": {"source": {"url": "pa55word"}}}},
            f"tenants.dev-team.source.url: {NO_SCHEME}",
        ),
        (
            {"tenants": {"dev-team": {"sync": {"prune": "pa55word"}}}},
            "tenants.dev-team.sync.prune: must be true or false, got this value",
        ),
        ({"pa55words": "pa55word"}, "pa55words: is an unknown key; did you mean 'password'?"),
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
    tenant = load(tmp_path, tenants={"dev-team": entry}).tenants["dev-team"]

    assert tenant.namespace_names == ("apps",)
    assert (tenant.source.url, tenant.source.branch) == ("https://git.example.com/dev-team/apps", "main")
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


def test_a_controller_that_only_impersonates_may_not_watch_all_secrets(tmp_path):
    gate = ["--feature-gates=CacheSecretsAndConfigMaps=true"]
    flux = FLUX | {"extraArgs": {"helm-controller": gate}}

    [problem] = problems(tmp_path, flux=flux)

    assert "CacheSecretsAndConfigMaps makes helm-controller watch all Secrets of the cluster" in problem
    assert "set controllerRights to release" in problem


@pytest.mark.parametrize(
    "flux",
    [
        {"extraArgs": {"helm-controller": ["--feature-gates=CacheSecretsAndConfigMaps=true"]}}
        | {"controllerRights": "release"},
        {"extraArgs": {"source-controller": ["--feature-gates=CacheSecretsAndConfigMaps=true"]}},
    ],
)
def test_a_controller_that_may_read_all_secrets_may_keep_them_in_memory(tmp_path, flux):
    assert load(tmp_path, flux=FLUX | flux).flux.extra_args
