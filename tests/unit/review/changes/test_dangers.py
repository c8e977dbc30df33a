"""What is dangerous about a change although nobody may do more."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample_objects import kubernetes, render_of

from flux_tenancy.review.changes.dangers import dangers
from flux_tenancy.review.changes.objects import changes

NAMESPACE = kubernetes("Namespace", "apps")


def found(before, after):
    renders = render_of(*before), render_of(*after)
    return list(dangers(changes(*renders), renders[1].objects))


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


def test_a_namespace_without_its_bounds_is_a_danger():
    [(owner, text)] = found([NAMESPACE, kubernetes("LimitRange", "a", "apps")], [NAMESPACE])

    assert owner == "dev-team"
    assert text.startswith("loses a LimitRange")


def test_bounds_that_go_with_their_namespace_are_none():
    assert found([NAMESPACE, kubernetes("LimitRange", "a", "apps")], []) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"path": "./b"}, "path (./b)"), ({"path": "./b", "targetNamespace": "x"}, "path and targetNamespace (./b, x)")],
)
def test_a_pruning_sync_of_another_path_deletes(changed, said):
    assert found([sync()], [sync(**changed)]) == [
        ("dev-team", f"syncs from another {said}: Flux deletes the applied objects that are missing there")
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
    assert text.startswith("syncs from another ref (v2)")


def test_a_sync_that_does_not_prune_deletes_nothing():
    assert found([sync(prune=False)], [sync(prune=False, path="./b")]) == [
        ("dev-team", "syncs from another path (./b)")
    ]


def test_the_home_as_target_is_another_one_beside_a_second_namespace():
    before, after = sync(), sync(targetNamespace="apps")

    assert found([NAMESPACE, before], [NAMESPACE, after]) == []
    assert len(found([before], [NAMESPACE, kubernetes("Namespace", "apps-2"), after])) == 1


def test_another_interval_deletes_nothing():
    assert found([sync(), source()], [sync(interval="5m"), source(interval="5m")]) == []


@pytest.mark.parametrize(
    ("protected", "said"),
    [
        (["apps"], "a Namespace: an update may delete it, with everything in it"),
        (["apps", "web"], "2 Namespaces: an update may delete each, with everything in it"),
    ],
)
def test_an_end_of_the_protection_is_a_danger(protected, said):
    now = [kubernetes("Namespace", name) for name in ("apps", "web")]
    before = [replace(each, protected=each.name in protected) for each in now]

    assert found(before, now) == [("dev-team", f"loses Pulumi's protection of {said}")]
    assert found(now, before) == found(before, before) == []
