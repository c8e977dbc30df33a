"""The catalogue of attempts: what it covers, and the findings by inspection."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from sample_scene import deployment, placed, scene

from flux_tenancy.components.policies.config import PoliciesConfig, PolicyEngine, PolicyMode
from flux_tenancy.components.policies.policy import THREATS, PolicyName
from flux_tenancy.components.policies.rendering import POLICIES, object_name
from flux_tenancy.components.policies.table import policy_set
from flux_tenancy.components.vocabulary.manifests import selects
from flux_tenancy.components.vocabulary.names import LANE_LABEL, Controller
from flux_tenancy.isolation.attempts import NOT_ASKED, attempts, controls
from flux_tenancy.isolation.attempts.inspections import METADATA_ADDRESS, reaches_in, reaches_out
from flux_tenancy.isolation.model import AccessReview, Finding, Layer, Live, Request, State, Verdict
from flux_tenancy.isolation.suite import judged
from flux_tenancy.operations.admission.policies import PolicyInForce
from tests.support.policy_cases import CONFIGS, RELAXED

SCENE = scene()
ATTEMPTS = attempts(SCENE)
BY_ID = {attempt.id: attempt for attempt in ATTEMPTS}
K8S_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")


def test_every_threat_is_tried_or_says_why_not():
    assert {attempt.threat for attempt in ATTEMPTS} | set(NOT_ASKED) == set(THREATS)
    assert not {attempt.threat for attempt in ATTEMPTS} & set(NOT_ASKED)
    assert [attempt.id for attempt in ATTEMPTS if not attempt.layers] == []


def test_keys_are_unique_and_begin_with_the_threat():
    ids = [attempt.id for attempt in ATTEMPTS] + [control.id for control in controls(SCENE)]

    assert len(set(ids)) == len(ids)
    for attempt in ATTEMPTS:
        assert attempt.id.startswith(f"{attempt.threat}-")
        assert K8S_NAME.fullmatch(attempt.id)


def test_live_objects_refer_to_nothing_that_exists():
    live = [proof.object["spec"] for attempt in ATTEMPTS for proof in attempt.proofs if isinstance(proof, Live)]

    assert live
    for spec in live:
        references = [
            *(spec[key] for key in ("sourceRef", "chartRef", "imageRepositoryRef") if key in spec),
            *spec.get("sources", ()),
        ]
        assert references and all(each["name"] == "isolation-suite" for each in references)
        assert not spec.get("prune")


@pytest.mark.parametrize("attempt", [each for each in ATTEMPTS if each.id.startswith(("13-git", "14-p"))])
def test_an_attempt_and_its_baseline_differ_only_in_what_is_attempted(attempt):
    for proof in attempt.proofs:
        assert isinstance(proof, Request) and proof.baseline is not None
        changed = {key for key, value in proof.object["spec"].items() if value != proof.baseline["spec"].get(key)}
        assert len(changed) == 1


def test_a_tenant_with_cluster_admin_is_not_tried_with_a_larger_role():
    role = {"kind": "ClusterRole", "name": "cluster-admin"}
    subject = {"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}
    admin = scene(objects={**SCENE.objects, "RoleBinding": [placed("a", roleRef=role, subjects=[subject])]})

    assert "10-more-than-it-has" in BY_ID
    assert "10-more-than-it-has" not in {attempt.id for attempt in attempts(admin)}


@pytest.mark.parametrize(
    ("name", "role", "state"),
    [
        ("gotk-reconciler", "cluster-admin", State.OPEN),
        ("flux-tenancy-grants-dev-team", "flux-tenancy-grants-dev-team", State.HOLDS),
        ("capsule-namespace-provisioner", "capsule-namespace-provisioner", State.HOLDS),
        ("flux-tenancy-grants-dev-team", "cluster-admin", State.OPEN),
    ],
)
def test_a_binding_elsewhere_is_a_hole_unless_grants_or_capsule_make_it(name, role, state):
    subject = {"kind": "ServiceAccount", "name": "dev-team", "namespace": "apps"}
    binding = {"metadata": {"name": name}, "roleRef": {"kind": "ClusterRole", "name": role}, "subjects": [subject]}

    [found] = one("10-beside", bindings=[binding])

    assert found.state is state
    assert (f"{name} ({role})" in found.message) is (state is State.OPEN)
    assert [each.state for each in one("10-beside")] == [State.HOLDS]


def in_force(engine: PolicyEngine, mode: PolicyMode = PolicyMode.ENFORCE, **changes: Any) -> PolicyInForce:
    """A policy as the stack renders it for an engine, with changes of its spec, and conditions beside its own."""
    rendered = policy_set(PoliciesConfig(), engine).manifests
    kinds = ("ValidatingAdmissionPolicy", "ValidatingPolicy")
    [spec] = [
        each["spec"]
        for each in rendered
        if each["kind"] in kinds and each["metadata"]["name"] == object_name(PolicyName.HOST_ACCESS)
    ]
    further = [*spec["matchConditions"], *changes.pop("matchConditions", ())]
    return PolicyInForce(PolicyName.HOST_ACCESS, engine, mode, spec | {"matchConditions": further} | changes)


def alone(*policies: PolicyInForce, audited: Sequence[PolicyName] = ()) -> dict[str, Verdict]:
    """The verdicts about the policy in each engine alone."""
    made = [each for each in attempts(scene(policies=policies, audited=audited)) if each.id.endswith("-host-access")]
    found = {
        each.id: judged(each, [proof for proof in each.proofs if isinstance(proof, Finding)]).verdict for each in made
    }
    assert all(key.startswith("23-") for key in found)
    return {key.removeprefix("23-").removesuffix("-host-access"): verdict for key, verdict in found.items()}


@pytest.mark.parametrize(
    ("mode", "audited", "verdict"),
    [
        (PolicyMode.ENFORCE, (), Verdict.REFUSED),
        (PolicyMode.AUDIT, (), Verdict.PASSED),
        (PolicyMode.AUDIT, (PolicyName.HOST_ACCESS,), Verdict.NOT_APPLICABLE),
    ],
)
def test_a_policy_in_audit_in_one_engine_is_a_hole_unless_the_stack_says_so(mode, audited, verdict):
    found = alone(in_force(PolicyEngine.NATIVE), in_force(PolicyEngine.KYVERNO, mode), audited=audited)

    assert found == {"native": Verdict.REFUSED, "kyverno": verdict}


def test_a_policy_that_one_engine_lacks_is_a_hole():
    other = PolicyInForce(PolicyName.ALLOWED_FIELDS, PolicyEngine.KYVERNO, PolicyMode.ENFORCE)

    assert alone(in_force(PolicyEngine.NATIVE), other) == {"native": Verdict.REFUSED, "kyverno": Verdict.PASSED}
    assert alone(in_force(PolicyEngine.NATIVE)) == {"native": Verdict.REFUSED}


def test_a_policy_that_only_one_engine_offers_is_no_hole_in_the_other():
    native_only = PolicyInForce(PolicyName.ALLOWED_KINDS, PolicyEngine.NATIVE, PolicyMode.ENFORCE, {"a": "b"})
    kyverno_only = PolicyInForce(PolicyName.ONBOARDING, PolicyEngine.KYVERNO, PolicyMode.ENFORCE)
    both = [in_force(PolicyEngine.NATIVE), in_force(PolicyEngine.KYVERNO)]

    made = [
        {each.id for each in attempts(scene(policies=of))} for of in ([native_only, both[1]], [*both, kyverno_only])
    ]

    assert {"23-native-allowed-kinds", "23-kyverno-host-access"} <= made[0]
    assert not made[0] & {"23-kyverno-allowed-kinds", "23-native-host-access"}
    assert "23-kyverno-onboarding" in made[1] and "23-native-onboarding" not in made[1]


@pytest.mark.parametrize(
    "changes",
    [
        {"validations": [{"expression": "true"}]},
        {"validations": []},
        {"matchConstraints": {"resourceRules": []}},
        {"matchConditions": [{"name": "never", "expression": "false"}]},
        {"failurePolicy": "Ignore"},
        {"matchResources": {"namespaceSelector": {"matchLabels": {"a": "b"}}}},
    ],
)
def test_a_policy_that_was_emptied_in_one_engine_is_a_hole_in_that_one(changes):
    found = alone(in_force(PolicyEngine.NATIVE, **changes), in_force(PolicyEngine.KYVERNO))

    assert found == {"native": Verdict.PASSED, "kyverno": Verdict.REFUSED}


@pytest.mark.parametrize("config", CONFIGS)
def test_a_policy_is_as_strict_in_both_engines_as_the_program_renders_it(config):
    rendered = [
        PolicyInForce(POLICIES[each["metadata"]["name"]], engine, PolicyMode.ENFORCE, each["spec"])
        for engine in (PolicyEngine.NATIVE, PolicyEngine.KYVERNO)
        for each in policy_set(CONFIGS[config], engine, relaxed=RELAXED.get(config, ())).manifests
        if each["kind"] in ("ValidatingAdmissionPolicy", "ValidatingPolicy")
    ]
    made = [each for each in attempts(scene(policies=rendered)) if each.id.startswith(("23-native-", "23-kyverno-"))]

    assert len(made) == len(rendered) > 60
    found = [proof for each in made for proof in each.proofs if isinstance(proof, Finding)]
    assert len(found) == len(made) and [each for each in found if each.state is not State.HOLDS] == []


def test_an_exception_for_all_objects_is_open_by_choice():
    annotated = {
        "metadata": {**SCENE.namespace["metadata"], "annotations": {"flux-tenancy/exceptions": "node-placement"}}
    }
    by_choice = {each.id: each.by_choice for each in attempts(scene(namespace=annotated))}

    assert by_choice["41-tolerations"] and not by_choice["41-drain-none"] and not by_choice["41-inline-driver"]


def one(key: str, **fields: Any) -> list[Finding]:
    """The finding by inspection of one attempt."""
    [attempt] = [each for each in attempts(scene(**fields)) if each.id == key]
    return [proof for proof in attempt.proofs if isinstance(proof, Finding)]


def controllers(*flags: str, **environment: str) -> dict[str, Any]:
    return {"controllers": {each: [deployment(each, *flags, **environment)] for each in Controller}}


PROXIED = {"HTTP_PROXY": "http://x", "HTTPS_PROXY": "http://x"}


@pytest.mark.parametrize(
    ("key", "flags", "state"),
    [
        ("4-remote-base", ("--no-remote-bases=true",), State.HOLDS),
        ("4-remote-base", ("--no-remote-bases",), State.HOLDS),
        ("4-remote-base", ("--no-remote-bases=true", "--no-remote-bases=false"), State.OPEN),
        ("4-remote-base", (), State.OPEN),
        ("2-alert", ("--no-cross-namespace-refs=true",), State.HOLDS),
        ("17-decryption", ("--default-decryption-service-account=default",), State.HOLDS),
        ("17-decryption-fallback", ("--sops-age-secret=all",), State.OPEN),
        ("31-fix-waits", ("--feature-gates=A=false,CancelHealthCheckOnNewRevision=true",), State.HOLDS),
        ("31-fix-waits", ("--feature-gates=A=true",), State.OPEN),
        ("45-source-controller-ports", ("--metrics-addr=[$(POD_IP)]:8080",), State.HOLDS),
        ("45-source-controller-ports", ("--metrics-addr=:8080",), State.OPEN),
        ("45-kustomize-controller-ports", ("--metrics-addr=127.0.0.1:8080",), State.OPEN),
        ("45-kustomize-controller-ports", (), State.OPEN),
        ("47-kustomization-workers", ("--concurrent=200",), State.OPEN),
        ("47-helmrelease-workers", ("--concurrent=200",), State.OPEN),
    ],
)
def test_flags_are_inspected(key, flags, state):
    assert [finding.state for finding in one(key, **controllers(*flags))] == [state]


@pytest.mark.parametrize(
    ("version", "flags", "state"),
    [
        ("v2.9.6", (), State.NOT_APPLICABLE),
        ("v2.10.1", (), State.OPEN),
        ("v2.10.1", ("--default-service-account=default",), State.HOLDS),
    ],
)
def test_artifacts_are_written_with_a_default_account_in_releases_that_know_one(version, flags, state):
    watcher = deployment(Controller.SOURCE_WATCHER, *flags)
    watcher["metadata"]["labels"] = {"app.kubernetes.io/version": version}

    [found] = one("5-artifactgenerator-nameless", controllers={Controller.SOURCE_WATCHER: [watcher]})

    assert (found.layer, found.state) == (Layer.FLUX, state)


def test_the_closed_proxy_stops_logins_at_other_vaults_and_nothing_that_is_chosen_at_a_listed_one():
    for account in ("new", "own"):
        assert [found.state for found in one(f"17-login-{account}", **controllers(**PROXIED))] == [State.HOLDS]
        assert [found.state for found in one(f"17-login-{account}", **controllers())] == [State.OPEN]
        for key in ("role", "audience", "unknown"):
            assert BY_ID[f"17-{key}-{account}"].layers == (Layer.ADMISSION,)


@pytest.mark.parametrize(
    ("key", "counted"),
    [
        ("47-kustomization-workers", "count/kustomizations.kustomize.toolkit.fluxcd.io"),
        ("47-helmrelease-workers", "count/helmreleases.helm.toolkit.fluxcd.io"),
        ("47-gitrepository-workers", "count/gitrepositories.source.toolkit.fluxcd.io"),
    ],
)
def test_workers_can_be_exhausted_unless_the_quota_is_smaller(key, counted):
    def state(most, workers):
        objects = {**SCENE.objects, "ResourceQuota": [placed("q", spec={"hard": {counted: most}})]}
        return one(key, objects=objects, **controllers(f"--concurrent={workers}"))[0].state

    assert (state("100", 101), state("1k", 1001)) == (State.HOLDS, State.HOLDS)
    assert (state("100", 100), state("1k", 1000)) == (State.OPEN, State.OPEN)


@pytest.mark.parametrize(
    ("lane", "alone", "state"),
    [("batch", True, State.HOLDS), ("batch", False, State.OPEN), ("", True, State.OPEN), ("other", False, State.HOLDS)],
)
def test_a_tenant_can_exhaust_the_workers_of_its_lane_alone(lane, alone, state):
    """Of one that it does not share, nobody else has any."""
    quota = placed("q", spec={"hard": {"count/kustomizations.kustomize.toolkit.fluxcd.io": "100"}})
    few = deployment(Controller.KUSTOMIZE, "--concurrent=2")
    few["metadata"]["labels"] = {LANE_LABEL: lane} if lane else {}
    namespace = {"metadata": SCENE.namespace["metadata"] | {"annotations": {"flux-tenancy/lane": "batch"}}}
    found = one(
        "47-kustomization-workers",
        objects={**SCENE.objects, "ResourceQuota": [quota]},
        namespace=namespace,
        controllers={Controller.KUSTOMIZE: [few]},
        alone=alone,
    )

    assert found[0].state is state


@pytest.mark.parametrize(
    ("key", "environment", "state"),
    [
        ("29-git", {"GIT_ALLOW_PROTOCOL": "none"}, State.HOLDS),
        ("29-git", {"GIT_ALLOW_PROTOCOL": "https:none"}, State.OPEN),
        ("29-git", {"GIT_ALLOW_PROTOCOL": ""}, State.OPEN),
        ("30-remote-files", PROXIED, State.HOLDS),
        ("30-remote-files", PROXIED | {"NO_PROXY": "*"}, State.OPEN),
        ("30-remote-files", {"HTTPS_PROXY": "http://x"}, State.OPEN),
        ("30-schema", PROXIED | {"NO_PROXY": "$(SECRET):80,a"}, State.HOLDS),
        ("30-schema", {"HTTP_PROXY": "x", "NO_PROXY": "$(SECRET):80,a"}, State.OPEN),
        ("30-schema", PROXIED | {"NO_PROXY": "source-controller.flux-system"}, State.OPEN),
        ("45-artifacts", {"HTTP_PROXY": "x"}, State.HOLDS),
        ("45-artifacts", {"HTTP_PROXY": "x", "NO_PROXY": "source-controller.flux-system.svc"}, State.OPEN),
        ("45-artifacts", {"HTTPS_PROXY": "x"}, State.OPEN),
        ("30-artifacts", PROXIED | {"NO_PROXY": "a1b2.flux-system.svc"}, State.HOLDS),
        ("30-artifacts", PROXIED | {"NO_PROXY": "a,.svc.cluster.local"}, State.OPEN),
        ("30-artifacts", PROXIED | {"NO_PROXY": "$(HOST)", "HOST": "source-controller.flux-system.svc"}, State.OPEN),
        ("30-artifacts", PROXIED | {"NO_PROXY": "$(SECRET),a"}, State.HOLDS),
        ("30-artifacts", PROXIED | {"NO_PROXY": "$(SECRET):80,a"}, State.HOLDS),
        ("30-artifacts", PROXIED | {"NO_PROXY": "source-controller.flux-system.svc"}, State.OPEN),
        ("30-artifacts", PROXIED | {"NO_PROXY": "source-controller.flux-system.svc:80"}, State.OPEN),
    ],
)
def test_the_environment_is_inspected(key, environment, state):
    assert one(key, **controllers(**environment))[0].state is state


def test_one_lane_without_the_flag_is_a_hole():
    lanes = {
        Controller.KUSTOMIZE: [deployment(Controller.KUSTOMIZE, "--no-remote-bases"), deployment(Controller.KUSTOMIZE)]
    }

    [found] = one("4-remote-base", controllers=lanes)

    assert (found.state, found.message) == (State.OPEN, "kustomize-controller: --no-remote-bases is not set")


def limit_range(namespace: str = "apps", **bounds: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "limits", "namespace": namespace},
        "spec": {"limits": [{"type": "Container", **bounds}]},
    }


DISK = {"ephemeral-storage": "4Gi"}
DISK_QUOTA = {"ResourceQuota": [placed("quota", spec={"hard": {"limits.ephemeral-storage": "100Gi"}})]}


@pytest.mark.parametrize(
    ("objects", "memory", "disk"),
    [
        ({}, State.OPEN, State.OPEN),
        ({"LimitRange": [limit_range(default=DISK)]}, State.OPEN, State.HOLDS),
        ({"LimitRange": [limit_range(max=DISK | {"memory": "1Gi"})]}, State.HOLDS, State.HOLDS),
        ({"LimitRange": [limit_range(defaultRequest=DISK)]}, State.OPEN, State.OPEN),
        ({"LimitRange": [limit_range("tools", default=DISK)]}, State.OPEN, State.OPEN),
        (DISK_QUOTA, State.OPEN, State.HOLDS),
    ],
)
def test_limits_of_containers_are_inspected_by_resource(objects, memory, disk):
    found = {key: one(key, objects=objects)[0].state for key in ("38-memory", "62-pods")}

    assert found == {"38-memory": memory, "62-pods": disk}


@pytest.mark.parametrize(("limits", "state"), [({}, State.OPEN), ({"memory": "1Gi"}, State.OPEN), (DISK, State.HOLDS)])
def test_limits_of_a_controllers_disk_are_inspected(limits, state):
    controller = deployment(Controller.SOURCE)
    controller["spec"]["template"]["spec"]["containers"][0]["resources"] = {"limits": limits}

    assert one("62-source-controller", controllers={Controller.SOURCE: [controller]})[0].state is state


@pytest.mark.parametrize(("annotations", "lane"), [({}, "tenants"), ({"flux-tenancy/lane": "batch"}, "batch")])
def test_the_account_of_a_controller_is_that_of_the_tenants_lane(annotations, lane):
    found = [deployment(Controller.KUSTOMIZE)]
    for name in ("batch", "tenants"):
        of_lane = deployment(Controller.KUSTOMIZE)
        of_lane["metadata"]["labels"] = {"sharding.fluxcd.io/key": name}
        of_lane["spec"]["template"]["spec"]["serviceAccountName"] = f"impersonator-{name}"
        found.append(of_lane)
    metadata = scene().namespace["metadata"] | {"annotations": annotations}

    laned = scene(controllers={Controller.KUSTOMIZE: found}, namespace={"metadata": metadata})

    assert laned.controller_user(Controller.KUSTOMIZE) == f"system:serviceaccount:flux-system:impersonator-{lane}"


def test_the_artifacts_of_each_lane_are_looked_at():
    found = [deployment(Controller.SOURCE), deployment(Controller.SOURCE)]
    for each, name in zip(found, ("source-controller", "source-controller-batch"), strict=True):
        each["spec"]["template"]["metadata"] = {"labels": {"app": name}}
    pods = {"matchLabels": {"app": "source-controller"}}
    policy = {"metadata": {"name": "closed"}, "spec": {"podSelector": pods, "policyTypes": ["Ingress"]}}

    [reached, _] = one("21-artifacts", controllers={Controller.SOURCE: found}, flux_policies=[policy])

    assert (reached.state, reached.message) == (State.OPEN, "no NetworkPolicy selects it")


def test_missing_controllers_are_unproven():
    assert one("4-remote-base", controllers={})[0].state is State.UNPROVEN
    [powers] = one("29-kustomize-controller-list-secrets", controllers={})
    assert powers.state is State.UNPROVEN


def test_a_controllers_rights_are_reviewed_as_its_own_user():
    [proof] = BY_ID["29-helm-controller-create-clusterrolebindings"].proofs

    assert isinstance(proof, AccessReview)
    assert (proof.user, proof.layer) == ("system:serviceaccount:flux-system:helm-controller", Layer.CONTROLLERS)


def egress(*rules: dict[str, Any], **pods: str) -> dict[str, Any]:
    """A policy that selects pods, by default all, and lets nothing out but what its rules say."""
    selector = {"matchLabels": pods} if pods else {}
    return {
        "metadata": {"name": "out"},
        "spec": {"podSelector": selector, "policyTypes": ["Egress"], "egress": list(rules)},
    }


def to(cidr: str, *excepted: str) -> dict[str, Any]:
    return egress({"to": [{"ipBlock": {"cidr": cidr, "except": list(excepted)}}]})


@pytest.mark.parametrize(
    ("policies", "open"),
    [
        ([], True),
        ([egress()], False),
        ([egress(), egress({})], True),
        ([to("0.0.0.0/0")], True),
        ([to("0.0.0.0/0", "169.254.0.0/16")], False),
        ([to("10.0.0.0/8")], False),
        ([egress(a="b")], True),
    ],
)
def test_egress_policies_are_inspected(policies, open):
    assert (reaches_out(policies, METADATA_ADDRESS) is not None) is open


def entry(*rules: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": "in"}, "spec": {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": list(rules)}}


@pytest.mark.parametrize(
    ("policies", "open"),
    [
        ([], True),
        ([entry()], False),
        ([entry({"from": [{"podSelector": {}}]})], False),
        ([entry({"from": [{"namespaceSelector": {}}], "ports": [{"port": 8080}]})], False),
        ([entry({"from": [{"namespaceSelector": {}}], "ports": [{"port": "http"}]})], True),
        ([entry({"from": [{"namespaceSelector": {"matchLabels": {"team": "a"}}}]})], True),
        ([entry({"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}]})], False),
        ([entry({"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]})], True),
    ],
)
def test_ingress_policies_are_inspected(policies, open):
    found = reaches_in(policies, {"app": "source-controller"}, (9090, "http"), {"team": "a"})

    assert (found is not None) is open


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ({"key": "a", "operator": "In", "values": ["1"]}, True),
        ({"key": "a", "operator": "NotIn", "values": ["1"]}, False),
        ({"key": "b", "operator": "NotIn", "values": ["1"]}, True),
        ({"key": "a", "operator": "Exists"}, True),
        ({"key": "a", "operator": "DoesNotExist"}, False),
    ],
)
def test_label_selectors_match_as_in_kubernetes(expression, found):
    assert selects({"matchExpressions": [expression]}, {"a": "1"}) is found
    assert not selects(None, {"a": "1"})


@pytest.mark.parametrize(
    ("opened", "by_choice"),
    [
        (None, {"35-chart-dependencies", "36-provider-address", "36-receiver-issuer"}),
        ((), set()),
        (("Provider",), {"36-provider-address"}),
        (("HelmChart", "Receiver"), {"35-chart-dependencies", "36-receiver-issuer"}),
    ],
)
def test_a_kind_is_open_by_choice_only_if_the_stack_opens_it(opened, by_choice):
    """Without a stack, nobody says what is intended."""
    kinds = {"35-chart-dependencies", "36-provider-address", "36-receiver-issuer"}

    assert {each.id for each in attempts(scene(opened=opened)) if each.id in kinds and each.by_choice} == by_choice


FAST, MANUAL = placed("fast"), placed("manual", provisioner="kubernetes.io/no-provisioner")


@pytest.mark.parametrize(
    ("classes", "allowed", "used"),
    [
        ((), None, "isolation-suite"),
        ((MANUAL,), None, "isolation-suite"),
        ((MANUAL, FAST), None, "fast"),
        ((FAST,), ("slow",), "slow"),
        ((FAST,), ("slow", "fast"), "fast"),
    ],
)
def test_claims_are_compared_with_one_for_a_new_volume_whatever_classes_the_cluster_has(classes, allowed, used):
    """A claim without a class binds an existing volume, and is refused where no class is the default."""
    there = scene(storage_classes=classes, allowed_classes=allowed)
    requests = [proof for each in attempts(there) for proof in each.proofs if isinstance(proof, Request)]
    compared = [each.baseline for each in requests if each.baseline and each.object["kind"] == "PersistentVolumeClaim"]

    assert len(compared) == 5
    assert {each["spec"]["storageClassName"] for each in compared} == {used}
    assert "tenant-persistentvolumeclaim" in {each.id for each in controls(there)}


def test_a_type_of_services_that_the_tenant_is_granted_is_open_by_choice():
    metadata = {"name": "apps", "annotations": {"flux-tenancy/service-types": "LoadBalancer"}}
    services = [
        each for each in attempts(scene(namespace={"metadata": metadata})) if each.name.startswith("a Service ")
    ]

    assert [each.id for each in services if each.by_choice] == ["20-load-balancer"]


def test_webhooks_that_fail_open_are_holes():
    rules = [{"apiGroups": ["*"]}]
    closed: dict[str, Any] = {"name": "a", "failurePolicy": "Fail", "rules": rules}

    def found(*webhooks: dict[str, Any], **fields: Any) -> Finding:
        return one("23-webhook-down", webhooks=[{"webhooks": list(webhooks)}], **fields)[0]

    assert found(closed).state is State.HOLDS
    assert found(closed, closed | {"name": "b", "failurePolicy": "Ignore"}).message == ("b fails open")
    assert found(closed | {"namespaceSelector": {"matchLabels": {"a": "b"}}}).state is State.NOT_APPLICABLE
    assert found(admission_policies=["a"]).state is State.HOLDS


def test_a_proxys_password_is_not_shown():
    environment = {"HTTP_PROXY": "http://me:pa55word@proxy:3128", "HTTPS_PROXY": "x"}

    assert one("30-artifacts", **controllers(**environment))[0].message == (
        "kustomize-controller: HTTP_PROXY=http://***@proxy:3128, HTTPS_PROXY=x, NO_PROXY is not set"
    )


@pytest.mark.parametrize(
    ("objects", "state"),
    [
        ({"Kustomization": {"status": {"conditions": [{"message": "http://artifacts-7.flux-system"}]}}}, State.OPEN),
        ({"HelmRelease": {"status": {"conditions": [{"message": "http://artifacts-7.flux-system"}]}}}, State.OPEN),
        ({"Event": {"message": "http://artifacts-7.flux-system"}}, State.OPEN),
        ({"Event": {"message": "http://artifacts-8.flux-system"}}, State.HOLDS),
        ({"Kustomization": {}}, State.HOLDS),
    ],
)
def test_a_name_of_an_artifact_server_that_the_tenant_can_read_is_a_hole(objects, state):
    source = {"sourceRef": {"kind": "GitRepository", "name": "dev-team"}}
    read = {kind: [placed("dev-team", spec=source, **each)] for kind, each in objects.items()}

    [found] = one("30-artifact-names", objects=read, artifact_names=["artifacts-7"])

    assert found.state is state
    assert one("30-artifact-names", objects=read)[0].state is State.NOT_APPLICABLE
