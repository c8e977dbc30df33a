"""Rows of `risks.yaml` that the cases of `cases/` do not reach, and that the same is said once."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from string import Formatter

import pytest
import yaml
from sample_cases import Project, read_cases
from sample_objects import kubernetes, render_of

from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE
from flux_tenancy.components.installs.product import RELEASE_TYPE
from flux_tenancy.components.vocabulary.manifests import RBAC_API
from flux_tenancy.review.changes.comparisons import is_multiplied, is_zero, quantity
from flux_tenancy.review.changes.objects import changes
from flux_tenancy.review.changes.risks import (
    configuration_documents,
    immutable,
    immutable_fields,
    matters_of_key,
    matters_of_kind,
    replacement_risks,
    risk_statements,
    risks,
)
from tests.support.goldens import GOLDEN


def said(before, after):
    return [each.text for each in risk_statements(before, after)]


def quota(name, **hard):
    return kubernetes("ResourceQuota", name, "apps", spec={"hard": hard})


def controller(*arguments):
    containers = [{"name": "manager", "args": [*arguments]}]
    return kubernetes("Deployment", "a", "apps", spec={"template": {"spec": {"containers": containers}}})


@pytest.mark.parametrize(
    ("before", "after"), [("4", "16"), ("1", "4k"), ("500m", "2"), ("1Gi", "4096Mi"), ("1", "1e3")]
)
def test_a_quota_that_is_multiplied_is_a_risk(before, after):
    assert said([quota("a", cpu=before)], [quota("a", cpu=after)]) == [f"may have {after} of cpu (before: {before})"]


@pytest.mark.parametrize(
    ("before", "after"),
    [("4", "15"), ("16", "4"), ("1Gi", "2048Mi"), ("1", "1e0"), ("1e3", "2k"), ("1", "1000000u"), ("1", "2e0")],
)
def test_a_quota_that_is_adjusted_is_none(before, after):
    assert said([quota("a", cpu=before)], [quota("a", cpu=after)]) == []


NAMESPACE = kubernetes("Namespace", "apps")


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (
            [quota(name, cpu="1", pods="1") for name in "ab"],
            [quota(name, cpu="9", pods="9") for name in "ab"],
            ["may have 9 of cpu and pods (before: 1)"],
        ),
        (
            [quota("a", **{"count/secrets": "1000", "count/services": "200"})],
            [quota("a", **{"count/services": "200"}), quota("b", secrets="10")],
            [],
        ),
        ([quota("a", pods="1"), quota("b", pods="100")], [quota("a", pods="1"), quota("b", pods="10k")], []),
        (
            [quota("a", pods="1"), quota("b", pods="100")],
            [quota("b", pods="100")],
            ["may have 100 of pods (before: 1)"],
        ),
        (
            [NAMESPACE, quota("a", cpu="1", pods="1")],
            [NAMESPACE],
            ["loses the limit of cpu and pods in the quotas of namespace apps"],
        ),
        ([NAMESPACE, quota("a", cpu="1")], [], []),
        ([], [quota("a", cpu="1000")], []),
    ],
    ids=[
        "the same of several keys and objects is one sentence",
        "a limit moves to another quota",
        "the higher of two limits changes",
        "the lower of two limits goes",
        "the quotas of a namespace go",
        "they go with their namespace",
        "a quota comes",
    ],
)
def test_the_lowest_limits_of_the_quotas_of_a_namespace_count(before, after, found):
    assert said(before, after) == found


FREEZE, SHORTER, EARLIER = (
    f"{times} a sale"
    for times in (
        "2026-12-24T17:00:00Z 2026-12-27T06:00:00Z",
        "2026-12-24T17:00:00Z 2026-12-26T06:00:00Z",
        "2026-12-23T17:00:00Z 2026-12-27T06:00:00Z",
    )
)
DURING, SHORTLY = "2026-12-24T17:00:00Z to 2026-12-27T06:00:00Z", "2026-12-24T17:00:00Z to 2026-12-26T06:00:00Z"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        (FREEZE, FREEZE, []),
        (FREEZE, None, [(f"is no longer frozen for a sale, {DURING}, in Namespace apps", True)]),
        (
            FREEZE,
            SHORTER,
            [(f"is frozen for a sale for a shorter time in Namespace apps: {SHORTLY} (before: {DURING})", True)],
        ),
        (FREEZE, EARLIER, []),
        (
            None,
            FREEZE,
            [(f"is frozen for a sale, {DURING}, in Namespace apps: people and Flux change nothing then", False)],
        ),
    ],
)
def test_a_freeze_that_ends_earlier_is_a_risk(before, after, found):
    namespaces = [
        kubernetes("Namespace", "apps", metadata={"annotations": {"flux-tenancy/freezes": each} if each else {}})
        for each in (before, after)
    ]

    assert [(each.text, each.risk) for each in risk_statements([namespaces[0]], [namespaces[1]])] == found


@pytest.mark.parametrize(
    ("before", "after", "is_risk"),
    [("4", "400", True), ("4", "16", True), ("4", "5", False), ("400", "300", False), ("4", "many", True)],
)
def test_many_workers_are_a_risk(before, after, is_risk):
    found = said([controller(f"--concurrent={before}")], [controller(f"--concurrent={after}")])

    assert found == ([f"runs {after} workers (--concurrent) in Deployment apps/a"] if is_risk else [])


def pods(*containers):
    found = [{"name": name, "image": image} for name, image in containers]
    return [kubernetes("Deployment", "a", "apps", spec={"template": {"spec": {"containers": found}}})]


def test_another_image_and_a_new_container_are_named():
    before, after = pods(("manager", "a:1"), ("b", "b")), pods(("manager", "a:2"), ("b", "b"), ("c", "c:1"))

    assert said(before, after) == [
        "runs c:1 in container c of Deployment apps/a (before: none)",
        "runs a:2 in container manager of Deployment apps/a (before: a:1)",
    ]


def capsule_tenant(quota=None, namespaces=5, **spec):
    rules = [{"quota": [{"name": "shared", "hard": quota}]}] if quota else [{}]
    return kubernetes("Tenant", "a", spec={"namespaceOptions": {"quota": namespaces}, "rules": rules} | spec)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ({}, {"namespaces": 20}, "may have 20 of namespaces with Capsule (before: 5)"),
        ({"quota": {"pods": "1"}}, {"quota": {"pods": "9"}}, "may have 9 of pods with Capsule (before: 1)"),
        ({"quota": {"pods": "1"}}, {"quota": {"pods": "0"}}, "may no longer have any pods with Capsule (before: 1)"),
        ({"quota": {"pods": "1"}}, {}, "loses the limit of pods with Capsule"),
        (
            {"nodeSelector": {"pool": "a"}},
            {},
            'may use other nodes with Capsule: none (before: {"pool": "a"})',
        ),
        ({}, {"nodeSelector": {"pool": "a"}}, None),
        (
            {"runtimeClasses": {"allowed": ["a"]}},
            {"runtimeClasses": {"allowed": ["a", "b"]}},
            'may use other runtimeClasses with Capsule: ["a", "b"] (before: ["a"])',
        ),
        ({"runtimeClasses": {"allowed": ["a", "b"]}}, {"runtimeClasses": {"allowed": ["a"]}}, None),
        (
            {"ingressOptions": {"allowedClasses": {"allowed": ["a"]}}},
            {},
            'may use other ingressClasses with Capsule: none (before: ["a"])',
        ),
    ],
)
def test_limits_of_capsule_are_limits(before, after, sentence):
    assert said([capsule_tenant(**before)], [capsule_tenant(**after)]) == ([sentence] if sentence else [])


def test_another_administrator_of_capsule_is_a_risk():
    before, after = (
        kubernetes("Release", "capsule", properties={"values": {"manager": {"options": {"administrators": each}}}})
        for each in ([], [{"kind": "User", "name": "eve"}])
    )

    assert said([before], [after]) == ["lets user eve add namespaces to any tenant of Capsule, and remove them"]
    assert said([after], [before]) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [({"matchOIDCIdentity": "a"}, {"secretRef": "b"}), ({"secretRef": "b"}, {"matchOIDCIdentity": "a"})],
)
def test_another_kind_of_signer_is_another_signer(before, after):
    [text] = said(*([kubernetes("OCIRepository", "a", "apps", spec={"verify": each})] for each in (before, after)))

    assert text.startswith("accepts another signer of OCIRepository apps/a: ")


@pytest.mark.parametrize(
    ("before", "after", "is_risk"), [("TagAndHEAD", "Tag", True), ("HEAD", "Tag", True), ("Tag", "TagAndHEAD", False)]
)
def test_a_signature_of_less_is_a_risk(before, after, is_risk):
    sources = ([kubernetes("GitRepository", "a", "apps", spec={"verify": {"mode": each}})] for each in (before, after))
    sentence = f"verifies the signature of {after} in GitRepository apps/a (before: {before})"

    assert said(*sources) == ([sentence] if is_risk else [])


def test_long_values_are_shown_where_they_differ():
    before, after = (
        [kubernetes("OCIRepository", "a", "apps", spec={"url": f"oci://{'a' * 200}/{each}"})]
        for each in ("good", "evil")
    )
    [text] = said(before, after)

    assert f"{'a' * 59}/evil (before: …{'a' * 59}/good)" in text
    assert len(text) < 250


def test_an_alert_that_goes_is_a_risk_while_something_is_synced():
    namespace, sync = kubernetes("Namespace", "apps"), kubernetes("Kustomization", "a", "apps", spec={})
    alert = kubernetes("Alert", "a", "apps", spec={"eventSources": [{"kind": "Bucket"}]})
    newer = replace(alert, type="kubernetes:example.com/v2:Alert")

    assert said([namespace, sync, alert], [namespace, sync]) == ["no longer reports events of Bucket with Alert apps/a"]
    assert said([namespace, sync, alert], [namespace]) == []
    assert said([namespace, sync, alert], [sync]) == []
    assert said([namespace, sync, alert], [namespace, sync, newer]) == []


def test_labels_that_other_controllers_read_are_a_risk_of_a_new_namespace():
    labels = {"istio-injection": "enabled", "team": "a"}

    assert said([], [kubernetes("Namespace", "a", metadata={"labels": labels})]) == [
        "has istio-injection: enabled in the labels of Namespace a (before: none), which other controllers may read"
    ]


def found(before, after):
    return [(each.owner, each.text) for each in risk_statements(before, after) if each.risk]


SOURCE = {"kind": "GitRepository", "name": "dev-team"}


def sync(prune=True, **spec):
    return kubernetes(
        "Kustomization",
        "dev-team",
        "apps",
        spec={"prune": prune, "path": "./a", "interval": "1m", "sourceRef": SOURCE} | spec,
    )


def source(**spec):
    return kubernetes("GitRepository", "dev-team", "apps", spec={"url": "ssh://a", "interval": "1m"} | spec)


def test_a_namespace_without_its_bounds_is_a_danger_unless_it_goes_too():
    before = [NAMESPACE, kubernetes("LimitRange", "a", "apps")]

    assert found(before, [NAMESPACE]) == [("dev-team", "loses LimitRange apps/a, which limits its Pods")]
    assert found(before, []) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"path": "./b"}, ["path (./b)"]),
        ({"path": "./b", "targetNamespace": "x"}, ["path (./b)", "targetNamespace (x)"]),
    ],
)
def test_a_pruning_sync_of_another_path_deletes(changed, said):
    assert found([sync()], [sync(**changed)]) == [
        ("dev-team", f"syncs from another {each}: Flux deletes the applied objects that are missing there")
        for each in said
    ]


def test_another_source_of_a_pruning_sync_deletes():
    [(_, text)] = found([sync(), source()], [sync(), source(url="ssh://b")])

    assert text.startswith("syncs from another url")


def test_a_source_counts_by_the_reference_of_a_sync_and_not_by_its_name():
    of_another = sync(sourceRef={"kind": "OCIRepository", "name": "images", "namespace": "shared"})
    before, after = (
        kubernetes("OCIRepository", "images", "shared", spec={"ref": {"tag": tag}}) for tag in ("v1", "v2")
    )

    assert found([of_another, source()], [of_another, source(url="ssh://b")]) == [
        ("dev-team", "syncs from another url (ssh://b)")
    ]
    [(_, text)] = found([of_another, before], [of_another, after])
    assert text.startswith("syncs from another ref (tag v2)")


def test_a_sync_that_does_not_prune_or_only_has_another_interval_deletes_nothing():
    assert found([sync(prune=False)], [sync(prune=False, path="./b")]) == [
        ("dev-team", "syncs from another path (./b)")
    ]
    assert found([sync(), source()], [sync(interval="5m"), source(interval="5m")]) == []


def test_the_home_as_target_is_another_one_beside_a_second_namespace():
    before, after = sync(), sync(targetNamespace="apps")

    assert found([NAMESPACE, before], [NAMESPACE, after]) == []
    assert len(found([before], [NAMESPACE, kubernetes("Namespace", "apps-2"), after])) == 1


@pytest.mark.parametrize(
    ("protected", "said"),
    [
        (["apps"], "Namespace apps: an update may delete it, with everything in it"),
        (["apps", "web"], "Namespace apps and Namespace web: an update may delete it, with everything in it"),
    ],
)
def test_an_end_of_the_protection_is_a_danger(protected, said):
    now = [kubernetes("Namespace", name) for name in ("apps", "web")]
    before = [replace(each, protected=each.name in protected) for each in now]

    assert found(before, now) == [("dev-team", f"loses Pulumi's protection of {said}")]
    assert found(now, before) == found(before, before) == []


def configuration(**facts):
    """What is said of Pulumi's own keys that differ from those of an empty project."""
    found = {f"Pulumi.{name}" if name == "yaml" else name: value for name, value in facts.items()}
    old, new = configuration_documents(
        "staging", {}, {}, {"Pulumi.staging.yaml": SEALED}, {"Pulumi.staging.yaml": SEALED} | found
    )
    return said(old, new)


SEALED = {"encryptionsalt": "<encrypted a>"}


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("main", "other.py", "runs another program: main of Pulumi.yaml is other.py (before: none)"),
        ("runtime", {"name": "go"}, 'runs another program: runtime of Pulumi.yaml is {"name": "go"} (before: none)'),
        ("plugins", {"providers": []}, "runs other plugins with the credentials of the update"),
        ("backend", {"url": "file://x"}, "keeps its state elsewhere"),
        ("options", {"refresh": "always"}, "updates in another way: refresh of the options in Pulumi.yaml is always"),
        ("config", {"pulumi:autonaming": {"mode": "x"}}, "registers resources in another way: pulumi:autonaming"),
    ],
)
def test_keys_of_pulumi_are_risks(key, value, sentence):
    [text] = configuration(**{"yaml": {key: value}})

    assert text.startswith(sentence)


@pytest.mark.parametrize(
    ("own", "sentence"),
    [
        (SEALED | {"environment": ["x"]}, 'takes values from other environments of Pulumi ESC: ["x"] (before: none)'),
        ({"encryptionsalt": "<encrypted b>"}, "encrypts its secrets with another key (encryptionsalt)"),
        ({"secretsprovider": "awskms://x"}, "no longer has encryptionsalt"),
        (SEALED | {"pulumi:disable-default-providers": ["*"]}, "registers resources in another way"),
    ],
)
def test_further_keys_of_a_stack_are_risks(own, sentence):
    [text] = configuration(**{"Pulumi.staging.yaml": own})

    assert text.startswith(sentence)


def test_a_program_without_facts_has_no_keys_of_pulumi():
    old, new = configuration_documents("staging", {}, {}, None, {"Pulumi.yaml": {"main": "x"}})

    assert said(old, new) == []


def release_with(replicas):
    return kubernetes("Release", "k", properties={"values": {"a": {"replicas": replicas}}})


def deployment(replicas=1, **limits):
    containers = [{"name": "manager", "resources": {"limits": limits}}]
    return kubernetes(
        "Deployment", "a", "b", spec={"template": {"spec": {"containers": containers}}, "replicas": replicas}
    )


@pytest.mark.parametrize(
    ("before", "after", "beginning"),
    [
        (release_with(3), release_with(1), "runs fewer Pods of Release k: a.replicas is 1 (before: 3)"),
        (release_with(1), release_with(3), ""),
        (deployment(3), deployment(1), "runs fewer Pods of Deployment b/a: 1 (before: 3)"),
        (deployment(1), deployment(3), ""),
        (deployment(memory="512Mi"), deployment(memory="64Mi"), "has much less limits.memory"),
        (deployment(memory="512Mi"), deployment(memory="256Mi"), ""),
    ],
)
def test_fewer_pods_and_a_fraction_of_the_resources_of_a_controller_are_a_risk(before, after, beginning):
    assert [text.startswith(beginning) for text in said([before], [after])] == ([True] if beginning else [])


def test_a_provider_is_told_by_a_host_that_none_had():
    first, second, third = (
        kubernetes("Provider", name, "apps", spec={"address": address})
        for name, address in (("a", "https://x.example/1"), ("b", "https://x.example/2"), ("c", "https://y.example"))
    )

    assert said([first], [first, second]) == []
    assert said([first], [first, third]) == [
        "sends events to y.example, which no Provider did before, with Provider apps/c"
    ]


@pytest.mark.parametrize("current", ["true", "1 == 1", "status.x == 1 || true"])
def test_an_expression_that_reads_nothing_is_a_risk(current):
    check = {"kind": "Job", "current": current}

    assert "counts objects of Job as ready whatever their status is with Kustomization apps/a" in said(
        [], [kubernetes("Kustomization", "a", "apps", spec={"healthCheckExprs": [check]})]
    )


def test_every_row_can_be_read_and_says_what_it_knows():
    known = {"keys", "labels", "before", "after", "then"}

    assert len(risks()) > 70
    assert [
        row.says for row in risks() if {name for _, name, _, _ in Formatter().parse(row.says) if name} - known
    ] == []
    assert {row.gone for row in risks()} == {"", "namespace", "syncs"}


@pytest.mark.parametrize(
    ("path", "matters"),
    [
        (("tenants", "a", "role"), "access"),
        (("tenants", "a", "namespaces", 0, "podSecurity"), "protection"),
        (("tenants", "a", "namespaces", "[apps]", "name"), "access"),
        (("tenants", "a", "sync", "decryption", "age"), "who decrypts"),
        (("policies", "images", "allowed"), "protection"),
        (("policies", "maximumTimeout"), "how much"),
        (("encryptionsalt",), ""),
    ],
)
def test_the_longest_path_says_how_a_key_matters(path, matters):
    assert matters_of_key(path) == matters


def test_every_kind_of_a_stack_says_how_it_matters(tmp_path):
    project = Project(tmp_path / "project")
    changes = {each.name: each.given for each in read_cases()}
    objects = [*project.objects({}), *project.objects(changes["labels of lanes are set no more"])]
    files = [yaml.safe_load_all(each.read_text()) for each in GOLDEN.glob("*.yaml")]
    kinds = {each.kind for each in objects} | {each["kind"] for file in files for each in file if "kind" in each}

    assert {"Kustomization", "ResourceQuota", "Deployment", "Tenant", "Secret"} <= kinds
    assert [kind for kind in sorted(kinds) if not matters_of_kind(kind)] == []


ENDLESS = Decimal("Infinity")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (4, 4),
        ("500m", Decimal("0.5")),
        ("1k", 1000),
        ("1Ki", 1024),
        ("2Gi", 2 * 2**30),
        ("1e3", 1000),
        ("1E", 10**18),
        ("1K", ENDLESS),
        ("1ki", ENDLESS),
        ("NaN", ENDLESS),
        ("many", ENDLESS),
        ("", ENDLESS),
    ],
)
def test_a_quantity_is_read_as_kubernetes_reads_it(text, number):
    assert quantity(text) == number


def test_units_are_compared_by_what_they_mean():
    assert is_multiplied("500m", "2") and not is_multiplied("1Gi", "1024Mi")
    assert is_zero("1", "0m")


def changed(type_, before, after, kind="Any"):
    old, new = (replace(kubernetes(kind, "a", "apps", **fields), type=type_) for fields in (before, after))
    return changes(render_of(old), render_of(new))


@pytest.mark.parametrize(
    ("type_", "before", "after", "fields"),
    [
        (
            "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding",
            {"roleRef": {"name": "a"}},
            {"roleRef": {"name": "b"}},
            ("roleRef",),
        ),
        ("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", {"subjects": [1]}, {"subjects": [2]}, ()),
        ("kubernetes:apps/v1:Deployment", {"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}, ()),
        (
            "kubernetes:batch/v1:Job",
            {"spec": {"template": {"a": 1}}},
            {"spec": {"template": {"a": 2}}},
            ("spec.template",),
        ),
        ("kubernetes:batch/v1:Job", {"spec": {"templateOfOthers": 1}}, {"spec": {"templateOfOthers": 2}}, ()),
        (DEPLOY_KEY_TYPE, {"properties": {"key": "a"}}, {"properties": {"key": "b"}}, ("properties.key",)),
        (
            "kubernetes:v1:Any",
            {"metadata": {"namespace": "x"}},
            {"metadata": {"namespace": "y"}},
            ("metadata.namespace",),
        ),
    ],
)
def test_an_object_is_replaced_if_an_immutable_field_changes(type_, before, after, fields):
    [change] = changed(type_, before, after)

    assert immutable_fields(change) == fields


def test_only_a_replacement_that_loses_data_is_a_risk():
    binding = changed("kubernetes:rbac.authorization.k8s.io/v1:RoleBinding", {"roleRef": 1}, {"roleRef": 2})
    before, after = ({"spec": {"storageClassName": name}} for name in "ab")
    claim = changed("kubernetes:core/v1:PersistentVolumeClaim", before, after, "PersistentVolumeClaim")

    [risk] = replacement_risks(claim)
    assert risk.risk
    assert risk.text.startswith(
        "replaces a PersistentVolumeClaim, because spec.storageClassName cannot change: its volume"
    )
    assert list(replacement_risks(binding)) == []


@pytest.mark.parametrize("type_", [DEPLOY_KEY_TYPE, WEBHOOK_TYPE, RELEASE_TYPE, f"kubernetes:{RBAC_API}:RoleBinding"])
def test_a_type_of_this_program_has_its_fields(type_):
    assert immutable(type_)["fields"]
