"""Rows of the table that the cases of `cases/` do not reach, and that the same is said once."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_objects import kubernetes

from flux_tenancy.review.changes.weakenings import weakenings


def said(before, after):
    return [each.text for each in weakenings(before, after)]


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


def test_the_same_of_several_keys_and_objects_is_one_sentence():
    before = [quota(name, cpu="1", pods="1") for name in "ab"]
    after = [quota(name, cpu="9", pods="9") for name in "ab"]

    assert said(before, after) == ["may have 9 of cpu and pods (before: 1)"]


def test_a_limit_that_moves_to_another_quota_is_not_lost():
    before = [quota("a", **{"count/secrets": "1000", "count/services": "200"})]

    assert said(before, [quota("a", **{"count/services": "200"}), quota("b", secrets="10")]) == []


def test_the_lower_of_two_limits_counts():
    before = [quota("a", pods="1"), quota("b", pods="100")]

    assert said(before, [quota("a", pods="1"), quota("b", pods="10k")]) == []
    assert said(before, [quota("b", pods="100")]) == ["may have 100 of pods (before: 1)"]


def test_a_namespace_without_its_quotas_loses_their_limits():
    namespace = kubernetes("Namespace", "apps")

    assert said([namespace, quota("a", cpu="1", pods="1")], [namespace]) == [
        "loses the limit of cpu and pods in the quotas of namespace apps"
    ]
    assert said([namespace, quota("a", cpu="1")], []) == []


@pytest.mark.parametrize(
    ("before", "after", "is_risk"),
    [("4", "400", True), ("4", "16", True), ("4", "5", False), ("400", "300", False), ("4", "many", True)],
)
def test_many_workers_are_a_risk(before, after, is_risk):
    found = said([controller(f"--concurrent={before}")], [controller(f"--concurrent={after}")])

    assert found == ([f"runs {after} workers (--concurrent) in Deployment apps/a"] if is_risk else [])


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


def test_an_object_that_comes_is_compared_with_nothing():
    labels = {"istio-injection": "enabled", "team": "a"}

    assert said([], [quota("a", cpu="1000")]) == []
    assert said([], [kubernetes("Namespace", "a", metadata={"labels": labels})]) == [
        "has istio-injection: enabled in the labels of Namespace a (before: none), which other controllers may read"
    ]
