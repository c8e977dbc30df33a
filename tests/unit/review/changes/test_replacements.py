"""Objects that are replaced, and what is lost then; images of containers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_objects import kubernetes, render_of

from flux_tenancy.components.git.github import DEPLOY_KEY_TYPE
from flux_tenancy.review.changes.images import image_changes
from flux_tenancy.review.changes.objects import changes
from flux_tenancy.review.changes.replacements import immutable_fields, replacement_risks


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


def pods(*containers):
    return {
        "spec": {"template": {"spec": {"containers": [{"name": name, "image": image} for name, image in containers]}}}
    }


def test_a_changed_image_is_named_with_its_container():
    found = changed(
        "kubernetes:apps/v1:Deployment", pods(("manager", "a:1"), ("b", "b")), pods(("manager", "a:2"), ("b", "b"))
    )

    assert [each.text for each in image_changes(found)] == ["container manager of Any apps/a runs a:2 instead of a:1"]


def test_the_image_of_a_new_container_is_named():
    found = changed("kubernetes:apps/v1:Deployment", pods(("manager", "a:1")), pods(("manager", "a:1"), ("b", "b:1")))

    assert [each.text for each in image_changes(found)] == ["container b of Any apps/a is new and runs b:1"]
