"""A tenant's sources of every kind under real controllers, the rotation of their credentials, and what is shared."""

from __future__ import annotations

from functools import partial

from tests.e2e.tenants.given_sources import (
    FETCHED,
    NAMESPACE,
    OTHER,
    OTHER_NAMESPACE,
    SECOND_KEY,
    TENANT,
    login,
    revoke,
    store,
    token,
)
from tests.support.environment import Environment
from tests.support.lab import Lab, Reconciling, eventually


def is_ready(stack: Environment, kind: str, name: str, namespace: str = NAMESPACE) -> bool:
    return stack.cluster.ready(kind, name, namespace)[0] == "True"


def secret_of(stack: Environment, kind: str, name: str) -> str:
    found: str = stack.cluster.get(kind, name, NAMESPACE)["spec"]["secretRef"]["name"]
    return found


def test_sources_of_every_kind_are_fetched_with_their_credentials(stack: Environment) -> None:
    for name, kind in FETCHED.items():
        eventually(partial(is_ready, stack, kind, name), what=f"{kind} {name}")

    found = {name: stack.cluster.get(kind, name, NAMESPACE) for name, kind in FETCHED.items()}
    assert {each["metadata"]["labels"]["toolkit.fluxcd.io/tenant"] for each in found.values()} == {TENANT}
    assert all(each["status"]["artifact"]["revision"] for each in found.values())
    assert stack.cluster.get("helmrepository", "oci-charts", NAMESPACE)["spec"]["type"] == "oci"


def test_a_tenant_without_a_git_repository_is_synced_from_an_artifact_and_a_bucket(stack: Environment) -> None:
    for name in ("from-oci", "from-bucket"):
        eventually(partial(stack.cluster.find, "configmap", name, NAMESPACE), what=name)


def test_an_artifact_that_nobody_has_signed_is_not_fetched(stack: Environment) -> None:
    message = stack.cluster.refusal("ocirepository", "unsigned", NAMESPACE)

    assert "signature" in message
    assert "artifact" not in stack.cluster.get("ocirepository", "unsigned", NAMESPACE)["status"]


def test_a_tenant_neither_changes_nor_deletes_these_sources(stack: Environment) -> None:
    account = f"system:serviceaccount:{NAMESPACE}:{TENANT}"
    for name, kind in FETCHED.items():
        changed = stack.cluster.kubectl(
            "patch", kind, name, "-n", NAMESPACE, "--type=merge", '-p={"spec":{"interval":"2h"}}', user=account
        )
        deleted = stack.cluster.kubectl("delete", kind, name, "-n", NAMESPACE, user=account)

        # Another policy refuses a tenant's private certificate authority, and the API server reports either of them.
        assert "ValidatingAdmissionPolicy 'flux-tenancy-" in changed.stderr, name
        assert "platform-objects" in deleted.stderr, name


def test_credentials_are_rotated_without_a_gap_and_a_shared_source_is_withdrawn(stack: Environment, lab: Lab) -> None:
    config = stack.config["tenants"][TENANT]["sources"]
    eventually(partial(is_ready, stack, "ocirepository", "manifests"))
    for namespace in (NAMESPACE, OTHER_NAMESPACE):
        eventually(partial(is_ready, stack, "helmrepository", "offered", namespace))
    before = {name: secret_of(stack, FETCHED[name], name) for name in ("manifests", "assets", "charts", "code")}
    new = login(stack, lab, token(lab, "second"))
    for name in ("manifests", "unsigned", "charts", "oci-charts"):
        config[name]["credentials"] = new
    config["code"]["https"] = new
    config["assets"]["credentials"] = {"accessKey": SECOND_KEY, "secretKey": stack.secret("second-secret")}
    for shared in stack.config["shared"].values():
        shared["source"]["credentials"] = new
    stack.config["shared"]["offered"]["tenants"] = [OTHER]

    with Reconciling(stack.cluster, "ocirepository", "manifests", NAMESPACE) as observed:
        stack.up()
        revoke(lab, "first")
        stack.cluster.reconcile("ocirepository", "manifests", NAMESPACE)

    assert observed.rounds > 1
    assert observed.failures == set()
    for name, secret in before.items():
        assert secret_of(stack, FETCHED[name], name) != secret
        assert stack.cluster.find("secret", secret, NAMESPACE) is None
        eventually(partial(is_ready, stack, FETCHED[name], name), what=name)
    stack.cluster.reconcile("bucket", "assets", NAMESPACE)
    eventually(lambda: store().used[-1:] == [SECOND_KEY])
    assert stack.cluster.find("helmrepository", "offered", NAMESPACE) is None
    assert is_ready(stack, "helmrepository", "offered", OTHER_NAMESPACE)
    assert stack.outputs()["tenants"][OTHER]["source"] == f"OCIRepository/{OTHER_NAMESPACE}/plain"
