"""Objects that are replaced, and what is lost then."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_objects import kubernetes, render_of

from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE, WEBHOOK_TYPE
from flux_tenancy.components.installs.chart import RELEASE_TYPE
from flux_tenancy.components.vocabulary.manifests import RBAC_API
from flux_tenancy.review.changes.objects import changes
from flux_tenancy.review.changes.replacements import immutable_fields, replacement_risks
from flux_tenancy.review.changes.risks import immutable


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


def test_a_replacement_that_loses_data_is_a_risk():
    claim = "kubernetes:core/v1:PersistentVolumeClaim"
    found = changed(
        claim, {"spec": {"storageClassName": "a"}}, {"spec": {"storageClassName": "b"}}, "PersistentVolumeClaim"
    )

    [risk] = replacement_risks(found)
    assert risk.risk
    assert risk.text.startswith(
        "replaces a PersistentVolumeClaim, because spec.storageClassName cannot change: its volume"
    )


def test_a_replacement_that_loses_nothing_is_no_risk():
    binding = "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding"

    assert list(replacement_risks(changed(binding, {"roleRef": 1}, {"roleRef": 2}))) == []


@pytest.mark.parametrize("type_", [DEPLOY_KEY_TYPE, WEBHOOK_TYPE, RELEASE_TYPE, f"kubernetes:{RBAC_API}:RoleBinding"])
def test_a_type_of_this_program_has_its_fields(type_):
    assert immutable(type_)["fields"]
