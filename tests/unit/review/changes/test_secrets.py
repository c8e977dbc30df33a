"""The secrets that a change rotates."""

from __future__ import annotations

from sample_stack import FLUX

from flux_tenancy.components.stack.files.stack_file import StackFile
from flux_tenancy.review.changes.objects import Action
from flux_tenancy.review.changes.secrets import SecretChange, secret_changes
from flux_tenancy.review.render.rendered import PLATFORM


def file(**sections):
    return StackFile("Pulumi.staging.yaml", sections)


def secure(value):
    return {"secure": f"v1:{value}"}


def key(value):
    return {"dev-team": {"source": {"deployKey": secure(value)}}}


def test_a_secret_with_another_encrypted_form_is_rotated():
    assert secret_changes(file(tenants=key("a")), file(tenants=key("b"))) == (
        SecretChange("dev-team", "tenants.dev-team.source.deployKey", Action.CHANGED),
    )


def test_a_secret_with_the_same_encrypted_form_is_not():
    assert secret_changes(file(tenants=key("a")), file(tenants=key("a"), flux=FLUX)) == ()


def test_new_and_removed_secrets_are_told_by_their_keys():
    before = file(cluster={"kubeconfigContent": secure("a")})
    after = file(flux={"sync": {"decryption": [{"age": secure("b")}]}})

    assert secret_changes(before, after) == (
        SecretChange(PLATFORM, "cluster.kubeconfigContent", Action.REMOVED),
        SecretChange(PLATFORM, "flux.sync.decryption[0].age", Action.ADDED),
    )


def test_secrets_of_a_stack_without_an_earlier_version_are_new():
    assert [each.action for each in secret_changes(None, file(tenants=key("a")))] == [Action.ADDED]


def test_no_part_of_an_encrypted_value_is_repeated():
    assert "v1:" not in repr(secret_changes(file(tenants=key("a")), file(tenants=key("b"))))


def test_a_value_of_another_key_is_told_with_it():
    swapped = {"dev-team": secure("a"), "ops-team": secure("b")}, {"dev-team": secure("b"), "ops-team": secure("a")}
    before, after = (file(tenants={name: {"key": each} for name, each in one.items()}) for one in swapped)

    assert [(each.key, each.copied) for each in secret_changes(before, after)] == [
        ("tenants.dev-team.key", "tenants.ops-team.key"),
        ("tenants.ops-team.key", "tenants.dev-team.key"),
    ]


def test_a_value_that_moves_in_its_list_comes_from_no_other_key():
    before, after = (
        file(flux={"sync": {"decryption": [{"age": secure(each)} for each in keys]}}) for keys in ("a", "ba")
    )

    assert [each.copied for each in secret_changes(before, after)] == ["", ""]
