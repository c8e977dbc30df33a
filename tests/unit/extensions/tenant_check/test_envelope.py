"""An envelope has all that decides about one tenant, and nothing of another tenant or of a secret."""

from __future__ import annotations

import json

import pytest
from sample_project import encrypted, tenant, write_project, write_stack

from flux_tenancy.components.vocabulary.manifests import merge_patch
from flux_tenancy.extensions.tenant_check.envelope import Envelope, make_envelope, read_envelope
from flux_tenancy.project.errors import OperationError

OTHER = "zebra-team"
PEOPLE = {"people": {"developers": {"groups": ["zebra-people"]}}}
PLANTED = merge_patch(
    tenant(OTHER, "zebra-apps"),
    {
        "policies": {"hosts": ["zebra.example.com"], "images": ["registry.example.com/zebra/*"]},
        "grants": [{"reason": "zebra reason", "serviceTypes": ["NodePort"]}],
        "syncs": {"zebra-more": {"path": "./zebra-path"}},
    },
)
SHOP = {
    "shop": tenant("shop", "shop-apps", "own-secret") | {"policies": {"hosts": ["shop.example.com"]}},
    "shop-too": tenant("shop-too", "second"),
}
POLICIES = {"sources": {"allowed": ["ssh://git@git.example.com/*"]}, "serviceTypes": ["ClusterIP"]}


@pytest.fixture
def project(tmp_path):
    write_project(tmp_path / "project")
    return tmp_path / "project"


def made(project, **tenants) -> Envelope:
    entries = {"shop": SHOP["shop"]} | tenants
    for name in entries:
        (project / "tenants" / f"{name}.yaml").touch()
    write_stack(project, policies=POLICIES, tenants=entries)
    return make_envelope(project, "staging", "shop")


def test_it_has_nothing_of_another_tenant_and_no_secret(project):
    secret = encrypted("planted-secret")
    other = merge_patch(PLANTED, {"source": {"deployKey": secret}})

    envelope = made(project, **{OTHER: other})

    text = envelope.as_json()
    for planted in ("zebra", "planted-secret", "own-secret"):
        assert planted not in text
    assert "Secret" not in {each["kind"] for part in (envelope.access, envelope.syncs) for each in part}
    assert "shop.example.com" in text


def test_another_tenant_changes_nothing_in_it(project):
    alone, beside = made(project), made(project, **{OTHER: PLANTED})

    assert beside == alone


def test_it_has_what_decides(project):
    envelope = made(project)

    assert (envelope.tenant, envelope.stack, envelope.home) == ("shop", "staging", "shop-apps")
    assert envelope.account == "system:serviceaccount:shop-apps:shop"
    assert {each["kind"] for each in envelope.access} == {"ClusterRole", "RoleBinding"}
    [namespace] = envelope.namespaces
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"
    assert {each["kind"] for each in envelope.syncs} == {"Kustomization"}
    assert len([each for each in envelope.policies if each["kind"] == "ValidatingAdmissionPolicy"]) > 20
    [objects] = [each for each in envelope.quotas if each["metadata"]["name"] == "shop-objects"]
    assert objects["status"]["used"]["count/secrets"] == "8" and objects["spec"]["hard"]["count/secrets"] == "1008"
    assert "description" not in json.dumps(envelope.definitions)


def test_a_file_is_read_as_it_was_made(project, tmp_path):
    envelope = made(project).model_copy(update={"made": "2026-11-28T12:00:00Z"})
    file = tmp_path / "envelope.json"
    file.write_text(envelope.as_json())

    assert read_envelope(file) == envelope


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"format": 2, "program": "9.9.9"}, "made by flux-tenancy 9.9.9 in format 2"),
        ({"home": "other"}, "its digest does not match"),
        ({"surprise": 1}, "surprise: Extra inputs are not permitted"),
        ({"format": None}, "it has no key `format`"),
    ],
)
def test_an_unusable_file_is_refused(project, tmp_path, change, expected):
    file = tmp_path / "envelope.json"
    file.write_text(json.dumps(merge_patch(json.loads(made(project).as_json()), change)))

    with pytest.raises(OperationError) as raised:
        read_envelope(file)

    assert expected in raised.value.report and "remedy: " in raised.value.report


def test_an_unknown_tenant_is_refused(project):
    made(project)
    with pytest.raises(OperationError, match="tenant shopp is not listed"):
        make_envelope(project, "staging", "shopp")
