"""The table of policies, and the set of them that a configuration puts into force."""

import re

import pytest
from sample_policies import rendered

from dev.reference.flux_releases import FIELDS
from dev.reference.pages import DOCS
from dev.reference.policies import policies_page
from flux_tenancy.components.config.section import Section
from flux_tenancy.components.installs.flux.release import lease_of
from flux_tenancy.components.policies.component import probe_answer, probe_policy, probe_request
from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import THREATS, PolicyName
from flux_tenancy.components.policies.rendering import object_name
from flux_tenancy.components.policies.table import policies, policy_set
from flux_tenancy.components.policies.values import resource_lists
from flux_tenancy.components.tenant.annotations import namespace_annotations
from flux_tenancy.components.tenant.config import TenantBounds, TenantConfig, TenantPolicies
from flux_tenancy.components.tenant.role import MANAGED
from flux_tenancy.components.vocabulary.names import Controller
from tests.support.goldens import assert_golden
from tests.support.policy_cases import CASES, CONFIGS, User

ENGINES = pytest.mark.parametrize("engine", [PolicyEngine.NATIVE, PolicyEngine.KYVERNO])
# What Kyverno alone can do, in modules of its own.
ELSEWHERE = {PolicyName.FLUX_IMAGES, PolicyName.TENANT_IMAGES, PolicyName.ONBOARDING}
OF_DEVELOPERS = {PolicyName.FLUX_REQUESTS}
OF_LANES = {PolicyName.LANE}
OF_FREEZES = {PolicyName.FREEZE}
NATIVE_ONLY = {policy.name for policy in policies(PoliciesConfig()) if policy.native_only}


def by_name(**config):
    return {policy.name: policy for policy in policies(PoliciesConfig.model_validate(config))}


def test_the_table_has_every_policy_once_in_order():
    assert [policy.name for policy in policies(PoliciesConfig())] == [
        name for name in PolicyName if name not in ELSEWHERE
    ]


def test_every_policy_has_messages_and_threats_and_every_threat_at_admission_a_policy():
    stopped = {number for policy in policies(PoliciesConfig()) for number in policy.threats}

    assert {number for number, threat in THREATS.items() if threat.at_admission} <= stopped <= set(THREATS)
    for policy in policies(PoliciesConfig()):
        # A freeze is an agreement, and stops no attempt.
        assert bool(policy.threats) is (policy.name is not PolicyName.FREEZE)
        assert policy.validations and all(len(each.message) > 20 for each in policy.validations)


def test_every_policy_about_pods_checks_the_templates_from_which_controllers_make_them():
    """A pod that a controller makes is nobody's request."""
    for policy in policies(PoliciesConfig()):
        checked = {(each.group, name) for each in policy.resources for name in each.names}
        if ("", "pods") in checked:
            assert checked >= {(group, name) for group, names in resource_lists()["workloads"] for name in names}


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_no_expression_is_longer_than_kyverno_and_kubernetes_take(config):
    for policy in policies(config):
        texts = [*policy.conditions.values(), *policy.variables.values()]
        texts += [text for each in policy.validations for text in (each.expression, each.message)]
        assert all(len(text) < 16 * 1024 and "\n" not in text for text in texts), policy.name


# Other policies refuse them to a tenant.
ALWAYS_REFUSED = {"kubeConfig", "proxySecretRef"}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_case_allows_each_field_that_tenants_may_set_and_no_other(kind):
    allowed = [case for case in CASES if case.refused is None and case.user is not User.PLATFORM]
    created = [case.object for case in allowed if case.operation == "CREATE" and case.object["kind"] == kind]

    assert {field for each in created for field in each.get("spec", {})} == set(FIELDS[kind]) - ALWAYS_REFUSED


@ENGINES
def test_a_set_is_registered_in_order_with_the_probe_last(engine):
    found = policy_set(PoliciesConfig(), engine)

    left_out = ELSEWHERE | OF_DEVELOPERS | OF_LANES | OF_FREEZES
    left_out |= NATIVE_ONLY if engine is PolicyEngine.KYVERNO else set()
    assert names_of(found) == [object_name(name) for name in PolicyName if name not in left_out]
    assert list(found.probe) == probe_policy(engine, found.digest)


def names_of(found):
    return list(dict.fromkeys(manifest["metadata"]["name"] for manifest in found.manifests))


def test_kubernetes_enforces_what_would_stop_kyverno_with_each_engine():
    """A policy for every kind makes Kyverno refuse objects of kinds that it does not know yet."""
    found = policy_set(PoliciesConfig(engine=PolicyEngine.KYVERNO), PolicyEngine.NATIVE)

    assert names_of(found) == [object_name(name) for name in PolicyName if name in NATIVE_ONLY - OF_FREEZES]
    assert {each.name for each in policies(PoliciesConfig()) for rule in each.resources if rule.group == "*"} <= (
        NATIVE_ONLY
    )


@ENGINES
@pytest.mark.parametrize(("name", "fact"), [(PolicyName.FLUX_REQUESTS, "developers"), (PolicyName.LANE, "lanes")])
def test_a_policy_about_what_few_stacks_have_is_there_only_with_that_or_a_mode_of_its_own(engine, name, fact):
    def found(mode=None, **facts):
        return policy_set(PoliciesConfig.model_validate({"modes": {name.value: mode} if mode else {}}), engine, **facts)

    assert object_name(name) in names_of(found(**{fact: True}))
    assert object_name(name) in names_of(found("enforce"))
    assert found("off", **{fact: True}).digest == found().digest


@pytest.mark.parametrize(("freezes", "modes"), [(True, {}), (False, {"freeze": "enforce"})])
def test_kubernetes_alone_holds_tenants_and_only_with_a_freeze_or_a_mode_for_the_policy(freezes, modes):
    for engine in (PolicyEngine.NATIVE, PolicyEngine.BOTH, PolicyEngine.KYVERNO):
        config = PoliciesConfig.model_validate({"engine": engine, "modes": modes})
        found = policy_set(config, PolicyEngine.NATIVE, freezes=freezes)
        name = object_name(PolicyName.FREEZE)
        policy, binding = (each["spec"] for each in found.manifests if each["metadata"]["name"] == name)
        assert policy["paramKind"] == {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        assert binding["paramRef"] == {
            "name": "kustomize-controller-leader-election",
            "namespace": "flux-system",
            "parameterNotFoundAction": "Allow",
        }
        assert name not in names_of(policy_set(config, PolicyEngine.KYVERNO, freezes=freezes))


def test_the_clock_is_the_lease_of_the_platforms_kustomize_controller_in_a_stack_with_lanes_too():
    found = policy_set(PoliciesConfig(), PolicyEngine.NATIVE, freezes=True, lanes=True)
    [clock] = [each["spec"]["paramRef"]["name"] for each in found.manifests if "paramRef" in each["spec"]]

    assert clock == lease_of(Controller.KUSTOMIZE, "") != "kustomize-controller-leader-election"


@pytest.mark.golden
def test_messages_and_rendering_match_applied_clusters():
    assert_golden("policies.yaml", rendered())


@ENGINES
def test_a_policy_that_is_off_is_left_out_and_a_policy_can_have_its_own_mode(engine):
    config = PoliciesConfig(modes={PolicyName.HOST_ACCESS: PolicyMode.OFF, PolicyName.NO_KUBECONFIG: PolicyMode.AUDIT})

    found = policy_set(config, engine)

    names = {manifest["metadata"]["name"] for manifest in found.manifests}
    assert object_name(PolicyName.HOST_ACCESS) not in names
    actions = {
        manifest["metadata"]["name"]: manifest["spec"].get("validationActions")
        for manifest in found.manifests
        if "validationActions" in manifest["spec"]
    }
    assert actions.pop(object_name(PolicyName.NO_KUBECONFIG)) == ["Audit", "Warn"]
    assert set(map(tuple, actions.values())) == {("Deny",)}


@ENGINES
def test_the_digest_covers_everything_that_is_rendered(engine):
    digests = {
        policy_set(PoliciesConfig.model_validate(config), engine).digest
        for config in ({}, {"minimumInterval": "1m"}, {"mode": "audit"}, {"modes": {"host-access": "off"}})
    }

    assert len(digests) == 4
    assert policy_set(PoliciesConfig(), engine).digest in digests


@ENGINES
def test_the_probe_matches_only_its_own_request_and_names_the_set(engine):
    spec = probe_policy(engine, "0123")[0]["spec"]
    metadata = probe_request(engine)["metadata"]

    constraints = spec["matchConstraints"]
    assert constraints["objectSelector"]["matchLabels"].items() <= metadata["labels"].items()
    assert constraints["namespaceSelector"] == {"matchLabels": {"kubernetes.io/metadata.name": metadata["namespace"]}}
    assert spec["validations"] == [{"expression": "false", "message": probe_answer("0123")}]
    assert "0123" in probe_answer("0123")


def test_each_engine_has_a_probe_of_its_own():
    native, kyverno = (probe_request(engine)["metadata"] for engine in (PolicyEngine.NATIVE, PolicyEngine.KYVERNO))

    assert native["labels"] != kyverno["labels"]


def test_platform_objects_covers_every_kind_with_its_status():
    [rule] = by_name()[PolicyName.PLATFORM_OBJECTS].resources

    assert (rule.group, rule.names, rule.operations) == ("*", ("*/*",), ("CREATE", "UPDATE", "DELETE"))


def resources_of(name):
    return {(rule.group, resource) for rule in by_name()[name].resources for resource in rule.names}


@pytest.mark.parametrize(
    "name",
    [
        PolicyName.HOST_ACCESS,
        PolicyName.POD_IDENTITY,
        PolicyName.NODE_PLACEMENT,
        PolicyName.PRIORITY_CLASSES,
        PolicyName.VOLUME_CLAIMS,
        PolicyName.POD_VOLUMES,
        PolicyName.ALLOWED_IMAGES,
    ],
)
def test_all_kinds_that_make_pods_are_checked(name):
    assert resources_of(name) - {("", "persistentvolumeclaims")} == {
        ("", "pods"),
        ("", "pods/ephemeralcontainers"),
        ("", "replicationcontrollers"),
        ("apps", "daemonsets"),
        ("apps", "deployments"),
        ("apps", "replicasets"),
        ("apps", "statefulsets"),
        ("batch", "cronjobs"),
        ("batch", "jobs"),
    }


def test_all_flux_kinds_that_a_tenant_may_write_are_checked():
    written = {(group, name) for group, names in MANAGED if group.endswith(".fluxcd.io") for name in names}

    assert resources_of(PolicyName.NO_CROSS_NAMESPACE_REFERENCES) == written
    assert resources_of(PolicyName.RECONCILIATION_INTERVAL) == written
    statuses = {(group, "*/status") for group, _ in written}
    assert statuses | {("source.toolkit.fluxcd.io", "externalartifacts")} < resources_of(PolicyName.STATUS_WRITES)


def test_namespaces_are_the_only_cluster_scoped_objects_that_are_checked():
    assert [policy.name for policy in policies(PoliciesConfig()) if not policy.tenant_namespaces_only] == [
        PolicyName.TENANT_NAMESPACE
    ]


def test_no_message_contains_a_secrets_data():
    """Messages go to logs, events and status conditions."""
    for policy in policies(CONFIGS["listed"]):
        for each in policy.validations:
            assert not re.search(r"\b(data|stringData)\b", each.message), policy.name


def keys_of(model):
    """Keys of a section as its file writes them, with those of its sections."""
    for field in model.model_fields.values():
        yield field.alias
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
            yield from (f"{field.alias}.{key}" for key in keys_of(field.annotation))


# What no folder is about: components/policies/kyverno_only.py is.
OF_KYVERNO_ALONE = (
    "policies.images.signatures",
    "policies.images.registries",
    "policies.fluxImages",
    "policies.onboarding",
)


def test_every_setting_is_a_key_of_the_configuration():
    stack = {f"policies.{key}" for key in keys_of(PoliciesConfig)}
    tenant = {f"tenant: policies.{key}" for key in keys_of(TenantPolicies)}
    named = {key for policy in policies(PoliciesConfig()) for key in policy.settings}

    elsewhere = {"tenancy.kinds", "tenancy.extraRules", "tenancy.freeze"}
    elsewhere |= {"tenant: freeze", "tenant: grants", "tenant: lane"}
    assert named <= stack | tenant | elsewhere
    sections = ("sources", "images", "notifications", "ingress", "maximumSizes")
    # They change pods, or what a tenant's role is; a policy differs only where they are set.
    openings = ("podDefaults", "roles", "networkPolicies")
    general = {f"policies.{key}" for key in ("engine", "mode", "modes", *openings, *sections)}
    bounds = {"policies.tenantBounds", *(f"policies.tenantBounds.{key}" for key in keys_of(TenantBounds))}
    of_kyverno_alone = {key for key in stack if key.startswith(OF_KYVERNO_ALONE)}
    assert (stack | tenant) - named == general | bounds | of_kyverno_alone


def test_a_tenants_lists_are_annotations_of_its_namespaces():
    lists = {
        "sources": ["https://charts.example.com", "oci://registry.example.com/charts/*"],
        "images": ["registry.example.com/org/*"],
        "verified": ["HelmChart"],
        "notifications": ["hooks.slack.com", "*.example.com"],
    }
    tenant = {"namespaces": [{"name": "apps"}], "source": {"url": "https://git.example.com/org/app"}, "policies": lists}

    assert namespace_annotations(TenantConfig.model_validate(tenant), ()) == {
        "flux-tenancy/namespaces": "apps",
        **{f"flux-tenancy/{name}": " ".join(entries) for name, entries in lists.items()},
    }


def test_the_page_has_every_policy_of_the_table():
    page = policies_page()

    for policy in policies(PoliciesConfig()):
        assert f"| `{policy.name}` | {policy.refuses} |" in page


def test_the_page_links_to_the_docs_of_kyvernos_own_policies():
    section = policies_page().partition("## Of Kyverno alone")[2].partition("\n## ")[0]
    rows = {row.split("`")[1]: row for row in section.splitlines() if row.startswith("| [`")}

    assert set(rows) == ELSEWHERE
    for row in rows.values():
        page = row.partition("](")[2].partition(")")[0].partition("#")[0]
        assert (DOCS / page).is_file()
    named = {key for row in rows.values() for key in re.findall(r"`(policies\.[A-Za-z.]+)`", row)}
    assert all(key.startswith(OF_KYVERNO_ALONE) for key in named)
    assert all(any(key.startswith(prefix) for key in named) for prefix in OF_KYVERNO_ALONE)
